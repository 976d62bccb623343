/**
 * The code for rich text. It is loaded for the first comment with HTML or Markdown, because
 * DOMPurify is large.
 */
import DOMPurify from 'dompurify';

import {undirected} from './direction.js';

export {convert, fromHtml, fromText} from './markdown.js';

/**
 * The allowed elements: simple formatting and links. They load nothing, and cannot imitate the
 * page.
 */
const CLEAN = {
  ALLOWED_TAGS: [
    'a', 'b', 'blockquote', 'br', 'code', 'del', 'div', 'em', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr', 'i', 'ins', 'li', 'mark', 'ol', 'p', 'pre', 's', 'small', 'span',
    'strong', 'sub', 'sup', 'table', 'tbody', 'td', 'tfoot', 'th', 'thead', 'tr', 'u', 'ul',
  ],
  ALLOWED_ATTR: ['href', 'title'],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  RETURN_DOM_FRAGMENT: true as const,
};

DOMPurify.addHook('uponSanitizeElement', (node) => {
  if (node.nodeName === 'INPUT' && (node as HTMLInputElement).type === 'checkbox') node.parentNode?.insertBefore(document.createTextNode((node as HTMLInputElement).checked ? '☑ ' : '☐ '), node);
});

/** Sanitized HTML. The function maps each text to nodes. */
export function clean(html: string, texts: (text: string) => (string | Node)[]): DocumentFragment {
  // null for a frameset
  const fragment = (DOMPurify.sanitize(html, CLEAN) as DocumentFragment | null) ?? document.createDocumentFragment();
  for (const a of fragment.querySelectorAll('a')) {
    a.target = '_blank';
    a.rel = 'noopener noreferrer nofollow ugc';
    // A direction that is set by a character can show another address.
    for (const walk = document.createTreeWalker(a, NodeFilter.SHOW_TEXT); walk.nextNode(); ) walk.currentNode.nodeValue = undirected(walk.currentNode.nodeValue!);
  }
  const found: Text[] = [];
  for (const walk = document.createTreeWalker(fragment, NodeFilter.SHOW_TEXT); walk.nextNode(); ) found.push(walk.currentNode as Text);
  for (const node of found) node.replaceWith(...texts(node.data));
  return fragment;
}
