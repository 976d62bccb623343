/**
 * A subset of Markdown: bold, italic, code, links, lists and quotes. A text in it, HTML and plain
 * text are three forms of the same blocks. Tokens of mentions and addresses have no markup.
 *
 * Only signs of applied formatting disappear. A backslash keeps the sign after it from formatting,
 * and stays.
 */
import {linkAt} from './links.js';

/** A part of a line with the same look. */
interface Run {
  text: string;
  href?: string | undefined;
  strong?: boolean | undefined;
  em?: boolean | undefined;
  code?: boolean | undefined;
}
type Look = Omit<Run, 'text'>;
type Line = Run[];
interface Block {
  tag: 'p' | 'ul' | 'ol' | 'blockquote' | 'pre';
  lines: Line[];
  /** The language of code, or "". */
  language?: string | undefined;
}

/**
 * Before a sign that a stored text has and that is no markup. It is invisible, and disappears.
 * Emphasis may begin or end beside it.
 */
const SHIELD = '\u2063';

const HREF = /(?:https?:\/\/|mailto:)(?:[^\s<>()\\"]|\([^\s<>()\\"]*\))+/.source;
const SIGNS = '[\\\\*_\`[\\]>.)~-]';
// An escape, a token, code, a link, an address, or signs of emphasis.
const PARTS = new RegExp(
  `\\\\${SIGNS}|${SHIELD}(${SIGNS}|${SHIELD})|(\\{\\{[^{}]+\\}\\})|(?<!\`)(\`+)(?!\`)(.+?)(?<!\`)\\3(?!\`)|\\[((?:[\\\\${SHIELD}].|[^[\\]\\\\${SHIELD}])+)\\]\\((${HREF})\\)|https?://|\\*+|_+`, 'gi');
const WHOLE_HREF = new RegExp(`^${HREF}$`, 'i');
const WORD = /[\p{L}\p{M}\p{N}_]/u;

/** The address at a position of a text, or "". A backslash or a shield ends it. */
const addressAt = (text: string, start: number): string => linkAt(text, start).replace(/[\\\u2063].*/, '').replace(/^https?:\/*$/i, '');

/** Signs of emphasis that may start or end it. */
interface Sign {
  sign: string;
  opens: boolean;
  closes: boolean;
}

const tagOf = ({sign}: Sign): 'strong' | 'em' => (sign === '**' ? 'strong' : 'em');

/** The runs and signs of a line. */
function partsOf(line: string, links: boolean): (Run | Sign)[] {
  const parts: (Run | Sign)[] = [];
  let end = 0;
  const pattern = new RegExp(PARTS);
  for (let match; (match = pattern.exec(line)); pattern.lastIndex = end) {
    const {0: found, 1: escaped, 2: token, 4: code, 5: label, 6: href, index} = match;
    const link = /^https?:/i.test(found) ? addressAt(line, index) : '';
    parts.push({text: line.slice(end, index)});
    end = index + (link || found).length;
    if (escaped || token) parts.push({text: escaped ?? token!});
    else if (code?.trim()) parts.push({text: /^ .*[^ ].* $/.test(code) ? code.slice(1, -1) : code, code: true});
    else if (href && links) parts.push(...runsOf(label!, {href}, false));
    else if (link) parts.push(links ? {text: link, href: link} : {text: link});
    else if (/^(\*{1,3}|_)$/.test(found)) parts.push(...signsOf(found, (line[index - 2] === SHIELD ? SHIELD : line[index - 1]) ?? ' ', line[end] ?? ' '));
    else parts.push({text: found});
  }
  return [...parts, {text: line.slice(end)}];
}

// Signs beside which CommonMark looks for a space. Signs of East Asian scripts have no spaces.
const PUNCTUATION = /(?![\u3000-\u303f\uff00-\uffef])[\p{P}\p{S}]/u;

/**
 * Signs between two characters, by the rules of CommonMark for flanking. "2*3*4" and
 * snake_case_names have none.
 */
function signsOf(found: string, before: string, after: string): Sign[] {
  const inside = /\d/.test(before) && /\d/.test(after);
  const word = found === '_' ? WORD : /^$/;
  const flanks = (inner: string, outer: string) => !/\s/.test(inner) && (!PUNCTUATION.test(inner) || /[\s\u2063]/.test(outer) || PUNCTUATION.test(outer));
  const opens = flanks(after, before) && !inside && !word.test(before);
  const closes = flanks(before, after) && !inside && !word.test(after);
  const signs = found.length < 3 ? [found] : opens ? ['**', '*'] : ['*', '**'];
  return signs.map((sign) => ({sign, opens, closes}));
}

/** The runs of a line with a look. */
function runsOf(line: string, look: Look = {}, links = true): Line {
  return joined(emphasized(partsOf(line, links), look));
}

/** Runs with emphasis between signs. Others stay in the text. */
function emphasized(parts: (Run | Sign)[], look: Look): Line {
  const runs: Line = [];
  const unpaired = new Set<string>();
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i]!;
    if ('text' in part) {
      runs.push({...part, ...look});
      continue;
    }
    const tag = tagOf(part);
    const end = part.opens && !look[tag] && !unpaired.has(part.sign)
      ? parts.findIndex((p, j) => j > i && 'sign' in p && p.sign === part.sign && p.closes && parts.slice(i + 1, j).some((q) => 'sign' in q || q.text)) : -1;
    if (end < 0) {
      if (part.opens) unpaired.add(part.sign);
      runs.push({text: part.sign, ...look});
      continue;
    }
    runs.push(...emphasized(parts.slice(i + 1, end), {...look, [tag]: true}));
    i = end;
  }
  return runs;
}

const lookOf = ({text: _, ...look}: Run): string => JSON.stringify([look.href, look.strong, look.em, look.code].map((v) => v || 0));

/** Runs without empty ones and without neighbors of the same look. */
function joined(runs: Line): Line {
  const list: Line = [];
  for (const run of runs) {
    const last = list.at(-1);
    if (last && lookOf(last) === lookOf(run)) last.text += run.text;
    else if (run.text) list.push({...run});
  }
  return list;
}

/**
 * The kind of block of a line after a block, with the rest of the line. Nothing if the line is
 * blank.
 */
function blockOf(line: string, last: Block | undefined): [Block['tag'], string] | undefined {
  const item = /^(?:[-*]|(\d{1,9})[.)]) (.*\S.*)$/.exec(line);
  if (item && (!item[1] || +item[1] === (last?.tag === 'ol' ? last.lines.length : 0) + 1)) return [item[1] ? 'ol' : 'ul', item[2]!];
  const quoted = /^> ?(.*)$/.exec(line)?.[1];
  if (quoted?.trim() || (quoted !== undefined && last?.tag === 'blockquote')) return ['blockquote', quoted];
  return line.trim() ? ['p', line] : undefined;
}

const FENCE = /^(`{3,}|~{3,}) *([\w+#.-]*) *$/;

/** The blocks of a text in Markdown. Code without an end goes to the end of the text. */
function parse(markdown: string): Block[] {
  const blocks: Block[] = [];
  let last: Block | undefined;
  let fence = ''; // of the code around the line
  for (const line of markdown.split('\n')) {
    const [, signs = '', language] = FENCE.exec(line) ?? [];
    if (fence && signs.startsWith(fence) && !language) {
      fence = '';
      last = undefined;
      continue;
    }
    if (fence) {
      last!.lines.push([{text: line}]);
      continue;
    }
    if (signs) {
      fence = signs;
      blocks.push((last = {tag: 'pre', lines: [], language}));
      continue;
    }
    const [tag, rest] = blockOf(line, last) ?? [];
    if (tag && tag !== last?.tag) blocks.push((last = {tag, lines: []}));
    if (tag) last!.lines.push(runsOf(rest!));
    else last = undefined;
  }
  return blocks.flatMap(split);
}

type Name = keyof Look;
const LOOKS: Name[] = ['href', 'strong', 'em', 'code'];

/** The text of runs, with each look around as many of them as possible. */
function nested(runs: Line, leaf: (text: string) => string, wrap: (name: Name, runs: Line, inner: string) => string, order: Name[] = LOOKS): string {
  const [name, ...others] = order;
  if (!name) return runs.map((r) => leaf(r.text)).join('');
  let all = '';
  for (let from = 0, to; from < runs.length; from = to) {
    const value = runs[from]![name];
    for (to = from; to < runs.length && (runs[to]![name] || undefined) === (value || undefined); ) to++;
    const part = runs.slice(from, to);
    const inner = nested(part, leaf, wrap, others);
    all += value ? wrap(name, part, inner) : inner;
  }
  return all;
}

/** A text as HTML. */
const inHtml = (text: string): string => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

const lineInHtml = (line: Line): string => nested(line, inHtml, (name, [{href}]: any, inner) => (name === 'href' ? `<a href="${inHtml(href)}">${inner}</a>` : `<${name}>${inner}</${name}>`));

function htmlOf({tag, lines, language}: Block): string {
  const list = lines.map(lineInHtml);
  if (tag === 'pre') return `<pre><code${language ? ` class="language-${inHtml(language)}"` : ''}>${list.map((line) => `${line}\n`).join('')}</code></pre>`;
  return `<${tag}>${tag === 'ul' || tag === 'ol' ? list.map((item) => `<li>${item}</li>`).join('') : list.join('<br>')}</${tag}>`;
}

/**
 * Blocks as lines of text. Those of one kind have a blank line between them. fenceOf returns the
 * line around code, if there is one.
 */
function linesOf(blocks: Block[], lineOf: (line: Line, tag: Block['tag']) => string, fenceOf?: (code: Block) => string): string {
  return blocks.map((block, i) => {
    const {tag, lines, language} = block;
    const list = lines.map((line, j) => ({ul: '- ', ol: `${j + 1}. `, blockquote: '> ', p: '', pre: ''}[tag] + lineOf(line, tag)));
    if (fenceOf && tag === 'pre') list.splice(0, list.length, fenceOf(block) + language, ...list, fenceOf(block));
    return (i && blocks[i - 1]!.tag === tag && !(fenceOf && tag === 'pre') ? '\n' : '') + list.join('\n');
  }).join('\n');
}

/** The line around code. */
function fenceOf({lines}: Block): string {
  const runs = lines.flatMap((line) => /^`{3,}/.exec(plainOf(line)) ?? []);
  return '`'.repeat(Math.max(3, ...runs.map((run) => run.length + 1)));
}

const plainOf = (line: Line): string => line.map((r) => r.text).join('');

const isPlain = (r: Run): boolean => !r.strong && !r.em && !r.code && (!r.href || r.href === r.text);

/** What a text in Markdown becomes: plain text, and HTML if it has markup. */
export function convert(markdown: string): {text: string; html?: string} {
  const blocks = parse(markdown);
  if (blocks.every(({tag, lines}) => tag === 'p' && lines.every((line) => line.every(isPlain)))) {
    return {text: markdown.split('\n').map((line) => plainOf(runsOf(line))).join('\n')};
  }
  return {text: linesOf(blocks, plainOf), html: blocks.map(htmlOf).join('')};
}

const KEPT = /\{\{[^{}]+\}\}|https?:\/\//gi;

/** A text with a shield before all that could be markup, except in tokens and addresses. */
function escaped(text: string): string {
  const escape = (part: string) => part.replace(/[\\\u2063*_`[\]]/g, `${SHIELD}$&`);
  let all = '';
  let end = 0;
  const pattern = new RegExp(KEPT);
  for (let match; (match = pattern.exec(text)); pattern.lastIndex = end) {
    const {0: found, index} = match;
    const kept = found.startsWith('{') ? found : addressAt(text, index);
    all += escape(text.slice(end, index)) + (kept || found);
    end = index + (kept || found).length;
  }
  return all + escape(text.slice(end));
}

/** A line that begins no other block. */
const unmarked = (line: string): string => line.replace(/^(\d*)([-*.)](?= )|>|~(?=~~))/, `$1${SHIELD}$2`);

/** A plain text in Markdown. */
export function fromText(text: string): string {
  const {text: same, html} = convert(text);
  return same === text && !html ? text : text.split('\n').map((line) => unmarked(escaped(line))).join('\n');
}

/** An address without characters that end it in Markdown. */
const encoded = (href: string): string =>
  (WHOLE_HREF.test(href) ? href : href.replace(/[()\s<>"\\]/g, (c) => `%${c.charCodeAt(0).toString(16).padStart(2, '0')}`));

/** A way to write blocks in Markdown. */
interface Style {
  em: string;
  escapes: boolean;
  /** Addresses have no brackets. */
  bare: boolean;
  plain: boolean;
  /** The looks from the outside in. */
  order: Name[];
}

const ORDERS: Name[][] = [LOOKS, ['strong', 'em', 'href', 'code'], ['em', 'strong', 'href', 'code']];
const STYLES: Style[] = [false, true].flatMap((escapes) => [true, false].flatMap((bare) => ORDERS.flatMap((order) => ['*', '_'].map((em) => ({em, escapes, bare, plain: false, order})))));

function inMarkdown(line: Line, tag: Block['tag'], {em, escapes, bare, plain, order}: Style): string {
  if (tag === 'pre') return plainOf(line);
  const leaf = escapes ? escaped : String;
  const text = plain ? leaf(plainOf(line)) : nested(line, leaf, (name, runs, inner) => {
    const raw = plainOf(runs);
    if (name === 'href') return bare && raw === runs[0]!.href ? raw : `[${inner}](${encoded(runs[0]!.href!)})`;
    if (name === 'code') {
      const fence = '`'.repeat(Math.max(0, ...Array.from(raw.matchAll(/`+/g), ([run]) => run.length)) + 1);
      const space = /^`|`$|^ .* $/.test(raw) ? ' ' : '';
      return fence + space + raw + space + fence;
    }
    const [, before, middle, after] = /^(\s*)(.*?)(\s*)$/.exec(inner)!;
    const sign = name === 'em' ? em : '**';
    return middle ? before + sign + middle + sign + after : inner;
  }, order);
  return escapes && tag === 'p' ? unmarked(text) : text;
}

/** Blocks character by character. The look of a space and the form of an address do not matter. */
const seen = (blocks: Block[]): string => JSON.stringify(blocks.map(({tag, language, lines}) => tag === 'pre' ? [language, lines.map(plainOf)] : [tag, lines.map((line) => line.flatMap((r) => Array.from(r.text, (c) => (/\s/.test(c) ? c : c + lookOf({...r, href: r.href && encoded(r.href)})))))]));

/**
 * HTML in Markdown. It loses formatting that Markdown cannot express, and no text. With styles, it
 * also reads the formatting of text processors, which write styles, in data-style here, and lists of
 * their own.
 */
export function fromHtml(root: Node, styles = false): string {
  const blocks = blocksOf(root, styles);
  const wanted = seen(blocks);
  const write = (style: Style) => linesOf(blocks, (line, tag) => inMarkdown(line, tag, style), fenceOf);
  return STYLES.map(write).find((markdown) => seen(parse(markdown)) === wanted) ?? write({...STYLES.at(-1)!, plain: true});
}

const TEXT = 3; // Node.TEXT_NODE
const BREAKS = /^(P|DIV|H[1-6]|LI|UL|OL|BLOCKQUOTE|HR|TR)$/;
const TAGS: Record<string, Block['tag']> = {UL: 'ul', OL: 'ol', BLOCKQUOTE: 'blockquote'};

/** The look of an element's style over another. */
function styled(look: Look, style: string): Look {
  const [, weight] = /font-weight:\s*(\w+)/i.exec(style) ?? [];
  const [, slant] = /font-style:\s*(\w+)/i.exec(style) ?? [];
  return {
    ...look, ...(weight && {strong: /^bold/.test(weight) || +weight >= 600}), ...(slant && {em: slant === 'italic'}),
    ...(/font-family:[^;]*(mono|courier|consolas)/i.test(style) && {code: true}),
  };
}

const attribute = (node: Node, name: string): string => (node as Element).getAttribute?.(name) ?? '';

/** The blocks of HTML. */
function blocksOf(root: Node, styles: boolean): Block[] {
  const blocks: Block[] = [];
  let fresh = true; // the next text starts a block
  const begin = (tag: Block['tag']) => {
    const last = blocks.at(-1);
    if (fresh || last?.tag !== tag) blocks.push({tag, lines: [[]]});
    fresh = false;
    return blocks.at(-1)!;
  };
  const walk = (node: Node, tag: Block['tag'], look: Look): void => {
    const name = node.nodeName.toUpperCase();
    if (node.nodeType === TEXT) {
      const text = (node.nodeValue ?? '').replace(fresh ? /^\s*\n\s*/ : '', '').replace(/[ \t\r]*\n\s*/g, ' ');
      if (text) begin(tag).lines.at(-1)!.push({text, ...look});
      return;
    }
    if (/^(SCRIPT|STYLE|TEMPLATE)$/.test(name)) return;
    if (name === 'PRE') {
      blocks.push(codeOf(node as Element));
      fresh = true;
      return;
    }
    if (name === 'BR') {
      if (tag === 'ul' || tag === 'ol') begin(tag).lines.at(-1)!.push({text: ' '});
      else begin(tag).lines.push([]);
      return;
    }
    const style = styles ? attribute(node, 'data-style') : '';
    if (/mso-list:\s*ignore/i.test(style)) return; // the sign of a list item
    const inner = /mso-list:\s*l\d/i.test(style) ? (/^\s*\w{1,3}[.)]/.test(node.textContent ?? '') ? 'ol' : 'ul') : (TAGS[name] ?? tag);
    const item = inner !== tag && !TAGS[name];
    const breaks = () => {
      if (item) {
        if (blocks.at(-1)?.tag !== inner) fresh = true;
        else if (blocks.at(-1)!.lines.at(-1)!.length) blocks.at(-1)!.lines.push([]);
        return;
      }
      if (/^T[DH]$/.test(name) && !fresh && blocks.at(-1)?.lines.at(-1)!.length) blocks.at(-1)!.lines.at(-1)!.push({text: ' | '});
      if (!BREAKS.test(name)) return;
      // lists and quotes hold their own lines
      if (tag === 'p' || (TAGS[name] && inner !== tag)) fresh = true;
      else if (!fresh && blocks.at(-1)!.lines.at(-1)!.length) blocks.at(-1)!.lines.push([]);
    };
    breaks();
    const href = name === 'A' ? attribute(node, 'href') : '';
    const next: Look = styled({
      ...look, ...(/^(B|STRONG|H[1-6])$/.test(name) && {strong: true}), ...(/^(I|EM)$/.test(name) && {em: true}), ...(name === 'CODE' && {code: true}),
      ...(/^(https?:\/\/|mailto:)/i.test(href) && {href}),
    }, style);
    for (const child of node.childNodes) walk(child, inner, next);
    if (!/^T[DH]$/.test(name)) breaks();
  };
  walk(root, 'p', {});
  return blocks.flatMap(split);
}

/** The code of an element, with the language of its class. */
function codeOf(pre: Element): Block {
  const language = [pre, ...pre.childNodes].flatMap((node) => /(?:^|\s)language-([\w+#.-]+)/.exec(attribute(node, 'class'))?.[1] ?? [])[0] ?? '';
  return {tag: 'pre', language, lines: codeText(pre).replace(/\n$/, '').split('\n').map((text) => [{text}])};
}

/** The text of code, in which BR and blocks end lines. */
function codeText(node: Node): string {
  if (node.nodeType === TEXT) return node.nodeValue ?? '';
  return Array.from(node.childNodes, codeText).join('') + (/^(BR|DIV|P)$/i.test(node.nodeName) ? '\n' : '');
}

/** Blocks without blank lines, except in quotes and code. */
function split(block: Block): Block[] {
  const {tag, lines} = block;
  if (tag === 'pre') return lines.length ? [block] : [];
  const list: Block[] = [];
  let last: Block | undefined;
  for (const line of lines.map(joined)) {
    const blank = !plainOf(line).trim();
    if (blank && tag === 'p') last = undefined;
    if (blank && tag !== 'blockquote') continue;
    if (!last) list.push((last = {tag, lines: []}));
    last.lines.push(blank ? [] : line);
  }
  while (tag === 'blockquote' && list[0]?.lines.length && !list[0].lines.at(-1)!.length) list[0].lines.pop();
  return list.filter((b) => b.lines.length);
}
