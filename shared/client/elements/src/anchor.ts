import type {Target} from './protocol.js';

/**
 * The characters of an element without white space, with their positions. It finds a quote across
 * lines and formatting.
 */
class Index {
  readonly text: string;
  // start in text; offset in the node for each character
  readonly #nodes: {node: Text; start: number; offsets: Uint32Array}[] = [];

  constructor(scope: Node) {
    let text = '';
    for (const walk = document.createTreeWalker(scope, NodeFilter.SHOW_TEXT); walk.nextNode(); ) {
      const node = walk.currentNode as Text;
      const offsets = new Uint32Array(node.length);
      let squeezed = '';
      let count = 0;
      for (const word of node.data.matchAll(/\S+/g)) {
        for (let i = 0; i < word[0].length; i++) offsets[count++] = word.index + i;
        squeezed += word[0];
      }
      if (count) this.#nodes.push({node, start: text.length, offsets});
      text += squeezed;
    }
    this.text = text;
  }

  /** The start of the n-th occurrence of a text, counted from 1, or -1. */
  find(needle: string, n: number): number {
    let at = -1;
    do at = this.text.indexOf(needle, at + 1);
    while (at >= 0 && --n > 0);
    return at;
  }

  /** The range of a text between two positions. */
  range(from: number, to: number): Range {
    const range = document.createRange();
    range.setStart(...this.#place(from));
    const [node, offset] = this.#place(to - 1);
    range.setEnd(node, offset + 1);
    return range;
  }

  #place(at: number): [Text, number] {
    const {node, start, offsets} = this.#nodes.findLast((n) => n.start <= at)!;
    return [node, offsets[at - start]!];
  }
}

const squeeze = (text: string): string => text.replace(/\s+/g, '');

const QUOTE = 500; // maximum characters that a target quotes

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
  find({elementId, targetText, occurrence}: Target): Range | null {
    const scope = elementId ? this.#element(elementId) : this.root;
    if (!scope) return null;
    const needle = squeeze(targetText ?? '');
    if (!needle) {
      const range = document.createRange();
      range.selectNodeContents(scope);
      return range;
    }
    const index = this.#index(scope);
    const at = index.find(needle, occurrence ?? 1);
    return at < 0 ? null : index.range(at, at + needle.length);
  }

  /** The target of a selection, or null if it has no text. */
  describe(selection: Range): Target | null {
    const targetText = selection.toString().trim().replace(/\s+/g, ' ').slice(0, QUOTE);
    const needle = squeeze(targetText);
    if (!needle) return null;
    let scope: Element = this.root;
    const common = selection.commonAncestorContainer;
    for (let e = common instanceof Element ? common : common.parentElement; e && e !== this.root; e = e.parentElement) {
      if (e.id) {
        scope = e;
        break;
      }
    }
    const before = document.createRange();
    before.selectNodeContents(scope);
    before.setEnd(selection.startContainer, selection.startOffset);
    const start = squeeze(before.toString()).length;
    const index = this.#index(scope);
    let occurrence = 1;
    for (let at = index.text.indexOf(needle); at >= 0 && at < start; at = index.text.indexOf(needle, at + 1)) occurrence++;
    return {...(scope.id && {elementId: scope.id}), targetText, occurrence};
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
