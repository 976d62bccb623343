/** What the handler of the application answers: PROTOCOL.md beside the Go package shared/client/proxy describes it. */

export interface Person {
  userId: string;
  name?: string;
  photoUrl?: string;
}

/** Where a thread belongs: an element, or a text in it, counted from 1. */
export interface Target {
  elementId?: string;
  targetText?: string;
  occurrence?: number;
}

export interface Tag {
  userId: string;
  contact?: Person;
}

/** A file of a comment. It lies elsewhere: the service has its address. */
export interface Attachment {
  name?: string;
  mimeType?: string;
  size?: number;
  url?: string;
}

export interface Comment {
  commentId: number;
  commentText?: string;
  commentHtml?: string;
  from: Person;
  taggedUserContacts?: Tag[];
  attachments?: Attachment[];
  createdAt: string;
  lastUpdated: string;
}

/** Who sees a thread: those who may read the document, or only these people. */
export interface Visibility {
  type: 'public' | 'restricted';
  people?: Person[];
}

export interface Thread {
  annotationId: string;
  targetElement?: Target;
  status: {id: string; name?: string; type?: unknown};
  resolvedByUserId?: string;
  createdAt: string;
  lastUpdated: string;
  visibility?: Visibility;
  comments: Comment[];
  commentsTruncated?: boolean;
  unread?: boolean;
}

export interface Notification {
  notificationId: string;
  documentId: string;
  annotationId?: string;
  actionUser: Person;
  displayHeadlineMessage: string;
  displayBodyMessage?: string;
  createdAt: string;
  read: boolean;
}

/** What somebody is told of: ALL, MINE or NONE. */
export interface Channels {
  inbox?: string;
  email?: string;
}

export interface Answers {
  'threads': {threads: Thread[]; deleted: string[]; nextPageToken: string; since: number; user: Person; canWrite: boolean};
  'add-thread': {thread: Thread};
  'add-comment': {thread: Thread};
  'edit-comment': {thread: Thread};
  'delete-comment': {thread: Thread};
  'resolve-thread': {thread: Thread};
  'read-thread': object;
  'people': {people: Person[]};
  'preferences': {config: Channels};
  'inbox': {notifications: Notification[]; nextPageToken: string; since: number; user: Person};
  'read-inbox': object;
  'connect': {url: string; retryAfter: number};
}

/** Why a request failed: a status of the service, UNAVAILABLE where there was no answer, OFFLINE where the browser says so. */
export class Failure extends Error {
  /** retryAfter is how many ms the server asks to wait, 0 where it does not. */
  constructor(readonly status: string, message = '', readonly retryAfter = 0) {
    super(message);
  }
}

const TIMEOUT = 30_000; // ms for one request
const OUTLIVING = 16_000; // characters of a comment's request that the browser sends on when the page is left

/** Sends a request to the handler. It rejects with a Failure. */
export async function ask<N extends keyof Answers>(endpoint: string, name: N, body: object): Promise<Answers[N]> {
  let answer;
  let retryAfter = 0;
  const text = JSON.stringify(body);
  try {
    const response = await fetch(`${endpoint}/${name}`, {
      method: 'POST',
      headers: {'Content-Type': 'application/json'},
      body: text,
      signal: AbortSignal.timeout(TIMEOUT),
      keepalive: /^(add|edit)-/.test(name) && text.length < OUTLIVING,
    });
    retryAfter = Number(response.headers.get('Retry-After')) * 1000 || 0;
    answer = await response.json();
    if (response.ok) return answer;
  } catch {
    // No answer, or none of the handler's.
  }
  throw new Failure(answer?.error?.status ?? (navigator.onLine ? 'UNAVAILABLE' : 'OFFLINE'), answer?.error?.message, retryAfter);
}

export const nameOf = (p: Person): string => p.name || p.userId;

/** The only people who see a thread, its first author before them; undefined where everyone does. */
export function seersOf({visibility, comments}: Thread): Person[] | undefined {
  if (visibility?.type !== 'restricted') return undefined;
  const author = comments[0]?.from;
  const others = (visibility.people ?? []).filter((p) => p.userId !== author?.userId);
  return author ? [author, ...others] : others;
}

export const isResolved = (t: Thread): boolean => t.status.type === 'terminal';
