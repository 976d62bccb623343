import {css, html, LitElement, nothing, type PropertyValues} from 'lit';
import {customElement, property, query, state} from 'lit/decorators.js';

import {avatar} from './avatar.js';
import {nameOf, type Person, type Tag} from './protocol.js';
import {tagsOf, type Store} from './store.js';
import {base} from './styles.js';
import {texts} from './texts.js';

const SHOWN = 8; // people in the list

/**
 * Where a comment is written. A mention is shown as @Name and handed on as {{userId}}. It draws nothing else while the reader types, and waits for
 * nothing.
 */
@customElement('collab-composer')
export class Composer extends LitElement {
  @property({attribute: false}) store!: Store;
  @property() label = '';
  @property() submit = '';
  /** The text to begin with, with tokens for those whom the tags name. */
  @property({attribute: false}) text = '';
  @property({attribute: false}) tags: Tag[] = [];
  /** Gets the text, with tokens, and those whom it mentions. */
  @property({attribute: false}) done!: (text: string, tags: Tag[]) => void;
  @property({attribute: false}) cancel?: () => void;

  @state() private people: Person[] = [];
  @state() private chosen = 0;
  @state() private empty = true;
  @query('textarea') private area!: HTMLTextAreaElement;
  #known: Person[] = [];
  #start = 0; // of the @ before the caret

  static override styles = [
    base,
    css`
      :host { position: relative; }
      textarea {
        display: block; width: 100%; min-height: 62px; max-height: 240px; field-sizing: content; resize: vertical; padding: 8px 10px; font: inherit; color: inherit;
        background: var(--_paper); border: 1px solid color-mix(in srgb, var(--_ink) 50%, transparent); border-radius: var(--_radius);
      }
      textarea::placeholder { color: var(--_soft); opacity: 1; }
      .row { margin-top: 6px; justify-content: flex-end; }
      ul {
        position: absolute; z-index: 2; left: 0; right: 0; margin-top: 2px; padding: 4px; background: var(--_paper); border: 1px solid var(--_line);
        border-radius: var(--_radius); box-shadow: 0 6px 20px rgb(0 0 0 / .22);
      }
      li { display: flex; gap: 8px; align-items: center; padding: 4px 6px; border-radius: 6px; cursor: pointer; overflow-wrap: anywhere; }
      li[aria-selected='true'] { background: color-mix(in srgb, var(--_accent) 20%, transparent); }
    `,
  ];

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has('text')) this.empty = !this.text;
  }

  protected override firstUpdated(): void {
    this.area.value = this.#named();
  }

  override render() {
    const open = this.people.length > 0;
    return html`
      <textarea
        part="textarea" aria-label=${this.label} placeholder=${this.label} aria-autocomplete="list" aria-haspopup="listbox" aria-controls="people"
        aria-activedescendant=${open ? `p${this.chosen}` : nothing} maxlength="20000"
        @input=${this.#typed} @keydown=${this.#key} @click=${this.#look} @blur=${this.#close}></textarea>
      <ul id="people" role="listbox" aria-label=${texts.peopleList} ?hidden=${!open}>
        ${this.people.map((p, i) => html`
          <li id="p${i}" role="option" aria-selected=${i === this.chosen} @mousedown=${(e: Event) => (e.preventDefault(), this.#take(p))}>
            ${avatar(p)}<span>${nameOf(p)}</span>${p.name ? html`<span class="soft">${p.userId}</span>` : nothing}
          </li>`)}
      </ul>
      <div class="said" role="status">${open ? texts.people(this.people.length) : ''}</div>
      <div class="row">
        ${this.cancel ? html`<button type="button" @click=${this.cancel}>${texts.cancel}</button>` : nothing}
        <button type="button" class="main" part="submit" ?disabled=${this.empty} @click=${this.#send}>${this.submit || texts.send}</button>
      </div>`;
  }

  override focus(): void {
    void this.updateComplete.then(() => {
      this.area.focus();
      this.area.setSelectionRange(this.area.value.length, this.area.value.length);
    });
  }

  /** The text to begin with, with names. */
  #named(): string {
    this.#known = this.tags.map((t) => t.contact ?? t);
    return this.#known.reduce((text, p) => text.replaceAll(`{{${p.userId}}}`, `@${this.#label(p)}`), this.text);
  }

  /** How a person is called here: with the id where another one has the same name. */
  #label(p: Person): string {
    const same = this.#known.some((q) => q.userId !== p.userId && nameOf(q) === nameOf(p));
    return same && p.name ? `${p.name} (${p.userId})` : nameOf(p);
  }

  #typed = (): void => {
    const empty = !this.area.value.trim();
    if (empty !== this.empty) this.empty = empty;
    this.#look();
  };

  /** Shows those whose names begin as what stands behind the @ before the caret. */
  #look = (): void => {
    const before = this.area.value.slice(0, this.area.selectionEnd);
    const m = /(?:^|[\s(])@([^\s@]{0,40})$/u.exec(before);
    if (!m) return this.#close();
    const wanted = m[1]!.toLowerCase();
    this.#start = before.length - wanted.length - 1;
    const fits = (p: Person) => p.userId.toLowerCase().startsWith(wanted) || ` ${nameOf(p)}`.toLowerCase().includes(` ${wanted}`);
    this.store.people().then(
      (all) => {
        if (this.area.value.slice(0, this.area.selectionEnd) !== before) return; // the reader has typed on
        this.people = all.filter(fits).slice(0, SHOWN);
        this.chosen = 0;
      },
      () => this.#close(),
    );
  };

  #close = (): void => {
    if (this.people.length) this.people = [];
  };

  #take(p: Person): void {
    if (!this.#known.some((q) => q.userId === p.userId)) this.#known.push(p);
    this.area.setRangeText(`@${this.#label(p)} `, this.#start, this.area.selectionEnd, 'end');
    this.#close();
  }

  #key = (e: KeyboardEvent): void => {
    if (e.isComposing) return;
    const n = this.people.length;
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) this.#send();
    else if (n && (e.key === 'ArrowDown' || e.key === 'ArrowUp')) this.chosen = (this.chosen + (e.key === 'ArrowDown' ? 1 : n - 1)) % n;
    else if (n && (e.key === 'Enter' || e.key === 'Tab')) this.#take(this.people[this.chosen]!);
    else if (n && e.key === 'Escape') this.#close();
    else if (e.key === 'Escape' && this.cancel) this.cancel();
    else return;
    e.preventDefault();
    e.stopPropagation();
  };

  #send = (): void => {
    let text = this.area.value.trim();
    if (!text) return;
    // The longest first: "@Ann Lee" is not "@Ann" and " Lee".
    for (const p of [...this.#known].sort((a, b) => this.#label(b).length - this.#label(a).length)) {
      const name = this.#label(p).replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
      text = text.replace(new RegExp(`@${name}(?![\\p{L}\\p{N}])`, 'gu'), () => `{{${p.userId}}}`);
    }
    this.area.value = '';
    this.empty = true;
    this.done(text, tagsOf(text, this.#known));
  };
}
