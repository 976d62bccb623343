import {css, html, LitElement, nothing} from 'lit';

import {isolated} from './direction.js';
import {KeepFocus} from './focus.js';
import {late} from './menu.js';
import {nameOf} from './person.js';
import {base} from './styles.js';
import type {Decision, Parts} from './suggested.js';
import {say} from './texts.js';

/** A value of a suggestion as text. Back ends may send any JSON. */
export const valueOf = (value: unknown): string => (typeof value === 'string' ? value : value == null ? '' : JSON.stringify(value));

const parts: Parts = {css, html, LitElement, nothing, base, isolated, KeepFocus, nameOf, say, valueOf};

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
