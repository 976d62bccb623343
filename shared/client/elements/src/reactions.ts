import {css, html, LitElement, nothing, type TemplateResult} from 'lit';
import {property, query, state} from 'lit/decorators.js';
import {repeat} from 'lit/directives/repeat.js';

import {KeepFocus} from './focus.js';
import {hasReacted, sameEmoji, type ShownComment, type ShownThread} from './overlay.js';
import {nameOf} from './person.js';
import type {Reaction} from './protocol.js';
import type {Store} from './store.js';
import {base} from './styles.js';
import {say} from './texts.js';
import {joined} from './time.js';

const EMOJIS = ['👍', '❤️', '😄', '🎉', '😕', '👀', '🙏', '🚀', '✅', '👎', '🔥', '💡'];
const ROW = 6; // emojis in a row of the palette

/** The reactions to a comment, and the palette to add one if the reader may. */
export class ReactionsElement extends LitElement {
  @property({attribute: false}) store!: Store;
  @property({attribute: false}) thread!: ShownThread;
  @property({attribute: false}) comment!: ShownComment;
  /** The reader may add others. */
  @property({type: Boolean}) adding = false;

  @state() private open = false; // the palette
  @query('.add') private adder!: HTMLElement | null;

  constructor() {
    super();
    new KeepFocus(this, '.chip', () => this.adder);
  }

  static override styles = [
    base,
    css`
      :host([adding]) { min-height: 26px; }
      .chip { border: 1px solid var(--_line); border-radius: 14px; padding: 1px 8px; font-size: .93em; min-height: 26px; }
      .chip[aria-pressed='true'] { border-color: var(--_accent); background: color-mix(in srgb, var(--_accent) 14%, transparent); }
      .add { color: var(--_soft); margin-inline-start: -4px; padding: 0 4px; min-height: 26px; display: grid; place-items: center; }
      svg { width: 18px; height: 18px; fill: none; stroke: currentColor; stroke-width: 1.3; stroke-linecap: round; }
      .palette { display: grid; grid-template-columns: repeat(6, 34px); width: max-content; border: 1px solid var(--_line); border-radius: var(--_radius); padding: 3px; background: var(--_paper); }
      .palette button { padding: 0; font-size: 1.2em; min-height: 32px; }
      .chip + .add { margin: 0; }
      .palette { margin-top: 4px; }
    `,
  ];

  override render() {
    const {reactions = []} = this.comment;
    if (!reactions.length && !this.adding) return nothing;
    return html`
      <div class="row" part="reactions" role="group" aria-label=${say('reactions')}>
        ${repeat(reactions, (r) => r.emoji, (r) => this.#chip(r))}
        ${this.adding ? html`<button type="button" class="add" aria-label=${say('addReaction')} title=${say('addReaction')} aria-expanded=${this.open} aria-controls="palette"
          @click=${this.#toggle}><svg viewBox="0 0 18 18" aria-hidden="true"><path d="M14 7A6 6 0 1 1 10 3M5 10q3 4 6 0M6 7v.1M10 7v.1M15 1v5M12 3h5"/></svg></button>` : nothing}
      </div>
      <div id="palette" class="palette" part="palette" role="toolbar" aria-label=${say('addReaction')} ?hidden=${!this.open || !this.adding} @keydown=${this.#key} @focusout=${this.#left}>
        ${EMOJIS.map((emoji, i) => html`<button type="button" tabindex=${i ? -1 : 0} aria-pressed=${this.#mine(emoji)} @click=${() => this.#choose(emoji)}>${emoji}</button>`)}
      </div>`;
  }

  #chip(r: Reaction): TemplateResult {
    const me = this.store.user.userId;
    const names = r.users.filter((u) => u.userId !== me).map((u) => nameOf(this.store.named(u)));
    if (hasReacted(r, me)) names.push(say('you'));
    if (r.count > r.users.length) names.push(say('moreNames', {count: r.count - r.users.length}));
    const who = joined(names);
    const label = say('reaction', {emoji: r.emoji, count: r.count, names: who});
    const text = `${r.emoji} ${r.count}`;
    if (!this.store.canWrite) return html`<span class="chip" part="reaction" role="img" aria-label=${label} title=${who}>${text}</span>`;
    return html`<button type="button" class="chip" part="reaction" aria-pressed=${hasReacted(r, me)} aria-label=${label} title=${who} @click=${() => this.#react(r.emoji)}>${text}</button>`;
  }

  /** Whether the reader has reacted with an emoji. */
  #mine(emoji: string): boolean {
    return !!this.comment.reactions?.some((r) => sameEmoji(r.emoji, emoji) && hasReacted(r, this.store.user.userId));
  }

  /** Adds the reader's reaction, or deletes it. */
  #react(emoji: string): void {
    this.store.send({name: 'react', thread: this.thread.key, commentId: this.comment.commentId, emoji, reacted: !this.#mine(emoji)});
  }

  #choose(emoji: string): void {
    this.#react(emoji);
    this.#close();
  }

  #toggle = (): void => {
    this.open = !this.open;
    if (this.open) void this.updateComplete.then(() => this.#buttons[0]!.focus());
  };

  #close(): void {
    this.open = false;
    this.adder?.focus();
  }

  get #buttons(): HTMLElement[] {
    return [...this.renderRoot.querySelectorAll<HTMLElement>('.palette button')];
  }

  #key = (e: KeyboardEvent): void => {
    const forward = getComputedStyle(this).direction === 'rtl' ? -1 : 1;
    const at = this.#buttons.indexOf(e.target as HTMLElement);
    const to = {ArrowRight: at + forward, ArrowLeft: at - forward, ArrowDown: at + ROW, ArrowUp: at - ROW, Home: 0, End: -1}[e.key];
    if (to !== undefined) this.#buttons.at(to % EMOJIS.length)!.focus();
    else if (e.key === 'Escape') this.#close();
    else return;
    e.preventDefault();
    e.stopPropagation();
  };

  /** The focus has left the palette. A click on its button closes it itself. */
  #left = (e: FocusEvent): void => {
    const to = e.relatedTarget as Node | null;
    if (to !== this.adder && !this.renderRoot.querySelector('.palette')!.contains(to)) this.open = false;
  };
}
customElements.define('collab-reactions', ReactionsElement);
