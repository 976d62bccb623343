import {css, html, nothing, type PropertyValues, type TemplateResult} from 'lit';
import {property, query, state} from 'lit/decorators.js';
import {keyed} from 'lit/directives/keyed.js';
import {repeat} from 'lit/directives/repeat.js';

import {Connected} from './access.js';
import {Marks, Places, type Place} from './anchor.js';
import './composer.js';
import type {Composer, Written} from './composer.js';
import {plainOf} from './content.js';
import {isolated} from './direction.js';
import {newThread, type Draft} from './drafts.js';
import {focused, KeepFocus} from './focus.js';
import {folded} from './fold.js';
import {withNames} from './mentions.js';
import {goneDrafts} from './gone.js';
import {late} from './menu.js';
import type {ShownThread} from './overlay.js';
import './preferences.js';
import {isResolved, signatureOf, type Target} from './protocol.js';
import {cut} from './quote.js';
import {stateOf, storeOf, type Store} from './store.js';
import {frame, narrow, sheet} from './styles.js';
import {valueOf} from './suggestion.js';
import {say} from './texts.js';
import './thread.js';
import type {ThreadElement} from './thread.js';

/**
 * The fragment of an address that opens a thread: #collab-thread=ID, or
 * #collab-thread=ID&comment=ID for one of its comments.
 */
const HASH = /^#collab-thread=([^&]+)(?:&comment=(\d*))?$/;

const ROUTING = 100; // milliseconds for a router to show the document of a new address

const HEADING = 'h1, h2, h3, h4, h5, h6, caption, figcaption, legend';
const LABEL = 80; // characters of the name of an element

const FILTERS = ['open', 'resolved', 'mine', 'unread'] as const;
type Filter = (typeof FILTERS)[number];

/**
 * The threads of a document: a list in the order of the text, a composer, and highlights. Threads
 * on removed text come last.
 *
 * @fires collab-active - another thread was opened, or none; detail.annotationId
 */
export class ThreadsElement extends Connected {
  /** The id of the document. */
  @property() document = '';
  /** The id of the element with the document's content; the body if omitted. */
  @property({attribute: 'for'}) for = '';
  /**
   * "margin" shows each thread at the height of its mark, if the element is beside the text; otherwise
   * and by default, the threads are a list.
   */
  @property() placement = '';
  /** The address of a comment for links to it, as of collab-inbox; this page if omitted. */
  @property() href = '';

  /**
   * Finds the place of a quote that the page shows in a way of its own, such as in an editor or on
   * a canvas: a range, "elsewhere" if it exists but is not in the page now, or null if it does not
   * exist. Call locate after places have moved.
   */
  @property({attribute: false}) resolve: ((target: Target, annotationId: string) => Range | 'elsewhere' | null) | undefined;
  /** Shows the place of a thread that is elsewhere. */
  @property({attribute: false}) reveal: ((annotationId: string) => void) | undefined;
  /** The position of a thread in a text that is not all in the page, which orders the threads. */
  @property({attribute: false}) position: ((annotationId: string) => number) | undefined;

  @state() private shown: ShownThread[] = [];
  @state() private active = ''; // key of the open thread
  @state() private filter: Filter = 'open';
  @state() private sought = ''; // text in the threads
  @state() private comment = 0; // requested comment of the open thread
  /** The place of a new thread; undefined if none is being written. */
  @state() private draft: {target?: Target | undefined} | undefined;
  @state() private selected: Target | null = null;
  @state() private said = '';
  @state() private reading = false; // loading older threads
  @state() private missing = false; // a requested thread does not exist
  @state() private beside = false; // the threads are in the margin
  @query('collab-composer.new') private composer?: Composer;
  @query('.float') private float!: HTMLElement;

  #store?: Store;
  #end: (() => void) | undefined;
  #places = new Map<string, Place | 'elsewhere' | null>(); // by key; null if the text was removed
  #last: string[] = []; // keys in the order of the last list
  #marks = new Marks();
  #root: Element | null = null;
  #text: Places | undefined; // of the document, until it changes
  #changes = new MutationObserver(() => this.#moved());
  #wanted: [annotationId: string, commentId: number] | undefined; // thread to open when loaded
  #known: Set<string> | undefined; // seen comments
  readonly #resolved = new Map<string, boolean>(); // by key of thread
  #opener: HTMLElement | null = null; // focused before the composer
  #announced: string | undefined; // id of the open thread in the last event
  #ended = ''; // key of the open thread if it was resolved meanwhile, which ends its mark

  constructor() {
    super();
    new KeepFocus(this, 'li', (index) => {
      const threads = this.renderRoot.querySelectorAll<ThreadElement>('li > collab-thread');
      return threads[Math.min(Math.max(index, 0), threads.length - 1)] ?? this.#start;
    });
  }

  /** The first element for the keyboard: the button to write, else that of the visible threads. */
  get #start(): HTMLElement | null {
    return this.renderRoot.querySelector<HTMLElement>('header > .main') ?? this.renderRoot.querySelector('[aria-pressed=true]');
  }

  static override styles = [
    ...frame,
    css`
      section > header { margin-bottom: 8px; gap: 4px; }
      .filter { gap: 2px; flex-basis: 100%; }
      .filter button { padding: 3px 7px; }
      input { flex-basis: 100%; }
      h2 { font-size: 1.1em; font-weight: 650; }
      li { margin-bottom: 8px; content-visibility: auto; contain-intrinsic-size: auto 96px; }
      li:focus-within, li.active { content-visibility: visible; }
      @media print { li { content-visibility: visible; break-inside: avoid; } .filter, .float, .kept, collab-preferences { display: none !important; } }
      .draft { border: 1px solid var(--_accent); border-radius: var(--_radius); padding: 10px 12px; margin-bottom: 10px; background: var(--_paper); }
      .draft p { border-inline-start: 3px solid var(--_quote); padding: 1px 8px; margin-bottom: 6px; color: var(--_soft); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
      @media (max-width: 600px) { .draft { ${sheet} } }
      .float { position: fixed; z-index: 3; box-shadow: 0 3px 12px rgb(0 0 0 / .3); }
      .beside { position: relative; }
      .beside > li { position: absolute; inset-inline: 0; margin: 0; content-visibility: visible; }
      @media (prefers-reduced-motion: no-preference) { .beside > li { transition: top .15s; } }
      .note { color: var(--_soft); padding: 6px 0; }
      .kept { display: block; width: 100%; margin-bottom: 8px; text-align: start; border-style: dashed; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
      summary { color: var(--_soft); margin-bottom: 4px; }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    this.ownerDocument.addEventListener('selectionchange', this.#selection);
    this.ownerDocument.addEventListener('collab-open', this.#asked);
    this.ownerDocument.addEventListener('keydown', this.#shortcut);
    addEventListener('hashchange', this.#hash);
    addEventListener('popstate', this.#hash);
    navigations()?.addEventListener('currententrychange', this.#hash);
    addEventListener('resize', this.#selection);
    visualViewport?.addEventListener('resize', this.#keyboard);
    visualViewport?.addEventListener('scroll', this.#keyboard);
    addEventListener('scroll', this.#follow, {passive: true, capture: true});
    if (this.hasUpdated) this.#attach();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.ownerDocument.removeEventListener('selectionchange', this.#selection);
    this.ownerDocument.removeEventListener('collab-open', this.#asked);
    this.ownerDocument.removeEventListener('keydown', this.#shortcut);
    removeEventListener('hashchange', this.#hash);
    removeEventListener('popstate', this.#hash);
    navigations()?.removeEventListener('currententrychange', this.#hash);
    removeEventListener('resize', this.#selection);
    visualViewport?.removeEventListener('resize', this.#keyboard);
    visualViewport?.removeEventListener('scroll', this.#keyboard);
    removeEventListener('scroll', this.#follow, {capture: true});
    this.#detach();
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (['api', 'token', 'organization', 'document', 'for'].some((name) => (changed as Map<string, unknown>).has(name))) this.#attach();
    else if (changed.has('resolve')) this.locate();
  }

  #attach(): void {
    this.#detach();
    if (!this.document) return;
    const other = !!this.#store; // another document was shown
    this.#store = storeOf(this.accessTo(this.document));
    const home = this.getRootNode() as Document | ShadowRoot;
    this.#root = this.for ? home.getElementById(this.for) : this.ownerDocument.body;
    this.#root?.addEventListener('click', this.#clicked as EventListener);
    if (this.#root && !this.#root.contains(this)) this.#changes.observe(this.#root, {subtree: true, childList: true, characterData: true, attributeFilter: ['id']});
    this.#known = undefined;
    if (other) this.#wanted = undefined;
    this.missing = false;
    this.active = this.#address = '';
    this.#end = this.#store.watch(() => this.#changed());
    this.#hash();
    this.#changed();
  }

  #detach(): void {
    this.#end?.();
    clearTimeout(this.#addressed);
    this.#sizes.disconnect();
    this.#changes.disconnect();
    this.#text = undefined;
    this.#root?.removeEventListener('click', this.#clicked as EventListener);
    this.#marks.clear();
  }

  /** The threads have changed: finds places, announces new comments. */
  #changed(): void {
    const store = this.#store!;
    const open = this.#open;
    this.shown = store.threads;
    if (open?.annotationId && store.loaded && !store.has(open.annotationId)) {
      this.missing = true;
      this.#activate('');
    }
    if (open && this.#open && isResolved(open) !== isResolved(this.#open)) this.#ended = isResolved(this.#open) ? this.active : '';
    for (const t of this.shown) {
      const resolved = isResolved(t);
      if (this.#resolved.get(t.key) === !resolved && !t.pending.some((p) => p.name === 'resolve-thread' && !p.sent)) this.said = say(resolved ? 'nowResolved' : 'nowOpen');
      if (!t.pending.some((p) => p.name === 'resolve-thread' && !p.sent)) this.#resolved.set(t.key, resolved);
    }
    this.#announce();
    this.#locate();
    if (store.loaded) {
      const fresh = this.shown.flatMap((t) => t.comments).filter((c) => c.commentId && !this.#known?.has(`${c.commentId}`));
      const other = this.#known && fresh.find((c) => c.from.userId !== store.user.userId);
      if (other) this.said = say('newComment', {name: isolated(signatureOf(other))});
      else if (this.#known && fresh.length) this.said = say('sentOwn');
      this.#known ??= new Set();
      for (const c of fresh) this.#known.add(`${c.commentId}`);
    }
    if (this.#wanted && store.loaded) void this.open(...this.#wanted);
    this.requestUpdate(); // the store's own state may have changed
  }

  /** The open thread. */
  get #open(): ShownThread | undefined {
    return this.shown.find((t) => t.key === this.active);
  }

  /** Finds places in the document. It keeps the text until it changes, if it can observe that. */
  #textOf(root: Element): Places {
    if (root.contains(this)) return new Places(root);
    return (this.#text ??= new Places(root));
  }

  /** Finds the places of new threads. */
  #locate(): void {
    let places: Places | undefined;
    const found = new Map<string, Place | 'elsewhere' | null>();
    for (const t of this.shown) {
      if (!t.targetElement || !this.#root) continue;
      const known = this.#places.get(t.key);
      const find = () => {
        if (!this.resolve) return (places ??= this.#textOf(this.#root!)).find(t.targetElement!);
        const range = this.resolve(t.targetElement!, t.annotationId);
        return range instanceof Range ? {range, changed: false} : range;
      };
      found.set(t.key, known === undefined ? find() : known);
    }
    this.#places = found;
  }

  /** The place of a thread in the page. */
  #place(key: string): Place | undefined {
    const place = this.#places.get(key);
    return place && place !== 'elsewhere' ? place : undefined;
  }

  /** Finds the places of all threads again. The elements do so after changes of the document. */
  locate(): void {
    this.#text = undefined;
    this.#places.clear();
    this.#locate();
    this.requestUpdate();
  }

  #waiting = false;
  /** The document has changed: finds all places again when it stops changing. */
  #moved(): void {
    this.#text = undefined;
    if (this.#waiting) return;
    this.#waiting = true;
    setTimeout(() => {
      this.#waiting = false;
      this.locate();
    }, 200);
  }

  override render() {
    const store = this.#store;
    if (!store) return nothing;
    const found = this.shown.filter((t) => this.#fits(t) && this.#matches(t));
    const visible = this.shown.filter((t) => found.includes(t) || t.key === this.active);
    const gone = visible.filter((t) => this.#places.get(t.key) === null);
    const list = this.#sorted(visible.filter((t) => this.#places.get(t.key) !== null));
    const more = store.more ? '+' : '';
    return html`
      <section part="panel" aria-label=${say('comments')} @collab-goto=${(e: CustomEvent) => this.#goto(e.detail.thread)}
        @collab-opened=${(e: CustomEvent) => this.#activate(e.detail.thread.key)} @collab-closed=${() => this.#activate('')} @keydown=${this.#key}>
        <header class="row" part="header">
          <h2 class="grow">${say('comments')}</h2>
          ${store.loaded ? keyed(store, html`<collab-preferences .access=${store.access} exportparts="preferences"></collab-preferences>`) : nothing}
          ${store.canWrite ? html`<button type="button" class="main" part="comment" @mousedown=${keep} @click=${() => this.compose(this.selected ?? undefined)}>${say('comment')}</button>` : nothing}
          ${store.loaded ? html`<div class="row filter" role="group" aria-label=${say('comments')}>${FILTERS.map((f) => html`
            <button type="button" aria-pressed=${f === this.filter} @click=${() => (this.filter = f)}>${this.#name(f)}${more}</button>`)}</div>` : nothing}
          ${this.shown.length ? html`<input type="search" part="search" dir="auto" aria-label=${say('search')} placeholder=${say('search')} .value=${this.sought} @input=${this.#seek}>` : nothing}
        </header>
        <div class="found soft" role="status">${this.sought.trim() ? (found.length ? say('found', {count: found.length}) : say('noPeople')) : nothing}</div>
        ${store.failure ? html`<p class="error" role="alert">${store.loaded ? say('stale') : stateOf(store)}</p>` : nothing}
        ${this.missing ? html`<p class="note" role="alert">${say('missing')} <button type="button" class="link" @click=${() => (this.missing = false)}>${say('close')}</button></p>` : nothing}
        ${goneDrafts(store, (target) => this.compose(target))}
        ${store.canWrite ? store.drafts.threads.map((d) => this.#kept(d)) : nothing}
        ${this.draft && !this.beside ? this.#draft(store, this.draft) : nothing}
        ${!store.loaded && !store.failure ? html`<p class="note" role="status">${stateOf(store)}</p>` : !store.loaded || list.length || gone.length || this.draft || this.sought.trim() ? nothing
          : html`<p class="note">${this.shown.length ? say(`none.${this.filter}`) : say('noneYet')} ${store.canWrite && this.filter === 'open' ? say('howToComment') : ''}</p>`}
        <ol role="list" part="list" class=${this.beside ? 'beside' : ''}>${this.draft && this.beside ? html`<li class="active">${this.#draft(store, this.draft)}</li>` : nothing}${repeat(list, (t) => t.key, (t) => this.#item(t, store))}</ol>
        ${gone.length ? html`<details part="gone" open><summary>${say('gone', {count: gone.length})}</summary><ol role="list">${repeat(gone, (t) => t.key, (t) => this.#item(t, store))}</ol></details>` : nothing}
        ${store.more ? html`<button type="button" class="line" part="older" ?disabled=${this.reading} @click=${this.#older}>${say('older')}</button>` : nothing}
      </section>
      <button type="button" class="main float" part="comment" ?hidden=${!this.selected || !store.canWrite || !!this.draft} aria-label=${say('commentOnSelection')}
        @mousedown=${keep} @click=${() => this.compose(this.selected ?? undefined)}>${say('comment')}</button>
      <div class="said" role="status">${this.said}</div>`;
  }

  #fits(t: ShownThread, filter = this.filter): boolean {
    const me = this.#store!.user.userId;
    switch (filter) {
      case 'mine':
        return t.comments.some((c) => c.from.userId === me || c.tags?.some((p) => p.userId === me && !p.group));
      case 'unread':
        return !!t.unread;
    }
    return isResolved(t) === (filter === 'resolved');
  }

  /** Whether a thread has all words that the reader seeks, in any order and form of their letters. */
  #matches(t: ShownThread): boolean {
    const sought = folded(this.sought.trim());
    let text = this.#texts.get(t);
    if (sought && text === undefined) {
      const comments = t.comments.flatMap((c) => [signatureOf(c), withNames(plainOf(c), (c.tags ?? []).map((p) => this.#store!.named(p)))]);
      text = folded([t.targetElement?.targetText, valueOf(t.suggestion?.oldValue), valueOf(t.suggestion?.newValue), ...comments].join('\n'));
      this.#texts.set(t, text);
    }
    return sought.split(/\s+/).every((word) => !word || text!.includes(word));
  }

  readonly #texts = new WeakMap<ShownThread, string>(); // folded

  #seek = (e: Event): void => {
    this.sought = (e.target as HTMLInputElement).value;
  };

  #name(filter: Filter): string {
    const n = this.shown.filter((t) => this.#fits(t, filter) && this.#matches(t)).length;
    return say(filter === 'unread' ? 'unreadThreads' : filter, {count: n});
  }

  #item(t: ShownThread, store: Store): TemplateResult {
    return html`<li class=${t.key === this.active ? 'active' : ''} .key=${t.key}><collab-thread .shown=${t} .store=${store} .href=${this.href} ?open=${t.key === this.active} .comment=${t.key === this.active ? this.comment : 0} .place=${this.#labelOf(t.targetElement?.elementId)} .changed=${!!this.#place(t.key)?.changed}
      exportparts="thread, thread-header, quote, resolve, menu, seers, comment, author, avatar, text, mention, files, suggestion, accept, reject, agent, react, reactions, reaction, palette, composer, textarea, tool, submit, follow"></collab-thread></li>`;
  }

  #draft(store: Store, {target}: {target?: Target | undefined}): TemplateResult {
    return html`<div class="draft" part="draft">
      ${target?.targetText ? html`<p dir="auto" title=${target.targetText}>${target.targetText}</p>` : nothing}
      ${keyed(newThread(target), html`<collab-composer class="new" exportparts="textarea, tool, submit, choice, suggest" .store=${store} .place=${newThread(target)} .target=${target}
        label=${say('writeComment')} choice .close=${this.#close}
        .done=${(w: Written) => {
          this.draft = undefined;
          this.filter = 'open';
          this.#activate(store.send({...w, name: 'add-thread', target}).thread);
          this.#focusActive();
        }}></collab-composer>`)}</div>`;
  }

  /** A draft of a new thread that is not being edited. */
  #kept({text, target, change = ''}: Draft): unknown {
    if (this.draft && newThread(this.draft.target) === newThread(target)) return nothing;
    return html`<button type="button" class="line kept" @click=${() => this.compose(target)}>${say('continueDraft', {text: isolated(cut(text.trim() || change, 80))})}</button>`;
  }

  #older = async (): Promise<void> => {
    this.reading = true;
    await this.#store!.older().catch(() => this.#store!.look()); // shows its own errors
    this.reading = false;
  };

  /** Ends the writing of a thread. The focus returns to its previous place. */
  #close = (): void => {
    this.draft = undefined;
    void this.updateComplete.then(() => {
      if (this.#opener?.isConnected && this.#opener.checkVisibility()) this.#opener.focus();
      else this.#start?.focus();
    });
  };

  #focusActive(): void {
    void this.updateComplete.then(() => this.renderRoot.querySelector<ThreadElement>('li.active > collab-thread')?.focus());
  }

  /** Observes the sizes of the threads and the text in the margin. */
  readonly #sizes = new ResizeObserver(() => this.#arrange());

  /** Places the threads in the margin, if there is one. */
  #arrange(): void {
    const [own, text] = [this.getBoundingClientRect(), this.#root?.getBoundingClientRect()];
    const beside = this.placement === 'margin' && !!text && own.width > 0 && !this.#root!.contains(this) && (own.left >= text.right - 1 || own.right <= text.left + 1);
    const list = this.renderRoot.querySelector<HTMLElement>('[part=list]');
    if (beside !== this.beside) {
      this.beside = beside;
      list?.removeAttribute('style');
      for (const li of list?.children ?? []) li.removeAttribute('style');
      return;
    }
    if (!beside || !list) return;
    const markOf = ({key}: Element & {key?: string}) => key ? this.#place(key)?.range : this.draft?.target && this.#textOf(this.#root!).find(this.draft.target)?.range;
    late().then((l) => l.arrange(list, list.querySelector('.active'), markOf), () => (this.placement = ''));
  }

  protected override updated(): void {
    if (this.placement === 'margin') {
      for (const e of [this, this.#root, ...this.renderRoot.querySelectorAll('[part=list] > li')]) if (e) this.#sizes.observe(e);
      this.#arrange();
    }
    const ranges = this.shown.filter((t) => !isResolved(t)).flatMap((t) => this.#place(t.key)?.range ?? []);
    const draft = this.draft?.target && this.#root ? this.#textOf(this.#root).find(this.draft.target) : null;
    if (this.#root) this.#marks.set(ranges, (draft ?? (this.#ended === this.active ? undefined : this.#place(this.active)))?.range, this.#root);
  }

  /**
   * Threads in the order of the text. Without positions, those elsewhere stay after the thread
   * before them.
   */
  #sorted(threads: ShownThread[]): ShownThread[] {
    const away = (t: ShownThread) => !this.position && this.#places.get(t.key) === 'elsewhere';
    const list = threads.filter((t) => !away(t)).sort((a, b) => this.#order(a, b));
    const rank = (t: ShownThread) => this.#last.indexOf(t.key);
    for (const t of threads.filter(away).sort((a, b) => rank(a) - rank(b) || this.#order(a, b))) {
      const before = rank(t) < 0 ? list.length - 1 : list.findLastIndex((other) => rank(other) >= 0 && rank(other) < rank(t));
      list.splice(before + 1, 0, t);
    }
    this.#last = list.map((t) => t.key);
    return list;
  }

  /** In the order of the text; threads without a place first, older ones before. */
  #order(a: ShownThread, b: ShownThread): number {
    const [p, q] = [this.#place(a.key)?.range, this.#place(b.key)?.range];
    const at = ({key, annotationId}: ShownThread) => (this.#places.get(key) ? this.position!(annotationId) : -1);
    const apart = this.position ? at(a) - at(b) : p && q ? compared(p, q, this.#root!) : Number(!!p) - Number(!!q);
    return apart || (a.createdAt < b.createdAt ? -1 : 1);
  }

  readonly #labels = new Map<string, string>(); // of elements that the page named, by id

  /** The name of an element: its label, its heading or caption, or the one given to compose. */
  #labelOf(id: string | undefined): string {
    if (!id) return '';
    const home = this.#root?.getRootNode() as Document | ShadowRoot | undefined;
    const element = home?.getElementById(id);
    const labelled = element?.getAttribute('aria-labelledby')?.split(/\s+/).map((other) => home!.getElementById(other)?.textContent ?? '').join(' ');
    const heading = element?.matches(HEADING) ? element : element?.querySelector(HEADING);
    return cut([element?.ariaLabel, labelled, heading?.textContent, this.#labels.get(id)].find((text) => text?.trim())?.replace(/\s+/g, ' ').trim() ?? '', LABEL);
  }

  /**
   * Starts a thread on a target, such as {elementId: 'chart'}, or on the whole document. label names
   * an element without a label, a heading and a caption of its own.
   */
  compose({label, ...place}: Target & {label?: string} = {}): void {
    const target = Object.keys(place).length ? (place as Target) : undefined;
    if (label && target?.elementId) this.#labels.set(target.elementId, label);
    if (!this.draft) this.#opener = focused();
    this.draft = {target};
    this.active = '';
    void this.updateComplete.then(() => {
      if (narrow() && target && this.#root) this.#textOf(this.#root).find(target)?.range.startContainer.parentElement?.scrollIntoView();
      this.composer?.scrollIntoView({block: 'nearest'});
      this.composer?.focus();
    });
  }

  /**
   * Opens a thread and shows it or one of its comments. It loads the thread if needed, and resolves
   * to whether it exists.
   */
  async open(annotationId: string, commentId = 0): Promise<boolean> {
    const store = this.#store;
    this.#wanted = store?.loaded ? undefined : [annotationId, commentId];
    if (this.#show(annotationId, commentId)) return true;
    if (!store?.loaded) return false;
    await store.find(annotationId).then(
      () => store === this.#store && (this.missing = !this.#show(annotationId, commentId)),
      () => store.look(), // shows its own errors
    );
    return !this.missing;
  }

  /** Shows a thread if it is known. */
  #show(annotationId: string, commentId: number): boolean {
    const thread = this.shown.find((t) => t.annotationId === annotationId);
    if (!thread) return false;
    this.missing = false;
    if (!this.#fits(thread)) this.filter = isResolved(thread) ? 'resolved' : 'open';
    this.#activate(thread.key);
    this.comment = commentId;
    this.#goto(thread);
    if (!commentId) this.#listed();
    return true;
  }

  /** Shows the open thread in the list. A sheet is in the window already. */
  #listed(): void {
    if (!narrow()) void this.updateComplete.then(() => this.renderRoot.querySelector('li.active')?.scrollIntoView({block: 'nearest'}));
  }

  #activate(key: string): void {
    if (key === this.active) return;
    this.active = key;
    this.comment = 0;
    this.#ended = '';
    this.#announce();
  }

  /** Reports another open thread, or none. A new thread has an id when the service has stored it. */
  #announce(): void {
    const annotationId = this.#open?.annotationId;
    if (annotationId === '' || annotationId === this.#announced) return;
    this.#announced = annotationId;
    this.dispatchEvent(new CustomEvent('collab-active', {bubbles: true, composed: true, detail: {annotationId}}));
  }

  #goto(t: ShownThread): void {
    this.#activate(t.key);
    this.#ended = '';
    this.requestUpdate();
    if (this.#places.get(t.key) === 'elsewhere') this.reveal?.(t.annotationId);
    const place = this.#place(t.key)?.range;
    if (!place) return;
    const smooth = !matchMedia('(prefers-reduced-motion: reduce)').matches;
    void this.updateComplete.then(() => place.startContainer.parentElement?.scrollIntoView({block: narrow() ? 'start' : 'center', behavior: smooth ? 'smooth' : 'auto'}));
  }

  #key = (e: KeyboardEvent): void => {
    if (e.key !== 'Escape') return;
    if (this.sought) this.sought = '';
    else this.#activate('');
  };

  #address = ''; // the last address
  #addressed = 0; // the timer that opens its thread

  /**
   * Opens the thread of a new address. Routers also change it without an event of its own, before
   * they show its document and scroll to its start: therefore it opens after that.
   */
  #hash = (): void => {
    if (location.href === this.#address) return;
    this.#address = location.href;
    clearTimeout(this.#addressed);
    const m = HASH.exec(location.hash);
    if (m) this.#addressed = window.setTimeout(() => void this.open(decodeURIComponent(m[1]!), Number(m[2] ?? 0)), ROUTING);
  };

  /** An inbox on the page requested a thread. */
  #asked = (e: Event): void => {
    const {documentId, annotationId, commentId} = (e as CustomEvent).detail;
    if (documentId !== this.document || e.defaultPrevented) return;
    e.preventDefault();
    if (annotationId) void this.open(annotationId, commentId).then((there) => there && this.#focusActive());
  };

  #selection = (): void => {
    const range = this.#root && selected(this.#root);
    const outer = range && hostIn(range.commonAncestorContainer, this.#root!);
    const inside = outer && this.#root!.contains(outer) && !this.contains(outer);
    if (this.draft || !inside) {
      if (this.selected) this.selected = null;
      return;
    }
    this.selected = this.#textOf(this.#root!).describe(range);
    this.#follow();
  };

  /** Keeps the button for the selected text below it, and in the window. */
  #follow = (): void => {
    const range = this.selected && this.#root && selected(this.#root);
    if (!range) return;
    const {left, bottom} = range.getBoundingClientRect();
    this.float.style.left = `${Math.max(8, Math.min(left, innerWidth - 110))}px`;
    this.float.style.top = `${Math.max(8, Math.min(bottom + 6, innerHeight - 44))}px`;
  };

  /**
   * Ctrl+Alt+M, or Cmd+Option+M, comments on the selected text. Its button is next in the order of
   * Tab, and what follows the text is next after the button.
   */
  #shortcut = (e: KeyboardEvent): void => {
    if (!this.selected || !this.#store?.canWrite || this.draft) return;
    if (e.code === 'KeyM' && e.altKey && (e.ctrlKey || e.metaKey)) {
      e.preventDefault();
      this.compose(this.selected);
    } else if (e.key === 'Tab' && !e.altKey && !e.ctrlKey && !e.metaKey) {
      const at = focused();
      if (at === this.float) {
        e.preventDefault();
        void late().then((l) => l.leave(this.ownerDocument, e.shiftKey));
      } else if (!e.shiftKey && (!at || (this.#root!.contains(at) && !at.isContentEditable && !/^(INPUT|TEXTAREA)$/.test(at.tagName)))) {
        e.preventDefault();
        this.#selection();
        this.float.focus();
      }
    }
  };

  /** Keeps sheets above the keyboard of a phone. */
  #keyboard = (): void => {
    const {height, offsetTop, scale} = visualViewport!;
    const style = this.renderRoot.querySelector('section')?.style;
    style?.setProperty('--_keyboard', `${scale > 1 ? 0 : Math.max(innerHeight - height - offsetTop, 0)}px`);
    style?.setProperty('--_height', `${height}px`);
  };

  /** A click on highlighted text opens the thread with the shortest text. */
  #clicked = (e: MouseEvent): void => {
    if (this.#root && selected(this.#root)) return;
    const at = caret(e.clientX, e.clientY, treesOf(e));
    if (!at) return;
    const hit = this.shown
      .filter((t) => {
        const range = this.#place(t.key)?.range;
        return !isResolved(t) && range?.startContainer.getRootNode() === at.startContainer.getRootNode() && range.isPointInRange(at.startContainer, at.startOffset);
      })
      .sort((a, b) => (a.targetElement?.targetText?.length ?? Infinity) - (b.targetElement?.targetText?.length ?? Infinity))[0];
    if (hit) {
      if (!this.#fits(hit)) this.filter = 'open';
      this.#activate(hit.key);
      this.#listed();
    }
  };
}
customElements.define('collab-threads', ThreadsElement);

/** The outermost host of a node whose tree is that of a root, or the node itself. */
function hostIn(node: Node, root: Node): Node {
  const tree = root.getRootNode();
  for (let at = node; ; at = (at.getRootNode() as ShadowRoot).host) if (at.getRootNode() === tree || !(at.getRootNode() instanceof ShadowRoot)) return at;
}

/** The order of the starts of two ranges, also in different trees below a root. */
function compared(a: Range, b: Range, root: Node): number {
  if (a.startContainer.getRootNode() === b.startContainer.getRootNode()) return a.compareBoundaryPoints(Range.START_TO_START, b);
  const [p, q] = [hostIn(a.startContainer, root), hostIn(b.startContainer, root)];
  return p === q ? 0 : p.compareDocumentPosition(q) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
}

/** The selected range, also in an open shadow tree of a root; null if nothing is selected. */
function selected(root: Element): Range | null {
  const selection = root.ownerDocument.getSelection();
  if (!selection?.rangeCount) return null;
  const treesIn = ({shadowRoot}: Element): ShadowRoot[] => (shadowRoot ? [shadowRoot, ...Array.from(shadowRoot.querySelectorAll('*')).flatMap(treesIn)] : []);
  const {startContainer, startOffset} = selection.getRangeAt(0);
  const host = startContainer.childNodes[startOffset]; // the range of the document ends there
  const shadowRoots = host instanceof Element && 'getComposedRanges' in selection ? [host, ...host.querySelectorAll('*')].flatMap(treesIn) : [];
  const [found] = shadowRoots.length ? selection.getComposedRanges({shadowRoots}) : [];
  const range = root.ownerDocument.createRange();
  const {startContainer: from, startOffset: start, endContainer: to, endOffset: end} = found ?? selection.getRangeAt(0);
  if (from.getRootNode() !== to.getRootNode()) return null;
  range.setStart(from, start);
  range.setEnd(to, end);
  return range.collapsed ? null : range;
}

/** A click on a button keeps the selection. */
const keep = (e: Event): void => e.preventDefault();

/** The Navigation API, if the browser has it. */
function navigations(): EventTarget | undefined {
  return (window as {navigation?: EventTarget}).navigation;
}

/** The open shadow trees on the path of an event. */
const treesOf = (e: Event): ShadowRoot[] => e.composedPath().filter((node) => node instanceof ShadowRoot);

/** The position in the text at a point of the window. */
function caret(x: number, y: number, shadowRoots: ShadowRoot[]): Range | null {
  if ('caretPositionFromPoint' in document) {
    const p = document.caretPositionFromPoint(x, y, {shadowRoots});
    if (!p) return null;
    const range = document.createRange();
    range.setStart(p.offsetNode, p.offset);
    return range;
  }
  return (document as Document).caretRangeFromPoint(x, y);
}

declare global {
  interface HTMLElementTagNameMap {
    'collab-threads': ThreadsElement;
  }
}
