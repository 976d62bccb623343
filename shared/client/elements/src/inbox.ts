import {css, html, nothing, type PropertyValues, type TemplateResult} from 'lit';
import {property, query, state} from 'lit/decorators.js';
import {repeat} from 'lit/directives/repeat.js';

import {Connected, type Access} from './access.js';
import {avatar} from './avatar.js';
import './emails.js';
import type {Failure} from './failure.js';
import {focused, KeepFocus} from './focus.js';
import {filled} from './links.js';
import {liveOf} from './live.js';
import {Poll} from './poll.js';
import {ask, type Answers, type Notification} from './protocol.js';
import {frame} from './styles.js';
import {locale, say, whyOf} from './texts.js';
import {timeOf} from './time.js';

/** The notifications of one thread, newest first; or one without a thread. */
const groupsOf = (list: Notification[]): Notification[][] => {
  const groups = new Map<string, Notification[]>();
  for (const n of list) {
    const key = n.annotationId ? JSON.stringify([n.documentId, n.annotationId]) : n.notificationId;
    const group = groups.get(key);
    if (group) group.push(n);
    else groups.set(key, [n]);
  }
  return [...groups.values()];
};

const FRESH = 3_600_000; // ms between reloads of the first page, to find changes
const HIGH = 560; // maximum height of the panel in px
const LOW = 200; // and the minimum if the window has room

/**
 * The reader's inbox: a button with a badge, and the list of notifications.
 *
 * @fires collab-open - the reader clicked a notification: detail.documentId, detail.annotationId,
 * detail.commentId. A collab-threads of that document on the same page opens the thread; otherwise,
 * unless the event is canceled, the page goes to the address in href.
 */
export class InboxElement extends Connected {
  /** The address of a comment, such as /docs/{documentId}#collab-thread={annotationId}&comment={commentId}. */
  @property() href = '';

  @state() private list: Notification[] = [];
  @state() private next = '';
  @state() private loaded = false;
  @state() private unread = 0; // of all, not only the list
  @state() private more = false; // more are unread
  @query('.panel') private panel!: HTMLElement;
  @query('.bell') private bell!: HTMLElement;
  #poll = new Poll((asked) => this.#look(asked), () => this.requestUpdate());
  #access!: Access;
  #user = '';
  #deaf: (() => void) | undefined; // unsubscribes from changes
  #since = 0;
  #locale: string | undefined; // of the headlines
  #fresh = 0; // when the first page was read
  #read = new Set<string>(); // marked here, until the server confirms
  #older: Notification[] = [];
  #notified = new Set<string>(); // ids of notifications that open threads know

  constructor() {
    super();
    new KeepFocus(this, '.item', () => this.panel);
  }

  static override styles = [
    ...frame,
    css`
      :host { display: inline-block; }
      .bell { position: relative; display: grid; place-items: center; width: 36px; height: 36px; padding: 0; border-radius: 50%; }
      svg { width: 20px; height: 20px; fill: none; stroke: currentColor; stroke-width: 1.8; stroke-linecap: round; stroke-linejoin: round; }
      .badge {
        position: absolute; top: -2px; inset-inline-end: -4px; min-width: 19px; height: 19px; padding: 0 5px; border-radius: 10px; display: grid; place-items: center; font-size: 11px;
        font-weight: 700; line-height: 1; background: var(--_danger); color: light-dark(#fff, #3b0a06);
      }
      .panel {
        position: fixed; inset: auto; margin: 0; width: min(380px, calc(100vw - 16px)); overflow: auto; padding: 0; color: var(--_ink);
        background: var(--_paper); border: 1px solid var(--_line); border-radius: var(--_radius); box-shadow: 0 10px 32px rgb(0 0 0 / .25);
      }
      .head { position: sticky; top: 0; background: var(--_paper); padding: 8px 12px; border-bottom: 1px solid var(--_line); z-index: 1; }
      h2 { font-weight: 650; }
      .item {
        display: grid; grid-template-columns: 28px 1fr auto; gap: 0 10px; width: 100%; text-align: start; padding: 9px 12px; border-radius: 0; border-bottom: 1px solid var(--_line);
        overflow-wrap: anywhere;
      }
      .item .dot { margin-top: 10px; }
      .unread .headline { font-weight: 650; }
      .headline, .where { display: block; }
      .where { display: -webkit-box; -webkit-line-clamp: 1; -webkit-box-orient: vertical; overflow: hidden; color: var(--_soft); }
      .count { color: var(--_accent); }
      .text { display: -webkit-box; -webkit-line-clamp: 2; -webkit-box-orient: vertical; overflow: hidden; color: var(--_soft); }
      .note { padding: 12px; color: var(--_soft); }
      .note.error { color: var(--_danger); }
      .panel:focus { outline: none; }
      .older { margin: 8px 12px; }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener('resize', this.#place);
    document.addEventListener('collab-read', this.#seen);
    if (this.hasUpdated) this.#attach();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener('resize', this.#place);
    document.removeEventListener('collab-read', this.#seen);
    this.#detach();
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (['api', 'token', 'organization'].some((name) => (changed as Map<string, unknown>).has(name))) this.#attach();
  }

  #attach(): void {
    this.#detach();
    this.#access = this.accessTo();
    this.#access.begin();
    this.#poll.start();
  }

  #detach(): void {
    this.#poll.stop();
    this.#forget('');
  }

  /** Starts with an empty list for a user. */
  #forget(user: string): void {
    this.#deaf?.();
    this.#deaf = undefined;
    this.#user = user;
    this.#since = 0;
    this.#read.clear();
    this.#notified.clear();
    this.list = this.#older = [];
    this.loaded = false;
  }

  /** A thread on the page was read: mark its notifications as read. */
  #seen = (e: Event): void => {
    const {documentId, annotationId} = (e as CustomEvent).detail;
    this.#take(this.list.filter((n) => n.documentId === documentId && n.annotationId === annotationId));
  };

  /** Shows notifications as read. It returns the ids of unread ones. */
  #take(list: Notification[]): string[] {
    const ids = list.filter((n) => !this.#isRead(n)).map((n) => n.notificationId);
    for (const id of ids) this.#read.add(id);
    if (!this.more) this.unread = Math.max(this.unread - ids.length, 0);
    return ids;
  }

  /** Reads the first page again if asked to, or if something is new. Older ones are unchanged. */
  async #look(asked: boolean): Promise<boolean> {
    const since = asked || this.#locale !== locale() || Date.now() - this.#fresh > FRESH ? 0 : this.#since;
    const page = await ask(this.#access, 'inbox', {since, locale: locale()}).catch((e: Failure) => {
      if (e.status === 'UNAUTHENTICATED' || e.status === 'NOT_FOUND') this.#forget('');
      throw e;
    });
    if (page.user.userId !== this.#user) {
      const first = !this.#user;
      this.#forget(page.user.userId);
      if (!first) return this.#look(true); // another user has signed in
    }
    const live = liveOf(this.#access);
    this.#deaf ??= live.watch({
      hint: (within) => this.#poll.hint(within), live: (...now) => this.#poll.live(...now), lead: (on) => this.#poll.lead(on), found: ({page, began}) => page.locale === locale() && this.#poll.found(began, () => this.#show(page)),
    });
    if (since) {
      const known = new Set(this.list.map((n) => JSON.stringify(n)));
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
    const list = [...page.notifications, ...this.#older.filter((n) => !ids.has(n.notificationId))];
    const changed = JSON.stringify(list) !== JSON.stringify(this.list);
    if (changed) this.list = list;
    this.loaded = true;
    this.#tell();
    return changed;
  }

  /** Reports new notifications to the threads on the page: an open one is being read. */
  #tell(): void {
    for (const n of this.list) {
      if (!n.annotationId || this.#isRead(n) || this.#notified.has(n.notificationId)) continue;
      this.#notified.add(n.notificationId);
      const {documentId, annotationId} = n;
      document.dispatchEvent(new CustomEvent('collab-notified', {detail: {documentId, annotationId}}));
    }
  }

  #isRead(n: Notification): boolean {
    return n.read || this.#read.has(n.notificationId);
  }

  override render() {
    const {failure} = this.#poll;
    const badge = this.unread ? `${this.unread}${this.more ? '+' : ''}` : '';
    return html`
      <button type="button" class="bell" part="button" popovertarget="panel" aria-label=${say(badge ? 'inboxUnread' : 'inbox', {unread: badge})}>
        <svg viewBox="0 0 24 24" aria-hidden="true"><path d="M6 16V11a6 6 0 0 1 12 0v5l1.5 2h-15zM10 21h4"/></svg>
        ${badge ? html`<span class="badge" part="badge" aria-hidden="true">${badge}</span>` : nothing}
      </button>
      <div id="panel" class="panel" part="panel" popover role="dialog" tabindex="-1" autofocus aria-label=${say('inbox')}
        @beforetoggle=${this.#opening} @toggle=${this.#toggled}>
        <div class="row head"><h2 class="grow">${say('inbox')}</h2>
          ${badge ? html`<button type="button" class="line" part="mark-all" @click=${this.#markAll}>${say('markAllRead')}</button>` : nothing}</div>
        ${failure ? html`<p class="note error" role="alert">${this.loaded ? say('inboxStale') : `${say('inboxNotLoaded')} ${whyOf(failure)}`}</p>` : nothing}
        ${this.loaded && !this.list.length ? html`<p class="note">${say('inboxEmpty')}</p>` : nothing}
        <ul role="list">${repeat(groupsOf(this.list), (g) => g.at(-1)!.notificationId, (g) => this.#item(g))}</ul>
        ${this.next ? html`<button type="button" class="line older" @click=${this.#more}>${say('older')}</button>` : nothing}
        ${this.loaded ? html`<collab-emails class="note" .access=${this.#access}></collab-emails>` : nothing}
      </div>
      <div class="said" role="status">${this.loaded ? say(badge ? 'inboxUnread' : 'inbox', {unread: badge}) : ''}</div>`;
  }

  /**
   * A row for the notifications of a thread: the newest, with its place and the number of new ones.
   */
  #item(group: Notification[]): TemplateResult {
    const [n] = group as [Notification];
    const fresh = group.filter((n) => !this.#isRead(n));
    const read = !fresh.length;
    const comments = fresh.filter((n) => n.commentIds?.length).length;
    return html`<li><button type="button" class="item ${read ? '' : 'unread'}" part="item" @click=${() => this.#open(group)}>
      ${avatar(n.actionUser)}
      <span><span class="headline" dir=${n.annotationId ? 'ltr' : 'auto'}>${n.displayHeadlineMessage}</span>
        ${n.documentName || n.targetText ? html`<span class="where" part="where">${n.documentName ? html`<bdi>${n.documentName}</bdi>` : nothing}${n.documentName && n.targetText ? ' · ' : nothing}${
          n.targetText ? html`<bdi>${say('quoted', {text: n.targetText})}</bdi>` : nothing}</span>` : nothing}
        ${n.displayBodyMessage ? html`<span class="text" dir="auto">${n.displayBodyMessage}</span>` : nothing}
        <span class="soft">${timeOf(n.createdAt)}${comments > 1 ? html` · <span class="count">${say('newComments', {count: comments})}</span>` : nothing}</span></span>
      ${read ? nothing : html`<span class="dot"><span class="said">${say('unread')}</span></span>`}
    </button></li>`;
  }

  /** Places the panel inside the window: above the button if there is more room than below. */
  #place = (): void => {
    const {right, top, bottom} = this.bell.getBoundingClientRect();
    const width = Math.min(380, innerWidth - 16);
    const above = top - 6;
    const below = innerHeight - bottom - 6;
    const up = below < Math.min(above, HIGH);
    const {style} = this.panel;
    style.left = `${Math.max(8, Math.min(right - width, innerWidth - width - 8))}px`;
    const high = Math.min(HIGH, Math.max((up ? above : below) - 8, LOW), innerHeight - 16);
    const within = (edge: number) => `${Math.max(8, Math.min(edge, innerHeight - high - 8))}px`;
    style.maxHeight = `${high}px`;
    style.top = up ? 'auto' : within(bottom + 6);
    style.bottom = up ? within(innerHeight - top + 6) : 'auto';
  };

  #opening = (e: ToggleEvent): void => {
    if (e.newState !== 'open') return;
    this.#place();
    void this.#poll.now();
  };

  #toggled = (e: ToggleEvent): void => {
    const at = focused();
    if (e.newState === 'closed' && (!at || at === this || this.panel.contains(at))) this.bell.focus({preventScroll: true});
  };

  /** Opens the first unread notification of a thread, else the newest. */
  #open(group: Notification[]): void {
    this.panel.hidePopover();
    const fresh = group.filter((n) => !this.#isRead(n));
    const n = fresh.findLast((n) => n.commentIds?.length) ?? group[0]!;
    const read = fresh.map((f) => f.notificationId).filter((id) => id !== n.notificationId);
    void this.#mark(group, {clicked: n.notificationId, read});
    const {documentId, annotationId} = n;
    const commentId = n.commentIds?.[0];
    const event = new CustomEvent('collab-open', {bubbles: true, composed: true, cancelable: true, detail: {documentId, annotationId, commentId}});
    if (!this.dispatchEvent(event) || !this.href) return;
    location.assign(filled(this.href, {documentId, annotationId, commentId}));
  }

  /** Marks notifications as read, here and in the service. It reverts that if the request fails. */
  async #mark(list: Notification[], how: {readUntil: number} | {clicked: string; read: string[]}): Promise<void> {
    const ids = this.#take(list);
    await ask(this.#access, 'read-inbox', how).catch(() => {
      for (const id of ids) this.#read.delete(id);
      void this.#poll.now();
    });
  }

  /** Marks all as read, up to the newest one. */
  #markAll = (): void => {
    const [newest] = this.list;
    if (!newest) return;
    void this.#mark(this.list, {readUntil: Date.parse(newest.createdAt)});
    this.unread = 0;
  };

  #more = async (): Promise<void> => {
    try {
      const page = await ask(this.#access, 'inbox', {pageToken: this.next, locale: locale()});
      this.#older = [...this.list, ...page.notifications];
      this.list = this.#older;
      this.next = page.nextPageToken;
    } catch {
      void this.#poll.now(); // shows its own errors
    }
  };
}
customElements.define('collab-inbox', InboxElement);

declare global {
  interface HTMLElementTagNameMap {
    'collab-inbox': InboxElement;
  }
}
