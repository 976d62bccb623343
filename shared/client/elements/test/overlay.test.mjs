import assert from 'node:assert/strict';
import {test} from 'node:test';

import {build} from 'esbuild';

// The parts that need no page, as a module.
const {outputFiles} = await build({
  stdin: {contents: "export * from './src/overlay.ts'; export * from './src/mentions.ts'; export * from './src/drafts.ts'; export {Failure} from './src/failure.ts'; export {seersOf} from './src/protocol.ts'; export {ago} from './src/time.ts';", resolveDir: '.', loader: 'ts'},
  bundle: true, format: 'esm', write: false, external: ['lit'],
});
const {added, ago, Drafts, Failure, later, overlay, seersOf, tagsOf, withNames, withTokens} = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text.replace(/^import .* from "lit.*";$/gm, '').replace(/^/, 'const html = String.raw, LitElement = class {}, property = () => () => {};\n'))}`);

const ann = {userId: 'ann', name: 'Ann'};
const thread = (lastUpdated, ...comments) => ({
  annotationId: 'a1', status: {id: 'OPEN', type: 'default'}, createdAt: '2026-01-01T00:00:00.000Z', lastUpdated,
  comments: comments.map((commentText, i) => ({commentId: i + 1, commentText, from: ann, createdAt: '1', lastUpdated: '1'})),
});
const pending = (name, more) => ({id: 'p1', name, thread: 'a1', at: '2026-01-02T00:00:00.000Z', ...more});
const shown = (t, ...list) => overlay(t, 'a1', list, ann).comments.map((c) => c.commentText);

test('what is pending is shown as if it were done', () => {
  const t = thread('1', 'one', 'two');
  assert.deepEqual(shown(t, pending('add-comment', {text: 'three', tags: []})), ['one', 'two', 'three']);
  assert.deepEqual(shown(t, pending('edit-comment', {commentId: 2, text: 'zwei', tags: []})), ['one', 'zwei']);
  assert.deepEqual(shown(t, pending('delete-comment', {commentId: 1})), ['two']);
  assert.equal(overlay(t, 'a1', [pending('resolve-thread', {resolved: true})], ann).status.type, 'terminal');
  assert.deepEqual(shown(t, pending('add-comment', {text: 'x', tags: []}), pending('delete-comment', {commentId: 2})), ['one', 'x']);
  assert.deepEqual(t, thread('1', 'one', 'two'), 'the thread itself stays');
});

test('what failed is seen to have failed', () => {
  const t = thread('1', 'one', 'two');
  const failed = {failed: new Failure('UNAVAILABLE')};
  assert.deepEqual(shown(t, pending('delete-comment', {commentId: 1, ...failed})), ['one', 'two']);
  assert.equal(overlay(t, 'a1', [pending('resolve-thread', {resolved: true, ...failed})], ann).status.type, 'default');
  const edited = overlay(t, 'a1', [pending('edit-comment', {commentId: 2, text: 'zwei', tags: [], ...failed})], ann).comments[1];
  assert.equal(edited.commentText, 'zwei');
  assert.equal(edited.pending.failed, failed.failed);
});

test('an edit takes the place of HTML', () => {
  const t = thread('1', 'one');
  t.comments[0].commentHtml = '<b>one</b>';
  const [c] = overlay(t, 'a1', [pending('edit-comment', {commentId: 1, text: 'eins', tags: []})], ann).comments;
  assert.equal(c.commentHtml, undefined);
});

test('a thread that is sent has its place and its comment', () => {
  const t = added(pending('add-thread', {thread: 'p1', text: 'Hello', tags: [], target: {elementId: 'e'}}), ann);
  assert.equal(t.key, 'p1');
  assert.deepEqual(t.targetElement, {elementId: 'e'});
  assert.equal(t.comments[0].commentText, 'Hello');
});

test('a thread for few is so from the moment at which it is sent', () => {
  const bob = {userId: 'bob', name: 'Bob'};
  const sent = (more) => seersOf(added(pending('add-thread', {thread: 'p1', text: 'Hello', tags: [], ...more}), ann));
  assert.deepEqual(sent({only: [bob]}), [ann, bob]);
  assert.equal(sent({}), undefined);
  const t = thread('1', 'one');
  assert.equal(seersOf(t), undefined);
  assert.equal(seersOf({...t, visibility: {type: 'public'}}), undefined);
  assert.deepEqual(seersOf({...t, visibility: {type: 'restricted', people: [bob]}}), [ann, bob]);
  assert.deepEqual(seersOf({...t, comments: [], visibility: {type: 'restricted', people: [bob]}}), [bob]);
});

test('of two states the later is known, and the same one stays the same object', () => {
  const known = thread('2', 'one');
  assert.equal(later(known, thread('1', 'none')), known);
  assert.equal(later(known, thread('2', 'one')), known);
  assert.notEqual(later(known, thread('2', 'other')), known);
  assert.notEqual(later(known, thread('3', 'one')), known);
});

test('a reaction counts once, and the last deletion ends its emoji', () => {
  const react = (emoji, reacted, more) => pending('react', {commentId: 1, emoji, reacted, ...more});
  const after = (reactions, ...list) => overlay({...thread('1', 'one'), comments: [{...thread('1', 'one').comments[0], reactions}]}, 'a1', list, ann).comments[0].reactions;
  const heart = (count, ...users) => ({emoji: '❤', count, users: users.map((userId) => ({userId}))});
  assert.deepEqual(after(undefined, react('👍', true)), [{emoji: '👍', count: 1, users: [ann]}]);
  assert.deepEqual(after([heart(2, 'bob', 'cleo')], react('❤️', true)), [{...heart(3, 'bob', 'cleo'), users: [{userId: 'bob'}, {userId: 'cleo'}, ann]}]);
  assert.deepEqual(after([heart(1, 'ann')], react('❤️', true)), [heart(1, 'ann')], 'the service has it');
  assert.deepEqual(after([heart(60, 'ann', 'bob')], react('❤', false)), [heart(59, 'bob')]);
  assert.deepEqual(after([heart(1, 'ann')], react('❤', false)), []);
  assert.deepEqual(after([heart(1, 'bob')], react('❤', false)), [heart(1, 'bob')]);
  assert.deepEqual(after([], react('👍', true), react('👍', false)), []);
  assert.deepEqual(after([], react('👍', true, {failed: new Failure('UNAVAILABLE')})), []);
});

test('a decision resolves the thread, unless it failed', () => {
  const t = {...thread('1', 'one'), type: 'suggestion', suggestion: {oldValue: 'a', newValue: 'b', status: 'pending'}};
  const decide = (more) => overlay(t, 'a1', [pending('decide', {suggestion: {status: 'rejected', rejectReason: 'No'}, ...more})], ann);
  assert.deepEqual(decide().suggestion, {oldValue: 'a', newValue: 'b', status: 'rejected', rejectReason: 'No', resolvedBy: ann});
  assert.equal(decide().status.type, 'terminal');
  assert.equal(decide({failed: new Failure('UNAVAILABLE')}).suggestion.status, 'pending');
  assert.deepEqual(added(pending('add-thread', {thread: 'p1', text: 'x', tags: [], suggestion: {newValue: 'b'}}), ann).suggestion, {newValue: 'b'});
});

test('reactions change a thread without its time', () => {
  const known = thread('2', 'one');
  const next = {...known, comments: [{...known.comments[0], reactions: [{emoji: '👍', count: 1, users: [ann]}]}]};
  assert.equal(later(known, next), next);
  assert.equal(later(next, known), known);
});

test('tags are of those whom tokens name', () => {
  assert.deepEqual(tagsOf('{{ann}} {{bob}} {{ann}}', [ann, {userId: 'cleo'}]), [ann]);
});

test('who is mentioned is written by name, and sent by id', () => {
  const people = [ann, {userId: 'lee', name: 'Ann Lee'}, {userId: 'bo1', name: 'Bo'}, {userId: 'bo2', name: 'Bo'}, {userId: 'x.y'}];
  const text = '{{ann}} and {{lee}}, {{bo1}} {{bo2}} {{x.y}}';
  assert.equal(withNames(text, people), '@Ann and @Ann Lee, @Bo (bo1) @Bo (bo2) @x.y');
  assert.equal(withTokens(withNames(text, people), people), text);
  assert.equal(withTokens('@Anna @Ann.', people), '@Anna {{ann}}.');
});

test('drafts outlive the page, for the one who wrote them', () => {
  let send;
  globalThis.addEventListener = (name, f) => (send = f);
  globalThis.document = {addEventListener() {}};
  const kept = new Map();
  globalThis.sessionStorage = {getItem: (k) => kept.get(k) ?? null, setItem: (k, v) => kept.set(k, v), removeItem: (k) => kept.delete(k)};
  const failed = ['reply t2', {id: 'r1', text: 'failed', people: []}];
  const before = new Drafts('d', () => '', () => [failed]);
  before.of('ann');
  before.set('reply t1', {text: 'Yes', people: [ann]});
  before.set('new {}', {text: 'New', people: []});
  before.set('new {"elementId":"e"}', {text: 'For few', people: [], only: [ann]});
  before.set('edit t1 1', {text: 'x', people: []});
  before.set('edit t1 1', {text: ' ', people: []});
  send('pagehide');
  const after = new Drafts('d', () => '', () => []);
  after.set('new {}', {text: 'Newer', people: []});
  after.of('ann');
  assert.deepEqual(['reply t1', 'reply t2', 'edit t1 1', 'new {}'].map((p) => after.get(p)?.text), ['Yes', 'failed', undefined, 'Newer']);
  assert.equal(after.get('reply t2').id, 'r1', 'it is sent again under its id');
  assert.deepEqual(after.threads.map((d) => [d.text, d.only]), [['Newer', undefined], ['For few', [ann]]]);
  after.of('bob');
  assert.equal(after.get('reply t1'), undefined);
  const other = new Drafts('d', () => '', () => []);
  other.of('bob');
  assert.equal(other.get('reply t1'), undefined);
  new Drafts('d', () => 'ann', () => [failed]);
  send('pagehide'); // before a poll returned the user
  const later = new Drafts('d', () => '', () => []);
  later.of('ann');
  assert.equal(later.get('reply t2')?.text, 'failed');
});

test('times are told from now', () => {
  globalThis.document = {documentElement: {lang: 'en'}};
  const now = Date.parse('2026-03-01T12:00:00Z');
  const of = (seconds) => ago(now - seconds * 1000, now);
  assert.deepEqual([-5, 59, 60, 3599, 3600, 86_400, 8 * 86_400, 400 * 86_400].map(of), [
    'just now', 'just now', '1 minute ago', '59 minutes ago', '1 hour ago', 'yesterday', 'last week', 'last year',
  ]);
});
