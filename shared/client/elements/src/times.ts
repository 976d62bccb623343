import type {html as Html} from 'lit';

import type {DAYS as Days, Emails, FREQUENCIES as Frequencies} from './protocol.js';
import type {language as Language, say as Say} from './texts.js';

/** What it is drawn with: the code that is rarely needed has no Lit of its own. */
export interface Parts {
  html: typeof Html;
  say: typeof Say;
  language: typeof Language;
  DAYS: typeof Days;
  FREQUENCIES: typeof Frequencies;
}

const MOST_QUIET = 6; // days

/** The choices of the times of emails. */
export function emailsView({html, say, language, DAYS, FREQUENCIES}: Parts, emails: Emails, change: (what: Partial<Emails>) => void): unknown {
  const hourOf = (hour: number) => new Date(2026, 0, 1, hour).toLocaleTimeString(language(), {hour: 'numeric', minute: '2-digit'});
  const dayOf = (day: number, weekday: 'long' | 'narrow') => new Date(2026, 5, 1 + day).toLocaleDateString(language(), {weekday});
  const chosen = (set: (value: string) => Partial<Emails>) => (e: Event) => change(set((e.target as HTMLSelectElement).value));
  const {frequency, day, hour, quiet, timeZone} = emails;
  const timed = /^(daily|weekly)$/.test(frequency);
  const {from = '', to = '', days = []} = quiet ?? {};
  const end = (name: 'from' | 'to', value: string) => html`<input type="time" aria-label=${say(name === 'from' ? 'quietFrom' : 'quietTo')} .value=${value}
    @change=${chosen((time) => ({quiet: {...quiet, [name]: time}}))}>`;
  return html`<div class="row">
      <select aria-label=${say('emails')} @change=${chosen((value) => ({frequency: value as Emails['frequency']}))}>
        ${FREQUENCIES.map((f) => html`<option value=${f} .selected=${frequency === f}>${say(`emails.${f}`)}</option>`)}
      </select>
      ${frequency === 'weekly' ? html`<select aria-label=${say('emailsDay')} @change=${chosen((value) => ({day: value}))}>
        ${DAYS.map((d, i) => html`<option value=${d} .selected=${day === d}>${dayOf(i, 'long')}</option>`)}
      </select>` : ''}
      ${timed ? html`<select aria-label=${say('emailsHour')} @change=${chosen((value) => ({hour: +value}))}>
        ${Array.from({length: 24}, (_, h) => html`<option value=${h} .selected=${hour === h}>${hourOf(h)}</option>`)}
      </select>` : ''}</div>
    ${frequency === 'never' ? '' : html`<label class="row"><input type="checkbox" .checked=${!!quiet} @change=${() => change({quiet: quiet ? undefined : {from: '20:00', to: '08:00'}})}>${say('quietHours')}</label>
      ${quiet ? html`<div class="row">${end('from', from)} ${say('quietTo')} ${end('to', to)}</div>
        <div class="row" role="group" aria-label=${say('quietDays')}>${DAYS.map((d, i) => html`<button type="button" aria-pressed=${days.includes(d)} aria-label=${dayOf(i, 'long')}
          ?disabled=${!days.includes(d) && days.length >= MOST_QUIET} @click=${() => change({quiet: {...quiet, days: days.includes(d) ? days.filter((other) => other !== d) : [...days, d]}})}>${dayOf(i, 'narrow')}</button>`)}</div>` : ''}`}
    ${timeZone && (quiet || timed) ? html`<p class="soft">${say('inZone', {zone: timeZone})}</p>` : ''}`;
}
