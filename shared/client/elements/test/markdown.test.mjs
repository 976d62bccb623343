import assert from 'node:assert/strict';
import {readFile} from 'node:fs/promises';
import {test} from 'node:test';

import {build} from 'esbuild';

const contents = "export * from './src/markdown.ts';";
const {outputFiles} = await build({stdin: {contents, resolveDir: '.', loader: 'ts'}, bundle: true, format: 'esm', write: false});
const {convert, fromHtml, fromText} = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`);

const TAGS = {p: [], ul: [], ol: [], blockquote: [], pre: [], li: [], strong: [], em: [], code: ['class'], br: [], a: ['href']};
const INSIDE = {li: ['UL', 'OL'], p: ['#root'], ul: ['#root'], ol: ['#root'], blockquote: ['#root'], pre: ['#root']};

/** Parses HTML strictly: only allowed elements and attributes, closed in their order. */
function parsed(html) {
  const root = {nodeType: 1, nodeName: '#root', childNodes: []};
  const open = [root];
  for (const [, closing, name, attributes, text] of html.matchAll(/<(\/?)([a-z]+)((?: [a-z]+="[^"<>]*")*)>|([^<>]+)|[<>]/g)) {
    if (text !== undefined) {
      assert.ok(!/&(?!#\d+;)|["']/.test(text), `not escaped: ${html}`);
      open.at(-1).childNodes.push({nodeType: 3, nodeName: '#text', nodeValue: text.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(code)), childNodes: []});
      continue;
    }
    assert.ok(TAGS[name], `an element ${name} in ${html}`);
    if (closing) {
      assert.equal(open.pop().nodeName, name.toUpperCase(), `broken nesting: ${html}`);
      continue;
    }
    const values = Object.fromEntries(Array.from(attributes.matchAll(/ ([a-z]+)="([^"]*)"/g), ([, key, value]) => [key, value.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(code))]));
    if (values.class) assert.match(values.class, /^language-[^\s`~]+$/);
    assert.deepEqual(Object.keys(values), name === 'code' && !attributes ? [] : TAGS[name], html);
    if (values.href) assert.match(values.href, /^(https?:\/\/|mailto:)/i);
    if (INSIDE[name]) assert.ok(INSIDE[name].includes(open.at(-1).nodeName), `${name} in ${open.at(-1).nodeName}: ${html}`);
    const node = {nodeType: 1, nodeName: name.toUpperCase(), childNodes: [], getAttribute: (key) => values[key] ?? null};
    open.at(-1).childNodes.push(node);
    if (name !== 'br') open.push(node);
  }
  assert.equal(open.length, 1, `not closed: ${html}`);
  return root;
}

const textOf = (node) => node.nodeValue ?? node.childNodes.map(textOf).join('');

test('markup becomes HTML and plain text', () => {
  for (const [markdown, html, text] of [
    ['**bold** and *italic*', '<p><strong>bold</strong> and <em>italic</em></p>', 'bold and italic'],
    ['_italic_, un**bold**ed', '<p><em>italic</em>, un<strong>bold</strong>ed</p>', 'italic, unbolded'],
    ['***both***', '<p><strong><em>both</em></strong></p>', 'both'],
    ['*a **b** c*', '<p><em>a </em><strong><em>b</em></strong><em> c</em></p>', 'a b c'],
    ['重要なのは**ここ**です', '<p>重要なのは<strong>ここ</strong>です</p>', '重要なのはここです'],
    ['`a *b* <c>`', '<p><code>a *b* &#60;c&#62;</code></p>', 'a *b* <c>'],
    ['`` a`b ``', '<p><code>a`b</code></p>', 'a`b'],
    ['[the *plan*](https://e.org/a_(b)_c)', '<p><a href="https://e.org/a_(b)_c">the <em>plan</em></a></p>', 'the plan'],
    ['**x** https://e.org/a_b_c.', '<p><strong>x</strong> <a href="https://e.org/a_b_c">https://e.org/a_b_c</a>.</p>', 'x https://e.org/a_b_c.'],
    ['Two:\n- a\n- **b**\nEnd', '<p>Two:</p><ul><li>a</li><li><strong>b</strong></li></ul><p>End</p>', 'Two:\n- a\n- b\nEnd'],
    ['1. a\n2. b', '<ol><li>a</li><li>b</li></ol>', '1. a\n2. b'],
    ['> a\n> *b*\n\nc\nd', '<blockquote>a<br><em>b</em></blockquote><p>c<br>d</p>', '> a\n> b\nc\nd'],
    ['```js\nlet a = *b*;\n\n  if (a) {}\n```\nEnd', '<pre><code class="language-js">let a = *b*;\n\n  if (a) {}\n</code></pre><p>End</p>', 'let a = *b*;\n\n  if (a) {}\nEnd'],
    ['````\n```\n````', '<pre><code>```\n</code></pre>', '```'],
    ['~~~ c++\na\n~~~\n```\nb', '<pre><code class="language-c++">a\n</code></pre><pre><code>b\n</code></pre>', 'a\n\nb'],
    ['**C:\\docs\\.git** \\*a\\*', '<p><strong>C:\\docs\\.git</strong> \\*a\\*</p>', 'C:\\docs\\.git \\*a\\*'],
    ['**「重要」**です', '<p><strong>「重要」</strong>です</p>', '「重要」です'],
    ['*{{a_b*c}}*', '<p><em>{{a_b*c}}</em></p>', '{{a_b*c}}'],
    ['<script>alert("1")</script> **&**', '<p>&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62; <strong>&#38;</strong></p>', '<script>alert("1")</script> &'],
  ]) assert.deepEqual(convert(markdown), {text, html}, markdown);
});

test('what is no markup stays as it is, without HTML', () => {
  for (const text of [
    'Hello', '2*3*4', '2 * 3 * 4', 'snake_case_name', '**', '****', 'a * *', '*a', 'a*', '** a **', '`', '``', 'a`b', '[a](b)', '[a](javascript:alert(1))', '[](https://e.org)', 'https://e.org/a_b_c*d*', '-', '- ', '2026. A good year',
    '2. a', '-a', '{{a*b}} {{c*d}}', 'a\n\n\n\nb', '  indented', 'a  b', '<b>bold</b>', 'C:\\temp', 'see \\\\fileserver\\share\\_old', 'C:\\docs\\.git', 'regex \\d+\\.\\d+', '\\alpha_{1}\\_', '\\*a\\*', '\\- a', '1\\. a', '\\> a', '\\`a`', '\\\\*',
    'def f(*args, **kw): g(*args)', 'int *a, *b;', '**"a"**b', '\\```', ':-)', '5 > 3', '*\n*',
  ]) {
    assert.deepEqual(convert(text), {text}, text);
    assert.equal(fromText(text), text);
  }
});

test('the text of others stays, and only its shields are taken from it', () => {
  for (const text of ['*a*', '- a', '1. a', '> a', '`a`', '[a](https://e.org)', '```', '~~~\na', 'a\u2063*b*', '\u2063', '*a* \\*b*']) {
    assert.deepEqual(convert(fromText(text)), {text}, text);
    assert.equal(fromText(text).replaceAll('\u2063', ''), text.replaceAll('\u2063', ''));
  }
});

test('HTML of others becomes Markdown, with all its text', () => {
  const node = (name, ...children) => ({nodeType: 1, nodeName: name, getAttribute: (key) => (key === 'href' ? 'https://e.org/a(b' : null), childNodes: children.map((c) => (typeof c === 'string' ? {nodeType: 3, nodeName: '#text', nodeValue: c, childNodes: []} : c))});
  for (const [html, markdown] of [
    [['Done, see the ', node('B', 'second table'), '. ', node('EM', 'Thanks!')], 'Done, see the **second table**. *Thanks!*'],
    [[node('H2', 'Title'), '\n', node('P', 'a\n  b'), node('P', 'c')], '**Title**\n\na b\n\nc'],
    [[node('B', ' spaced '), 'x'], ' **spaced** x'],
    [[node('A', 'here')], '[here](https://e.org/a%28b)'],
    [[node('UL', '\n', node('LI', node('P', 'a')), node('LI', 'b', node('UL', node('LI', 'c'))))], '- a\n- b\n- c'],
    [[node('BLOCKQUOTE', node('P', 'a'), node('P', 'b')), 'c'], '> a\n> b\nc'],
    [['a', node('BR'), node('BR'), 'b'], 'a\n\nb'],
    [['a', node('PRE', node('CODE', 'x\n  *y*\n')), 'b'], 'a\n```\nx\n  *y*\n```\nb'],
    [[node('PRE', 'x', node('BR'), '```y')], '````\nx\n```y\n````'],
    [['x', node('I', 'a'), node('B', node('I', 'b')), 'c*d'], null],
    [[node('SCRIPT', 'alert(1)'), node('U', 'a')], 'a'],
  ]) {
    const root = node('BODY', ...html);
    const got = fromHtml(root);
    if (markdown !== null) assert.equal(got, markdown);
    const squeezed = (text) => text.replace(/[\s>-]/g, '');
    assert.equal(squeezed(convert(got).text), squeezed(textOf(root).replace('alert(1)', '')), got);
  }
});

/** A generator of random numbers, for a fuzz test that can be repeated. */
function random(seed) {
  return (n) => {
    seed = (seed * 1664525 + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * n);
  };
}

const PIECES = [
  '```', '```js', '\n```\n', '~~~', '\\_', '   ',
  '*', '**', '***', '_', '__', '`', '``', '[', ']', '(', ')', '](https://e.org)', '[a](https://e.org/x_(y))', 'https://e.org/a_b', '\\', '\\*', '- ', '* ', '1. ', '2) ', '> ', '\n', '\n\n', ' ', '  ', 'a', 'b c', '7', 'é', '田', '{{ann_b}}', '{{',
  '<', '>', '&', '"', "'", '<script>alert(1)</script>', '<b>', '</p>', '&lt;', 'javascript:alert(1)', '😀', '.', '!', '#', 'mailto:a@b.c', '[x](mailto:a@b.c)', '[x](javascript:alert(1))', '" onclick="alert(1)',
];

test('any text becomes safe HTML, and comes back', async () => {
  const next = random(20260101);
  const vectors = (await readFile('testdata/vectors.txt', 'utf8')).trim().split('\n').slice(1);
  for (let i = 0; i < 20_000; i++) {
    const pieces = i < vectors.length ? [vectors[i], '**b**'] : Array.from({length: 1 + next(14)}, () => PIECES[next(PIECES.length)]);
    const markdown = pieces.join('').trim();
    const {text, html} = convert(markdown);
    const again = convert(fromText(markdown));
    assert.deepEqual(again, {text: markdown}, `a plain text comes back: ${JSON.stringify(markdown)}`);
    if (html === undefined) {
      assert.equal(convert(fromText(text)).text, text);
      continue;
    }
    const root = parsed(html);
    const back = convert(fromHtml(root));
    assert.equal(back.text, text, `the text comes back: ${JSON.stringify(markdown)} as ${JSON.stringify(fromHtml(root))}`);
    if (back.html !== html) assert.equal(back.html?.replace(/<\/?(strong|em)>/g, ''), html.replace(/<\/?(strong|em)>/g, ''), JSON.stringify(markdown));
  }
});

test('long texts take no time', () => {
  const begun = process.cpuUsage();
  for (const piece of ['*a ', '**a* ', '_a ', '`a``', '[', '[a](', '[a](https://e.org/(', '\\', '> ', '- a\n', '***a', '{{', 'https://']) convert(piece.repeat(20_000 / piece.length));
  const {user} = process.cpuUsage(begun); // microseconds of a quadratic run are minutes
  assert.ok(user < 20_000_000, `${user} µs`);
});
