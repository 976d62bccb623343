import search from 'approx-string-match';

import type {Target} from './protocol.js';

const LONGEST = 500; // characters of a quote
const COMPARED = 1_000; // maximum characters of a quote that is found in a changed text
const CONTEXT = 32; // characters that are stored before and after a quote
const PIECES = 12; // maximum pieces of a changed quote and its context that are searched
const PIECE = 8; // characters of a piece, if there are enough
const REPEATS = 20; // considered occurrences of a piece
const CANDIDATES = 5; // places of a changed quote that are compared in detail
const SLIP = 16; // characters by which the end of a changed quote may move to meet its context
const CONTACT = 4; // common characters of the context that justify this

// Soft hyphens, zero-width characters and marks of direction.
const INVISIBLE = '\\u00ad\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u2069\\ufeff';
const GAP = new RegExp(`[\\s${INVISIBLE}]+`, 'g');
const WHITE = /[^\S\ufeff]/;
// Letters that never compose, or one with its marks.
const CLUSTER = /[\0-\u02ff]+(?!\p{M})|\P{M}[\p{M}\u1160-\u11ff]*|\p{M}+/gu;
const GRAM = 4; // characters of the keys in an index
const KEYS = 1 << 16; // of an index

/**
 * A text in the form in which quotes are compared: composed letters, one space for white space, and
 * no invisible characters. It maps its positions to those of the original text.
 */
export class Plain {
  readonly text: string;
  readonly #starts: number[] = []; // of each character in the original text, and the end of all

  constructor(readonly original: string) {
    const composed = original.normalize('NFC') === original;
    let text = '';
    let end = 0;
    const word = (to: number) => {
      const part = original.slice(end, to);
      if (composed) {
        for (let i = end; i < to; i++) this.#starts.push(i);
        text += part;
        return;
      }
      for (const {0: cluster, index} of part.matchAll(CLUSTER)) {
        const form = cluster.normalize('NFC');
        for (let i = 0; i < form.length; i++) this.#starts.push(end + index + (form === cluster ? i : 0));
        text += form;
      }
    };
    for (const {0: gap, index} of original.matchAll(GAP)) {
      word(index);
      if (WHITE.test(gap)) {
        this.#starts.push(index);
        text += ' ';
      }
      end = index + gap.length;
    }
    word(original.length);
    this.#starts.push(original.length);
    this.text = text;
  }

  #index: {first: Int32Array; next: Int32Array} | undefined; // positions plus 1, by the key of their text

  /** The positions of a text, in order. */
  *positions(part: string): Generator<number> {
    const {text} = this;
    if (part.length < GRAM) {
      for (let at = text.indexOf(part); part && at >= 0; at = text.indexOf(part, at + 1)) yield at;
      return;
    }
    const {first, next} = (this.#index ??= indexOf(text));
    for (let at = first[keyOf(part, 0)]!; at; at = next[at]!) if (text.startsWith(part, at - 1)) yield at - 1;
  }

  /** The position of a character in the original text. */
  start(at: number): number {
    return this.#starts[at]!;
  }

  /** The first character at or after a position in the original text. */
  at(position: number): number {
    let [low, high] = [0, this.#starts.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#starts[middle]! < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The key of the text at a position. */
function keyOf(text: string, at: number): number {
  let key = 0;
  for (let i = at; i < at + GRAM; i++) key = Math.imul(key, 0x9e3b) + text.charCodeAt(i);
  return (key ^ (key >>> 16)) & (KEYS - 1);
}

/** For each key its first position plus 1, and for each of these the next one; 0 for none. */
function indexOf(text: string): {first: Int32Array; next: Int32Array} {
  const first = new Int32Array(KEYS);
  const next = new Int32Array(text.length + 1);
  for (let at = text.length - GRAM; at >= 0; at--) {
    const key = keyOf(text, at);
    next[at + 1] = first[key]!;
    first[key] = at + 1;
  }
  return {first, next};
}

const plain = (text = ''): string => new Plain(text).text;

/** Returns at most limit characters of a text, and no part of a grapheme cluster. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  let end = 0;
  for (const {index} of new Intl.Segmenter().segment(text.slice(0, limit + 2))) if (index <= limit) end = index;
  return end ? text.slice(0, end) : text.slice(0, limit).replace(/[\ud800-\udbff]$/, '');
}

/** The place of a quote in a text, from one position to another. */
export interface Found {
  from: number;
  to: number;
  /** The text differs from the quote. */
  changed: boolean;
}

/** The target of the text between two positions, or null if there is only white space. */
export function targetOf(whole: Plain, from: number, to: number): Target | null {
  const {text, original} = whole;
  while (from < to && text[from] === ' ') from++;
  const targetText = cut(original.slice(whole.start(from), whole.start(to)).replace(/\s+/g, ' ').trim(), LONGEST).trim();
  const needle = plain(targetText);
  if (!needle) return null;
  let occurrence = 1;
  for (const at of whole.positions(needle)) if (at < from) occurrence++;
  const end = from + needle.length;
  const prefix = text.slice(Math.max(from - CONTEXT, 0), from).replace(/^[\udc00-\udfff]/, '');
  return {targetText, occurrence, prefix, suffix: cut(text.slice(end, end + CONTEXT + 2), CONTEXT)};
}

/** The target of a part of a text, or null if it has only white space: see ThreadsElement.resolve. */
export function quoteIn(text: string, from: number, to: number): Target | null {
  const whole = new Plain(text);
  return targetOf(whole, whole.at(from), whole.at(to));
}

/** The part of a text that a target quotes, or null if the text does not have it. */
export function findIn(text: string, target: Target): {from: number; to: number; changed: boolean} | null {
  const whole = new Plain(text);
  const found = find(whole, target);
  return found && {from: whole.start(found.from), to: whole.start(found.to), changed: found.changed};
}

/** A quote with its context, in the form of Plain. */
interface Quote {
  needle: string;
  prefix: string;
  suffix: string;
}

/** A possible place of a quote, with the number of common characters of the context. */
interface Candidate extends Found {
  shared: number;
}

/**
 * Finds a quote in a text. Of equal texts, it is the one with the longest common context, then the
 * one with the closest count. If there is none, it is the most similar text. It returns null if too
 * little is common.
 */
export function find(whole: Plain, target: Target): Found | null {
  return findExact(whole, target) ?? similar(whole, quoteOf(target));
}

const quoteOf = (target: Target): Quote => ({needle: plain(target.targetText).trim(), prefix: plain(target.prefix), suffix: plain(target.suffix)});

/** find without similar texts. */
export const findExact = (whole: Plain, target: Target): Found | null => exact(whole, quoteOf(target), target.occurrence ?? 1);

/**
 * Finds a quote that was moved to another place of a text. It looks for the only place with half of
 * its context, which is near, or else for the only one of all. It returns null if a short quote has
 * no context there.
 */
export function findMoved(whole: Plain, target: Target): (Found & {near: boolean}) | null {
  const quote = quoteOf(target);
  const {needle, prefix, suffix} = quote;
  const all: Candidate[] = [];
  for (const from of whole.positions(needle)) {
    if (all.length > REPEATS) break;
    const to = from + needle.length;
    const shared = before(whole.text, from, prefix) + after(whole.text, to, suffix);
    if (weight(quote, 0, shared) >= 0) all.push({from, to, shared, changed: false});
  }
  const near = all.filter(({shared}) => shared > 0 && 2 * shared >= prefix.length + suffix.length);
  const [found, other] = near.length ? near : all;
  return found && !other ? {...found, near: near.length > 0} : null;
}

/** The number of common characters before a position. */
function before(text: string, at: number, prefix: string): number {
  let n = 0;
  while (n < prefix.length && n < at && text.charCodeAt(at - n - 1) === prefix.charCodeAt(prefix.length - n - 1)) n++;
  return n;
}

/** The number of common characters after a position. */
function after(text: string, at: number, suffix: string): number {
  let n = 0;
  while (n < suffix.length && at + n < text.length && text.charCodeAt(at + n) === suffix.charCodeAt(n)) n++;
  return n;
}

/**
 * The weight of a place: common characters of the quote and its context, minus differences. It is
 * negative if less than a third is common.
 */
function weight({needle, prefix, suffix}: Quote, errors: number, shared: number): number {
  return needle.length - 2 * errors + shared - (needle.length + prefix.length + suffix.length) / 3;
}

function exact(whole: Plain, quote: Quote, occurrence: number): Found | null {
  const {text} = whole;
  const {needle, prefix, suffix} = quote;
  let best: Candidate | undefined;
  let nearest = 0;
  let count = 0;
  for (const from of whole.positions(needle)) {
    const to = from + needle.length;
    const shared = before(text, from, prefix) + after(text, to, suffix);
    const distance = Math.abs(++count - occurrence);
    if (best && (shared < best.shared || (shared === best.shared && distance >= nearest))) continue;
    best = {from, to, shared, changed: false};
    nearest = distance;
  }
  return best && weight(quote, 0, best.shared) >= 0 ? best : null;
}

function similar(whole: Plain, quote: Quote): Found | null {
  const {text} = whole;
  const {needle} = quote;
  if (needle.length > COMPARED) return null;
  const most = needle.length >> 1;
  let best: Found | null = null;
  let heaviest = 0;
  for (const [first, last] of candidates(whole, quote)) {
    const start = Math.max(first - most, 0);
    const bound = heaviest;
    for (const match of search(text.slice(start, last + needle.length + most), needle, most)) {
      const {from, to, shared} = fitted(text, quote, start + match.start, start + match.end, Math.min(match.errors, SLIP));
      const weighed = weight(quote, match.errors, shared);
      if (weighed < heaviest || (best && weighed === bound)) continue; // of equal ends, the last
      best = {from, to, changed: text.slice(from, to) !== needle};
      heaviest = weighed;
    }
  }
  return best;
}

/**
 * The probable starts of a changed quote, as ranges, the most probable first: some piece of the
 * quote or its context is unchanged.
 */
function candidates(whole: Plain, {needle, prefix, suffix}: Quote): [number, number][] {
  const all = prefix + needle + suffix;
  const count = Math.max(2, Math.min(PIECES, Math.floor(all.length / PIECE)));
  const size = Math.floor(all.length / count);
  const starts: number[] = [];
  for (let i = 0; size > 2 && i < count; i++) {
    let left = REPEATS;
    for (const at of whole.positions(all.slice(i * size, (i + 1) * size))) {
      starts.push(at - i * size + prefix.length);
      if (!--left) break;
    }
  }
  starts.sort((a, b) => a - b);
  const groups: {range: [number, number]; votes: number}[] = [];
  for (const start of starts) {
    const group = groups.at(-1);
    if (group && start - group.range[0] <= needle.length) {
      group.range[1] = start;
      group.votes++;
    } else groups.push({range: [start, start], votes: 1});
  }
  return groups.sort((a, b) => b.votes - a.votes).slice(0, CANDIDATES).map((g) => g.range);
}

/**
 * A similar text whose ends are moved by at most slip characters to meet the context of the quote.
 */
function fitted(text: string, {prefix, suffix}: Quote, from: number, to: number, slip: number): Omit<Candidate, 'changed'> {
  const [start, left] = meet(from, slip, (at) => before(text, at, prefix));
  const [end, right] = meet(to, slip, (at) => after(text, at, suffix));
  return start < end ? {from: start, to: end, shared: left + right} : {from, to, shared: 0};
}

function meet(at: number, slip: number, common: (at: number) => number): [number, number] {
  let best: [number, number] = [at, common(at)];
  for (let d = 1; d <= slip; d++) {
    for (const near of [at - d, at + d]) {
      const n = common(near);
      if (n >= CONTACT && n > best[1]) best = [near, n];
    }
  }
  return best;
}
