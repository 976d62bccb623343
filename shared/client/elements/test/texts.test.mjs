import assert from 'node:assert/strict';
import {readFile} from 'node:fs/promises';
import {test} from 'node:test';

import {build} from 'esbuild';

const contents = "export * from './src/fold.ts'; export * from './src/links.ts'; export * from './src/mentions.ts'; export {isolated} from './src/direction.ts'; export {authorOf, signatureOf} from './src/protocol.ts';";
const {outputFiles} = await build({stdin: {contents, resolveDir: '.', loader: 'ts'}, bundle: true, format: 'esm', write: false});
const {authorOf, folded, hasWord, isolated, linkAt, signatureOf, soughtIn, withTokens} = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`);

test('names are found as the service finds them', async () => {
  // the cases of the service's own test
  const go = await readFile('../../collab/text_test.go', 'utf8');
  const [finds, misses] = [...go.slice(go.indexOf('func TestFold(')).matchAll(/struct\{ name, key string \}\{([^]*?)\n\t\} \{/g)]
    .map(([, list]) => [...list.matchAll(/\{("[^"]*"), ("[^"]*")\}/g)].map((m) => m.slice(1).map((text) => JSON.parse(text))));
  assert.ok(finds.length > 20 && misses.length > 5);
  for (const [name, key] of finds) assert.ok(hasWord(folded(name), folded(key)), `${key} finds ${name}`);
  for (const [name, key] of misses) assert.ok(!hasWord(folded(name), folded(key)), `${key} does not find ${name}`);
  assert.equal(folded('\u0301\u0308'), '');
});

test('an @ opens the list after a space, punctuation or a script without spaces', () => {
  for (const [text, name] of [
    ['@', ''], ['Hi @bo', 'bo'], ['Hi,@bo', 'bo'], ['(@bo', 'bo'], ['「@田', '田'], ['こんにちは@田', '田'], ['こんにちは＠田', '田'], ['カナー@田', '田'], ['สวัสดี@ส', 'ส'], ['ที่@ส', 'ส'],
    ['ສະບາຍດີ@ສ', 'ສ'], ['សួស្តី@ស', 'ស'], ['မင်္ဂလာပါ@က', 'က'], ['你好@王', '王'], ['“@José', 'José'], ['@a @bo', 'bo'], ['你@好@王', '王'], ['line\n@bo', 'bo'], ['안녕 @김', '김'], ['안녕@김', '김'], ['안녕하세요＠김', '김'], ['Hi @Max M', 'Max M'], ['@ann (', 'ann ('], ['@J. R', 'J. R'],
  ]) assert.equal(soughtIn(text), name, text);
  for (const text of ['a@b', 'ann.lee@example', 'é@b', 'e\u0301@b', '5@b', 'a_@b', 'https://example.com/@bo', '@ bo', '@bo\nx', '@@bo', '', 'bo']) assert.equal(soughtIn(text), undefined, text);
});

test('a name ends before another word, and anywhere in a script without spaces', () => {
  const people = [{userId: 't', name: '田中'}, {userId: 'bo', name: 'Bo'}];
  assert.equal(withTokens('@田中さん、@Bo, @Bob @Bo_ @Boさん', people), '{{t}}さん、{{bo}}, @Bob @Bo_ {{bo}}さん');
});

test('a link ends where its text does', () => {
  for (const [text, link] of [
    ['https://en.wikipedia.org/wiki/Blur_(band)', 'https://en.wikipedia.org/wiki/Blur_(band)'], ['https://e.org/Blur_(band).', 'https://e.org/Blur_(band)'],
    ['https://e.org/a) and', 'https://e.org/a'], ['https://e.org/a](b', 'https://e.org/a'], ['https://e.org/a[0][1].', 'https://e.org/a[0][1]'], ['https://e.org/(a]b', 'https://e.org/(a'],
    ['https://e.org/a、続き', 'https://e.org/a'], ['https://e.org/a。', 'https://e.org/a'], ['https://e.org/a）です', 'https://e.org/a'], ['https://e.org/a」', 'https://e.org/a'], ['https://e.org/a，b', 'https://e.org/a'],
    ['https://ja.wikipedia.org/wiki/佐々木', 'https://ja.wikipedia.org/wiki/佐々木'], ['https://e.org/a…', 'https://e.org/a'], ['https://e.org/l’Europe”', 'https://e.org/l’Europe'],
    ['https://e.org/a?b=c&d#e!?', 'https://e.org/a?b=c&d#e'], ["https://e.org/a'.", 'https://e.org/a'], ['https://e.org/a/', 'https://e.org/a/'], ['HTTP://E.ORG/A.', 'HTTP://E.ORG/A'], ['https://e.org/a"b', 'https://e.org/a'],
    ['https://', ''], ['https://.', ''], ['https://)', ''], [`https://e.org/${'.'.repeat(100_000)}`, 'https://e.org/'],
  ]) assert.equal(linkAt(`see ${text}`, 4), link, text.slice(0, 100));
});

test('a name cannot turn the text around it', () => {
  assert.equal(isolated('Ann'), 'Ann');
  assert.equal(isolated('דנה'), '\u2068דנה\u2069');
  assert.equal(isolated('a\u202eb'), '\u2068a\u202eb\u2069');
  assert.equal(isolated('a\u2067\u2069\u2069b'), '\u2068ab\u2069');
  assert.equal(isolated('\u{1e900}'), '\u2068\u{1e900}\u2069', 'Adlam');
});

test('a comment names its author and the agent', () => {
  const ann = {userId: 'ann', name: 'Ann', photoUrl: 'https://a.example/ann.png'};
  for (const [from, agent, signature] of [
    [ann, undefined, 'Ann'], [ann, {}, 'Ann'], [ann, {agentName: 3}, 'Ann'], [ann, {agentName: ''}, 'Ann'], [ann, {agentName: 'Ann'}, 'Ann'],
    [ann, {agentName: 'Helper'}, 'Ann, with Helper'], [ann, {agentName: '\u202eHelper'}, 'Ann, with \u2068\u202eHelper\u2069'],
    [{userId: 'bot'}, {agentName: 'Proofreader'}, 'Proofreader'], [{userId: 'bot'}, {}, 'bot'],
  ]) assert.equal(signatureOf({from, agent}), signature, JSON.stringify([from, agent]));
  assert.deepEqual(authorOf({from: ann, agent: {agentName: 'Helper'}}), ann);
  assert.deepEqual(authorOf({from: ann, agent: {avatar: 'https://a.example/h.png'}}), {...ann, photoUrl: 'https://a.example/h.png'});
});
