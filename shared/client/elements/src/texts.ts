import type {Failure} from './protocol.js';

const count = (n: number, one: string, many: string) => `${n} ${n === 1 ? one : many}`;

/** Every text that the elements show. setTexts replaces some, or all. */
export const texts = {
  comments: 'Comments',
  comment: 'Comment',
  commentOnSelection: 'Comment on the selected text',
  open: (n: number) => `Open ${n}`,
  resolved: (n: number) => `Resolved ${n}`,
  mine: (n: number) => `Mine ${n}`,
  unreadThreads: (n: number) => `Unread ${n}`,
  noneYet: 'No threads yet.',
  none: {open: 'No open threads.', resolved: 'No resolved threads.', mine: 'No threads that mention you or have comments by you.', unread: 'No unread threads.'},
  howToComment: 'Select text to comment on it.',
  gone: (n: number) => `${count(n, 'thread', 'threads')} on removed text`,
  loading: 'Loading comments',
  stale: 'Comments may be out of date. Retrying …',
  notLoaded: 'Comments could not be loaded.',
  /** The reason of a failure, by its status and the service's message; minutes until a retry makes sense, 0 if unknown. */
  why: (status: string, message: string, minutes: number): string => {
    switch (status) {
      case 'OFFLINE':
        return 'You are offline.';
      case 'UNAUTHENTICATED':
        return 'You are not signed in.';
      case 'PERMISSION_DENIED':
        return 'You do not have permission.';
      case 'NOT_FOUND':
        return 'It no longer exists.';
      case 'FAILED_PRECONDITION':
      case 'INVALID_ARGUMENT':
        return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
      case 'RESOURCE_EXHAUSTED':
        return `Too many requests. Try again in ${minutes > 1 ? `${minutes} minutes` : 'a minute'}.`;
    }
    return 'The server is not responding.';
  },
  missing: 'This thread no longer exists.',
  close: 'Close',
  draft: 'Draft',
  continueDraft: (text: string) => `Continue: “${text.slice(0, 80)}”`,
  left: (n: number) => (n < 0 ? `${count(-n, 'character', 'characters')} too many` : `${count(n, 'character', 'characters')} left`),
  tooLong: 'The text is too long to send.',
  thread: (author: string) => `Thread by ${author}`,
  goTo: (quote: string) => `Go to the text: ${quote}`,
  wholeDocument: 'Whole document',
  replies: (n: number) => count(n, 'reply', 'replies'),
  showReplies: (n: number) => `Show ${count(n, 'reply', 'replies')}`,
  hideReplies: 'Hide replies',
  reply: 'Reply',
  writeReply: 'Write a reply. Type @ to mention people.',
  writeComment: 'Write a comment. Type @ to mention people.',
  send: 'Send',
  whoSees: 'Visible to',
  everyone: 'Everyone',
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
  editOf: (time: string) => `Edit your comment from ${time}`,
  deleteOf: (time: string) => `Delete your comment from ${time}`,
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
  earlier: (n: number) => `${n} earlier`,
  newest: 'Jump to newest',
  pictures: 'You cannot add files here. Upload the picture elsewhere, and paste its address.',
  uploading: (name: string) => `Uploading ${name} …`,
  notUploaded: (name: string) => `${name} could not be uploaded.`,
  removeFile: (name: string) => `Remove ${name}`,
  picture: 'Picture',
  truncated: 'This thread has more comments that are not shown.',
  people: (n: number) => `${count(n, 'person', 'people')} found. Use the arrow keys to choose, and Enter to select.`,
  peopleList: 'People',
  sent: 'Sent.',
  newComment: (name: string) => `New comment by ${name}.`,
  inbox: (unread: string) => (unread ? `Inbox, ${unread} unread` : 'Inbox'),
  inboxTitle: 'Inbox',
  inboxEmpty: 'No notifications yet.',
  markAllRead: 'Mark all as read',
  unread: 'Unread',
  older: 'Show older',
  inboxNotLoaded: 'The inbox could not be loaded.',
  inboxStale: 'The inbox may be out of date. Retrying …',
  now: 'just now',
  preferences: 'Notifications for this document',
  preferencesFailed: 'These settings could not be loaded or saved.',
  channels: {inbox: 'Inbox', email: 'Email'},
  choices: {ALL: 'All activity', MINE: 'Only if it concerns me', NONE: 'None'} as Record<string, string>,
};

/** Returns the reason of a failure as a text. */
export const whyOf = (f: Failure): string => texts.why(f.status, f.message, Math.ceil(f.retryAfter / 60_000));

/** Replaces texts, for another language or another tone. Call it before the elements are first shown. */
export function setTexts(own: Partial<typeof texts>): void {
  Object.assign(texts, own);
}
