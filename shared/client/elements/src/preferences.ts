import {css, html, LitElement, nothing} from 'lit';
import {property, state} from 'lit/decorators.js';

import type {Access} from './access.js';
import type {Channels} from './protocol.js';
import {storeOf} from './store.js';
import {base} from './styles.js';
import {say} from './texts.js';

const CHANNELS = ['inbox', 'email'] as const;
const CHOICES = ['ALL', 'MINE', 'NONE'] as const;

/**
 * The reader's notification preferences for a document: a line at the end of its threads, which
 * loads when it is opened.
 */
export class Preferences extends LitElement {
  @property({attribute: false}) access!: Access;
  @state() private config: Channels | undefined;
  @state() private failed = false;

  static override styles = [base, css`label { display: flex; align-items: center; gap: 8px; margin-inline-end: 12px; }`];

  override render() {
    return html`
      <details part="preferences" @toggle=${(e: Event) => (e.target as HTMLDetailsElement).open && this.#ask()}>
        <summary class="soft">${say('preferences')}</summary>
        ${this.failed ? html`<p class="error" role="alert">${say('preferencesFailed')}</p>` : nothing}
        ${this.config ? html`<div class="row">${CHANNELS.map((c) => html`<label>${say(`channel.${c}`)}
          <select @change=${(e: Event) => this.#ask({[c]: (e.target as HTMLSelectElement).value})}>
            ${CHOICES.map((v) => html`<option value=${v} .selected=${this.config![c] === v}>${say(`choice.${v}`)}</option>`)}
          </select></label>`)}</div>` : nothing}
      </details>`;
  }

  #asked = 0; // requests

  /** Reads the preferences, or shows a change at once and makes it. */
  #ask(change?: Channels): Promise<void> {
    const latest = ++this.#asked;
    if (change) this.config = {...this.config, ...change};
    return storeOf(this.access).preferences(change).then(
      (config) => {
        if (latest === this.#asked) this.config = config;
        this.failed = false;
      },
      () => void (this.failed = true),
    );
  }
}
customElements.define('collab-preferences', Preferences);
