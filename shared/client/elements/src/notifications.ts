import {endsWithPerson, type Access} from './access.js';
import {inOrder, patient, type Failure} from './failure.js';
import {liveOf} from './live.js';
import {Poll} from './poll.js';
import {ask, type Answers, type Emails, type Notification} from './protocol.js';
import {locale} from './texts.js';

const FRESH = 3_600_000; // ms between reloads of the first page, to find changes

/** The notifications of a person, shared by all parts of a page that show them. */
export class Inbox {
  /** The loaded notifications, newest first; the same array until it changes. */
  list: readonly Notification[] = [];
  /** How many of all are unread, up to 99. */
  unread = 0;
  /** More than that are unread. */
  more = false;
  /** The page token of older ones, or "". */
  next = '';
  loaded = false;

  readonly #poll = new Poll((asked) => this.#look(asked), () => this.#tell());
  readonly #watchers = new Set<() => void>();
  #all: Notification[] = []; // as the service has them
  #user = '';
  #deaf: (() => void) | undefined; // unsubscribes from changes
  #since = 0;
  #locale: string | undefined; // of the headlines
  #fresh = 0; // when the first page was read
  readonly #read = new Set<string>(); // marked here, until the server confirms
  #older: Notification[] = [];
  readonly #notified = new Set<string>(); // ids of notifications that open threads know

  constructor(readonly access: Access) {}

  /** The failure of the last poll. */
  get failure(): Failure | undefined {
    return this.#poll.failure;
  }

  /** Polls now. */
  look(): Promise<void> {
    return this.#poll.now();
  }

  /** Adds a watcher of all changes. The returned function removes it. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    if (this.#watchers.size === 1) {
      document.addEventListener('collab-read', this.#seen);
      this.access.begin();
      this.#poll.start();
    }
    return () => {
      if (!this.#watchers.delete(watcher) || this.#watchers.size) return;
      document.removeEventListener('collab-read', this.#seen);
      this.#poll.stop();
      this.#forget('');
    };
  }

  /** Shows the notifications, and calls all watchers. */
  #tell(): void {
    const list = this.#all.map((n) => (this.#read.has(n.notificationId) ? {...n, read: true} : n));
    if (JSON.stringify(list) !== JSON.stringify(this.list)) this.list = list;
    for (const watcher of this.#watchers) watcher();
  }

  /** Starts with an empty list for a user. */
  #forget(user: string): void {
    this.#deaf?.();
    this.#deaf = undefined;
    this.#user = user;
    this.#since = 0;
    this.#read.clear();
    this.#notified.clear();
    this.#all = this.#older = [];
    [this.unread, this.more, this.next, this.loaded] = [0, false, '', false];
    this.#tell();
  }

  /** A thread on the page was read: its notifications are read. */
  #seen = (e: Event): void => {
    const {documentId, annotationId} = (e as CustomEvent).detail;
    this.#take(this.list.filter((n) => n.documentId === documentId && n.annotationId === annotationId).map((n) => n.notificationId));
  };

  /** Shows notifications as read. It returns the ids of unread ones. */
  #take(ids: readonly string[]): string[] {
    const fresh = this.list.filter((n) => !n.read && ids.includes(n.notificationId)).map((n) => n.notificationId);
    for (const id of fresh) this.#read.add(id);
    if (!this.more) this.unread = Math.max(this.unread - fresh.length, 0);
    this.#tell();
    return fresh;
  }

  /** Reads the first page again if asked to, or if something is new. Older ones are unchanged. */
  async #look(asked: boolean): Promise<boolean> {
    const since = asked || this.#locale !== locale() || Date.now() - this.#fresh > FRESH ? 0 : this.#since;
    const page = await ask(this.access, 'inbox', {since, locale: locale()}).catch((e: Failure) => {
      if (e.status === 'UNAUTHENTICATED' || e.status === 'NOT_FOUND') this.#forget('');
      throw e;
    });
    if (!this.#watchers.size) return false;
    if (page.user.userId !== this.#user) {
      const first = !this.#user;
      this.#forget(page.user.userId);
      if (!first) return this.#look(true); // another user has signed in
    }
    const live = liveOf(this.access);
    this.#deaf ??= live.watch({
      hint: (within) => this.#poll.hint(within), live: (...now) => this.#poll.live(...now), lead: (on) => this.#poll.lead(on), found: ({page, began}) => page.locale === locale() && this.#poll.found(began, () => this.#show(page)),
    });
    if (since) {
      const known = new Set(this.#all.map((n) => JSON.stringify(n)));
      if (page.nextPageToken || page.notifications.some((n) => !known.has(JSON.stringify(n)))) return this.#look(true);
      this.#since = page.since;
      return false;
    }
    live.tell({page, began: this.#poll.began});
    return this.#show(page);
  }

  /** Shows the first page. */
  #show(page: Answers['inbox']): boolean {
    const ids = new Set(page.notifications.map((n) => n.notificationId));
    [this.#since, this.unread, this.more] = [page.since, page.unread, page.more];
    this.#fresh = Date.now();
    this.#locale = page.locale;
    // more than a page is new, so there is a gap
    if (!this.#older.some((n) => ids.has(n.notificationId))) this.#older = [];
    if (!this.#older.length) this.next = page.nextPageToken;
    const all = [...page.notifications, ...this.#older.filter((n) => !ids.has(n.notificationId))];
    const changed = JSON.stringify(all) !== JSON.stringify(this.#all);
    if (changed) this.#all = all;
    this.loaded = true;
    this.#tell();
    for (const n of this.list) this.#report(n);
    return changed;
  }

  /** Reports a new notification to the threads on the page: an open one is being read. */
  #report({documentId, annotationId, notificationId, read}: Notification): void {
    if (!annotationId || read || this.#notified.has(notificationId)) return;
    this.#notified.add(notificationId);
    document.dispatchEvent(new CustomEvent('collab-notified', {detail: {documentId, annotationId}}));
  }

  /**
   * Marks notifications as read, and one of them as clicked, here and in the service. It reverts
   * that and rejects with a Failure if the request fails.
   */
  read(ids: readonly string[], clicked?: string): Promise<void> {
    return this.#mark(ids, {read: ids.filter((id) => id !== clicked), clicked});
  }

  /** Marks all as read, up to the newest one: see read. */
  async readAll(): Promise<void> {
    const [newest] = this.list;
    if (!newest) return;
    const marked = this.#mark(this.list.map((n) => n.notificationId), {readUntil: Date.parse(newest.createdAt)});
    this.unread = 0;
    this.#tell();
    await marked;
  }

  async #mark(ids: readonly string[], how: Parameters<typeof ask<'read-inbox'>>[2]): Promise<void> {
    const fresh = this.#take(ids);
    await patient(() => ask(this.access, 'read-inbox', how)).catch((e) => {
      for (const id of fresh) this.#read.delete(id);
      void this.#poll.now();
      throw e;
    });
  }

  /** Loads older ones. It rejects with a Failure. */
  async older(): Promise<void> {
    const page = await patient(() => ask(this.access, 'inbox', {pageToken: this.next, locale: locale()}));
    this.#all = this.#older = [...this.#all, ...page.notifications];
    this.next = page.nextPageToken;
    this.#tell();
  }

  /** Resolves to the times of the person's emails, after setting them. */
  emails(set?: Emails): Promise<Emails> {
    return this.#emails(() => patient(() => ask(this.access, 'emails', set ? {set} : {})));
  }

  readonly #emails = inOrder();
}

const inboxes = new Map<Access, Inbox>();

endsWithPerson(() => inboxes.clear());

/** The inbox of an access, one per page. */
export function inboxOf(access: Access): Inbox {
  let inbox = inboxes.get(access);
  if (!inbox) inboxes.set(access, (inbox = new Inbox(access)));
  return inbox;
}
