import {accessOf, join, leave, type Member, type Source} from './access.js';
import type {Failure} from './failure.js';
import type {Pending, ShownThread} from './overlay.js';
import type {Person} from './person.js';
import type {Attachment, Target} from './protocol.js';
import {storeOf, type Store} from './store.js';

/** A comment to write. Its text has {{userId}} for each of the people in tags. */
export interface NewComment {
  text: string;
  tags?: Person[] | undefined;
  attachments?: Attachment[] | undefined;
  /** Free-form data of yours, at most 8 KB: everyone who sees the comment receives it. */
  context?: object | undefined;
}

/** A thread to start: on a target, or on the whole document. */
export interface NewThread extends NewComment {
  target?: Target | undefined;
  /** The only readers besides the author; undefined for everyone. */
  only?: Person[] | undefined;
  /** context of the thread; that of NewComment is its comment's. */
  threadContext?: object | undefined;
}

/** The document of a connection: see the attributes of the elements. */
export interface Options extends Partial<Source> {
  api: string;
  documentId: string;
}

/**
 * The threads of a document for a user interface of your own, with live changes, offline changes
 * and retries. It shares its data and requests with the elements of the page.
 */
export class Connection implements Member {
  /** Whether the connection is open. */
  isConnected = true;

  readonly #listeners = new Set<() => void>();
  #store!: Store;
  #end: (() => void) | undefined;
  #threads: ShownThread[] | undefined;

  constructor(readonly options: Options) {
    this.connectedCallback();
  }

  /** For the page: begins, also again after a sign-out. */
  connectedCallback(): void {
    const {api, token = '', organization = '', documentId} = this.options;
    join(this);
    this.#store = storeOf(accessOf({api, token, organization}, documentId));
    this.#end = this.#store.watch(() => this.#changed());
    this.#changed();
  }

  /** For the page: ends. */
  disconnectedCallback(): void {
    this.#end?.();
    leave(this);
  }

  /** Ends the connection. */
  close(): void {
    if (!this.isConnected) return;
    this.isConnected = false;
    this.disconnectedCallback();
  }

  #changed(): void {
    this.#threads = undefined;
    for (const listener of this.#listeners) listener();
  }

  /** Calls a listener after each change. The returned function ends that. */
  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /**
   * The loaded threads, with the user's pending changes. The array is the same until the next
   * change, and a thread the same object until it changes.
   */
  get threads(): readonly ShownThread[] {
    return (this.#threads ??= this.#store.threads);
  }

  /** The threads are loaded, possibly not the latest changes. */
  get loaded(): boolean {
    return this.#store.loaded;
  }

  /** The failure of the last poll. */
  get failure(): Failure | undefined {
    return this.#store.failure;
  }

  /** The signed-in user; without an id until the threads are loaded. */
  get user(): Person {
    return this.#store.user;
  }

  /** Whether the user may write in the document. */
  get canWrite(): boolean {
    return this.#store.canWrite;
  }

  /** Whether there are older threads: see older. */
  get more(): boolean {
    return this.#store.more;
  }

  /** Loads older threads. It rejects with a Failure. */
  older(): Promise<void> {
    return this.#store.older();
  }

  /** Loads one thread of any age. It rejects with a Failure. */
  find(annotationId: string): Promise<void> {
    return this.#store.find(annotationId);
  }

  /**
   * The people and groups that the user may mention, at most 30 in a large organization, with a
   * name or a word of it that starts with some letters.
   */
  people(letters = ''): Promise<Person[]> {
    return this.#store.people(letters, () => this.isConnected);
  }

  /** A person with their name, if known. */
  named(person: Person): Person {
    return this.#store.named(person);
  }

  // A change is shown at once. It resolves when the service has it. If it fails, the thread shows it
  // as failed until it is sent after all, by retry or when the browser is online again, or discarded:
  // then it rejects with a Failure. It rejects at once if no loaded thread can show it.
  async #send(what: Parameters<Store['send']>[0]): Promise<{annotationId: string; commentId: number}> {
    const sent = await this.#store.settled(this.#store.send(what));
    return {...sent, commentId: sent.commentId ?? 0};
  }

  /** Starts a thread. It resolves to the ids of the thread and its comment. */
  add(thread: NewThread) {
    return this.#send({name: 'add-thread', ...thread, tags: thread.tags ?? []});
  }

  /** Adds a comment to a thread. It resolves to the ids of both. */
  reply(annotationId: string, comment: NewComment) {
    return this.#send({name: 'add-comment', thread: this.#store.keyOf(annotationId), ...comment, tags: comment.tags ?? []});
  }

  /** Replaces the content of an own comment. */
  edit(annotationId: string, commentId: number, comment: NewComment) {
    return this.#send({name: 'edit-comment', thread: this.#store.keyOf(annotationId), commentId, ...comment, tags: comment.tags ?? []});
  }

  /** Deletes an own comment. */
  remove(annotationId: string, commentId: number) {
    return this.#send({name: 'delete-comment', thread: this.#store.keyOf(annotationId), commentId});
  }

  /** Resolves a thread, or opens it again. */
  resolve(annotationId: string, resolved = true) {
    return this.#send({name: 'resolve-thread', thread: this.#store.keyOf(annotationId), resolved});
  }

  /** Adds a reaction of the user to a comment, or deletes it. */
  react(annotationId: string, commentId: number, emoji: string, reacted = true) {
    return this.#send({name: 'react', thread: this.#store.keyOf(annotationId), commentId, emoji, reacted});
  }

  /** Marks a thread and its notifications as read. */
  async read(annotationId: string): Promise<void> {
    const thread = this.threads.find((t) => t.annotationId === annotationId);
    if (thread) await this.#store.read(thread, false);
  }

  /** Retries a failed change of a thread. */
  retry(change: Pending): void {
    this.#store.retry(change);
  }

  /** Discards a failed change of a thread. */
  discard(change: Pending): void {
    this.#store.discard(change);
  }
}

/** Connects a user interface of your own to the threads of a document. */
export const connect = (options: Options): Connection => new Connection(options);
