import type {Failure} from './protocol.js';

const count = (n: number, one: string, many: string) => `${n} ${n === 1 ? one : many}`;

/** Every text that the elements show. setTexts replaces some, or all. */
export const texts = {
  comments: 'Comments',
  comment: 'Comment',
  commentOnSelection: 'Comment on the selected text',
  open: (n: number) => `Open ${n}`,
  resolved: (n: number) => `Resolved ${n}`,
  noneOpen: 'No open threads. Select a text to comment on it.',
  noneResolved: 'No resolved threads.',
  gone: (n: number) => `${count(n, 'thread', 'threads')} whose place is gone`,
  loading: 'Loading comments',
  stale: 'The comments are not up to date. Trying again …',
  notLoaded: 'The comments could not be loaded.',
  /** Why something failed, by the status of the failure and the handler's words; minutes until it may be tried again, 0 where that is not known. */
  why: (status: string, message: string, minutes: number): string => {
    switch (status) {
      case 'OFFLINE':
        return 'You are offline.';
      case 'UNAUTHENTICATED':
        return 'You are not signed in.';
      case 'PERMISSION_DENIED':
        return 'You have no permission for this.';
      case 'NOT_FOUND':
        return 'It is not there any more.';
      case 'FAILED_PRECONDITION':
      case 'INVALID_ARGUMENT':
        return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
      case 'RESOURCE_EXHAUSTED':
        return minutes ? `That was too much at once: try again in ${count(minutes, 'minute', 'minutes')}.` : 'That was too much at once.';
    }
    return 'The server does not answer.';
  },
  missing: 'The thread is not there any more.',
  close: 'Close',
  draft: 'Draft',
  continueDraft: (text: string) => `Continue: “${text.slice(0, 80)}”`,
  left: (n: number) => (n < 0 ? `${count(-n, 'character', 'characters')} too many` : `${count(n, 'character', 'characters')} left`),
  tooLong: 'The text is too long to be sent.',
  thread: (author: string) => `Thread of ${author}`,
  goTo: (quote: string) => `Go to the text: ${quote}`,
  wholeDocument: 'On the whole document',
  replies: (n: number) => count(n, 'reply', 'replies'),
  showReplies: (n: number) => `Show ${count(n, 'reply', 'replies')}`,
  hideReplies: 'Hide replies',
  reply: 'Reply',
  writeReply: 'Write a reply; @ mentions people',
  writeComment: 'Write a comment; @ mentions people',
  send: 'Send',
  whoSees: 'Who sees it',
  everyone: 'Everyone here',
  onlyThese: 'Only these people',
  addPerson: 'Add a person',
  removePerson: (name: string) => `Remove ${name}`,
  you: 'you',
  only: (names: string) => `Only ${names}`,
  save: 'Save',
  cancel: 'Cancel',
  resolve: 'Resolve',
  reopen: 'Reopen',
  isResolved: (name: string) => (name ? `Resolved by ${name}` : 'Resolved'),
  edit: 'Edit',
  delete: 'Delete',
  editOf: (time: string) => `Edit your comment of ${time}`,
  deleteOf: (time: string) => `Delete your comment of ${time}`,
  reallyDelete: 'Delete this comment for everyone?',
  keep: 'Keep',
  edited: 'edited',
  sending: 'Sending …',
  failed: {
    'add-thread': 'Your comment was not sent.',
    'add-comment': 'Your reply was not sent.',
    'edit-comment': 'Your change was not saved.',
    'delete-comment': 'The comment was not deleted.',
    'resolve-thread': 'The change was not saved.',
  } as Record<string, string>,
  tryAgain: 'Try again',
  discard: 'Discard',
  truncated: 'This thread has more comments than are shown.',
  people: (n: number) => `${count(n, 'person', 'people')} to choose from. Arrow keys choose, Enter takes.`,
  peopleList: 'People',
  sent: 'Sent.',
  newComment: (name: string) => `New comment by ${name}.`,
  inbox: (unread: string) => (unread ? `Inbox, ${unread} unread` : 'Inbox'),
  inboxTitle: 'Inbox',
  inboxEmpty: 'Nothing here yet.',
  markAllRead: 'Mark all as read',
  unread: 'Unread',
  older: 'Show older',
  inboxNotLoaded: 'The inbox could not be loaded.',
  inboxStale: 'The inbox is not up to date. Trying again …',
  now: 'just now',
  preferences: 'What you are told of this document',
  preferencesFailed: 'That could not be read or saved.',
  channels: {inbox: 'In the inbox', email: 'By mail'},
  choices: {ALL: 'everything', MINE: 'what concerns me', NONE: 'nothing'} as Record<string, string>,
};

/** Why something failed. */
export const whyOf = (f: Failure): string => texts.why(f.status, f.message, Math.ceil(f.retryAfter / 60_000));

/** Replaces texts, for another language or another tone. Call it before the elements are first shown. */
export function setTexts(own: Partial<typeof texts>): void {
  Object.assign(texts, own);
}
