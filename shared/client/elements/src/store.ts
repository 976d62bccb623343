import {draftOf, Drafts} from './drafts.js';
import {added, later, overlay, type Pending, type ShownThread} from './overlay.js';
import {liveOf} from './live.js';
import {Poll} from './poll.js';
import {ask, type Answers, type Failure, type Person, type Thread} from './protocol.js';
import {texts, whyOf} from './texts.js';

const FRESH = 3_600_000; // ms after which the newest threads are read anew, for what changed without a time: who may see them, what was read elsewhere
const BEGIN = 250; // threads, if there are so many, that are known before the reader asks for older ones
const ASKED = 100; // threads that are asked for by id
const ECHO = 5_000; // ms in which a hint may be of what was read here
const PEOPLE_AGE = 60_000; // ms for which the people to mention are remembered
const WAIT = 15_000; // ms that are waited where the server asks for it, before the reader is asked
const TRIES = 5; // of one request that the server asks to send later

/** Resolves to what work does, once the server lets it. */
async function patient<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (e) {
      const {status, retryAfter} = e as Failure;
      if (status !== 'RESOURCE_EXHAUSTED' || !retryAfter || retryAfter > WAIT || tries === TRIES) throw e;
      await new Promise((done) => setTimeout(done, retryAfter));
    }
  }
}

/** The threads of one document, shared by all elements that show some of them. */
export class Store {
  user: Person = {userId: ''};
  canWrite = false;
  /** The threads are known, if not what is new. */
  loaded = false;
  readonly drafts: Drafts;

  readonly #threads = new Map<string, Thread>();
  readonly #keys = new Map<string, string>(); // of threads that were added here, by annotation id
  readonly #shown = new Map<string, ShownThread>(); // by key: the same object while nothing of it changes
  #unread = new Set<string>(); // ids of threads
  #pending: Pending[] = [];
  #sending = Promise.resolve();
  #underWay = 0;
  #since = 0; // 0: the newest threads are to be read
  #fresh = 0; // when they were
  #older = ''; // leads to older ones
  #people: {at: number; list: Promise<Person[]>} | undefined;
  readonly #poll: Poll;
  readonly #watchers = new Set<() => void>();

  constructor(readonly endpoint: string, readonly documentId: string) {
    this.#poll = new Poll(() => this.#lookAround(), () => this.#tell());
    this.drafts = new Drafts(`collab-drafts ${endpoint} ${documentId}`, () =>
      this.#pending.flatMap((p) => (p.failed ? draftOf(p, this.#annotationId(p.thread) ?? '') : [])));
    addEventListener('online', this.#online);
  }

  /** Sends what could not be sent for want of a connection. */
  readonly #online = (): void => {
    for (const p of this.#pending) if (p.failed?.status === 'OFFLINE') this.retry(p);
  };

  /** Why the last look failed. */
  get failure(): Failure | undefined {
    return this.#poll.failure;
  }

  /** Looks for what is new now. */
  look(): Promise<void> {
    return this.#poll.now();
  }

  /** Whether the server has a thread, as far as is known. */
  has(annotationId: string): boolean {
    return this.#threads.has(annotationId);
  }

  /** A person with their name, where it is known from somewhere. */
  named(p: Person): Person {
    return p.name ? p : (this.#names.get(p.userId) ?? p);
  }

  readonly #names = new Map<string, Person>();

  /** Tells a watcher of every change, until the function that it returns is called. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    if (this.#watchers.size === 1) {
      this.#poll.start();
      this.#hear();
    }
    return () => {
      this.#watchers.delete(watcher);
      if (this.#watchers.size) return;
      this.#poll.stop();
      this.#hear();
    };
  }

  /** Hears of changes, while somebody watches and the service knows the document. */
  #hear(): void {
    const wanted = this.#watchers.size > 0 && this.#since > 0;
    if (wanted) {
      this.#deaf ??= liveOf(this.endpoint).watch({topic: this.documentId, hint: () => this.#hint(), live: (on) => this.#poll.live(on)});
    } else {
      this.#deaf?.();
      this.#deaf = undefined;
    }
  }

  #deaf: (() => void) | undefined; // ends hearing
  #hinted = false; // of what was not read here, since the last look
  #read = 0; // when something was read here

  #hint(): void {
    this.#hinted ||= Date.now() - this.#read > ECHO;
    this.#poll.hint();
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
      const list = patient(() => ask(this.endpoint, 'people', {documentId: this.documentId})).then(({people}) => people.filter((p) => p.userId !== this.user.userId));
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
    this.#read = Date.now();
    this.#tell();
    patient(() => ask(this.endpoint, 'read-thread', {documentId: this.documentId, annotationId, read: true})).catch((e: Failure) => {
      if (e.status !== 'NOT_FOUND') this.#unread.add(annotationId);
      else if (this.#threads.delete(annotationId)) this.#tell();
    });
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
        const {thread} = await patient(() => ask(this.endpoint, p.name, this.#request(p)));
        if (p.name === 'add-thread') this.#keys.set(thread.annotationId, p.id);
        this.#take(thread);
        this.#replace(p);
      } catch (e) {
        this.#replace(p, {...p, failed: e as Failure});
      }
      this.#underWay--;
      this.#tell();
    });
  }

  /** The id of the thread of a key. */
  #annotationId(key: string): string | undefined {
    return [...this.#threads.keys()].find((a) => (this.#keys.get(a) ?? a) === key);
  }

  #request({id, name, thread, commentId, text, target, only, resolved}: Pending): object {
    const {documentId} = this;
    const annotationId = this.#annotationId(thread);
    switch (name) {
      case 'add-thread':
        return {
          documentId, requestId: id, text, ...(target && {targetElement: target}),
          ...(only && {visibility: {type: 'restricted', people: only.map(({userId}) => ({userId}))}}),
        };
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
    if (next === known) return false;
    for (const c of next.comments) this.#know(c.from, ...(c.taggedUserContacts ?? []).map((t) => t.contact ?? t));
    this.#know(...(next.visibility?.people ?? []));
    return true;
  }

  #know(...people: Person[]): void {
    for (const p of people) if (p.name) this.#names.set(p.userId, p);
  }

  /** Whether there are older threads than those that are known. */
  get more(): boolean {
    return !!this.#older;
  }

  /** Reads older threads. It rejects with a Failure. */
  async older(): Promise<void> {
    const pageToken = this.#older;
    const page = await patient(() => ask(this.endpoint, 'threads', {documentId: this.documentId, pageToken}));
    this.#show(page);
    if (this.#older === pageToken) this.#older = page.nextPageToken;
    this.#tell();
  }

  /** Reads one thread, however old. It rejects with a Failure. */
  async find(annotationId: string): Promise<void> {
    if (this.#show(await patient(() => ask(this.endpoint, 'threads', {documentId: this.documentId, annotationIds: [annotationId]})))) this.#tell();
  }

  /**
   * Reads what changed, and after the very newest threads the rest of those that the list begins with. Where a hint came and nothing changed,
   * the reader may have read threads elsewhere: those that are shown as unread are asked for.
   */
  async #lookAround(): Promise<boolean> {
    const hinted = this.#hinted;
    this.#hinted = false;
    const changed = await this.#look();
    if (this.#older && this.#threads.size < BEGIN) await this.older().catch(() => {}); // then the reader may ask for them
    const annotationIds = [...this.#unread].filter((id) => this.has(id)).slice(0, ASKED);
    if (!hinted || changed || !annotationIds.length || !this.#show(await ask(this.endpoint, 'threads', {documentId: this.documentId, annotationIds}))) return changed;
    this.#tell();
    return true;
  }

  /** Reads what changed; the newest threads the first time, and now and then. */
  async #look(): Promise<boolean> {
    const {documentId} = this;
    const whole = !this.#since || Date.now() - this.#fresh > FRESH;
    let since = 0;
    let changed = !this.loaded;
    for (let pageToken = ''; ; ) {
      let page: Answers['threads'];
      if (this.#underWay) return true; // what comes may be what is being sent
      const body = {documentId, ...(!whole && {since: this.#since}), ...(pageToken && {pageToken})};
      try {
        // A walk that the server holds up goes on where it is.
        page = await (pageToken ? patient(() => ask(this.endpoint, 'threads', body)) : ask(this.endpoint, 'threads', body));
      } catch (e) {
        if (/^(PERMISSION_DENIED|UNAUTHENTICATED|FAILED_PRECONDITION)$/.test((e as Failure).status)) this.#forget();
        throw e;
      }
      if (this.#underWay) return true;
      if (!whole && !page.since) {
        this.#since = 0;
        return this.#look();
      }
      if (whole && this.#begin(page)) changed = true;
      if (this.#show(page)) changed = true;
      since ||= page.since;
      pageToken = whole ? '' : page.nextPageToken;
      if (!pageToken) break;
      if (changed) this.#tell();
    }
    this.#since = since;
    this.loaded = true;
    this.#hear();
    if (changed) this.#tell();
    return changed;
  }

  /** Forgets the threads that would be on a page of the newest ones and are not, and older ones where some between may not be known. */
  #begin({threads, nextPageToken, since}: Answers['threads']): boolean {
    const oldest = threads.at(-1);
    const joined = !!oldest && this.#threads.has(oldest.annotationId);
    if (!joined || !nextPageToken) this.#older = nextPageToken;
    const there = new Set(threads.map((t) => t.annotationId));
    const settled = since ? new Date(since).toISOString() : '~'; // what is later may not be found yet
    this.#fresh = Date.now();
    return [...this.#threads.values()].filter(({annotationId: id, lastUpdated: at}) =>
      !there.has(id) && at < settled && (!joined || !nextPageToken || at > oldest.lastUpdated) && this.#drop(id)).length > 0;
  }

  /** Shows what an answer has. It is true where that changes anything. */
  #show({threads, deleted, user, canWrite}: Answers['threads']): boolean {
    let changed = this.canWrite !== canWrite || this.user.userId !== user.userId;
    this.user = user;
    this.canWrite = canWrite;
    this.#know(user);
    this.drafts.of(user.userId);
    for (const id of deleted) if (this.#drop(id)) changed = true;
    for (const {unread, ...thread} of threads) {
      const id = thread.annotationId;
      if (this.#unread.has(id) !== !!unread) {
        unread ? this.#unread.add(id) : this.#unread.delete(id);
        changed = true;
      }
      if (this.#take(thread)) changed = true;
    }
    return changed;
  }

  /** Forgets a thread that is gone, unless something of it is being sent. */
  #drop(id: string): boolean {
    const key = this.#keys.get(id) ?? id;
    return !this.#pending.some((p) => p.thread === key) && this.#threads.delete(id);
  }

  /** The reader may see nothing any more. */
  #forget(): void {
    this.#threads.clear();
    this.loaded = this.canWrite = false;
    this.#since = 0;
    this.#older = '';
    this.#hear();
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

/** Why a document's threads are not shown. */
export const stateOf = ({failure}: Store): string => (failure ? `${texts.notLoaded} ${whyOf(failure)}` : texts.loading);
