import {html, LitElement, nothing} from 'lit';
import {property, state} from 'lit/decorators.js';

import type {Access} from './access.js';
import {inboxOf} from './notifications.js';
import {DAYS, FREQUENCIES, type Emails, type Quiet} from './protocol.js';
import {base} from './styles.js';
import {language, say} from './texts.js';

/** An hour of the day in the reader's language. */
const hourOf = (hour: number): string => new Date(2026, 0, 1, hour).toLocaleTimeString(language(), {hour: 'numeric', minute: '2-digit'});

/** A day of the week in the reader's language. */
const dayOf = (day: number, weekday: 'long' | 'narrow'): string => new Date(2026, 5, 1 + day).toLocaleDateString(language(), {weekday});

const MOST_QUIET = 6; // days

/**
 * The times of the reader's emails: a line at the end of the inbox, which loads when the inbox or the line is opened. It warns of an address that accepts no email.
 */
export class EmailsElement extends LitElement {
  @property({attribute: false}) access!: Access;
  @state() private emails: Emails | undefined;
  @state() private failed = false;

  static override styles = [base];

  override render() {
    const {emails} = this;
    return html`
      ${emails?.state ? html`<p class="error" role="status" part="email-refused">${say('emailRefused')}</p>` : nothing}
      <details part="emails" @toggle=${(e: Event) => (e.target as HTMLDetailsElement).open && this.#ask()}>
        <summary class="soft">${say('emails')}</summary>
        ${this.failed ? html`<p class="error" role="alert">${say('preferencesFailed')}</p>` : nothing}
        ${emails ? html`<div class="row">
          <select aria-label=${say('emails')} @change=${(e: Event) => this.#set(e, (frequency) => ({frequency: frequency as Emails['frequency']}))}>
            ${FREQUENCIES.map((f) => html`<option value=${f} .selected=${emails.frequency === f}>${say(`emails.${f}`)}</option>`)}
          </select>
          ${emails.frequency === 'weekly' ? html`<select aria-label=${say('emailsDay')} @change=${(e: Event) => this.#set(e, (day) => ({day}))}>
            ${DAYS.map((d, i) => html`<option value=${d} .selected=${emails.day === d}>${dayOf(i, 'long')}</option>`)}
          </select>` : nothing}
          ${/^(daily|weekly)$/.test(emails.frequency) ? html`<select aria-label=${say('emailsHour')} @change=${(e: Event) => this.#set(e, (hour) => ({hour: +hour}))}>
            ${Array.from({length: 24}, (_, h) => html`<option value=${h} .selected=${emails.hour === h}>${hourOf(h)}</option>`)}
          </select>` : nothing}</div>
          ${emails.frequency === 'never' ? nothing : this.#quiet(emails.quiet)}
          ${emails.timeZone && (emails.quiet || /^(daily|weekly)$/.test(emails.frequency)) ? html`<p class="soft">${say('inZone', {zone: emails.timeZone})}</p>` : nothing}` : nothing}
      </details>`;
  }

  /** The choice of quiet hours and days. */
  #quiet(quiet: Quiet | undefined): unknown {
    const {from = '', to = '', days = []} = quiet ?? {};
    const change = (what: Partial<Quiet>) => () => this.#change({quiet: {...quiet, ...what}});
    const end = (name: 'from' | 'to', value: string) => html`<input type="time" aria-label=${say(name === 'from' ? 'quietFrom' : 'quietTo')} .value=${value}
      @change=${(e: Event) => change({[name]: (e.target as HTMLInputElement).value})()}>`;
    return html`<label class="row"><input type="checkbox" .checked=${!!quiet} @change=${() => this.#change({quiet: quiet ? undefined : {from: '20:00', to: '08:00'}})}>${say('quietHours')}</label>
      ${quiet ? html`<div class="row">${end('from', from)} ${say('quietTo')} ${end('to', to)}</div>
        <div class="row" role="group" aria-label=${say('quietDays')}>${DAYS.map((d, i) => html`<button type="button" aria-pressed=${days.includes(d)} aria-label=${dayOf(i, 'long')}
          ?disabled=${!days.includes(d) && days.length >= MOST_QUIET} @click=${change({days: days.includes(d) ? days.filter((other) => other !== d) : [...days, d]})}>${dayOf(i, 'narrow')}</button>`)}</div>` : nothing}`;
  }

  #set(e: Event, change: (value: string) => Partial<Emails>): void {
    this.#change(change((e.target as HTMLSelectElement).value));
  }

  #change(what: Partial<Emails>): void {
    const {timeZone} = Intl.DateTimeFormat().resolvedOptions();
    void this.#ask({...this.emails!, ...what, timeZone});
  }

  /** Reads the setting again. */
  load(): void {
    void this.#ask();
  }

  /** Reads the setting, or shows and sets the reader's choice. */
  #ask(set?: Emails): Promise<void> {
    const {config} = this.emails ?? {};
    if (set) this.emails = {...set, config: {...config, email: set.frequency === 'never' ? 'NONE' : config?.email === 'NONE' ? undefined : config?.email}};
    return inboxOf(this.access).emails(set).then(
      (emails) => {
        if (!set) this.emails = emails;
        this.failed = false;
      },
      () => void (this.failed = true),
    );
  }
}
customElements.define('collab-emails', EmailsElement);
