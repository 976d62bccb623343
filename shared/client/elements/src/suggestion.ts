import {css, html, LitElement, nothing} from 'lit';

import {isolated} from './direction.js';
import {KeepFocus} from './focus.js';
import {late} from './menu.js';
import {nameOf} from './person.js';
import type {Suggestion} from './protocol.js';
import {base} from './styles.js';
import {say} from './texts.js';

/** The detail of collab-suggestion: the reader's decision about a suggestion. */
export interface Decision {
  annotationId: string;
  documentId: string;
  status: 'accepted' | 'rejected';
  suggestion: Suggestion;
  /** The text of the document has changed since the suggestion: it may have no oldValue to replace. */
  stale: boolean;
}

/** A value of a suggestion as text. Back ends may send any JSON. */
export const valueOf = (value: unknown): string => (typeof value === 'string' ? value : value == null ? '' : JSON.stringify(value));

/** What the element of suggestions is made of: the code that is rarely needed has no Lit of its own. */
const parts = {css, html, LitElement, nothing, base, isolated, KeepFocus, nameOf, say, valueOf};
export type Parts = typeof parts;

let defining: Promise<void> | undefined;

/** Defines collab-suggested for the first suggestion. */
export function defineSuggested(): void {
  defining ??= late().then(
    (l) => customElements.define('collab-suggested', l.suggested(parts)),
    () => (defining = undefined),
  );
}

declare global {
  interface GlobalEventHandlersEventMap {
    'collab-suggestion': CustomEvent<Decision>;
  }
}
