import {endsWithPerson, type Access} from './access.js';
import {draftOf, Drafts, KEPT, threadOf, type Draft} from './drafts.js';
import {Failure, inOrder, newId, patient, pause} from './failure.js';
import {liveOf, type Live} from './live.js';
import {added, conflicts, later, overlay, type Pending, type ShownThread} from './overlay.js';
import type {Person} from './person.js';
import {Poll} from './poll.js';
import {ask, MOST_PEOPLE, type Answers, type Channels, type Target, type Thread} from './protocol.js';
import {cut} from './quote.js';
import {say, whyOf} from './texts.js';

// ms between reloads of the newest threads, for changes without a time: access, and reads elsewhere
const FRESH = 3_600_000;
const BEGIN = 250; // maximum threads to load before the reader asks for older ones
const ASKED = 30; // threads by id in a request
const ECHO = 5_000; // ms in which a hint may be an echo of reading here
const PEOPLE_AGE = 60_000; // ms to cache people for mentions
const TYPING = 150; // ms to wait for further letters before searching people
const SEARCHED = 2; // letters of a name needed to search people
const IDEOGRAPHS = '\u2e80'; // letters from here on: one is enough
export const LONG = 20; // comments of a thread shown at first
// answers of the service that the same request gets again
const REFUSALS = /^(INVALID_ARGUMENT|PERMISSION_DENIED|NOT_FOUND|FAILED_PRECONDITION)$/;

/**
 * A message to the other tabs: a thread read in this one, or the response to a poll started at a
 * time.
 */
interface Found {
  read?: string;
  page?: Answers['threads'];
  since?: number; // until now; 0 for the newest threads, undefined for threads by id
  began?: number;
}

/** The threads of one document, shared by all elements that show them. */
export class Store {
  user: Person = {userId: ''};
  canWrite = false;
  /** The threads are loaded, possibly not the latest changes. */
  loaded = false;
  readonly drafts: Drafts;

  readonly #threads = new Map<string, Thread>();
  readonly #keys = new Map<string, string>(); // of threads added here, by annotation id
  readonly #shown = new Map<string, ShownThread>(); // by key; the same object until it changes
  #unread = new Set<string>(); // ids of threads
  #pending: Pending[] = [];
  #sending = Promise.resolve();
  #underWay = 0;
  #since = 0; // 0 reloads the newest threads
  #fresh = 0; // time of the last reload
  #older = ''; // page token of older ones
  // by the letters of a name
  readonly #people = new Map<string, {at: number; list: Promise<Answers['people']>}>();
  readonly #unknown = new Set<string>(); // ids of people with requested names
  readonly #poll: Poll;
  readonly #watchers = new Set<() => void>();

  constructor(readonly access: Access) {
    this.#poll = new Poll(() => this.#lookAround(), () => this.tell());
    this.drafts = new Drafts(`${KEPT}${access.source.api} ${access.documentId}`, () => access.user.userId, () =>
      this.#unsent.flatMap((p) => draftOf(p, this.annotationIdOf(p.thread) ?? '')));
    addEventListener('online', this.#online);
  }

  /** Sends changes made offline. */
  readonly #online = (): void => {
    for (const p of this.#pending) if (p.failed?.status === 'OFFLINE') this.retry(p);
  };

  /** Ends the store, which keeps its drafts in the tab, or deletes them. */
  end(drafts: boolean): void {
    removeEventListener('online', this.#online);
    this.drafts.end(drafts);
    this.#abandon();
  }

  /** Changes that failed or wait, which the browser finishes when the page closes. */
  get #unsent(): Pending[] {
    const underWay = this.#pending.find((p) => !p.failed);
    return this.#pending.filter((p) => p !== underWay);
  }

  /** The failure of the last poll. */
  get failure(): Failure | undefined {
    return this.#poll.failure;
  }

  /** Polls now. */
  look(): Promise<void> {
    return this.#poll.now();
  }

  /** Whether the server is known to have a thread. */
  has(annotationId: string): boolean {
    return this.#threads.has(annotationId);
  }

  /** Drafts of replies to deleted threads, and of edits of deleted comments, with the thread and its place. */
  get lost(): {annotationId: string; place: string; draft: Draft; target: Target | undefined; edit: boolean}[] {
    if (!this.loaded) return [];
    return this.drafts.all.flatMap(([place, draft]) => {
      const {annotationId, commentId} = threadOf(place) ?? {};
      if (annotationId === undefined || this.#pending.some((p) => p.thread === this.keyOf(annotationId))) return [];
      const thread = this.#threads.get(annotationId);
      const edit = commentId !== undefined;
      const gone = thread ? edit && !thread.commentsTruncated && !thread.comments.some((c) => c.commentId === commentId) : this.#gone.has(annotationId) || !this.more;
      return gone ? {annotationId, place, draft, target: thread ? thread.targetElement : this.#gone.get(annotationId), edit} : [];
    });
  }

  readonly #gone = new Map<string, Target | undefined>(); // places of deleted threads, by id

  /** A person with their name, if known. */
  named(p: Person): Person {
    return p.name ? p : (this.#names.get(p.userId) ?? p);
  }

  readonly #names = new Map<string, Person>();

  /** Adds a watcher of all changes. The returned function removes it. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    if (this.#watchers.size === 1) {
      this.access.begin();
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

  /** Subscribes to changes while there are watchers and the service knows the document. */
  #hear(): void {
    const wanted = this.#watchers.size > 0 && this.#since > 0;
    if (wanted) {
      this.#deaf ??= this.#live.watch({
        hint: (...what) => this.#hint(...what), live: (...now) => this.#poll.live(...now), lead: (on) => this.#poll.lead(on), found: (what) => this.#found(what),
      });
    } else {
      this.#deaf?.();
      this.#deaf = undefined;
    }
  }

  #deaf: (() => void) | undefined; // unsubscribes
  #elsewhere = false; // something was read elsewhere since the last poll
  #read = 0; // when something was read here

  #hint(within: number, read: boolean): void {
    // a poll follows, or it is known
    if (this.#underWay || (read && Date.now() - this.#read < ECHO)) return;
    this.#elsewhere ||= read;
    this.#poll.hint(within);
  }

  get #live(): Live {
    return liveOf(this.access);
  }

  /** Shows another tab's findings. It polls if something in between may be missing. */
  #found({read, page, since, began = 0}: Found): void {
    if (read) {
      this.#read = Date.now();
      if (this.#unread.delete(read)) this.tell();
    }
    if (!page || this.#underWay) return;
    if (since !== undefined && since > this.#since) return this.#poll.hint();
    this.#poll.found(began, () => {
      this.#elsewhere = false;
      const changed = this.#merge({...page, user: this.user, canWrite: this.canWrite}, since === 0);
      if (since !== undefined) this.#since = page.since;
      if (changed) this.tell();
      return changed;
    });
  }

  /** Calls all watchers. */
  tell(): void {
    for (const watcher of this.#watchers) watcher();
  }

  /** All threads with comments, with pending changes. */
  get threads(): ShownThread[] {
    const list: ShownThread[] = [];
    for (const thread of this.#threads.values()) {
      const key = this.keyOf(thread.annotationId);
      const pending = this.#pending.filter((p) => p.thread === key);
      const known = this.#shown.get(key);
      let shown = known;
      // Pending changes are replaced, never modified.
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

  /**
   * The people that the reader may mention, with a name or a word of it that starts with some
   * letters; at most 30 in a large organization.
   */
  async people(letters: string, wanted: () => boolean): Promise<Person[]> {
    let {people, more} = await this.#search('');
    if (more && (letters.length >= SEARCHED || letters >= IDEOGRAPHS)) {
      await pause(TYPING);
      if (!wanted()) return [];
      ({people} = await this.#search(cut(letters, 100)));
    }
    return people.filter((p) => p.group || p.userId !== this.user.userId);
  }

  #search(searchKey: string): Promise<Answers['people']> {
    let known = this.#people.get(searchKey);
    if (!known || Date.now() - known.at > PEOPLE_AGE) {
      const list = ask(this.access, 'people', {searchKey});
      list.catch(() => this.#people.delete(searchKey));
      this.#people.set(searchKey, (known = {at: Date.now(), list}));
    }
    return known.list;
  }

  /**
   * Requests the names of readers of restricted threads, of users who resolved one, and of users
   * who reacted.
   */
  async #identify(): Promise<void> {
    const ids = [...this.#threads.values()].flatMap((t) => [...(t.visibility?.people ?? []).map((p) => p.userId), ...(t.resolvedByUserId ? [t.resolvedByUserId] : []),
      ...t.comments.flatMap((c) => (c.reactions ?? []).flatMap((r) => r.users.map((u) => u.userId)))]);
    const userIds = [...new Set(ids)].filter((id) => !this.#names.has(id) && !this.#unknown.has(id));
    for (const id of userIds) this.#unknown.add(id);
    for (let i = 0; i < userIds.length; i += MOST_PEOPLE) {
      const {people} = await ask(this.access, 'people', {userIds: userIds.slice(i, i + MOST_PEOPLE)});
      this.#know(...people);
      this.#shown.clear(); // redraw them
      this.tell();
    }
  }

  /**
   * Shows and sends a change. Its text has tokens for tagged people; its id is that of a draft sent
   * before.
   */
  send(what: Omit<Pending, 'id' | 'at' | 'thread'> & {thread?: string; id?: string | undefined}): Pending {
    const id = what.id ?? newId();
    const p: Pending = {thread: id, ...what, id, at: new Date().toISOString()};
    this.#pending = [...this.#pending, p];
    this.#enqueue(p);
    return p;
  }

  /**
   * Marks an open thread as read. If the thread is long, it resolves to the previous time until
   * which it was seen, or 0. If it fails, the next poll restores the thread.
   */
  async read({annotationId, comments}: ShownThread, opened: boolean): Promise<number> {
    const before = opened && this.#unread.has(annotationId) && comments.length > LONG ? ask(this.access, 'read-until', {annotationId}).catch(() => undefined) : undefined;
    void this.mark(annotationId, true, before).catch(() => {});
    return (await before)?.until ?? 0;
  }

  /**
   * Marks a thread as read with its notifications, or as unread: at once here, and after a promise
   * in the service. It rejects with a Failure, and is then as before.
   */
  async mark(annotationId: string, read: boolean, after?: Promise<unknown>): Promise<void> {
    const {documentId} = this.access;
    const unread = this.#unread;
    const before = unread.has(annotationId);
    this.#marked.set(annotationId, Infinity);
    if (read) {
      this.#read = Date.now();
      unread.delete(annotationId);
    } else unread.add(annotationId);
    if (before === read) this.tell();
    try {
      await this.#marks(async () => {
        await after;
        await patient(() => ask(this.access, 'read-thread', {annotationId, read}));
      });
      this.#marked.set(annotationId, Date.now());
    } catch (e) {
      this.#marked.delete(annotationId);
      if (before) unread.add(annotationId);
      else unread.delete(annotationId);
      const gone = (e as Failure).status === 'NOT_FOUND' && this.#drop(annotationId);
      if (gone || !read) this.tell(); // watchers would mark an open thread again
      throw e;
    }
    if (!read) return;
    this.#live.tell({read: annotationId});
    document.dispatchEvent(new CustomEvent('collab-read', {detail: {documentId, annotationId}}));
  }

  readonly #marks = inOrder();
  readonly #marked = new Map<string, number>(); // when the service had a mark; Infinity before

  /** Resolves to the person's preferences for the document, after a change. */
  preferences(change?: Channels): Promise<Channels> {
    return this.#preferences(() => patient(() => ask(this.access, 'preferences', {change})));
  }

  readonly #preferences = inOrder();

  /** Ends the changes of a person that has left. */
  #abandon(): void {
    for (const p of this.#pending) p.ended?.(new Failure('UNAUTHENTICATED'));
  }

  /** Retries a failed change. An edit that conflicts with another replaces the present comment. */
  retry(p: Pending): void {
    const {failed, ...same} = p;
    if (!failed || !this.#pending.includes(p)) return;
    const now = this.#threads.get(this.annotationIdOf(p.thread) ?? '')?.comments.find((c) => c.commentId === p.commentId);
    const again = conflicts(p) ? {...same, id: newId(), seen: now?.lastUpdated} : same;
    this.#replace(p, again);
    this.#enqueue(again);
  }

  /** Discards a failed change. */
  discard(p: Pending): void {
    if (!p.failed || !this.#pending.includes(p)) return; // it is being sent
    p.ended?.(p.failed);
    this.#replace(p);
    this.tell();
  }

  #replace(p: Pending, by?: Pending): void {
    this.#pending = this.#pending.flatMap((q) => (q === p ? (by ?? []) : q));
  }

  /** Requests are sent one at a time, to keep their order. */
  #enqueue(p: Pending): void {
    this.#underWay++;
    this.tell();
    this.#sending = this.#sending.then(async () => {
      try {
        const id = this.#idOf(p);
        if (!this.has(id) && !this.#isAdded(p.thread)) await this.need(id);
        const {annotationId, commentId} = await patient(() => ask(this.access, p.name, {...p, annotationId: id}));
        this.#keys.set(annotationId, p.thread);
        const thread = this.#threads.get(annotationId);
        // polls do not return it: it does not change the thread
        if (thread && p.level) this.#threads.set(annotationId, {...thread, level: p.level});
        if (p.level) void this.find(annotationId).catch(() => {}); // a muted thread is never unread
        this.#replace(p, {...p, sent: true});
        p.done?.({annotationId, commentId});
      } catch (e) {
        const failed = {...p, failed: e as Failure};
        this.#replace(p, failed);
        const shown = p.name === 'add-thread' || this.has(this.#idOf(p)) || this.#isAdded(p.thread);
        if (!shown || (p.ended && REFUSALS.test(failed.failed.status))) this.discard(failed);
      }
      this.#underWay--;
      this.tell();
      if (!this.#underWay) void this.#poll.now();
    });
  }

  /** The key of a thread: see ShownThread. */
  keyOf(annotationId: string): string {
    return this.#keys.get(annotationId) ?? annotationId;
  }

  /** The id of the thread of a key; undefined if it is not loaded. */
  annotationIdOf(key: string): string | undefined {
    return [...this.#keys].find(([, k]) => k === key)?.[0] ?? (this.has(key) ? key : undefined);
  }

  /** Whether a key is that of a thread that is being added. */
  #isAdded(key: string): boolean {
    return this.#pending.some((p) => p.name === 'add-thread' && p.thread === key);
  }

  /** The id of the thread of a change; '' if the service has none. */
  #idOf({thread}: Pending): string {
    return this.annotationIdOf(thread) ?? (this.#isAdded(thread) ? '' : thread);
  }

  #take(thread: Thread): boolean {
    const known = this.#threads.get(thread.annotationId);
    const next = later(known, thread);
    this.#threads.set(thread.annotationId, next);
    if (next === known) return false;
    for (const c of next.comments) this.#know(c.from, ...(c.tags ?? []));
    this.#know(...(next.visibility?.people ?? []));
    return true;
  }

  #know(...people: Person[]): void {
    for (const p of people) if (p.name && !p.group) this.#names.set(p.userId, p);
  }

  /** Whether there are older threads than the loaded ones. */
  get more(): boolean {
    return !!this.#older;
  }

  /** Loads older threads. It rejects with a Failure. */
  async older(): Promise<void> {
    const pageToken = this.#older;
    const page = await patient(() => ask(this.access, 'threads', {pageToken}));
    this.#show(page);
    if (this.#older === pageToken) this.#older = page.nextPageToken;
    this.tell();
  }

  /** Loads one thread of any age. It rejects with a Failure. */
  async find(annotationId: string): Promise<void> {
    if (this.#show(await patient(() => ask(this.access, 'threads', {annotationIds: [annotationId]})))) this.tell();
  }

  /** Loads one thread of any age. It rejects with a Failure: NOT_FOUND if there is none. */
  async need(annotationId: string): Promise<void> {
    if (annotationId) await this.find(annotationId);
    if (!this.has(annotationId)) throw new Failure('NOT_FOUND');
  }

  /**
   * Reads changes, and the rest of the initial threads after the newest ones. If the reader has
   * read something elsewhere, it reloads the threads shown as unread.
   */
  async #lookAround(): Promise<boolean> {
    const elsewhere = this.#elsewhere;
    this.#elsewhere = false;
    const changed = await this.#look();
    // the reader can ask for them later
    if (this.#older && this.#threads.size < BEGIN) await this.older().catch(() => {});
    const unread = elsewhere ? [...this.#unread].filter((id) => this.has(id)) : [];
    let shown = false;
    for (let i = 0; i < unread.length; i += ASKED) {
      const page = await patient(() => ask(this.access, 'threads', {annotationIds: unread.slice(i, i + ASKED)}));
      if (this.#show(page)) shown = true;
      this.#live.tell({page, began: this.#poll.began});
    }
    if (shown) this.tell();
    return changed || shown;
  }

  /** Reads changes, or the newest threads the first time and now and then. */
  async #look(): Promise<boolean> {
    const from = Date.now() - this.#fresh > FRESH ? 0 : this.#since;
    let since = 0;
    const sent = this.#pending.filter((p) => p.sent);
    let changed = !this.loaded || sent.length > 0;
    for (let pageToken = ''; ; ) {
      let page: Answers['threads'];
      if (this.#underWay) return true; // the change may be our own
      const body = {...(from && {since: from}), ...(pageToken && {pageToken})};
      try {
        // Paging continues after the server delays it.
        page = await (pageToken ? patient(() => ask(this.access, 'threads', body)) : ask(this.access, 'threads', body));
      } catch (e) {
        if (/^(PERMISSION_DENIED|UNAUTHENTICATED|FAILED_PRECONDITION|NOT_FOUND)$/.test((e as Failure).status)) this.#forget();
        throw e;
      }
      if (this.#underWay) return true;
      if (this.user.userId && this.user.userId !== page.user.userId) { // another user has signed in
        this.#abandon();
        this.#pending = [];
        this.#forget();
      }
      if (from && !(page.since && this.#since)) {
        this.#since = 0;
        return this.#look();
      }
      if (this.#merge(page, !from)) changed = true;
      since ||= page.since;
      pageToken = from ? page.nextPageToken : '';
      if (since) this.#live.tell({page: {...page, since: pageToken ? from : since}, since: from, began: this.#poll.began});
      if (!pageToken) break;
      if (changed) this.tell();
    }
    this.#pending = this.#pending.filter((p) => !sent.includes(p));
    this.#since = since;
    this.loaded = true;
    this.#hear();
    if (changed) this.tell();
    return changed;
  }

  /**
   * Shows the threads of a response, which may be the newest ones. It returns whether anything
   * changed.
   */
  #merge(page: Answers['threads'], newest: boolean): boolean {
    const gone = newest && this.#begin(page);
    const changed = this.#show(page) || gone;
    void this.#identify().catch(() => {}); // shown by their ids
    return changed;
  }

  /**
   * Removes threads that are missing in a page of the newest ones, and older ones if some between
   * may be unknown.
   */
  #begin({threads, nextPageToken, since}: Answers['threads']): boolean {
    const oldest = threads.at(-1);
    const joined = !!oldest && this.#threads.has(oldest.annotationId);
    if (!joined || !nextPageToken) this.#older = nextPageToken;
    const there = new Set(threads.map((t) => t.annotationId));
    // later ones may not be readable yet
    const settled = since ? new Date(since).toISOString() : '~';
    this.#fresh = Date.now();
    return [...this.#threads.values()].filter(({annotationId: id, lastUpdated: at}) =>
      !there.has(id) && at < settled && (!joined || !nextPageToken || at > oldest.lastUpdated) && this.#drop(id)).length > 0;
  }

  /** Shows the threads of a response. It returns whether anything changed. */
  #show({threads, deleted, user, canWrite}: Answers['threads']): boolean {
    let changed = this.canWrite !== canWrite || this.user.userId !== user.userId;
    this.user = user;
    this.canWrite = canWrite;
    this.#know(user);
    this.drafts.of(user.userId);
    for (const id of deleted) if (this.#drop(id)) changed = true;
    for (const {unread, ...thread} of threads) {
      const id = thread.annotationId;
      // the response may be older than a mark
      const echo = Date.now() - (this.#marked.get(id) ?? 0) < ECHO && this.#threads.get(id)?.lastUpdated === thread.lastUpdated;
      if (!echo && this.#unread.has(id) !== !!unread) {
        unread ? this.#unread.add(id) : this.#unread.delete(id);
        changed = true;
      }
      if (this.#take(thread)) changed = true;
    }
    return changed;
  }

  /** Removes a deleted thread, unless a change of it is being sent. */
  #drop(id: string): boolean {
    const key = this.keyOf(id);
    if (this.#pending.some((p) => p.thread === key)) return false;
    this.#gone.set(id, this.#threads.get(id)?.targetElement);
    return this.#threads.delete(id);
  }

  /** The reader has lost access. */
  #forget(): void {
    this.#threads.clear();
    this.loaded = this.canWrite = false;
    this.#since = 0;
    this.#older = '';
    this.#hear();
    this.tell();
  }
}

const stores = new Map<Access, Store>();

endsWithPerson((drafts) => {
  for (const store of stores.values()) store.end(drafts);
  stores.clear();
});

/** The store of a document, one per page. */
export function storeOf(access: Access): Store {
  let store = stores.get(access);
  if (!store) stores.set(access, (store = new Store(access)));
  return store;
}

/** Why a document's threads are not shown. */
export const stateOf = ({failure}: Store): string => (!failure ? say('loading') : failure.status === 'NOT_FOUND' ? say('unavailable') : `${say('notLoaded')} ${whyOf(failure)}`);
