import {css, html, LitElement, nothing} from 'lit';
import {property, state} from 'lit/decorators.js';

import type {Access} from './access.js';
import {icon} from './icons.js';
import {openMenu} from './menu.js';
import type {Channels} from './protocol.js';
import {storeOf} from './store.js';
import {base} from './styles.js';
import {say} from './texts.js';

const CHANNELS = ['inbox', 'email'] as const;
const CHOICES = ['ALL', 'MINE', 'NONE'] as const;

/** Whether the reader watches a document, and the menu of its notifications. */
export class Preferences extends LitElement {
  @property({attribute: false}) access!: Access;
  @state() private config: Channels | undefined;
  @state() private failed = false;

  static override styles = [
    base,
    css`
      :host { display: contents; }
      button { display: flex; align-items: center; gap: 6px; color: var(--_soft); }
      .error { flex-basis: 100%; order: 1; }
    `,
  ];

  protected override firstUpdated(): void {
    void this.#ask();
  }

  override render() {
    const chosen = CHANNELS.map((c) => this.config?.[c]);
    const shown = chosen.includes('ALL') ? 'ALL' : this.config && chosen.every((c) => c === 'NONE') ? 'NONE' : 'MINE';
    const label = say(`watch.${shown}`);
    return html`
      <button type="button" part="preferences" aria-haspopup="menu" aria-expanded="false" aria-label="${label}: ${say('preferences')}" title=${say('preferences')}
        @click=${this.#open}>${icon(shown === 'NONE' ? 'muted' : shown === 'ALL' ? 'eye' : 'bell')}${label}</button>
      ${this.failed ? html`<p class="error" role="alert">${say('preferencesFailed')}</p>` : nothing}`;
  }

  #open = (e: Event): void => openMenu(e, say('preferences'), () => (this.config ? Promise.resolve() : this.#ask()).then(() => this.config ? CHANNELS.flatMap((c) => CHOICES.map((choice, i) => ({
    label: say(`choice.${choice}`), checked: this.config![c] === choice, ...(!i && {heading: say(`channel.${c}`)}), act: () => void this.#ask({[c]: choice}),
  }))) : []));

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
