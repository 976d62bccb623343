import type {Target} from './protocol.js';
import {find, findExact, findMoved, Plain, targetOf, type Found} from './quote.js';

/** Elements within a line. Others, and line breaks, separate words. */
const INLINE = /^(a|abbr|acronym|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|img|ins|kbd|label|mark|nobr|q|r[bpt]|ruby|s|samp|small|span|strike|strong|sub|sup|svg|time|tt|u|var|wbr)$|-/i;
const HIDDEN = /^(script|style|template|noscript|textarea)$/i;

/** Elements with a tree of their own, which has no comments on it. */
const OWN = /^collab-/;

/**
 * The text of an element across lines and formatting, with the positions of its characters. It
 * includes open shadow trees.
 */
class Index {
  readonly plain: Plain;
  readonly #nodes: {node: Text; start: number}[] = [];

  constructor(scope: Node) {
    let text = '';
    let apart = false; // from the text before
    let last: Text | undefined;
    const shown = (node: Node) => (HIDDEN.test(node.nodeName) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
    const read = (tree: Node) => {
      for (const walk = document.createTreeWalker(tree, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, shown); walk.nextNode(); ) {
        const node = walk.currentNode;
        if (!(node instanceof Text)) {
          apart ||= !INLINE.test(node.nodeName);
          inside(node);
          continue;
        }
        for (let e = last?.parentElement; e && !apart && !e.contains(node); e = e.parentElement) apart = !INLINE.test(e.localName);
        if (apart) text += '\n';
        this.#nodes.push({node, start: text.length});
        text += node.data;
        last = node;
        apart = false;
      }
    };
    function inside(node: Node): void {
      const {shadowRoot, localName} = node as Element;
      if (!shadowRoot || OWN.test(localName)) return;
      apart = true;
      read(shadowRoot);
      apart = true;
    }
    inside(scope);
    read(scope);
    this.plain = new Plain(text);
  }

  /** The range of the text between two positions. It ends with the tree of its beginning. */
  range(from: number, to: number): Range {
    const range = document.createRange();
    const start = this.#place(this.plain.start(from));
    range.setStart(...start);
    const [node, offset] = this.#place(this.plain.start(to) - 1);
    const tree = start[0].getRootNode();
    if (node.getRootNode() === tree) range.setEnd(node, offset + 1);
    else range.setEnd(start[0], start[0].length);
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
    const tree = container.getRootNode();
    const nodes = this.#nodes.filter(({node}) => node.getRootNode() === tree);
    const last = nodes[this.#count((n) => point.comparePoint(n.node, 0) < 0, nodes) - 1];
    if (!last) return this.plain.at(nodes[0]?.start ?? 0);
    return this.plain.at(last.start + (last.node === container ? offset : last.node.length));
  }

  /** The number of nodes of which something is true, all before the others. */
  #count(holds: (n: {node: Text; start: number}) => boolean, nodes = this.#nodes): number {
    let [low, high] = [0, nodes.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (holds(nodes[middle]!)) low = middle + 1;
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

  /**
   * The place of a target, or null if it does not exist. A quote that its element does not have is
   * where all of the document has it once: first with its context, then a similar text in its
   * element, then without its context.
   */
  find(target: Target): Place | null {
    const scope = target.elementId ? this.#element(target.elementId) : this.root;
    if (!target.targetText?.trim()) {
      if (!scope) return null;
      const range = document.createRange();
      range.selectNodeContents(scope);
      return {range, changed: false};
    }
    const place = (index: Index, found: Found | null | undefined) => found && {range: index.range(found.from, found.to), changed: found.changed};
    if (scope === this.root) return place(this.#index(scope), find(this.#index(scope).plain, target)) ?? null;
    const inside = scope && this.#index(scope);
    const here = inside && place(inside, findExact(inside.plain, target));
    if (here) return here;
    const whole = this.#index(this.root);
    const moved = findMoved(whole.plain, target);
    return (moved?.near ? place(whole, moved) : undefined) ?? (inside && place(inside, find(inside.plain, target))) ?? place(whole, moved) ?? null;
  }

  /** The target of a selection, or null if it has no text. */
  describe({commonAncestorContainer: common, startContainer, startOffset, endContainer, endOffset}: Range): Target | null {
    let scope: Element = this.root;
    const tree = this.root.getRootNode();
    const above = (node: Node | null): Element | null => (node instanceof ShadowRoot ? node.host : (node as Element | null));
    for (let e = common instanceof Element ? common : above(common.parentNode); e && e !== this.root; e = above(e.parentNode)) {
      if (e.id && e.getRootNode() === tree) {
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
const mixed = (share: number): string => `color-mix(in srgb, #f5b301 ${share}%, transparent)`;
/** Text on a dark page stays readable: its contrast is at least 4.5. */
const LOOK = `
::highlight(collab-thread) { background-color: light-dark(${mixed(26)}, ${mixed(20)}); text-decoration: underline 2px #c98f00; }
::highlight(collab-thread-active) { background-color: light-dark(${mixed(55)}, ${mixed(38)}); text-decoration: underline 2px #c98f00; }`;

/**
 * Highlights ranges without changing elements. It does nothing if the browser does not support
 * highlights.
 */
export class Marks {
  #ranges: [AbstractRange[], AbstractRange[]] = [[], []];
  readonly #styled = new WeakSet<Document | ShadowRoot>();

  set(all: Range[], active: Range | undefined, root: Element): void {
    if (!('highlights' in CSS)) return;
    for (const home of new Set([root, ...all.map((r) => r.startContainer)].map((node) => node.getRootNode() as Document | ShadowRoot))) {
      if (this.#styled.has(home) || !home.adoptedStyleSheets) continue;
      this.#styled.add(home);
      if (home.adoptedStyleSheets.some((s) => s.cssRules[0]?.cssText.startsWith('::highlight(collab-thread)'))) continue;
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(LOOK);
      home.adoptedStyleSheets.push(sheet);
    }
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
