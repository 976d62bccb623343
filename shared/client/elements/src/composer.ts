import {css, html, LitElement, nothing} from 'lit';
import {property, query, state} from 'lit/decorators.js';

import {avatar} from './avatar.js';
import {contentOf, converted, pasted, prepare} from './content.js';
import {isolated, undirected} from './direction.js';
import {folded, hasWord, soughtIn} from './fold.js';
import {icon, type Icon} from './icons.js';
import {labelOf, tagsOf, withNames, withTokens} from './mentions.js';
import {late, openEmojis, openMenu} from './menu.js';
import {nameOf, type Person} from './person.js';
import type {Attachment, Suggestion, Target} from './protocol.js';
import {cut} from './quote.js';
import type {Store} from './store.js';
import {base, rich} from './styles.js';
import {say, type Key} from './texts.js';
import {uploadOf, type Upload} from './uploads.js';

const SHOWN = 8; // people and groups in the list
const GROUPS = 3; // places for groups, however many people match
const LONGEST = 20_000; // characters of a text: ten pages
const LONGEST_CHANGE = 4_000; // characters of a suggested text
const SUMMARY = 80; // characters of each text in the summary of a suggestion
const SIGNS: Record<string, string> = {b: '**', i: '*', e: '`'}; // by key
const MAC = /Mac|iP/.test(globalThis.navigator?.platform ?? ''); // servers import the package, too
const NEAR = 1_000; // remaining characters at which a countdown starts

/** The text of a suggestion without a comment, for emails and notifications. */
const summaryOf = (s: {oldValue: string | undefined; newValue: string}): string =>
  [s.oldValue ?? '', s.newValue].map((text) => say('quoted', {text: cut(text, SUMMARY)})).join(' → ');

/**
 * A written comment: its text with tokens, mentioned people, files, and its only readers; undefined
 * for everyone. The text is Markdown as written, plain text, and HTML if it has markup.
 */
export interface Written {
  markdown: string;
  text: string;
  html?: string | undefined;
  tags: Person[];
  attachments?: Attachment[];
  only?: Person[] | undefined;
  suggestion?: Suggestion | undefined;
  /** Of the request that sent it before. */
  id?: string | undefined;
  /** The lastUpdated of the edited comment when the reader began. */
  seen?: string | undefined;
}

/**
 * The composer of comments, with the choice of readers for a new thread. It shows a mention as
 * @Name and returns it as {{userId}}. The store keeps the text as a draft until it is sent or
 * canceled. It draws nothing else and waits for nothing while the reader types.
 */
export class Composer extends LitElement {
  @property({attribute: false}) store!: Store;
  @property() label = '';
  @property() submit = '';
  /** The label of another button to send it; '' for none. */
  @property() also = '';
  /** The name of the draft. */
  @property({attribute: false}) place = '';
  /** The place of a new thread. */
  @property({attribute: false}) target: Target | undefined;
  /** The initial Markdown if there is no draft, with tokens for the tagged people. */
  @property({attribute: false}) text = '';
  @property({attribute: false}) tags: Person[] = [];
  /** The lastUpdated of an edited comment, if known. */
  @property({attribute: false}) seen: string | undefined;
  /** The reader may choose who sees it. */
  @property({type: Boolean}) choice = false;
  /** The only readers, if fixed: only these people are suggested. */
  @property({attribute: false}) among: Person[] | undefined;
  /** Receives the written comment. */
  @property({attribute: false}) done!: (written: Written, also: boolean) => void;
  /** Called if the reader stops writing. The draft is gone if they discarded it. */
  @property({attribute: false}) close?: () => void;

  @state() private only: Person[] | undefined;
  @state() private change: string | undefined; // the new text of a suggestion
  @state() private files: Attachment[] = [];
  @state() private said = ''; // of files
  @state() private busy = 0; // files and code that are under way
  @state() private people: Person[] = [];
  @state() private chosen = 0;
  @state() private unmatched = false; // nobody has the sought name
  @state() private empty = true;
  @state() private left = NEAR; // remaining characters, at most NEAR
  @state() private preview = false;
  @query('textarea') private area!: HTMLTextAreaElement;
  @query('[type=file]') private picker!: HTMLInputElement;
  @query('.change') private changed!: HTMLTextAreaElement | null;
  @query('.adder') private adder!: HTMLInputElement | null;
  #id: string | undefined; // of the request that sent the previous draft
  #seen: string | undefined; // lastUpdated of the edited comment at the beginning
  #known: Person[] = [];
  #start = 0; // of the @ before the caret

  static override styles = [
    base,
    css`
      :host { position: relative; }
      .box { border: 1px solid color-mix(in srgb, var(--_ink) 50%, transparent); border-radius: var(--_radius); background: var(--_paper); }
      .box:has(textarea:focus) { border-color: var(--_accent); box-shadow: 0 0 0 1px var(--_accent); }
      textarea { min-height: 38px; max-height: 240px; border: 0; background: none; outline-offset: -2px; }
      .box > textarea { outline: none; resize: none; }
      .box > textarea, .preview { min-height: 72px; }
      :host(:not(:focus-within)) .idle > textarea { min-height: 38px; }
      :host(:not(:focus-within)) .idle > .bar, .idle + .end { display: none; }
      :host(:focus-within) .idle + .end { display: flex; }
      .preview { padding: 8px 10px; max-height: 240px; overflow: auto; }
      .bar { gap: 0; padding: 2px 4px 4px; }
      .bar .icon { padding: 0; width: 28px; }
      .end { margin-top: 8px; justify-content: flex-end; }
      .choice { display: flex; align-items: center; gap: 4px; padding: 0 4px; color: var(--_soft); }
      .seers { margin: 0 8px 6px; padding: 4px 8px; background: var(--_raised); border-radius: 6px; }
      .seers button { border-color: var(--_line); background: var(--_paper); overflow-wrap: anywhere; }
      .adder { background: none; border: 0; flex: 1; min-width: 110px; min-height: 28px; padding: 0 4px; }
      .change { margin: 0 8px 6px; width: calc(100% - 16px); border: 1px dashed var(--_line); }
      [role=alert] { padding: 0 10px 6px; }
      #people, .none {
        position: absolute; z-index: 2; left: 0; right: 0; margin-top: 2px; padding: 4px; background: var(--_paper); border: 1px solid var(--_line);
        border-radius: var(--_radius); box-shadow: 0 6px 20px rgb(0 0 0 / .22);
      }
      .none { color: var(--_soft); }
      #people li { display: flex; gap: 8px; align-items: center; padding: 4px 6px; border-radius: 6px; cursor: pointer; overflow-wrap: anywhere; }
      #people li[aria-selected='true'] { background: color-mix(in srgb, var(--_accent) 20%, transparent); }
    `,
    rich,
  ];

  protected override firstUpdated(): void {
    void late().catch(() => {});
    const draft = this.store.drafts.get(this.place);
    this.#known = [...(draft?.people ?? this.tags)];
    this.area.value = draft?.text ?? withNames(this.text, this.#known);
    this.#id = draft?.id;
    this.#seen = draft ? draft.seen : this.seen;
    this.only = draft?.only;
    this.files = draft?.attachments ?? [];
    this.change = draft?.change;
    this.#measure();
  }

  override render() {
    const open = this.people.length > 0;
    const idle = !this.close && this.empty && !this.files.length;
    return html`
      <div class="box ${idle ? 'idle' : ''}">
      <textarea dir="auto"
        part="textarea" ?hidden=${this.preview} aria-label=${this.label} placeholder=${this.label} aria-autocomplete="list" aria-haspopup="listbox" aria-controls="people"
        aria-activedescendant=${open ? `p${this.chosen}` : nothing} aria-describedby="left" aria-invalid=${this.left < 0}
        @input=${this.#typed} @keydown=${this.#key} @click=${this.#look} @blur=${this.#hide}
        @paste=${this.#dropped} @drop=${this.#dropped} @dragover=${this.#over}></textarea>
      ${this.preview ? html`<div class="preview" role="region" aria-label=${say('preview')}>${this.#previewed()}</div>` : nothing}
      <ul id="people" role="listbox" aria-label=${say('peopleList')} ?hidden=${!open}>
        ${this.people.map((p, i) => html`
          <li id="p${i}" role="option" aria-selected=${i === this.chosen} @mousedown=${(e: Event) => (e.preventDefault(), this.#take(p))}>
            ${avatar(p)}<span dir="auto">${nameOf(p)}</span>${p.group ? html`<span class="soft">${say('group')}</span>` : nothing}${this.#twin(p) ? html`<span class="soft" dir="auto">${p.userId}</span>` : nothing}
          </li>`)}
      </ul>
      ${this.unmatched ? html`<p class="none" aria-hidden="true">${say('noPeople')}</p>` : nothing}
      <div class="said" role="status">${this.unmatched ? say('noPeople') : open ? say('people', {count: this.people.length}) : this.left < 0 ? say('tooLong') : ''}</div>
      ${this.change === undefined ? nothing : html`<textarea class="change" part="textarea" dir="auto" maxlength=${LONGEST_CHANGE} aria-label=${say('newText')} .value=${this.change} @input=${this.#changing} @keydown=${this.#key}></textarea>`}
      ${this.files.length ? html`<div class="row seers" role="group">${this.files.map((f) => html`
        <button type="button" dir="auto" aria-label=${say('removeFile', {name: f.name!})} @click=${() => this.#attach(this.files.filter((g) => g !== f))}>${undirected(f.name!)} ×</button>`)}</div>` : nothing}
      ${this.said ? html`<p role="alert">${this.said}</p>` : nothing}
      ${this.only ? this.#chosen(this.only, open) : nothing}
      <div class="row bar" role="toolbar" aria-label=${say('tools')} @mousedown=${keep} @keydown=${this.#roam}>${this.#tools()}</div>
      </div>
      <div class="row end">
        ${this.choice ? html`<button type="button" class="choice" part="choice" aria-haspopup="menu" aria-expanded="false" @click=${this.#choose}>${icon(this.only ? 'lock' : 'people')}
          <span class="said">${say('visibleTo')}</span>${say(this.only ? 'onlyThese' : 'everyone')}${icon('down')}</button>` : nothing}
        <span id="left" class="grow ${this.left < 0 ? 'error' : 'soft'}">${this.left < NEAR ? say(this.left < 0 ? 'over' : 'left', {count: Math.abs(this.left)}) : ''}</span>
        ${this.close ? html`<button type="button" @click=${this.#cancel}>${say('cancel')}</button>` : nothing}
        ${this.also ? html`<button type="button" class="line" ?disabled=${!this.#ready} @click=${() => this.#send(true)}>${this.also}</button>` : nothing}
        <button type="button" class="main" part="submit" ?disabled=${!this.#ready} @click=${() => this.#send()}>${this.submit || say('send')}</button>
      </div>`;
  }

  /** The buttons below the text. Arrow keys move between them. */
  #tools(): unknown {
    const old = this.target?.targetText;
    const tool = (name: Icon, key: Key, act: (e: Event) => void) => html`<button type="button" class="icon" part=${name === 'pencil' ? 'suggest' : 'tool'} tabindex=${name === 'mention' ? 0 : -1}
      aria-label=${say(key)} title=${say(key)} aria-pressed=${name === 'eye' ? this.preview : nothing} aria-expanded=${name === 'pencil' ? this.change !== undefined : nothing} ?disabled=${this.preview && name !== 'eye'} aria-haspopup=${name === 'emoji' ? 'menu' : nothing} @click=${act}>${icon(name)}</button>`;
    return html`${tool('mention', 'mention', this.#mention)}
      ${tool('emoji', 'emoji', (e) => openEmojis(e, say('emoji'), (emoji) => this.#put(emoji)))}
      ${!this.submit && uploadOf() ? html`${tool('attach', 'attach', () => this.picker.click())}<input type="file" multiple hidden @change=${this.#picked}>` : nothing}
      ${tool('bold', 'bold', () => this.#format('b'))}${tool('list', 'list', this.#list)}${tool('code', 'code', () => this.#format('e'))}
      ${old ? tool('pencil', 'suggestChange', () => this.#suggest(this.change === undefined ? old : undefined)) : nothing}
      <span class="grow"></span>${tool('eye', 'preview', this.#see)}`;
  }

  /** Whether a person in the list only differs from another by the id. */
  #twin(p: Person): boolean {
    return !!p.name && this.people.some((q) => q !== p && q.name === p.name && q.photoUrl === p.photoUrl);
  }

  /** Whether the comment can be sent. */
  get #ready(): boolean {
    const changes = this.change !== undefined;
    return (changes ? this.change !== this.target?.targetText : !this.empty || this.files.length > 0) && this.left >= 0 && !this.busy && this.only?.length !== 0;
  }

  #suggest(change: string | undefined): void {
    this.change = change;
    this.#keep();
    void this.updateComplete.then(() => this.changed?.select());
  }

  #changing = (): void => {
    this.change = this.changed!.value;
    this.#keep();
  };

  /** The chosen readers, each with a button to remove them, and the field to add more. */
  #chosen(only: Person[], open: boolean): unknown {
    return html`<div class="row seers" role="group" aria-label=${say('onlyThese')}>${icon('lock')}
      ${only.map((p) => html`<button type="button" dir="auto" aria-label=${say('removePerson', {name: labelOf(p, only)})} @click=${() => this.#show(only.filter((q) => q !== p))}>${labelOf(p, only)} ×</button>`)}
      <input class="adder" dir="auto" role="combobox" aria-label=${say('addPerson')} placeholder=${say('addPerson')} autocomplete="off" aria-autocomplete="list" aria-controls="people"
        aria-expanded=${open} aria-activedescendant=${open ? `p${this.chosen}` : nothing}
        @input=${this.#look} @focus=${this.#look} @click=${this.#look} @keydown=${this.#key} @blur=${this.#hide}></div>`;
  }

  /** The people that the text mentions. */
  #mentioned(): Person[] {
    return tagsOf(withTokens(this.area.value, this.#known), this.#known).filter((p) => !p.group);
  }

  /** Sets the readers, and continues with adding more. */
  #show(only: Person[] | undefined): void {
    this.only = only;
    this.#keep();
    if (only) void this.updateComplete.then(() => this.adder!.focus());
  }

  override focus(): void {
    void this.updateComplete.then(() => {
      this.area.focus();
      this.area.setSelectionRange(this.area.value.length, this.area.value.length);
    });
  }

  #measure(): void {
    const text = this.area.value;
    this.empty = !text.trim();
    this.left = Math.min(LONGEST - text.length, NEAR);
  }

  #typed = (): void => {
    this.#measure();
    this.#keep();
    this.#look();
    void prepare(this.area.value);
  };

  #keep(): void {
    this.#id = undefined;
    this.store.drafts.set(this.place, {text: this.area.value, people: this.#known, attachments: this.files, target: this.target, only: this.only, change: this.change, seen: this.#seen});
  }

  #attach(files: Attachment[]): void {
    this.files = files;
    this.#keep();
  }

  #over = (e: DragEvent): void => {
    if (e.dataTransfer?.types.includes('Files')) e.preventDefault();
  };

  /**
   * Uploads pasted or dropped files, or shows that uploads are unavailable. Pasted formatting
   * becomes Markdown, except tables and what other text fields have.
   */
  #dropped = (e: ClipboardEvent | DragEvent): void => {
    const data = e instanceof ClipboardEvent ? e.clipboardData : e.dataTransfer;
    const source = e instanceof ClipboardEvent ? data?.getData('text/html') : '';
    if (source && /<(?:b|strong|i|em|a|[uo]l|li|code|pre|h[1-6]|blockquote)\b|font-(?:weight|style)/i.test(source) && !/<table\b/i.test(source)) {
      e.preventDefault();
      void this.#paste(source, data!.getData('text/plain'));
      return;
    }
    if (!data?.files.length || data.types.includes('text/plain')) return;
    e.preventDefault();
    const upload = this.submit ? undefined : uploadOf(); // an edit only changes the text
    if (!upload) {
      this.said = say('pictures');
      return;
    }
    for (const file of data.files) void this.#upload(file, upload);
  };

  /** Inserts formatted HTML as Markdown, or else its plain text. */
  async #paste(source: string, text: string): Promise<void> {
    this.busy++;
    const insert = await pasted(source, text).catch(() => text);
    this.busy--;
    this.#insert(this.area.selectionStart, this.area.selectionEnd, insert, insert.length, 0);
  }

  async #upload(file: File, upload: Upload): Promise<void> {
    this.busy++;
    this.said = say('uploading', {name: isolated(file.name)});
    try {
      const url = await upload(file);
      this.said = '';
      this.#attach([...this.files, {name: file.name, mimeType: file.type, size: file.size, url}]);
    } catch (e) {
      console.error('collabdata: the function of setUploads failed', e);
      this.said = say('notUploaded', {name: isolated(file.name)});
    }
    this.busy--;
  }

  /** Whether the reader is choosing readers, not writing. */
  get #adding(): boolean {
    return !!this.adder && this.shadowRoot!.activeElement === this.adder;
  }

  #cancel = (): void => {
    this.store.drafts.set(this.place);
    this.close!();
  };

  /**
   * Suggests people with names that start with the text after the last @, or in the field for
   * readers.
   */
  #look = (): void => {
    const sought = () => (this.#adding ? this.adder!.value : soughtIn(this.area.value.slice(0, this.area.selectionEnd)));
    const before = sought();
    if (before === undefined) return this.#hide();
    this.#start = this.area.selectionEnd - before.length - 1;
    if (!this.#adding && this.#ended(before)) return this.#hide();
    const adding = this.#adding;
    const wanted = folded(before.trim());
    const fits = (p: Person) => folded(p.userId).startsWith(wanted) || hasWord(folded(p.name ? `${p.name} (${p.userId})` : nameOf(p)), wanted);
    const has = (list: Person[], p: Person) => list.some((q) => q.userId === p.userId);
    // the list can be used while searching
    this.people = this.people.filter(fits);
    this.chosen = 0;
    this.unmatched = false;
    this.store.people(before.trim(), () => sought() === before).then(
      (all) => {
        // the reader has continued typing
        if (this.#adding !== adding || sought() !== before) return;
        const may = (p: Person) => (p.group ? !adding && !this.only && !this.among : adding ? !has(this.only!, p) : !this.among || has(this.among, p));
        const found = all.filter((p) => fits(p) && may(p)); // people, then groups
        const groups = Math.min(found.filter((p) => p.group).length, GROUPS);
        this.people = found.filter((p, i) => p.group || i < SHOWN - groups).slice(0, SHOWN);
        this.chosen = 0;
        const none = !!wanted && !this.people.length;
        this.unmatched = none && !/\s/.test(before);
        if (none) this.#none = [this.#start, before];
      },
      () => this.#hide(),
    );
  };

  #none: [start: number, text: string] = [-1, '']; // nobody has a name with that text

  /** Whether a text after an @ goes on after a name: a mentioned one, or letters that nobody has. */
  #ended(text: string): boolean {
    const [start, none] = this.#none;
    return /\s/.test(text) && ((start === this.#start && text.startsWith(none)) || this.#known.some((p) => text.startsWith(`${labelOf(p, this.#known)} `)));
  }

  #hide = (): void => {
    if (this.people.length) this.people = [];
    this.unmatched = false;
  };

  #take(p: Person): void {
    if (this.#adding) {
      this.adder!.value = '';
      this.#hide();
      return this.#show([...this.only!, p]);
    }
    // mentioned people can see the thread
    if (this.only && !this.only.some((q) => q.userId === p.userId)) this.only = [...this.only, p];
    if (!this.#known.some((q) => q.userId === p.userId)) this.#known.push(p);
    this.area.setRangeText(`@${labelOf(p, this.#known)} `, this.#start, this.area.selectionEnd, 'end');
    this.#typed();
    this.#hide();
  }

  /** Formats the selected text in Markdown, or ends its formatting, if the key is for that. */
  #format(key: string): boolean {
    const {selectionStart: from, selectionEnd: to, value} = this.area;
    const text = value.slice(from, to);
    const sign = SIGNS[key];
    if (key === 'e' && text.includes('\n')) {
      this.#insert(from, to, `\`\`\`\n${text.replace(/\n$/, '')}\n\`\`\`\n`, 4, text.replace(/\n$/, '').length);
    } else if (sign) {
      const n = sign.length;
      const outer = value.slice(Math.max(from - n, 0), to + n);
      const marked = outer === sign + text + sign && (n > 1 || (value[from - 2] !== sign && value[to + 1] !== sign));
      if (marked) this.#insert(from - n, to + n, text, 0, to - from);
      else this.#insert(from, to, sign + text + sign, n, to - from);
    } else if (key === 'k') {
      const address = /^https?:\/\/\S+$/.test(text);
      if (address) this.#insert(from, to, `[](${text})`, 1, 0);
      else this.#insert(from, to, `[${text}](https://)`, text ? text.length + 3 : 1, text ? 'https://'.length : 0);
    } else return false;
    return true;
  }

  /** Replaces a part of the text, which can be undone, and selects some of it. */
  #insert(from: number, to: number, text: string, at: number, length: number): void {
    this.area.focus();
    this.area.setSelectionRange(from, to);
    if (!document.execCommand('insertText', false, text)) this.area.setRangeText(text);
    this.area.setSelectionRange(from + at, from + at + length);
    this.#typed();
  }

  /** Inserts a text at the caret. */
  #put(text: string): void {
    this.#insert(this.area.selectionStart, this.area.selectionEnd, text, text.length, 0);
  }

  #mention = (): void => this.#put(soughtIn(`${this.area.value.slice(0, this.area.selectionStart)}@`) === '' ? '@' : ' @');

  #list = async (): Promise<void> => {
    const {selectionStart: from, selectionEnd: to, value} = this.area;
    const {start, end, lines} = (await late()).listed(value, from, to);
    this.#insert(start, end, lines, to > from ? 0 : lines.length, to > from ? lines.length : 0);
  };

  #picked = (): void => {
    const {files} = this.picker;
    for (const file of files!) void this.#upload(file, uploadOf()!);
    this.picker.value = '';
  };

  #roam = (e: KeyboardEvent): void => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[e.key];
    if (!step || (e.target as Element).closest('[role=menu]')) return;
    const tools = [...this.renderRoot.querySelectorAll<HTMLElement>('.bar button:enabled')];
    tools.at((tools.indexOf(e.target as HTMLElement) + (getComputedStyle(this).direction === 'rtl' ? -step : step)) % tools.length)!.focus();
  };

  /** Shows the text as it will look, or the field again. */
  #see = async (): Promise<void> => {
    await prepare(this.area.value);
    this.preview = !this.preview;
    if (!this.preview) this.focus();
  };

  #previewed(): unknown {
    const {text, html} = converted(withTokens(this.area.value.trim(), this.#known));
    return contentOf({commentId: 0, commentText: text, commentHtml: html ?? '', from: this.store.user, tags: this.#known, createdAt: '', lastUpdated: ''}, this.store, () => this.requestUpdate());
  }

  /** Opens the choice of readers. */
  #choose = (e: Event): void => openMenu(e, say('visibleTo'), () => [
    {label: say('everyone'), checked: !this.only, act: () => this.#show(undefined)},
    {label: say('onlyThese'), checked: !!this.only, act: () => this.#show(this.only ?? this.#mentioned())},
  ]);

  #key = (e: KeyboardEvent): void => {
    if (e.isComposing) return;
    if (e.target === this.area && (MAC ? e.metaKey : e.ctrlKey) && !e.altKey && !e.shiftKey && this.#format(e.key.toLowerCase())) return e.preventDefault();
    const n = this.people.length;
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) void this.#send();
    else if (n && (e.key === 'ArrowDown' || e.key === 'ArrowUp')) this.chosen = (this.chosen + (e.key === 'ArrowDown' ? 1 : n - 1)) % n;
    else if (n && (e.key === 'Enter' || (e.key === 'Tab' && !this.#adding))) this.#take(this.people[this.chosen]!);
    else if ((n || this.unmatched) && e.key === 'Escape') this.#hide();
    else if (e.key === 'Escape' && this.close) this.close();
    else if (e.key === 'Backspace' && this.#adding && !this.adder!.value && this.only!.length) this.#show(this.only!.slice(0, -1));
    else return;
    e.preventDefault();
    e.stopPropagation();
  };

  #send = async (also = false): Promise<void> => {
    if (!this.#ready) return;
    const preparing = prepare(this.area.value);
    if (preparing) {
      this.busy++;
      await preparing;
      this.busy--;
      if (!this.#ready) return;
    }
    const markdown = withTokens(this.area.value.trim(), this.#known);
    const attachments = this.files;
    const id = this.#id;
    const suggestion = this.change === undefined ? undefined : {oldValue: this.target!.targetText, newValue: this.change};
    const {text = '', html} = markdown || !suggestion ? converted(markdown) : {text: summaryOf(suggestion)};
    this.area.value = this.said = '';
    this.files = [];
    this.change = undefined;
    this.preview = false;
    this.focus();
    this.#measure();
    this.store.drafts.set(this.place);
    this.#id = undefined;
    this.done({markdown, text, html, tags: tagsOf(text, this.#known), only: this.only, id, suggestion, seen: this.#seen, ...(attachments.length && {attachments})}, also);
  };
}
customElements.define('collab-composer', Composer);

/** A click on a button keeps the focus in the text. */
const keep = (e: Event): void => e.preventDefault();
