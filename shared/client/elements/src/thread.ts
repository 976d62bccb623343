import {css, html, nothing, type PropertyValues, type TemplateResult} from 'lit';
import {property, query, state} from 'lit/decorators.js';
import {repeat} from 'lit/directives/repeat.js';

import {Connected} from './access.js';
import {avatar} from './avatar.js';
import type {Act} from './choices.js';
import './composer.js';
import type {Composer, Written} from './composer.js';
import {contentOf, filesOf, prepare, sourceOf} from './content.js';
import {isolated} from './direction.js';
import {editOf, replyTo} from './drafts.js';
import {KeepFocus} from './focus.js';
import {icon} from './icons.js';
import {filled} from './links.js';
import {goneDrafts} from './gone.js';
import {openEmojis, openMenu} from './menu.js';
import {conflicts, edited, type Pending, type ShownComment, type ShownThread} from './overlay.js';
import {nameOf} from './person.js';
import {authorOf, isResolved, seersOf, signatureOf} from './protocol.js';
import {hasChosen, react} from './reactions.js';
import {LONG, stateOf, storeOf, type Store} from './store.js';
import {frame, rich, sheet} from './styles.js';
import {defineSuggested} from './suggestion.js';
import {say, whyOf, type Key} from './texts.js';
import {joined, moment, timeOf} from './time.js';

/** The mark of a comment that an agent wrote. */
const agent = (): TemplateResult => html`<span class="agent" part="agent" role="img" aria-label=${say('agent')} title=${say('agent')}>${say('ai')}</span>`;

const MORE = 100; // earlier comments per request
const SAME = 1_000; // ms in which a thread and its first comment are added

/**
 * One thread: its comments, and controls to reply, edit, delete and resolve. On its own, it loads
 * the thread of an id from a document; in collab-threads, it is given one.
 *
 * @fires collab-goto - the reader wants to see the place of the thread.
 * @fires collab-opened - the reader opened the thread.
 * @fires collab-closed - the reader marked the thread as unread.
 */
export class ThreadElement extends Connected {
  /** The document, for a separate thread. */
  @property() document = '';
  /** The id of the thread, for a separate thread. */
  @property() thread = '';
  /**
   * The address of a comment for links to it, such as
   * /docs/{documentId}#collab-thread={annotationId}&comment={commentId}; this page if omitted.
   */
  @property() href = '';

  @property({attribute: false}) store?: Store;
  @property({attribute: false}) shown: ShownThread | undefined;
  /** All comments are shown, and the reader may reply. */
  @property({type: Boolean, reflect: true}) open = false;

  /** The name of the element that it is on. */
  @property({attribute: false}) place = '';

  /** The text of its place differs from the quote. */
  @property({attribute: false}) changed = false;

  /** The id of a comment to scroll to. */
  @property({type: Number}) comment = 0;

  @state() private sought = 0; // comment to scroll to
  // first shown comment after the first of all; 0 while the thread is closed
  @state() private begin = 0;
  @state() private editing = 0; // id of a comment
  @state() private printing = false;
  @state() private deleting = 0;
  @state() private copied = 0; // comment with a copied link
  @state() private long: ReadonlySet<number> = new Set(); // ids of comments that are folded or could be
  @state() private unfolded: ReadonlySet<number> = new Set();
  @query('collab-composer.reply') private composer?: Composer;
  #end: (() => void) | undefined;

  constructor() {
    super();
    new KeepFocus(this, 'article', () => this);
  }

  static override styles = [
    ...frame,
    rich,
    css`
      article { background: var(--_paper); border: 1px solid var(--_line); border-radius: var(--_radius); padding: 8px 12px 10px; }
      :host([open]) article { border-color: var(--_accent); box-shadow: 0 2px 10px rgb(0 0 0 / .14); }
      header { flex-wrap: nowrap; gap: 2px; margin-bottom: 4px; }
      header .dot { margin-inline-end: 6px; }
      .quote {
        display: block; border: 0; border-inline-start: 3px solid var(--_quote); border-radius: 0; padding: 1px 8px; text-align: start; color: var(--_soft); min-height: 24px; max-width: 100%;
        overflow: hidden; text-overflow: ellipsis; white-space: nowrap;
      }
      .icon[part=resolve] { color: var(--_accent); }
      .agent { border: 1px solid var(--_line); border-radius: 4px; padding: 0 4px; font-size: .8em; font-weight: 650; color: var(--_soft); }
      .comment { display: grid; grid-template-columns: 28px 1fr; gap: 0 10px; padding: 4px 0; }
      .comment + .comment { margin-top: 4px; }
      .head { flex-wrap: nowrap; min-height: 28px; }
      .head .icon { margin-inline: 0 -6px; }
      .name { font-weight: 650; overflow-wrap: anywhere; }
      .head time, .head .soft { flex: none; font-size: .93em; }
      .body { grid-column: 2; min-width: 0; }
      .fold { max-height: 12lh; overflow: clip; }
      @media print { .fold { max-height: none; } .quote { display: block !important; white-space: normal; } collab-composer { display: none; } }
      .waiting > :not(.soft) { opacity: .85; }
      .actions { min-height: 24px; font-size: .93em; }
      .actions button { min-height: 24px; padding: 0 4px; color: var(--_soft); }
      .actions button:first-child { margin-inline-start: -4px; }
      article > .actions { margin-inline-start: 38px; }
      .done { font-size: .93em; color: var(--_soft); margin-bottom: 4px; }
      .seers { display: flex; align-items: baseline; gap: 6px; font-size: .93em; margin-bottom: 4px; overflow-wrap: anywhere; }
      .seers .icon { align-self: center; }
      .reply { margin-top: 8px; }
      collab-reactions { margin-top: 4px; }
      .sought { background: color-mix(in srgb, var(--_quote) 15%, transparent); border-radius: var(--_radius); }
      .files { display: flex; flex-wrap: wrap; gap: 6px; margin-top: 4px; overflow-wrap: anywhere; }
      .files img { display: block; max-width: 100%; max-height: 240px; border: 1px solid var(--_line); border-radius: var(--_radius); }
      button.closer { display: none; }
      @media (max-width: 600px) {
        :host([open]:not([document])) { ${sheet} }
        :host([open]:not([document])) article { border: 0; box-shadow: none; padding: 0; background: none; outline: none; }
        :host([open]:not([document])) button.closer { display: grid; }
        :host([open]:not([document])) .reply { position: sticky; bottom: -12px; margin: 8px -16px -12px; padding: 8px 16px 12px; background: var(--_paper); border-top: 1px solid var(--_line); }
      }
      article:focus { outline: none; }
      article:focus-visible { outline: 2px solid var(--_accent); outline-offset: 1px; }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    document.addEventListener('visibilitychange', this.#reappeared);
    document.addEventListener('collab-notified', this.#told);
    addEventListener('beforeprint', this.#print);
    addEventListener('afterprint', this.#print);
    if (!this.document) return;
    this.store = storeOf(this.accessTo(this.document));
    this.open = true;
    let sought = false;
    const take = () => {
      this.shown = this.store!.threads.find((t) => t.annotationId === this.thread);
      if (!this.shown && this.store!.more && !sought) {
        sought = true;
        void this.store!.find(this.thread).catch(() => (sought = false));
      }
      this.requestUpdate(); // the store's own state may have changed
    };
    this.#end = this.store.watch(take);
    take();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    document.removeEventListener('visibilitychange', this.#reappeared);
    document.removeEventListener('collab-notified', this.#told);
    removeEventListener('beforeprint', this.#print);
    removeEventListener('afterprint', this.#print);
    this.#sizes.disconnect();
    this.#end?.();
  }

  /** Paper shows all comments. */
  #print = (e: Event): void => {
    this.printing = e.type === 'beforeprint';
  };

  /** Marks as read the changes that another tab found while this one was hidden. */
  #reappeared = (): void => {
    if (this.open) this.requestUpdate();
  };

  /** Marks as read a notification of the open thread, for example that somebody resolved it. */
  #told = (e: Event): void => {
    const {documentId, annotationId} = (e as CustomEvent).detail;
    if (!this.open || this.store?.access.documentId !== documentId || this.shown?.annotationId !== annotationId) return;
    this.#notified = true;
    this.requestUpdate();
  };

  /** Focuses the control that opens the thread if it is closed, else the thread. */
  override focus(): void {
    (this.renderRoot.querySelector<HTMLElement>('.reveal') ?? this.renderRoot.querySelector('article'))?.focus();
  }

  /**
   * A long thread opens at the requested comment, else at the first unread one, else at its end.
   */
  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has('comment')) this.sought = this.comment;
    const comments = this.shown?.comments;
    if (!this.open || !comments) {
      this.begin = this.copied = 0;
      this.#read = false;
      return;
    }
    this.begin ||= Math.max(comments.length - LONG, 1);
    if (!this.sought || this.sought === this.#gone) return;
    const sought = comments.findIndex((c) => c.commentId === this.sought);
    if (sought > 0) this.begin = Math.min(this.begin, sought);
  }

  /** Marks an open thread as read if the page is visible. */
  protected override updated(): void {
    const {shown} = this;
    for (const text of this.renderRoot.querySelectorAll('.fold > .text')) this.#sizes.observe(text);
    if (this.open && shown?.annotationId && (shown.unread || this.#notified || !this.#read) && !document.hidden) void this.#see(shown);
    if (this.sought === this.#gone) return;
    const sought = this.renderRoot.querySelector('.sought');
    if (this.sought && !sought) return; // not loaded yet
    sought?.scrollIntoView({block: 'center'});
    this.#gone = this.sought;
  }

  async #see(shown: ShownThread): Promise<void> {
    const opened = !this.#read;
    this.#read = true;
    this.#notified = false;
    const until = await this.store!.read(shown, opened);
    const me = this.store!.user.userId;
    const first = until && !this.comment && shown.comments.find((c) => Date.parse(c.createdAt) > until && c.from.userId !== me);
    if (first) this.sought = first.commentId;
  }

  #read = false; // since it was opened
  #notified = false; // of the open thread, since it was read

  #gone = 0; // comment scrolled to

  override render() {
    const t = this.shown;
    const store = this.store;
    if (!store) return nothing;
    if (!t) {
      if (!this.document) return nothing;
      return html`<p class=${store.loaded || store.failure ? 'error' : 'soft'} role="status">${store.loaded ? say('missing') : stateOf(store)}</p>${goneDrafts(store, undefined, this.thread)}`;
    }
    const [first, ...rest] = t.comments as [ShownComment, ...ShownComment[]];
    const earlier = this.open && !this.printing ? this.begin - 1 : 0;
    const resolved = isResolved(t);
    const resolver = resolved ? this.#resolver(t, store) : '';
    const quote = t.targetElement?.targetText;
    const {status = ''} = t.suggestion ?? {};
    const change = t.pending.find((p) => p.name === 'resolve-thread');
    if (t.type === 'suggestion') defineSuggested();
    return html`
      <article part="thread" tabindex="-1" aria-label=${say('thread', {name: signatureOf(first)})} @click=${this.#clicked}>
        <header class="row" part="thread-header">
          ${t.unread ? html`<span class="dot"><span class="said">${say('unread')}</span></span>` : nothing}
          <div class="grow">
            ${quote
              ? html`<button type="button" class="quote" part="quote" dir="auto" title=${quote} aria-label=${say('goTo', {quote})} @click=${this.#goto}>${quote}</button>`
              : t.targetElement?.elementId
                ? html`<button type="button" class="quote" part="quote" dir="auto" @click=${this.#goto}>${this.place || say('anElement')}</button>`
                : html`<span class="soft">${say('wholeDocument')}</span>`}
          </div>
          <span class="soft" role="status">${this.copied ? say('linkCopied') : nothing}</span>
          ${store.canWrite && t.annotationId && (status !== 'pending' || resolved)
            ? html`<button type="button" class="icon" part="resolve" aria-label=${say(resolved ? 'reopen' : 'resolve')} title=${say(resolved ? 'reopen' : 'resolve')} aria-disabled=${!!change && !change.failed}
                @click=${() => this.#resolve(t, change)}>${icon(resolved ? 'reopen' : 'check')}</button>`
            : nothing}
          ${t.annotationId ? this.#more(first, say('actions')) : nothing}
          ${this.open ? html`<button type="button" class="icon closer" aria-label=${say('close')} @click=${this.#close}>${icon('close')}</button>` : nothing}
        </header>
        ${this.changed && status !== 'accepted' ? html`<p class="done">${say(status === 'pending' ? 'suggestion.stale' : 'textChanged')}</p>` : nothing}
        ${this.#seers(t, store)}
        ${resolved && !/^(accepted|rejected)$/.test(status) ? html`<p class="done">✓ ${say(resolver ? 'isResolvedBy' : 'isResolved', {name: isolated(resolver)})}</p>` : nothing}
        ${t.type === 'suggestion' ? html`<collab-suggested exportparts="suggestion, accept, reject" .store=${store} .thread=${t} ?stale=${this.changed}></collab-suggested>` : nothing}
        ${this.#firstDeleted(t, first) ? html`<p class="done">${say('firstDeleted', {name: isolated(nameOf(store.named(t.from!)))})}</p>` : nothing}
        <ol>${this.#comment(first, true)}
          ${earlier ? html`<li class="row actions"><button type="button" @click=${() => (this.begin = Math.max(this.begin - MORE, 1))}>${say('earlier', {count: earlier})}</button>
            <button type="button" @click=${this.#newest}>${say('newest')}</button></li>` : nothing}
          ${this.open || this.printing ? repeat(rest.slice(earlier), (c) => c.commentId || c.pending!.id, (c) => this.#comment(c)) : nothing}</ol>
        ${t.pending.map((p) => (p.failed && /^(resolve|follow|react|decide|update)/.test(p.name) ? this.#failure(p) : nothing))}
        ${t.commentsTruncated && this.open ? html`<p class="soft">${say('truncated')}</p>` : nothing}
        ${this.open ? this.#reply(t, store) : rest.length || store.canWrite ? html`
          <div class="row actions">
            <button type="button" class="reveal" aria-expanded="false" @click=${this.#reveal}>${rest.length ? say('showReplies', {count: rest.length}) : say('reply')}</button>
            ${store.canWrite && store.drafts.get(replyTo(t.annotationId)) ? html`<span>${say('draft')}</span>` : nothing}
          </div>` : nothing}
      </article>`;
  }

  /**
   * Whether the first comment was deleted: the first one that is left is by somebody else than the
   * thread, and later.
   */
  #firstDeleted({from, createdAt}: ShownThread, first: ShownComment): boolean {
    return !!from?.userId && from.userId !== first.from.userId && Date.parse(first.createdAt) - Date.parse(createdAt) > SAME;
  }

  /** The readers of the thread, the current user last, unless everyone sees it. */
  #seers(t: ShownThread, store: Store): unknown {
    const people = seersOf(t);
    if (!people) return nothing;
    const others = people.filter((p) => p.userId !== store.user.userId);
    const names = [...others.map((p) => nameOf(store.named(p))), ...(others.length < people.length ? [say('you')] : [])];
    return html`<p class="seers" part="seers">${icon('lock')}<span>${say('only', {names: joined(names)})}</span></p>`;
  }

  /** The name of the user who resolved it, or "". */
  #resolver(t: ShownThread, store: Store): string {
    const known = [store.user, ...t.comments.flatMap((c) => [c.from, ...(c.tags ?? [])])];
    const who = known.find((p) => p.userId === t.resolvedByUserId && !p.group);
    return who ? nameOf(who) : (store.named({userId: t.resolvedByUserId ?? ''}).name ?? '');
  }

  #reply(t: ShownThread, store: Store): unknown {
    if (!store.canWrite || !t.annotationId) return nothing;
    return html`<collab-composer class="reply" part="composer" exportparts="textarea, tool, submit" .store=${store} .place=${replyTo(t.annotationId)} label=${say('writeReply')} .among=${seersOf(t)}
      also=${isResolved(t) ? say('replyReopen') : ''}
      .done=${(w: Written, also: boolean) => {
        store.send({...w, name: 'add-comment', thread: t.key});
        if (also) store.send({name: 'resolve-thread', thread: t.key, resolved: false});
      }}></collab-composer>`;
  }

  /** The button of the menu of a comment. */
  #more(c: ShownComment, label: string): TemplateResult {
    return html`<button type="button" class="icon" part="menu" id="more${c.commentId}" aria-label=${label} title=${say('actions')} aria-haspopup="menu" aria-expanded="false"
      @click=${(e: Event) => openMenu(e, label, (l) => l.choicesOf({say, joined}, this.store!, this.shown!, c, (name) => this.#act(name, c)))}>${icon('more')}</button>`;
  }

  #act(name: Act, c: ShownComment): void {
    if (name === 'edit') void this.#edit(c);
    else if (name === 'copyLink') void this.#copy(c);
    else if (name === 'markUnread') this.#unread(this.shown!, this.store!);
    else this.#ask(c);
  }

  /** Marks the thread as unread, and closes it, because an open one is being read. */
  #unread(t: ShownThread, store: Store): void {
    this.#close();
    void store.mark(t.annotationId, false).catch(() => {});
  }

  #close = (): void => {
    if (this.open) this.#tell('collab-closed');
    this.open = false;
    void this.updateComplete.then(() => this.focus());
  };

  #newest = (): void => this.renderRoot.querySelector('ol > :last-child')?.scrollIntoView({block: 'end'});

  #comment(c: ShownComment, first = false): TemplateResult {
    const p = c.pending;
    const store = this.store!;
    const id = c.commentId;
    const editing = this.editing === id && c.from.userId === store.user.userId && store.canWrite && id > 0;
    const acting = this.open && id > 0 && !p && !editing;
    return html`
      <li class="comment ${id && id === this.sought ? 'sought' : ''}" part="comment">
        ${avatar(authorOf(c))}
        <div class="row head"><span class="name" part="author" dir="auto">${signatureOf(c)}</span>${c.agent ? agent() : nothing}${timeOf(c.createdAt)}
          ${c.lastUpdated > c.createdAt ? html`<span class="soft" title=${moment(c.lastUpdated)}>${say('edited')}</span>` : nothing}
          ${acting && store.drafts.get(editOf(this.shown!.annotationId, id)) ? html`<span class="soft">${say('draft')}</span>` : nothing}
          <span class="grow"></span>
          ${acting && store.canWrite ? html`<button type="button" class="icon" part="react" aria-label=${say('addReaction')} title=${say('addReaction')} aria-haspopup="menu" aria-expanded="false"
            @click=${(e: Event) => openEmojis(e, say('addReaction'), (emoji) => react(store, this.shown!, c, emoji), (emoji) => hasChosen(store, c, emoji))}>${icon('react')}</button>` : nothing}
          ${acting && !first ? this.#more(c, say('actionsOf', {time: moment(c.createdAt)})) : nothing}</div>
        <div class="body ${p && !p.failed ? 'waiting' : ''}">
          ${editing ? this.#editor(c) : this.#content(c)}
          ${filesOf(c)}
          ${!p || editing ? nothing : conflicts(p) ? this.#conflict(c, p) : p.failed ? this.#failure(p) : html`<span class="soft">${say('sending')}</span>`}
          ${c.reactions?.length && !editing ? html`<collab-reactions exportparts="reactions, reaction" .store=${store} .thread=${this.shown!} .comment=${c}></collab-reactions>` : nothing}
          ${this.deleting === id && id ? html`<div class="row actions" role="group" aria-label=${say('reallyDelete')}><span>${say('reallyDelete')}</span>
            <button type="button" class="error confirm" @click=${() => this.#delete(c)}>${say('delete')}</button>
            <button type="button" @click=${() => this.#keep(c)}>${say('keep')}</button></div>` : nothing}
        </div>
      </li>`;
  }

  /** The content of a comment; if it is long, only its beginning until the reader wants more. */
  #content(c: ShownComment): TemplateResult {
    const content = contentOf(c, this.store!, () => this.requestUpdate());
    const id = c.commentId;
    if (!id) return content;
    const folded = !this.unfolded.has(id);
    return html`<div id="content${id}" class=${folded ? 'fold' : ''} @focusin=${() => this.#fold(id, false)}>${content}</div>
      ${this.long.has(id) ? html`<button type="button" class="link" aria-expanded=${!folded} aria-controls="content${id}" @click=${() => this.#fold(id, !folded)}>${
        say(folded ? 'showMore' : 'showLess')}</button>` : nothing}`;
  }

  #fold(id: number, fold: boolean): void {
    this.unfolded = new Set(fold ? [...this.unfolded].filter((known) => known !== id) : [...this.unfolded, id]);
  }

  /** Finds the comments that do not fit in the lines shown. */
  readonly #sizes = new ResizeObserver((entries) => {
    const long = new Set(this.long);
    for (const {target} of entries) {
      const shown = target.parentElement;
      if (!shown?.classList.contains('fold')) continue;
      const id = Number(shown.id.slice('content'.length));
      if (target.clientHeight > shown.clientHeight + 1) long.add(id);
      else long.delete(id);
    }
    if (long.size !== this.long.size || [...long].some((id) => !this.long.has(id))) this.long = long;
  });

  /** Copies the address of a comment. Browsers only have a clipboard on pages with TLS. */
  async #copy({commentId}: ShownComment): Promise<void> {
    const values = {documentId: this.store!.access.documentId, annotationId: this.shown!.annotationId, commentId};
    await navigator.clipboard.writeText(new URL(filled(this.href || '#collab-thread={annotationId}&comment={commentId}', values), location.href).href);
    this.copied = commentId;
  }

  #editor(c: ShownComment): TemplateResult {
    return html`<collab-composer class="edit" part="composer" exportparts="textarea, tool, submit" .store=${this.store!} label=${say('editOf', {time: moment(c.createdAt)})} submit=${say('save')} .among=${seersOf(this.shown!)}
      .place=${editOf(this.shown!.annotationId, c.commentId)} .text=${sourceOf(c)} .tags=${c.tags ?? []} .seen=${c.pending ? undefined : c.lastUpdated}
      .close=${() => ((this.editing = 0), this.#show(`#more${c.commentId}`))}
      .done=${({markdown, text, html, tags, id, seen}: Written) => {
        this.editing = 0;
        if (markdown !== sourceOf(c)) this.store!.send({name: 'edit-comment', thread: this.shown!.key, commentId: c.commentId, markdown, text, html, tags, id, seen});
      }}></collab-composer>`;
  }

  /** A text of the reader for a comment that was changed meanwhile. */
  #conflict(c: ShownComment, p: Pending): TemplateResult {
    return html`<div class="lost" role="group" aria-label=${say('conflict')}><p class="error" role="alert">${say('conflict')}</p>
      ${contentOf(edited(c, p), this.store!, () => this.requestUpdate())}
      <div class="row"><button type="button" class="line" @click=${() => this.store!.retry(p)}>${say('saveMine')}</button>
      <button type="button" class="line" @click=${() => this.store!.discard(p)}>${say('discard')}</button></div></div>`;
  }

  #failure(p: Pending): TemplateResult {
    return html`<div class="row" role="alert"><span class="error">${say(`failed.${p.name}` as Key)} ${whyOf(p.failed!)}</span>
      <button type="button" class="link" @click=${() => this.store!.retry(p)}>${say('tryAgain')}</button>
      <button type="button" class="link" @click=${() => this.store!.discard(p)}>${say('discard')}</button></div>`;
  }

  async #edit(c: ShownComment): Promise<void> {
    if (!this.open) this.#tell('collab-opened');
    await prepare(c.commentText, c.commentHtml);
    this.editing = c.commentId;
    this.#show('.edit');
  }

  /** Focuses an element when it exists. */
  #show(selector: string): void {
    void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>(selector)?.focus());
  }

  #ask(c: ShownComment): void {
    this.deleting = c.commentId;
    this.#show('.confirm');
  }

  #keep(c: ShownComment): void {
    this.deleting = 0;
    this.#show(`#more${c.commentId}`);
  }

  #delete(c: ShownComment): void {
    this.deleting = 0;
    this.store!.send({name: 'delete-comment', thread: this.shown!.key, commentId: c.commentId});
  }

  #resolve(t: ShownThread, change: Pending | undefined): void {
    if (!change || change.failed) this.store!.send({name: 'resolve-thread', thread: t.key, resolved: !isResolved(t)});
  }

  #goto = (e: Event): void => {
    e.stopPropagation();
    this.#tell('collab-goto');
  };

  #reveal = (): void => {
    this.#tell('collab-opened');
    this.open = true;
    void this.updateComplete.then(() => this.composer?.focus());
  };

  #clicked = (e: MouseEvent): void => {
    if (!this.open && !e.composedPath().some((n) => n instanceof HTMLElement && /^(A|BUTTON)$/.test(n.tagName))) this.#tell('collab-opened');
  };

  #tell(name: string): void {
    this.dispatchEvent(new CustomEvent(name, {bubbles: true, composed: true, detail: {thread: this.shown}}));
  }
}
customElements.define('collab-thread', ThreadElement);

declare global {
  interface HTMLElementTagNameMap {
    'collab-thread': ThreadElement;
  }
}
