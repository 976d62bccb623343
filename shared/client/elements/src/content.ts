import {html, nothing, render, type TemplateResult} from 'lit';
import {guard} from 'lit/directives/guard.js';

import {linkAt} from './links.js';
import {nameOf, type Person} from './person.js';
import type {Comment} from './protocol.js';
import type {Store} from './store.js';
import {say} from './texts.js';

type Clean = typeof import('./html.js').clean;

let clean: Clean | undefined;
let loading: Promise<void> | undefined;

/**
 * The content of a comment: HTML if it has some, shown as plain text until it can be sanitized;
 * else text. again is called when it can.
 */
export function contentOf(c: Comment, store: Store, again: () => void): TemplateResult {
  const me = store.user.userId;
  const tags = (c.tags ?? []).map((t) => store.named(t));
  if (!c.commentHtml || !clean) {
    if (c.commentHtml) void load().then(again, () => {});
    return html`<div class="text" dir="auto" part="text">${pieces(plainOf(c), tags, me, true)}</div>`;
  }
  const content = guard([c, me], () => clean!(c.commentHtml!, (text) => pieces(text, tags, me, false).map((p) => (typeof p === 'string' ? p : nodeOf(p)))));
  return html`<div class="text html" dir="auto" part="text">${content}</div>`;
}

function load(): Promise<void> {
  return (loading ??= import('./html.js').then(
    (m) => void (clean = m.clean),
    (e) => {
      loading = undefined;
      throw e;
    },
  ));
}

const TOKEN = /\{\{([^{}]+)\}\}|https?:\/\//gi;

/** A text with templates for tokens and, if links is true, for addresses. */
function pieces(text: string, tags: Person[], me: string, links: boolean): (string | TemplateResult)[] {
  const list: (string | TemplateResult)[] = [];
  let end = 0;
  for (const {0: found, 1: id, index} of text.matchAll(TOKEN)) {
    const tag = tags.find((t) => t.userId === id);
    const link = links && !id && index >= end ? linkAt(text, index) : '';
    if (!tag && !link) continue;
    list.push(text.slice(end, index), tag ? mention(tag, me) : html`<a dir="ltr" href=${link} target="_blank" rel="noopener noreferrer nofollow ugc">${link}</a>`);
    end = index + (link || found).length;
  }
  list.push(text.slice(end));
  return list;
}

const mention = (p: Person, me: string): TemplateResult =>
  html`<span part="mention" class="mention ${p.userId === me && !p.group ? 'mine' : ''}" dir="auto">@${nameOf(p)}</span>`;

const LARGEST = 10_000_000; // maximum bytes of an inline picture; larger ones become links

/**
 * The files of a comment: pictures, and links to others. Only http and https addresses become
 * links.
 */
export function filesOf({attachments}: Comment): unknown {
  const files = attachments?.filter((a) => /^https?:\/\//i.test(a.url ?? '')) ?? [];
  if (!files.length) return nothing;
  return html`<div class="files" part="files">${files.map(({url, name, mimeType, size}) => {
    const picture = mimeType?.startsWith('image/') && (size ?? 0) <= LARGEST;
    return html`<a dir="auto" href=${url!} target="_blank" rel="noopener noreferrer nofollow ugc">${picture
      ? html`<img src=${url!} alt=${name || say('picture')} loading="lazy" decoding="async" referrerpolicy="no-referrer">` : name || url}</a>`;
  })}</div>`;
}

/** The element of a template. */
function nodeOf(template: TemplateResult): Node {
  const home = document.createDocumentFragment();
  render(template, home);
  return home;
}

/** The plain text of a comment for its editor. A parsed document runs and loads nothing. */
export function plainOf(c: Comment): string {
  return c.commentText || new DOMParser().parseFromString(c.commentHtml ?? '', 'text/html').body.textContent || '';
}
