import type {Target} from './protocol.js';
import {find, Plain, targetOf} from './quote.js';

/** Elements within a line. Others, and line breaks, separate words. */
const INLINE = /^(a|abbr|acronym|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|img|ins|kbd|label|mark|nobr|q|r[bpt]|ruby|s|samp|small|span|strike|strong|sub|sup|svg|time|tt|u|var|wbr)$|-/i;
const HIDDEN = /^(script|style|template|noscript|textarea)$/i;

/** The text of an element across lines and formatting, with the positions of its characters. */
class Index {
  readonly plain: Plain;
  readonly #nodes: {node: Text; start: number}[] = [];

  constructor(scope: Node) {
    let text = '';
    let apart = false; // from the text before
    let last: Text | undefined;
    const shown = (node: Node) => (HIDDEN.test(node.nodeName) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
    for (const walk = document.createTreeWalker(scope, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, shown); walk.nextNode(); ) {
      const node = walk.currentNode;
      if (!(node instanceof Text)) {
        apart ||= !INLINE.test(node.nodeName);
        continue;
      }
      for (let e = last?.parentElement; e && !apart && !e.contains(node); e = e.parentElement) apart = !INLINE.test(e.localName);
      if (apart) text += '\n';
      this.#nodes.push({node, start: text.length});
      text += node.data;
      last = node;
      apart = false;
    }
    this.plain = new Plain(text);
  }

  /** The range of the text between two positions. */
  range(from: number, to: number): Range {
    const range = document.createRange();
    range.setStart(...this.#place(this.plain.start(from)));
    const [node, offset] = this.#place(this.plain.start(to) - 1);
    range.setEnd(node, offset + 1);
    return range;
  }

  #place(position: number): [Text, number] {
    const {node, start} = this.#nodes[this.#count((n) => n.start <= position) - 1]!;
    return [node, Math.min(position - start, node.length)];
  }

  /** The position of a point in the document. */
  at(container: Node, offset: number): number {
    const point = document.createRange();
    point.setStart(container, offset);
    const last = this.#nodes[this.#count((n) => point.comparePoint(n.node, 0) < 0) - 1];
    if (!last) return 0;
    return this.plain.at(last.start + (last.node === container ? offset : last.node.length));
  }

  /** The number of nodes of which something is true, all before the others. */
  #count(is: (n: {node: Text; start: number}) => boolean): number {
    let [low, high] = [0, this.#nodes.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (is(this.#nodes[middle]!)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The place of a thread in a document. */
export interface Place {
  range: Range;
  /** The text differs from the quote. */
  changed: boolean;
}

/** Finds the places of threads in a document. It reads each element's text once. */
export class Places {
  readonly #indexes = new Map<Node, Index>();

  constructor(readonly root: Element) {}

  #index(scope: Node): Index {
    let index = this.#indexes.get(scope);
    if (!index) this.#indexes.set(scope, (index = new Index(scope)));
    return index;
  }

  #element(id: string): Element | null {
    return this.root.id === id ? this.root : this.root.querySelector(`#${CSS.escape(id)}`);
  }

  /** The place of a target, or null if it does not exist. */
  find(target: Target): Place | null {
    const scope = target.elementId ? this.#element(target.elementId) : this.root;
    if (!scope) return null;
    if (!target.targetText?.trim()) {
      const range = document.createRange();
      range.selectNodeContents(scope);
      return {range, changed: false};
    }
    const index = this.#index(scope);
    const found = find(index.plain, target);
    return found && {range: index.range(found.from, found.to), changed: found.changed};
  }

  /** The target of a selection, or null if it has no text. */
  describe({commonAncestorContainer: common, startContainer, startOffset, endContainer, endOffset}: Range): Target | null {
    let scope: Element = this.root;
    for (let e = common instanceof Element ? common : common.parentElement; e && e !== this.root; e = e.parentElement) {
      if (e.id) {
        scope = e;
        break;
      }
    }
    const index = this.#index(scope);
    const target = targetOf(index.plain, index.at(startContainer, startOffset), index.at(endContainer, endOffset));
    return target && {...(scope.id && {elementId: scope.id}), ...target};
  }
}

const NAMES = ['collab-thread', 'collab-thread-active'] as const;
const LOOK = `
::highlight(collab-thread) { background-color: color-mix(in srgb, #f5b301 26%, transparent); text-decoration: underline 2px #c98f00; }
::highlight(collab-thread-active) { background-color: color-mix(in srgb, #f5b301 55%, transparent); text-decoration: underline 2px #c98f00; }`;

/**
 * Highlights ranges without changing elements. It does nothing if the browser does not support
 * highlights.
 */
export class Marks {
  #ranges: [AbstractRange[], AbstractRange[]] = [[], []];
  #styled: Document | ShadowRoot | undefined;

  set(all: Range[], active: Range | undefined, root: Element): void {
    if (!('highlights' in CSS)) return;
    const home = root.getRootNode() as Document | ShadowRoot;
    if (this.#styled !== home && !home.adoptedStyleSheets.some((s) => s.cssRules[0]?.cssText.startsWith('::highlight(collab-thread)'))) {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(LOOK);
      home.adoptedStyleSheets.push(sheet);
    }
    this.#styled = home;
    this.clear();
    this.#ranges = [all, active ? [active] : []];
    NAMES.forEach((name, i) => {
      const highlight = CSS.highlights.get(name) ?? new Highlight();
      highlight.priority = i;
      for (const range of this.#ranges[i]!) highlight.add(range);
      CSS.highlights.set(name, highlight);
    });
  }

  clear(): void {
    if (!('highlights' in CSS)) return;
    NAMES.forEach((name, i) => this.#ranges[i]!.forEach((range) => CSS.highlights.get(name)?.delete(range)));
    this.#ranges = [[], []];
  }
}
