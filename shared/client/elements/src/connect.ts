import {accessOf, join, leave, type Access, type Member, type Source} from './access.js';
import type {Failure} from './failure.js';
import {inboxOf, type Inbox} from './notifications.js';
import type {Pending, ShownThread} from './overlay.js';
import type {Person} from './person.js';
import type {Attachment, Channels, Emails, Level, Notification, Suggestion, Target} from './protocol.js';
import {storeOf, type Store} from './store.js';

/** A comment to write. Its text has {{userId}} for each of the people in tags. */
export interface NewComment {
  text: string;
  /** The text with formatting, as HTML. */
  html?: string | undefined;
  tags?: Person[] | undefined;
  attachments?: Attachment[] | undefined;
  /** Free-form data of yours, at most 8 KB: everyone who sees the comment receives it. */
  context?: object | undefined;
}

/** The new content of a comment. */
export interface Edit extends NewComment {
  /**
   * The lastUpdated of the comment that the user edited. The edit is refused with
   * FAILED_PRECONDITION if it has another.
   */
  seen?: string | undefined;
}

/** A thread to start: on a target, or on the whole document. */
export interface NewThread extends NewComment {
  target?: Target | undefined;
  /** The only readers besides the author; undefined for everyone. */
  only?: Person[] | undefined;
  /** context of the thread; that of NewComment is its comment's. */
  threadContext?: object | undefined;
  /** A suggested change of the document, which the readers accept or reject. */
  suggestion?: Pick<Suggestion, 'oldValue' | 'newValue' | 'summary'> | undefined;
}

/** A change of an own thread. An absent field does not change. */
export interface ThreadUpdate {
  /** Its place. */
  target?: Target | undefined;
  /** Its data, which is replaced: see NewThread.threadContext. */
  context?: object | undefined;
  /** The only readers besides the author; null for everyone. */
  only?: Person[] | null | undefined;
}

/** The ids of a change that the service has. */
export interface Done {
  annotationId: string;
  /** Of the comment; 0 for a change of a thread. */
  commentId: number;
}

/** The inbox of a connection: see the attributes of the elements. */
export interface InboxOptions extends Partial<Source> {
  api: string;
}

/** The document of a connection: see the attributes of the elements. */
export interface Options extends InboxOptions {
  documentId: string;
}

/** Data of the service for a user interface of your own, shared with the elements of the page. */
abstract class Subscription<Data extends {watch(watcher: () => void): () => void}> implements Member {
  /** Whether the connection is open. */
  isConnected = true;

  protected data!: Data;
  readonly #listeners = new Set<() => void>();
  #end: (() => void) | undefined;

  constructor(readonly options: InboxOptions, readonly documentId = '') {
    this.connectedCallback();
  }

  /** Returns the data of an access. */
  protected abstract dataOf(access: Access): Data;

  /** For the page: begins, also again after a sign-out. */
  connectedCallback(): void {
    const {api, token = '', organization = ''} = this.options;
    join(this);
    this.data = this.dataOf(accessOf({api, token, organization}, this.documentId));
    this.#end = this.data.watch(() => this.changed());
    this.changed();
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

  /** Calls the listeners. */
  protected changed(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Calls a listener after each change. The returned function ends that. */
  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };
}

/**
 * The threads of a document for a user interface of your own, with live changes, offline changes
 * and retries. It shares its data and requests with the elements of the page. annotationId of a
 * method is the id of any thread, or the key of a ShownThread.
 */
export class Connection extends Subscription<Store> {
  declare options: Options;
  private shown: ShownThread[] | undefined;

  constructor(options: Options) {
    super(options, options.documentId);
  }

  protected dataOf(access: Access): Store {
    return storeOf(access);
  }

  protected override changed(): void {
    this.shown = undefined;
    super.changed();
  }

  /**
   * The loaded threads, with the user's pending changes. The array is the same until the next
   * change, and a thread the same object until it changes.
   */
  get threads(): readonly ShownThread[] {
    return (this.shown ??= this.data.threads);
  }

  /** The threads are loaded, possibly not the latest changes. */
  get loaded(): boolean {
    return this.data.loaded;
  }

  /** The failure of the last poll. */
  get failure(): Failure | undefined {
    return this.data.failure;
  }

  /** The signed-in user; without an id until the threads are loaded. */
  get user(): Person {
    return this.data.user;
  }

  /** Whether the user may write in the document. */
  get canWrite(): boolean {
    return this.data.canWrite;
  }

  /** Whether there are older threads: see older. */
  get more(): boolean {
    return this.data.more;
  }

  /** Loads older threads. It rejects with a Failure. */
  older(): Promise<void> {
    return this.data.older();
  }

  /** Loads one thread of any age, also again. It rejects with a Failure: NOT_FOUND without one. */
  find(annotationId: string): Promise<void> {
    return this.data.need(this.#idOf(annotationId));
  }

  /** The id of a thread, or of the thread of a key. */
  #idOf(annotationId: string): string {
    return this.data.annotationIdOf(annotationId) ?? annotationId;
  }

  /**
   * The people and groups that the user may mention, at most 30 in a large organization, with a
   * name or a word of it that starts with some letters.
   */
  people(letters = ''): Promise<Person[]> {
    return this.data.people(letters, () => this.isConnected);
  }

  /** A person with their name, if known. */
  named(person: Person): Person {
    return this.data.named(person);
  }

  // A change is shown at once. It resolves when the service has it. It rejects with a Failure if the
  // service refuses it, such as NOT_FOUND for an unknown thread. Without an answer, the thread shows
  // it as failed until it is sent after all, by retry or when the browser is online again, or
  // discarded: then it rejects. It rejects at once if no loaded thread can show it.
  #send({thread, ...what}: Parameters<Store['send']>[0]): Promise<Done> {
    return new Promise((done, ended) => this.data.send({
      ...what, ...(thread !== undefined && {thread: this.data.keyOf(thread)}), done: ({annotationId, commentId = 0}) => done({annotationId, commentId}), ended,
    }));
  }

  /** Starts a thread. It resolves to the ids of the thread and its comment. */
  add(thread: NewThread) {
    return this.#send({name: 'add-thread', ...thread, tags: thread.tags ?? []});
  }

  /** Adds a comment to a thread. It resolves to the ids of both. */
  reply(annotationId: string, comment: NewComment) {
    return this.#send({name: 'add-comment', thread: annotationId, ...comment, tags: comment.tags ?? []});
  }

  /** Replaces the content of an own comment. */
  edit(annotationId: string, commentId: number, comment: Edit) {
    return this.#send({name: 'edit-comment', thread: annotationId, commentId, ...comment, tags: comment.tags ?? []});
  }

  /** Deletes an own comment. */
  remove(annotationId: string, commentId: number) {
    return this.#send({name: 'delete-comment', thread: annotationId, commentId});
  }

  /** Resolves a thread, or opens it again. */
  resolve(annotationId: string, resolved = true) {
    return this.#send({name: 'resolve-thread', thread: annotationId, resolved});
  }

  /** Adds a reaction of the user to a comment, or deletes it. */
  react(annotationId: string, commentId: number, emoji: string, reacted = true) {
    return this.#send({name: 'react', thread: annotationId, commentId, emoji, reacted});
  }

  /** Sets the user's level of notifications about a thread: it follows or mutes it. */
  follow(annotationId: string, level: Level) {
    return this.#send({name: 'follow-thread', thread: annotationId, level});
  }

  /** Accepts or rejects a suggestion, and thereby resolves its thread. */
  decide(annotationId: string, status: 'accepted' | 'rejected', rejectReason?: string) {
    return this.#send({name: 'decide', thread: annotationId, suggestion: {status, ...(rejectReason && {rejectReason})}});
  }

  /** Changes the place, the data or the readers of an own thread. */
  update(annotationId: string, {target, context, only}: ThreadUpdate) {
    return this.#send({
      name: 'update-thread', thread: annotationId, changes: {
        ...(target && {targetElement: target}), ...(context && {context}),
        ...(only !== undefined && {visibility: only ? {type: 'restricted', people: only} : {type: 'public'}}),
      },
    });
  }

  /** Marks a thread and its notifications as read. It rejects with a Failure. */
  read(annotationId: string): Promise<void> {
    return this.#mark(annotationId, true);
  }

  /** Marks a thread as unread. It rejects with a Failure. */
  unread(annotationId: string): Promise<void> {
    return this.#mark(annotationId, false);
  }

  #mark(annotationId: string, read: boolean): Promise<void> {
    return this.data.mark(this.#idOf(annotationId), read).finally(() => this.changed());
  }

  /** Resolves to the user's preferences for the document. It rejects with a Failure. */
  preferences(): Promise<Channels> {
    return this.data.preferences();
  }

  /**
   * Changes some of the user's preferences for the document, and resolves to all of them. It rejects
   * with a Failure.
   */
  setPreferences(change: Channels): Promise<Channels> {
    return this.data.preferences(change);
  }

  /** Retries a failed change of a thread. */
  retry(change: Pending): void {
    this.data.retry(change);
  }

  /** Discards a failed change of a thread. */
  discard(change: Pending): void {
    this.data.discard(change);
  }
}

/** The notifications of a user for a user interface of your own: those of the token's resources. */
export class InboxConnection extends Subscription<Inbox> {
  protected dataOf(access: Access): Inbox {
    return inboxOf(access);
  }

  /** The loaded notifications, newest first. The array is the same until the next change. */
  get notifications(): readonly Notification[] {
    return this.data.list;
  }

  /** How many of all notifications are unread, up to 99. */
  get unread(): number {
    return this.data.unread;
  }

  /** Whether more than that are unread. */
  get moreUnread(): boolean {
    return this.data.more;
  }

  /** The notifications are loaded, possibly not the latest ones. */
  get loaded(): boolean {
    return this.data.loaded;
  }

  /** The failure of the last poll. */
  get failure(): Failure | undefined {
    return this.data.failure;
  }

  /** Whether there are older notifications: see older. */
  get more(): boolean {
    return !!this.data.next;
  }

  /** Loads older notifications. It rejects with a Failure. */
  older(): Promise<void> {
    return this.data.older();
  }

  /**
   * Marks notifications as read, and one of them as clicked. They are read at once here, and unread
   * again if it rejects with a Failure.
   */
  read(notificationIds: readonly string[], clicked?: string): Promise<void> {
    return this.data.read(notificationIds, clicked);
  }

  /** Marks all notifications as read, up to the newest one that is loaded: see read. */
  readAll(): Promise<void> {
    return this.data.readAll();
  }

  /** Resolves to the times of the user's emails. It rejects with a Failure. */
  emails(): Promise<Emails> {
    return this.data.emails();
  }

  /** Sets the times of the user's emails. It rejects with a Failure. */
  setEmails(emails: Emails): Promise<Emails> {
    return this.data.emails(emails);
  }
}

/**
 * Connects a user interface of your own to the threads of a document, or without a document to the
 * inbox.
 */
export function connect(options: Options): Connection;
export function connect(options: InboxOptions): InboxConnection;
export function connect(options: InboxOptions & {documentId?: string}): Connection | InboxConnection {
  return options.documentId ? new Connection(options as Options) : new InboxConnection(options);
}
