import type {Failure} from './failure.js';
import type {Person} from './person.js';
import type {Attachment, Comment, Level, ThreadChanges, Reaction, Suggestion, Target, Thread} from './protocol.js';

/** A change by the reader that no poll has returned yet. */
export interface Pending {
  /** The request's id, and the key of an added thread. */
  id: string;
  name: 'add-thread' | 'add-comment' | 'edit-comment' | 'delete-comment' | 'resolve-thread' | 'follow-thread' | 'react' | 'decide' | 'update-thread';
  /** The key of the changed thread; for a new thread, the id. */
  thread: string;
  commentId?: number;
  /** The plain text. */
  text?: string;
  /** The text with formatting, if it has some. */
  html?: string | undefined;
  /** The text as the reader wrote it, in Markdown. */
  markdown?: string | undefined;
  /** The lastUpdated of the comment that the reader edited; undefined if unknown. */
  seen?: string | undefined;
  tags?: Person[];
  attachments?: Attachment[] | undefined;
  target?: Target | undefined;
  /** The readers of a new thread besides the author; undefined for everyone. */
  only?: Person[] | undefined;
  resolved?: boolean;
  level?: Level;
  /** Data of your pages: of the comment, and of a new thread. */
  context?: object | undefined;
  threadContext?: object | undefined;
  emoji?: string;
  /** Whether the reader adds the reaction, or deletes it. */
  reacted?: boolean;
  /** Of a new thread, or the decision about a known one. */
  suggestion?: Suggestion | undefined;
  /** Another update of the thread. */
  changes?: ThreadChanges;
  /** Called when the server has it, with its thread, and with the added or changed comment. */
  done?: (sent: {annotationId: string; commentId?: number | undefined}) => void;
  /** Called if it is discarded, which it is if the server refuses it; without, it is kept then. */
  ended?: (why: Failure) => void;
  at: string;
  /** The server has it, and the next poll returns it. */
  sent?: boolean;
  /** The failure, which the reader may retry or discard. */
  failed?: Failure;
}

/** A shown comment. */
export interface ShownComment extends Comment {
  pending?: Pending;
}

/** A shown thread, with pending changes. */
export interface ShownThread extends Thread {
  /** A stable key: the id, or the key from before it was sent. */
  key: string;
  comments: ShownComment[];
  pending: Pending[];
  /** It has unread comments. */
  unread?: boolean;
}

/** A thread with its pending changes applied. */
export function overlay(thread: Thread, key: string, pending: Pending[], user: Person): ShownThread {
  const shown: ShownThread = {...thread, key, pending};
  for (const p of pending) {
    switch (p.name) {
      case 'add-comment':
        shown.comments = [...shown.comments, written(p, user)];
        break;
      case 'edit-comment':
        shown.comments = shown.comments.map((c) => (c.commentId === p.commentId ? {...(conflicts(p) ? c : edited(c, p)), pending: p} : c));
        break;
      case 'delete-comment':
        // Show a comment again if its deletion failed.
        shown.comments = p.failed ? shown.comments.map((c) => (c.commentId === p.commentId ? {...c, pending: p} : c)) : shown.comments.filter((c) => c.commentId !== p.commentId);
        break;
      case 'resolve-thread':
        if (!p.failed) resolve(shown, !!p.resolved, user);
        break;
      case 'decide':
        if (p.failed) break;
        shown.suggestion = {...shown.suggestion, ...p.suggestion, resolvedBy: user};
        resolve(shown, true, user);
        break;
      case 'follow-thread':
        if (!p.failed) shown.level = p.level!;
        break;
      case 'update-thread':
        if (!p.failed) Object.assign(shown, p.changes);
        break;
      case 'react':
        if (!p.failed) shown.comments = shown.comments.map((c) => (c.commentId === p.commentId ? {...c, reactions: reacted(c.reactions ?? [], p, user)} : c));
    }
  }
  return shown;
}

function resolve(shown: ShownThread, resolved: boolean, {userId}: Person): void {
  shown.status = resolved ? {id: 'RESOLVED', type: 'terminal'} : {id: 'OPEN', type: 'default'};
  shown.resolvedByUserId = userId;
}

/** A thread that is being added. */
export function added(p: Pending, user: Person): ShownThread {
  return {
    key: p.id, annotationId: '', status: {id: 'OPEN', type: 'default'}, createdAt: p.at, lastUpdated: p.at, comments: [written(p, user)], pending: [p],
    ...(p.threadContext && {context: p.threadContext}),
    ...(p.target && {targetElement: p.target}), ...(p.suggestion && {type: 'suggestion', suggestion: p.suggestion}), ...(p.only && {visibility: {type: 'restricted', people: [user, ...p.only]}}),
  };
}

function written(p: Pending, user: Person): ShownComment {
  return {commentId: 0, commentText: p.text!, ...(p.html && {commentHtml: p.html}), from: user, tags: p.tags!, ...(p.attachments && {attachments: p.attachments}), ...(p.context && {context: p.context}), createdAt: p.at, lastUpdated: p.at, pending: p};
}

/** Whether an edit failed because the comment was changed meanwhile. */
export const conflicts = ({name, failed}: Pending): boolean => name === 'edit-comment' && failed?.status === 'FAILED_PRECONDITION';

/** The comment after an edit. */
export function edited({commentHtml: _, ...c}: ShownComment, p: Pending): ShownComment {
  return {...c, commentText: p.text!, ...(p.html && {commentHtml: p.html}), tags: p.tags!, ...(p.context && {context: p.context}), lastUpdated: p.at};
}

/** The reactions to a comment after a change of the reader's. */
function reacted(list: Reaction[], {emoji, reacted: on}: Pending, user: Person): Reaction[] {
  const known = list.find((r) => sameEmoji(r.emoji, emoji!));
  if (!known) return on ? [...list, {emoji: emoji!, count: 1, users: [user]}] : list;
  if (hasReacted(known, user.userId) === on) return list;
  const others = known.users.filter((u) => u.userId !== user.userId);
  const changed = on ? {...known, count: known.count + 1, users: [...others, user]} : {...known, count: known.count - 1, users: others};
  return list.flatMap((r) => (r !== known ? r : changed.count ? changed : []));
}

/** Whether emojis are the same. A variation selector makes no difference. */
export const sameEmoji = (a: string, b: string): boolean => a.replaceAll('\ufe0f', '') === b.replaceAll('\ufe0f', '');

/** Whether a user is one that reacted. */
export const hasReacted = (r: Reaction, userId: string): boolean => r.users.some((u) => u.userId === userId);

/** The later of two states of a thread, or the known one if they are equal. */
export function later(known: Thread | undefined, next: Thread): Thread {
  if (!known || next.lastUpdated > known.lastUpdated) return next;
  return next.lastUpdated < known.lastUpdated || JSON.stringify(next) === JSON.stringify(known) ? known : next;
}
