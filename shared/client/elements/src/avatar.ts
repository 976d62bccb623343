import {html, type TemplateResult} from 'lit';

import {nameOf, type Person} from './person.js';

/** The first character as a reader sees it, such as a letter with its marks. */
const first = (text = ''): string => [...new Intl.Segmenter().segment(text)][0]?.segment ?? '';

/**
 * A person's photo, or initials on a color. Screen readers ignore it, because the name is next to
 * it.
 */
export function avatar(p: Person): TemplateResult {
  if (p.photoUrl && /^https?:\/\//i.test(p.photoUrl)) {
    return html`<span class="avatar" part="avatar"><img src=${p.photoUrl} alt="" loading="lazy" referrerpolicy="no-referrer"></span>`;
  }
  const words = nameOf(p).trim().split(/\s+/);
  const initials = [words[0], words.length > 1 ? words.at(-1) : ''].map((w) => first(w)).join('').toUpperCase();
  let sum = 0;
  for (const c of p.userId) sum = (sum * 31 + c.codePointAt(0)!) >>> 0;
  return html`<span class="avatar h${(sum % 6) + 1} ${p.group ? 'group' : ''}" part="avatar" aria-hidden="true">${initials}</span>`;
}
