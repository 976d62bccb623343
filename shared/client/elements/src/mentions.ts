import {NAME_END} from './fold.js';
import {nameOf, type Person} from './person.js';

/** The name of a person in a composed text: with the id if another person has the same name. */
export function labelOf(p: Person, people: Person[]): string {
  const same = people.some((q) => q.userId !== p.userId && nameOf(q) === nameOf(p));
  return same && p.name ? `${p.name} (${p.userId})` : nameOf(p);
}

/** A text with names instead of tokens. */
export function withNames(text: string, people: Person[]): string {
  return people.reduce((t, p) => t.replaceAll(`{{${p.userId}}}`, `@${labelOf(p, people)}`), text);
}

/** A text with tokens instead of names, longest first: "@Ann Lee" is not "@Ann" and " Lee". */
export function withTokens(text: string, people: Person[]): string {
  for (const p of [...people].sort((a, b) => labelOf(b, people).length - labelOf(a, people).length)) {
    const name = labelOf(p, people).replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    text = text.replace(new RegExp(`@${name}(?:${NAME_END})`, 'gu'), () => `{{${p.userId}}}`);
  }
  return text;
}

/** The known people in a text's tokens. */
export function tagsOf(text: string, people: Person[]): Person[] {
  const ids = new Set(Array.from(text.matchAll(/\{\{([^{}]+)\}\}/g), (m) => m[1]));
  return people.filter((p) => ids.has(p.userId));
}
