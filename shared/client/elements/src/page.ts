/** Defines collab-thread, collab-threads and collab-inbox. */
export {InboxElement} from './inbox.js';
export type {Elements} from './elements.js';
export type {Person} from './person.js';
export type {Comment, Notification, Suggestion, Target, Thread} from './protocol.js';
export {findIn as find, quoteIn as targetOf} from './quote.js';
export {setTexts} from './texts.js';
export {setTokens, signOut, type Tokens} from './access.js';
export {setUploads, type Upload} from './uploads.js';
export {ThreadElement} from './thread.js';
export {ThreadsElement} from './threads.js';
export type {Decision} from './suggested.js';
