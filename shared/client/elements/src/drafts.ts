import {withNames} from './mentions.js';
import type {Pending} from './overlay.js';
import type {Person} from './person.js';
import type {Attachment, Target} from './protocol.js';

/**
 * A text of the reader with its possible mentions. For a new thread, it also has the place and the
 * only readers. id is the Idempotency-Key of the failed request: if only the response was lost, the
 * draft is still written once.
 */
export interface Draft {
  id?: string | undefined;
  text: string;
  people: Person[];
  attachments?: Attachment[] | undefined;
  only?: Person[] | undefined;
  target?: Target | undefined;
  /** The new text of a suggestion. */
  change?: string | undefined;
  /** The lastUpdated of the edited comment. */
  seen?: string | undefined;
}

/** The beginning of the keys in the storage. */
export const KEPT = 'collab-drafts ';

/** Deletes the drafts of all documents in this tab. */
function deleteAll(): void {
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(KEPT)) sessionStorage.removeItem(key);
  } catch {
    // Storage is unavailable.
  }
}

/** The places of drafts. */
export const newThread = (target?: Target): string => `new ${JSON.stringify(target ?? {})}`;
export const replyTo = (annotationId: string): string => `reply ${annotationId}`;
export const editOf = (annotationId: string, commentId: number): string => `edit ${annotationId} ${commentId}`;

/** The thread of the place of a reply or edit, and the edited comment. */
export function threadOf(place: string): {annotationId: string; commentId?: number} | undefined {
  const [, reply, edit, commentId] = /^(?:reply (.*)|edit (.*) (\d+))$/s.exec(place) ?? [];
  return reply !== undefined ? {annotationId: reply} : edit !== undefined ? {annotationId: edit, commentId: Number(commentId)} : undefined;
}

/**
 * The drafts of a document by place, until they are sent or discarded. Session storage keeps them
 * across reloads and other pages in the tab. If there is none, they end with the page.
 */
export class Drafts {
  readonly #all = new Map<string, Draft>();
  #user = '';

  /**
   * name is the key in the storage; user is the reader, '' until known; unsent has the failed
   * drafts by place.
   */
  constructor(readonly name: string, readonly user: () => string, readonly unsent: () => [string, Draft][]) {
    addEventListener('pagehide', this.#keep);
    document.addEventListener('visibilitychange', this.#keep);
  }

  /** Keeps the drafts in the storage, or deletes them and those of other documents. */
  end(keep: boolean): void {
    removeEventListener('pagehide', this.#keep);
    document.removeEventListener('visibilitychange', this.#keep);
    if (keep) this.#keep();
    else deleteAll();
  }

  get(place: string): Draft | undefined {
    return this.#all.get(place);
  }

  /** Keeps a draft, or deletes it if it has neither text nor files nor a change. */
  set(place: string, draft?: Draft): void {
    if (draft?.text.trim() || draft?.attachments?.length || draft?.change !== undefined) this.#all.set(place, draft);
    else this.#all.delete(place);
  }

  /** All drafts, with their places. */
  get all(): [string, Draft][] {
    return [...this.#all];
  }

  /** Drafts of new threads. */
  get threads(): Draft[] {
    return [...this.#all].flatMap(([place, draft]) => (place.startsWith('new ') ? draft : []));
  }

  /** Sets the reader, and deletes drafts of other users in this tab. */
  of(user: string): void {
    if (user === this.#user) return;
    if (this.#user) this.#all.clear();
    this.#user = user;
    try {
      const kept = JSON.parse(sessionStorage.getItem(this.name) ?? '{}') as {user?: string; drafts?: [string, Draft][]};
      if (kept.user === user) for (const [place, draft] of kept.drafts ?? []) if (!this.#all.has(place)) this.#all.set(place, draft);
    } catch {
      // Storage is unavailable or has other data.
    }
  }

  #keep = (): void => {
    if (!this.#user) this.of(this.user()); // no poll has returned the user yet
    if (!this.#user) return;
    const drafts = [...new Map([...this.unsent(), ...this.#all])];
    try {
      if (drafts.length) sessionStorage.setItem(this.name, JSON.stringify({user: this.#user, drafts}));
      else sessionStorage.removeItem(this.name);
    } catch {
      // Storage is unavailable or full.
    }
  };
}

/** The draft of a failed change, with its place; nothing if it has no text. */
export function draftOf(p: Pending, annotationId: string): [string, Draft][] {
  if (p.text === undefined) return [];
  const people = p.tags ?? [];
  const place = p.name === 'add-thread' ? newThread(p.target) : p.name === 'add-comment' ? replyTo(annotationId) : editOf(annotationId, p.commentId!);
  return [[place, {id: p.id, text: withNames(p.markdown ?? p.text, people), people, attachments: p.attachments, target: p.target, only: p.only, seen: p.seen, ...(p.suggestion && {change: p.suggestion.newValue as string})}]];
}
