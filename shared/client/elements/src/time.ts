import {html, type TemplateResult} from 'lit';

import {isolated} from './direction.js';
import {language, say} from './texts.js';

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [['year', 31_536_000], ['month', 2_592_000], ['week', 604_800], ['day', 86_400], ['hour', 3600], ['minute', 60]];

/** The age of a time, such as "2 hours ago". */
export function ago(time: number, now = Date.now()): string {
  const seconds = (now - time) / 1000;
  for (const [unit, size] of STEPS) {
    if (seconds >= size) return new Intl.RelativeTimeFormat(language(), {numeric: 'auto'}).format(-Math.floor(seconds / size), unit);
  }
  return say('now');
}

/** A time in the reader's language. */
export const moment = (iso: string): string => new Date(iso).toLocaleString(language(), {dateStyle: 'medium', timeStyle: 'short'});

/** Names as a list in the reader's language. */
export const joined = (names: string[]): string => new Intl.ListFormat(language()).format(names.map(isolated));

export const timeOf = (iso: string): TemplateResult => html`<time datetime=${iso} title=${moment(iso)}>${ago(Date.parse(iso))}</time>`;
