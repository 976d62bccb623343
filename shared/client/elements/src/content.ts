import {html, nothing, render, type TemplateResult} from 'lit';
import {guard} from 'lit/directives/guard.js';

import {undirected} from './direction.js';
import {linkAt} from './links.js';
import {nameOf, type Person} from './person.js';
import type {Comment} from './protocol.js';
import type {Store} from './store.js';
import {say} from './texts.js';

type Rich = typeof import('./html.js');

let rich: Rich | undefined;
let loading: Promise<void> | undefined;

/**
 * The content of a comment: HTML if it has some, shown as plain text until it can be sanitized;
 * else text. again is called when it can.
 */
export function contentOf(c: Comment, store: Store, again: () => void): TemplateResult {
  const me = store.user.userId;
  const tags = (c.tags ?? []).map((t) => store.named(t));
  if (!c.commentHtml || !rich) {
    if (c.commentHtml) void load().then(again, () => {});
    return html`<div class="text" dir="auto" part="text">${pieces(plainOf(c), tags, me, true)}</div>`;
  }
  const content = guard([c, me], () => rich!.clean(c.commentHtml!, (text) => pieces(text, tags, me, false).map((p) => (typeof p === 'string' ? p : nodeOf(p)))));
  return html`<div class="text html" dir="auto" part="text">${content}</div>`;
}

function load(): Promise<void> {
  return (loading ??= import('./html.js').then(
    (m) => void (rich = m),
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
    const label = undirected(name ?? '');
    return html`<a dir="auto" href=${url!} target="_blank" rel="noopener noreferrer nofollow ugc">${picture
      ? html`<img src=${url!} alt=${label || say('picture')} loading="lazy" decoding="async" referrerpolicy="no-referrer">` : label || url}</a>`;
  })}</div>`;
}

/** The element of a template. */
function nodeOf(template: TemplateResult): Node {
  const home = document.createDocumentFragment();
  render(template, home);
  return home;
}

const bodyOf = ({commentHtml = ''}: Comment): HTMLElement => new DOMParser().parseFromString(commentHtml, 'text/html').body;

/** The plain text of a comment. A parsed document runs and loads nothing. */
export const plainOf = (c: Comment): string => c.commentText || bodyOf(c).textContent || '';

const MARKUP = /[*_`\]\u2063]|^(?:[->]|~~~|\d+[.)])/m;

/**
 * Loads the code for rich text if a text may need it. Returns undefined if it does not, or if the
 * code is there.
 */
export const prepare = (text = '', html = ''): Promise<void> | undefined => (!rich && (html || MARKUP.test(text)) ? load().catch(() => {}) : undefined);

/** A text in Markdown as plain text, and as HTML if it has markup. Before prepare, it has none. */
export const converted = (markdown: string): {text: string; html?: string} => rich?.convert(markdown) ?? {text: markdown};

/** Formatted HTML of a clipboard in Markdown, or its plain text if it has no formatting. */
export async function pasted(html: string, text: string): Promise<string> {
  await load();
  // A Content-Security-Policy would report each style.
  const inert = html.replace(/<[^>]*>/g, (tag) => tag.replace(/\sstyle=/gi, ' data-style='));
  const markdown = rich!.fromHtml(new DOMParser().parseFromString(inert, 'text/html').body, true);
  const formatted = rich!.convert(markdown).html;
  if (formatted && text.includes('\n') && /^(?:<p>(?:<code>[^<]*<\/code>|<br>|\s)*<\/p>)+$/.test(formatted)) return `\`\`\`\n${text}\n\`\`\`\n`;
  return formatted ? markdown : text;
}

/** A comment in Markdown for its editor. */
export function sourceOf(c: Comment): string {
  if (!rich) return plainOf(c);
  return c.commentHtml ? rich.fromHtml(bodyOf(c)) : rich.fromText(c.commentText ?? '');
}
