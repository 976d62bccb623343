/** The elements, and connect for a user interface of your own. */
export * from './page.js';
export {connect, Connection, type NewComment, type NewThread, type Options} from './connect.js';
export {Failure} from './failure.js';
export type {Pending, ShownComment, ShownThread} from './overlay.js';
