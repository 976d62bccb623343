import type {Attachment, Comment, Failure, Level, Person, Target, Thread} from './protocol.js';

/** A change by the reader that no look has shown yet. */
export interface Pending {
  /** The request's id, and the key of a thread that it adds. */
  id: string;
  name: 'add-thread' | 'add-comment' | 'edit-comment' | 'delete-comment' | 'resolve-thread' | 'follow-thread';
  /** The thread that it is about, by its key; a new thread's is the id. */
  thread: string;
  commentId?: number;
  text?: string;
  tags?: Person[];
  attachments?: Attachment[] | undefined;
  target?: Target | undefined;
  /** Those who see a new thread, beside the reader; undefined for everyone. */
  only?: Person[] | undefined;
  resolved?: boolean;
  level?: Level;
  at: string;
  /** The server has it, and the next look will show it. */
  sent?: boolean;
  /** Why it failed: the reader may try again or discard it. */
  failed?: Failure;
}

/** A comment as it is shown. */
export interface ShownComment extends Comment {
  pending?: Pending;
}

/** A thread as it is shown: with what is pending on it. */
export interface ShownThread extends Thread {
  /** The same for as long as it is shown: its id, or what it had while it was sent. */
  key: string;
  comments: ShownComment[];
  pending: Pending[];
  /** It has comments that the reader has not seen. */
  unread?: boolean;
}

/** A thread as it will be once what is pending is done. */
export function overlay(thread: Thread, key: string, pending: Pending[], user: Person): ShownThread {
  const shown: ShownThread = {...thread, key, pending};
  for (const p of pending) {
    switch (p.name) {
      case 'add-comment':
        shown.comments = [...shown.comments, written(p, user)];
        break;
      case 'edit-comment':
        shown.comments = shown.comments.map((c) => (c.commentId === p.commentId ? {...edited(c, p), pending: p} : c));
        break;
      case 'delete-comment':
        // Show a comment again if its deletion failed.
        shown.comments = p.failed ? shown.comments.map((c) => (c.commentId === p.commentId ? {...c, pending: p} : c)) : shown.comments.filter((c) => c.commentId !== p.commentId);
        break;
      case 'resolve-thread':
        if (!p.failed) {
          shown.status = p.resolved ? {id: 'RESOLVED', type: 'terminal'} : {id: 'OPEN', type: 'default'};
          shown.resolvedByUserId = user.userId;
        }
        break;
      case 'follow-thread':
        if (!p.failed) shown.level = p.level!;
    }
  }
  return shown;
}

/** A thread that is being added. */
export function added(p: Pending, user: Person): ShownThread {
  return {
    key: p.id, annotationId: '', status: {id: 'OPEN', type: 'default'}, createdAt: p.at, lastUpdated: p.at, comments: [written(p, user)], pending: [p],
    ...(p.target && {targetElement: p.target}), ...(p.only && {visibility: {type: 'restricted', people: [user, ...p.only]}}),
  };
}

function written(p: Pending, user: Person): ShownComment {
  return {commentId: 0, commentText: p.text!, from: user, tags: p.tags!, ...(p.attachments && {attachments: p.attachments}), createdAt: p.at, lastUpdated: p.at, pending: p};
}

function edited({commentHtml: _, ...c}: ShownComment, p: Pending): ShownComment {
  return {...c, commentText: p.text!, tags: p.tags!, lastUpdated: p.at};
}

/** The one of two states of a thread to go on with: the later, and the known one where they are the same. */
export function later(known: Thread | undefined, next: Thread): Thread {
  if (!known || next.lastUpdated > known.lastUpdated) return next;
  return next.lastUpdated < known.lastUpdated || JSON.stringify(next) === JSON.stringify(known) ? known : next;
}
