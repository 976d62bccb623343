import {added, later, overlay, type Pending, type ShownThread} from './overlay.js';
import {Poll} from './poll.js';
import {ask, Failure, type Person, type Tag, type Thread} from './protocol.js';

const WHOLE = 60; // looks after which the whole document is read again, to miss nothing that was deleted
const PEOPLE_AGE = 60_000; // ms for which the people to mention are remembered

/** The threads of one document, shared by all elements that show some of them. */
export class Store {
  user: Person = {userId: ''};
  canWrite = false;
  /** The first look has ended. */
  loaded = false;
  /** The application lets the reader see nothing. */
  denied = false;

  readonly #threads = new Map<string, Thread>();
  readonly #keys = new Map<string, string>(); // of threads that were added here, by annotation id
  readonly #shown = new Map<string, ShownThread>(); // by key: the same object while nothing of it changes
  #unread = new Set<string>(); // ids of threads
  #pending: Pending[] = [];
  #sending = Promise.resolve();
  #underWay = 0;
  #looks = 0;
  #since = 0;
  #people: {at: number; list: Promise<Person[]>} | undefined;
  readonly #poll: Poll;
  readonly #watchers = new Set<() => void>();

  constructor(readonly endpoint: string, readonly documentId: string) {
    this.#poll = new Poll(() => this.#look(), () => this.#tell());
  }

  get failing(): boolean {
    return this.#poll.failing && !this.denied;
  }

  /** Tells a watcher of every change, until the function that it returns is called. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    if (this.#watchers.size === 1) this.#poll.start();
    return () => {
      this.#watchers.delete(watcher);
      if (!this.#watchers.size) this.#poll.stop();
    };
  }

  #tell(): void {
    for (const watcher of this.#watchers) watcher();
  }

  /** All threads that have comments, with what is pending. */
  get threads(): ShownThread[] {
    const list: ShownThread[] = [];
    for (const thread of this.#threads.values()) {
      const key = this.#keys.get(thread.annotationId) ?? thread.annotationId;
      const pending = this.#pending.filter((p) => p.thread === key);
      const known = this.#shown.get(key);
      let shown = known;
      // What is pending is replaced, never changed.
      const unread = this.#unread.has(thread.annotationId);
      if (!known || known.unread !== unread || this.#sources.get(known) !== thread || known.pending.length !== pending.length || known.pending.some((p, i) => p !== pending[i])) {
        shown = {...overlay(thread, key, pending, this.user), unread};
        this.#sources.set(shown, thread);
        this.#shown.set(key, shown);
      }
      if (shown!.comments.length) list.push(shown!);
    }
    for (const p of this.#pending) if (p.name === 'add-thread') list.push(added(p, this.user));
    return list;
  }

  readonly #sources = new WeakMap<ShownThread, Thread>();

  /** Those whom the reader may mention. */
  people(): Promise<Person[]> {
    if (!this.#people || Date.now() - this.#people.at > PEOPLE_AGE) {
      const list = ask(this.endpoint, 'people', {documentId: this.documentId}).then((a) => a.people);
      list.catch(() => (this.#people = undefined));
      this.#people = {at: Date.now(), list};
    }
    return this.#people.list;
  }

  /** Shows what the reader did, and sends it. Its text has tokens for those whom the tags name. */
  send(what: Omit<Pending, 'id' | 'at' | 'thread'> & {thread?: string}): Pending {
    const id = crypto.randomUUID();
    const p: Pending = {thread: id, ...what, id, at: new Date().toISOString()};
    this.#pending = [...this.#pending, p];
    this.#enqueue(p);
    return p;
  }

  /** Says that the reader has seen a thread. Where that fails, the next look shows it as it is. */
  read({annotationId}: ShownThread): void {
    if (!this.#unread.delete(annotationId)) return;
    this.#tell();
    ask(this.endpoint, 'read-thread', {documentId: this.documentId, annotationId, read: true}).catch(() => this.#unread.add(annotationId));
  }

  /** Sends again what failed. */
  retry(p: Pending): void {
    const {failed: _, ...again} = p;
    this.#replace(p, again);
    this.#enqueue(again);
  }

  /** Forgets what failed. */
  discard(p: Pending): void {
    this.#replace(p);
    this.#tell();
  }

  #replace(p: Pending, by?: Pending): void {
    this.#pending = this.#pending.flatMap((q) => (q === p ? (by ?? []) : q));
  }

  /** One request is sent after the other, so that they arrive in the order in which the reader wrote. */
  #enqueue(p: Pending): void {
    this.#underWay++;
    this.#tell();
    this.#sending = this.#sending.then(async () => {
      try {
        const {thread} = await ask(this.endpoint, p.name, this.#request(p));
        if (p.name === 'add-thread') this.#keys.set(thread.annotationId, p.id);
        this.#take(thread);
        this.#replace(p);
      } catch {
        this.#replace(p, {...p, failed: true});
      }
      this.#underWay--;
      this.#tell();
    });
  }

  #request({id, name, thread, commentId, text, target, resolved}: Pending): object {
    const {documentId} = this;
    const annotationId = [...this.#threads.keys()].find((a) => (this.#keys.get(a) ?? a) === thread);
    switch (name) {
      case 'add-thread':
        return {documentId, requestId: id, text, ...(target && {targetElement: target})};
      case 'add-comment':
        return {documentId, annotationId, requestId: id, text};
      case 'edit-comment':
        return {documentId, annotationId, commentId, text};
      case 'delete-comment':
        return {documentId, annotationId, commentId};
      case 'resolve-thread':
        return {documentId, annotationId, resolved};
    }
  }

  #take(thread: Thread): boolean {
    const known = this.#threads.get(thread.annotationId);
    const next = later(known, thread);
    this.#threads.set(thread.annotationId, next);
    return next !== known;
  }

  /** Reads what is new; the whole document the first time, and now and then. */
  async #look(): Promise<void> {
    const whole = this.#looks % WHOLE === 0;
    const seen = new Set<string>();
    const {documentId} = this;
    let since = 0;
    let unread = new Set<string>();
    for (let pageToken = ''; ; ) {
      let page;
      if (this.#underWay) return; // what comes may be what is being sent
      try {
        page = await ask(this.endpoint, 'threads', {documentId, ...(!whole && {since: this.#since}), ...(pageToken && {pageToken})});
      } catch (e) {
        this.denied = e instanceof Failure && (e.status === 'PERMISSION_DENIED' || e.status === 'UNAUTHENTICATED');
        this.#end();
        throw e;
      }
      if (this.#underWay) return;
      let changed = this.denied || !this.loaded || this.canWrite !== page.canWrite || this.user.userId !== page.user.userId;
      this.denied = false;
      this.user = page.user;
      this.canWrite = page.canWrite;
      since ||= page.since;
      if (page.unread) unread = new Set(page.unread);
      for (const {annotationId: id} of page.threads) {
        if (this.#unread.has(id) === unread.has(id)) continue;
        unread.has(id) ? this.#unread.add(id) : this.#unread.delete(id);
        changed = true;
      }
      for (const thread of page.threads) {
        seen.add(thread.annotationId);
        if (this.#take(thread)) changed = true;
      }
      pageToken = page.nextPageToken;
      if (!pageToken && whole) {
        for (const id of this.#threads.keys()) {
          if (!seen.has(id) && this.#threads.delete(id)) changed = true;
        }
      }
      if (!pageToken) break;
      if (changed) this.#tell();
    }
    this.#since = since;
    this.#looks++;
    this.#end();
  }

  #end(): void {
    this.loaded = true;
    this.#tell();
  }
}

const stores = new Map<string, Store>();

/** The store of a document, one for each page. */
export function storeOf(endpoint: string, documentId: string): Store {
  const key = `${endpoint} ${documentId}`;
  let store = stores.get(key);
  if (!store) stores.set(key, (store = new Store(endpoint, documentId)));
  return store;
}

/** The people whom a text's tokens name, of those known. */
export function tagsOf(text: string, people: Person[]): Tag[] {
  const ids = new Set(Array.from(text.matchAll(/\{\{([^{}]+)\}\}/g), (m) => m[1]));
  return people.filter((p) => ids.has(p.userId)).map((p) => ({userId: p.userId, contact: p}));
}
