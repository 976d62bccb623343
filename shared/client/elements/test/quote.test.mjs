import assert from 'node:assert/strict';
import {test} from 'node:test';

import {build} from 'esbuild';

const {outputFiles} = await build({entryPoints: ['src/quote.ts'], bundle: true, format: 'esm', write: false});
const {cut, find, Plain, targetOf} = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`);

/** The target of the n-th occurrence of a text. */
const quoted = (text, quote, n = 1) => {
  const whole = new Plain(text);
  let at = -1;
  for (; n > 0; n--) at = text.indexOf(quote, at + 1);
  return targetOf(whole, whole.at(at), whole.at(at + quote.length));
};
/** The text found for a target, in brackets, with 10 characters around it. */
const found = (text, target) => {
  const whole = new Plain(text);
  const place = find(whole, target);
  if (!place) return null;
  const [from, to] = [whole.start(place.from), whole.start(place.to)];
  return `${text.slice(Math.max(from - 10, 0), from)}[${text.slice(from, to)}]${text.slice(to, to + 10)}${place.changed ? ' changed' : ''}`;
};

const PLAN = 'We have one budget. It is small. The second budget is for travel, and nobody asked for it yet.';

test('a quote keeps its sentence', () => {
  const second = quoted(PLAN, 'budget', 2);
  assert.deepEqual(second, {targetText: 'budget', occurrence: 2, prefix: 'budget. It is small. The second ', suffix: ' is for travel, and nobody asked'});
  const there = 'he second [budget] is for tr';
  assert.equal(found(PLAN, second), there);
  assert.equal(found(`A budget, a budget: ${PLAN}`, second), there, 'others are added before');
  assert.equal(found(PLAN.replace('one budget', 'money'), second), there, 'the first is removed');
  assert.equal(found(PLAN.replace(/It is small. The/, 'Our'), second), 'ur second [budget] is for tr', 'the sentence changes');
  assert.equal(found(PLAN.replace(/ The second.*/, ''), second), null, 'the sentence is removed');
  assert.equal(found(PLAN.replace('second budget', 'second Budget'), second), 'he second [Budget] is for tr changed');
});

test('without a context, the count decides, and the closest one if there are fewer', () => {
  const at = (occurrence) => found(PLAN, {targetText: 'budget', occurrence});
  assert.equal(at(1), 'e have one [budget]. It is sm'.slice(1));
  assert.equal(at(2), 'he second [budget] is for tr');
  assert.equal(at(7), 'he second [budget] is for tr');
  assert.equal(found(PLAN, {targetText: 'budget', occurrence: undefined}), at(1));
});

test('of equal contexts, the closest count decides', () => {
  const list = 'yes no yes no yes no yes no yes no yes no yes no yes no yes no yes no yes no yes no yes no ';
  const target = quoted(list, 'no', 7);
  assert.equal(find(new Plain(list), target).from, list.split('no', 7).join('no').length);
});

test('a changed quote is found, and said to be changed', () => {
  const text = 'Everything is a draft. We launch the new editor on the first of October. It is the largest change since the beginning.';
  const target = quoted(text, 'the first of October');
  assert.equal(found(text.replace('October', 'November'), target), 'editor on [the first of November]. It is th changed');
  assert.equal(found(text.replace('the first', 'the 31st'), target), 'editor on [the 31st of October]. It is th changed');
  assert.equal(found(text.replace('the first of', 'a day in'), target), 'editor on [a day in October]. It is th changed');
  assert.equal(found(text.replace('on the first of October', 'soon'), target), null);
  assert.equal(found(text.replace('October', 'November'), {targetText: 'the first of October'}), 'editor on [the first of November]. It is th changed');
  assert.equal(found(text, {targetText: 'a big party in Lisbon'}), null);
  assert.equal(found('What launches in the fall?', {targetText: 'the fall guys'}), null);
});

test('forms of a letter, invisible characters and white space do not matter, words do', () => {
  const [composed, apart] = ['Zo\u00eb kennt Jos\u00e9.', 'Zoe\u0308 kennt Jose\u0301.'];
  assert.equal(found(composed, quoted(apart, apart.slice(10))), 'Zo\u00eb kennt [Jos\u00e9.]');
  assert.equal(found(apart, quoted(composed, 'Jos\u00e9')), 'oe\u0308 kennt [Jose\u0301].');
  assert.equal(found('Ko\u00adope\u00adra\u200bti\u2060on ist \ufeffgut', {targetText: 'Kooperation ist gut'}), '[Ko\u00adope\u00adra\u200bti\u2060on ist \ufeffgut]');
  assert.equal(found('Kooperation', {targetText: 'Ko\u00adoperation'}), '[Kooperation]');
  assert.equal(found('a  b\n\tc', {targetText: 'a b c'}), '[a  b\n\tc]');
  assert.equal(found('There is nowhere to go.', {targetText: 'no where'}), 'There is [nowhere] to go. changed');
  assert.equal(found('\u1100\u1175\u11b7\u1103\u1161', {targetText: '김다'}), '[\u1100\u1175\u11b7\u1103\u1161]');
  assert.equal(found('\u0958x', {targetText: '\u0915\u093cx'}), '[\u0958x]', 'a letter that has no composed form');
});

test('text in Japanese, Thai and Hebrew keeps its place', () => {
  for (const [text, quote, changed, place] of [
    ['予算は小さいです。次の予算は旅行のためです。', '予算', '新しい予算です。予算は小さいです。次の予算は旅行のためです。', '小さいです。次の[予算]は旅行のためです。'],
    ['งบประมาณแรกมีน้อย งบประมาณที่สองสำหรับการเดินทาง', 'งบประมาณ', 'งบประมาณใหม่ งบประมาณแรกมีน้อย งบประมาณที่สองสำหรับการเดินทาง', 'แรกมีน้อย [งบประมาณ]ที่สองสำหร'],
    ['התקציב קטן. התקציב השני מיועד לנסיעות.', 'התקציב', 'התקציב חדש. התקציב קטן. התקציב השני מיועד לנסיעות.', 'תקציב קטן. [התקציב] השני מיוע'],
  ]) {
    assert.ok(found(changed, quoted(text, quote, 2)).includes(place.slice(2)), text);
  }
});

test('a quote is cut between characters', () => {
  const family = '👨‍👩‍👧‍👦';
  assert.equal(cut('abc', 3), 'abc');
  assert.equal(cut('ab😀c', 3), 'ab');
  assert.equal(cut('ab😀c', 4), 'ab😀');
  assert.equal(cut('a🏻🏽b👍🏽', 8), 'a🏻🏽b👍'.slice(0, 6));
  assert.equal(cut(`${'x'.repeat(495)}${family}`, 500), 'x'.repeat(495));
  assert.equal(cut(`${'x'.repeat(497)}🇩🇪`, 500), 'x'.repeat(497));
  assert.equal(cut(`e${'\u0301'.repeat(600)}`, 500).length, 500, 'one endless character');
  assert.equal(cut(`e${'\u0301'.repeat(498)}\u{1e8d0}\u0301`, 500).length, 499, 'and not half a code point');
  const text = `${'word '.repeat(97)}four\u00ad ${'😀'.repeat(200)}`;
  const target = quoted(text, text);
  assert.ok(target.targetText.isWellFormed() && target.suffix.isWellFormed() && target.targetText.length <= 500);
  assert.ok(quoted(`😀${'x'.repeat(31)}yes`, 'yes').prefix.isWellFormed());
  assert.equal(find(new Plain(text), target).from, 0);
});

test('a repetitive or long text takes no time', () => {
  const start = process.cpuUsage();
  const text = 'no '.repeat(70_000);
  const target = quoted(`${text.slice(0, 100_000)}${'yes no '.repeat(60)}${text}`, 'yes no '.repeat(60));
  assert.equal(find(new Plain(text), target), null);
  assert.equal(find(new Plain(text), {targetText: 'no yes '.repeat(30_000)}), null);
  assert.ok(process.cpuUsage(start).user < 20_000_000); // microseconds
});

test('a selection of white space has no target', () => {
  assert.equal(quoted('a  b', '  '), null);
  assert.equal(quoted('a \u200b b', ' \u200b '), null);
  assert.equal(quoted('one  two', '  two').targetText, 'two');
});
