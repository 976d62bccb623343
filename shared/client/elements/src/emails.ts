import {html, LitElement, nothing} from 'lit';
import {property, state} from 'lit/decorators.js';

import type {Access} from './access.js';
import {late, type Late} from './menu.js';
import {inboxOf} from './notifications.js';
import {DAYS, FREQUENCIES, type Emails} from './protocol.js';
import {base} from './styles.js';
import {language, say} from './texts.js';

/**
 * The times of the reader's emails: a line at the end of the inbox, which loads when the inbox or
 * the line is opened. It warns of an address that accepts no email.
 */
export class EmailsElement extends LitElement {
  @property({attribute: false}) access!: Access;
  @state() private emails: Emails | undefined;
  @state() private failed = false;
  @state() private view: Late['emailsView'] | undefined;

  static override styles = [base];

  override render() {
    const {emails} = this;
    return html`
      ${emails?.state ? html`<p class="error" role="status" part="email-refused">${say('emailRefused')}</p>` : nothing}
      <details part="emails" @toggle=${(e: Event) => (e.target as HTMLDetailsElement).open && this.#open()}>
        <summary class="soft">${say('emails')}</summary>
        ${this.failed ? html`<p class="error" role="alert">${say('preferencesFailed')}</p>` : nothing}
        ${emails && this.view ? this.view(parts, emails, this.#change) : nothing}
      </details>`;
  }

  #open(): void {
    void late().then((l) => (this.view = l.emailsView), () => (this.failed = true));
    void this.#ask();
  }

  #change = (what: Partial<Emails>): void => {
    const {timeZone} = Intl.DateTimeFormat().resolvedOptions();
    void this.#ask({...this.emails!, ...what, timeZone});
  };

  /** Reads the setting again. */
  load(): void {
    void this.#ask();
  }

  #asked = 0; // requests

  /** Reads the setting, or shows and sets the reader's choice, which an earlier read does not undo. */
  #ask(set?: Emails): Promise<void> {
    const latest = ++this.#asked;
    const {config} = this.emails ?? {};
    if (set) this.emails = {...set, config: {...config, email: set.frequency === 'never' ? 'NONE' : config?.email === 'NONE' ? undefined : config?.email}};
    return inboxOf(this.access).emails(set).then(
      (emails) => {
        if (!set && latest === this.#asked) this.emails = emails;
        this.failed = false;
      },
      () => void (this.failed = true),
    );
  }
}
/** What the choices are drawn with. */
const parts = {html, say, language, DAYS, FREQUENCIES};

customElements.define('collab-emails', EmailsElement);
