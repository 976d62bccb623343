/** The elements, and connect for a user interface of your own. */
export * from './page.js';
export {connect, Connection, InboxConnection, type Done, type Edit, type InboxOptions, type NewComment, type NewThread, type Options, type ThreadUpdate} from './connect.js';
export {Failure} from './failure.js';
export type {Channels, Emails, Level} from './protocol.js';
export type {Pending, ShownComment, ShownThread} from './overlay.js';
