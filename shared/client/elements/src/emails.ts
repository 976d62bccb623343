import {html, LitElement, nothing} from 'lit';
import {property, state} from 'lit/decorators.js';

import type {Access} from './access.js';
import {askPatiently, FREQUENCIES, type Emails} from './protocol.js';
import {base} from './styles.js';
import {language, say} from './texts.js';

/** An hour of the day in the reader's language. */
const hourOf = (hour: number): string => new Date(2026, 0, 1, hour).toLocaleTimeString(language(), {hour: 'numeric', minute: '2-digit'});

/**
 * The times of the reader's emails: a line at the end of the inbox, which loads when it is opened.
 */
export class EmailsElement extends LitElement {
  @property({attribute: false}) access!: Access;
  @state() private emails: Emails | undefined;
  @state() private failed = false;

  static override styles = [base];

  override render() {
    const {emails} = this;
    return html`
      <details part="emails" @toggle=${(e: Event) => (e.target as HTMLDetailsElement).open && this.#ask()}>
        <summary class="soft">${say('emails')}</summary>
        ${this.failed ? html`<p class="error" role="alert">${say('preferencesFailed')}</p>` : nothing}
        ${emails ? html`<div class="row">
          <select aria-label=${say('emails')} @change=${(e: Event) => this.#set(e, (frequency) => ({frequency: frequency as Emails['frequency']}))}>
            ${FREQUENCIES.map((f) => html`<option value=${f} .selected=${emails.frequency === f}>${say(`emails.${f}`)}</option>`)}
          </select>
          ${emails.frequency === 'daily' ? html`<select aria-label=${say('emailsHour')} @change=${(e: Event) => this.#set(e, (hour) => ({hour: +hour}))}>
            ${Array.from({length: 24}, (_, h) => html`<option value=${h} .selected=${emails.hour === h}>${hourOf(h)}</option>`)}
          </select>` : nothing}</div>` : nothing}
      </details>`;
  }

  #set(e: Event, change: (value: string) => Partial<Emails>): void {
    const {timeZone} = Intl.DateTimeFormat().resolvedOptions();
    void this.#ask({...this.emails!, ...change((e.target as HTMLSelectElement).value), timeZone});
  }

  #last: Promise<void> = Promise.resolve();

  /** Reads the setting, or shows and sets the reader's choice, in order. */
  #ask(set?: Emails): Promise<void> {
    const {config} = this.emails ?? {};
    if (set) this.emails = {...set, config: {...config, email: set.frequency === 'never' ? 'NONE' : config?.email === 'NONE' ? undefined : config?.email}};
    const answer = this.#last.then(() => askPatiently(this.access, 'emails', set ? {set} : {}));
    return (this.#last = answer.then(
      (emails) => {
        if (!set) this.emails = emails;
        this.failed = false;
      },
      () => void (this.failed = true),
    ));
  }
}
customElements.define('collab-emails', EmailsElement);
