import {css, html, nothing, type PropertyValues, type TemplateResult} from 'lit';
import {property, query, state} from 'lit/decorators.js';
import {repeat} from 'lit/directives/repeat.js';

import {Connected} from './access.js';
import {avatar} from './avatar.js';
import './emails.js';
import type {EmailsElement} from './emails.js';
import {focused, KeepFocus} from './focus.js';
import {filled} from './links.js';
import {inboxOf, type Inbox} from './notifications.js';
import type {Notification} from './protocol.js';
import {frame} from './styles.js';
import {say, whyOf} from './texts.js';
import {timeOf} from './time.js';

/** The notifications of one thread, newest first; or one without a thread. */
const groupsOf = (list: readonly Notification[]): Notification[][] => {
  const groups = new Map<string, Notification[]>();
  for (const n of list) {
    const key = n.annotationId ? JSON.stringify([n.documentId, n.annotationId]) : n.notificationId;
    const group = groups.get(key);
    if (group) group.push(n);
    else groups.set(key, [n]);
  }
  return [...groups.values()];
};

const HIGH = 560; // maximum height of the panel in px
const LOW = 200; // and the minimum if the window has room

/**
 * The reader's inbox: a button with a badge, and the list of notifications.
 *
 * @fires collab-open - the reader clicked a notification: detail.documentId, detail.annotationId,
 * detail.commentId. Unless a listener on the inbox cancels it, a collab-threads of that document on
 * the same page opens the thread; otherwise, the page goes to the address in href.
 */
export class InboxElement extends Connected {
  /** The address of a comment, such as /docs/{documentId}#collab-thread={annotationId}&comment={commentId}. */
  @property() href = '';

  @state() private list: readonly Notification[] = [];
  @state() private next = '';
  @state() private loaded = false;
  @state() private unread = 0; // of all, not only the list
  @state() private more = false; // more are unread
  @query('.panel') private panel!: HTMLElement;
  @query('.bell') private bell!: HTMLElement;
  #inbox!: Inbox;
  #end: (() => void) | undefined;

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
    if (this.hasUpdated) this.#attach();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener('resize', this.#place);
    this.#end?.();
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (['api', 'token', 'organization'].some((name) => (changed as Map<string, unknown>).has(name))) this.#attach();
  }

  #attach(): void {
    this.#end?.();
    this.#inbox = inboxOf(this.accessTo());
    this.#end = this.#inbox.watch(this.#changed);
    this.#changed();
  }

  #changed = (): void => {
    ({list: this.list, next: this.next, loaded: this.loaded, unread: this.unread, more: this.more} = this.#inbox);
    this.requestUpdate(); // the failure may have changed
  };

  override render() {
    const {failure} = this.#inbox;
    const badge = this.unread ? `${this.unread}${this.more ? '+' : ''}` : '';
    return html`
      <button type="button" class="bell" part="button" popovertarget="panel" aria-label=${say(badge ? 'inboxUnread' : 'inbox', {unread: badge})}>
        <svg viewBox="0 0 24 24" aria-hidden="true"><path d="M6 16V11a6 6 0 0 1 12 0v5l1.5 2h-15zM10 21h4"/></svg>
        ${badge ? html`<span class="badge" part="badge" aria-hidden="true">${badge}</span>` : nothing}
      </button>
      <div id="panel" class="panel" part="panel" popover role="dialog" tabindex="-1" autofocus aria-label=${say('inbox')}
        @beforetoggle=${this.#opening} @toggle=${this.#toggled}>
        <div class="row head"><h2 class="grow">${say('inbox')}</h2>
          ${badge ? html`<button type="button" class="line" part="mark-all" @click=${() => void this.#inbox.readAll().catch(() => {})}>${say('markAllRead')}</button>` : nothing}</div>
        ${failure ? html`<p class="note error" role="alert">${this.loaded ? say('inboxStale') : `${say('inboxNotLoaded')} ${whyOf(failure)}`}</p>` : nothing}
        ${this.loaded && !this.list.length ? html`<p class="note">${say('inboxEmpty')}</p>` : nothing}
        <ul role="list">${repeat(groupsOf(this.list), (g) => g.at(-1)!.notificationId, (g) => this.#item(g))}</ul>
        ${this.next ? html`<button type="button" class="line older" @click=${() => this.#inbox.older().catch(() => this.#inbox.look())}>${say('older')}</button>` : nothing}
        ${this.loaded ? html`<collab-emails class="note" .access=${this.#inbox.access}></collab-emails>` : nothing}
      </div>
      <div class="said" role="status">${this.loaded ? say(badge ? 'inboxUnread' : 'inbox', {unread: badge}) : ''}</div>`;
  }

  /**
   * A row for the notifications of a thread: the newest, with its place and the number of new ones.
   */
  #item(group: Notification[]): TemplateResult {
    const [n] = group as [Notification];
    const fresh = group.filter((n) => !n.read);
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
    void this.#inbox.look();
    this.renderRoot.querySelector<EmailsElement>('collab-emails')?.load();
  };

  #toggled = (e: ToggleEvent): void => {
    const at = focused();
    if (e.newState === 'closed' && (!at || at === this || this.panel.contains(at))) this.bell.focus({preventScroll: true});
  };

  /** Opens the first unread notification of a thread, else the newest. */
  #open(group: Notification[]): void {
    this.panel.hidePopover();
    const fresh = group.filter((n) => !n.read);
    const n = fresh.findLast((n) => n.commentIds?.length) ?? group[0]!;
    void this.#inbox.read(fresh.map((f) => f.notificationId), n.notificationId).catch(() => {});
    const {documentId, annotationId} = n;
    const commentId = n.commentIds?.[0];
    const event = new CustomEvent('collab-open', {bubbles: true, composed: true, cancelable: true, detail: {documentId, annotationId, commentId}});
    if (!this.dispatchEvent(event) || !this.href) return;
    location.assign(filled(this.href, {documentId, annotationId, commentId}));
  }
}
customElements.define('collab-inbox', InboxElement);

declare global {
  interface HTMLElementTagNameMap {
    'collab-inbox': InboxElement;
  }
}
