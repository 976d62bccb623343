import assert from 'node:assert/strict';
import {after, afterEach, beforeEach, mock, test} from 'node:test';

import {build} from 'esbuild';

const {outputFiles} = await build({
  stdin: {contents: "export {liveOf} from './src/live.ts'; export {Poll} from './src/poll.ts'; export {storeOf} from './src/store.ts';", resolveDir: '.', loader: 'ts'},
  bundle: true, format: 'esm', write: false, external: ['lit'],
});
const code = outputFiles[0].text.replace(/^import .* from "lit";$/m, 'const html = String.raw;');

/** A tab of the browser: what it imports is its own. */
let tabs = 0;
const tab = () => import(`data:text/javascript,${encodeURIComponent(code)}//${++tabs}`);

let requests, sockets, answers;
const MINUTE = 60_000;

class Socket {
  constructor(url) {
    this.url = url;
    this.sent = [];
    sockets.push(this);
  }
  send(text) {
    this.sent.push(text);
  }
  close() {
    this.closed = true;
    queueMicrotask(() => this.onclose());
  }
  says(message) {
    this.onmessage({data: JSON.stringify(message)});
  }
}

/** Channels and locks as tabs of one browser share them. */
const channels = new Set();
class Channel {
  constructor(name) {
    this.name = name;
    channels.add(this);
  }
  postMessage(data) {
    for (const c of [...channels]) if (c !== this && c.name === this.name) queueMicrotask(() => channels.has(c) && c.onmessage({data: structuredClone(data)}));
  }
  close() {
    channels.delete(this);
  }
}
const locks = new Map();
const request = (name, work) => {
  const held = (locks.get(name) ?? Promise.resolve()).then(work);
  locks.set(name, held);
  return held;
};

const settle = async () => {
  for (let i = 0; i < 40; i++) await Promise.resolve();
};
const pass = async (ms) => {
  await settle();
  for (let left = ms; left >= 0; left -= 1000) {
    mock.timers.tick(Math.min(left, 1000));
    await settle();
  }
};

beforeEach(() => {
  mock.timers.enable({apis: ['setTimeout', 'Date'], now: 1_800_000_000_000});
  mock.method(Math, 'random', () => 0.5);
  [requests, sockets] = [[], []];
  answers = {connect: () => ({url: 'ws://service/?ticket=t', retryAfter: 0})};
  globalThis.document = {hidden: false, addEventListener() {}, removeEventListener() {}};
  globalThis.addEventListener = globalThis.removeEventListener = () => {};
  globalThis.sessionStorage = {getItem: () => null, setItem() {}, removeItem() {}};
  globalThis.location = {href: 'http://application/'};
  globalThis.WebSocket = Socket;
  globalThis.window = {BroadcastChannel: Channel};
  globalThis.BroadcastChannel = Channel;
  Object.defineProperty(globalThis, 'navigator', {value: {onLine: true, locks: {request}}, configurable: true});
  mock.method(AbortSignal, 'timeout', () => undefined);
  globalThis.fetch = async (url, {body}) => {
    const name = url.split('/').at(-1);
    requests.push([name, JSON.parse(body)]);
    const answer = answers[name](JSON.parse(body));
    return {ok: !answer.error, headers: new Map(), json: async () => answer};
  };
  locks.clear();
  channels.clear();
});
afterEach(() => {
  mock.timers.reset();
  mock.restoreAll();
});
after(() => delete globalThis.fetch);

const watcher = (topic) => {
  const heard = [];
  return {topic, heard, hint: () => heard.push('hint'), live: (on) => heard.push(on)};
};
const asked = (name) => requests.filter(([n]) => n === name).map(([, body]) => body);

test('all elements of a page share one connection, and hear of what is theirs', async () => {
  const {liveOf} = await tab();
  const [plan, map, inbox] = [watcher('plan'), watcher('map'), watcher('')];
  const ends = [plan, map, inbox].map((w) => liveOf('/collab').watch(w));
  await pass(1000);
  assert.deepEqual(asked('connect'), [{documentIds: ['plan', 'map'], inbox: true}]);
  const [socket] = sockets;
  assert.equal(plan.heard.at(-1), false);
  socket.onopen();
  socket.says({changed: {documentId: 'plan'}});
  socket.says({changed: {inbox: true}});
  assert.deepEqual([plan, map, inbox].map((w) => w.heard.slice(w.heard.indexOf(true))), [[true, 'hint'], [true], [true, 'hint']]);
  await pass(7 * MINUTE);
  assert.deepEqual(socket.sent, ['{"ping":true}']);
  socket.says({pong: true});
  await pass(7 * MINUTE);
  assert.equal(sockets.length, 1);
  await pass(MINUTE + 2000); // the second ping is not answered
  assert.equal(sockets.length, 2);
  assert.ok(socket.closed);
  sockets[1].onopen();
  sockets[1].says({bye: true});
  assert.equal(plan.heard.at(-1), false, 'it asks by itself until there is a connection');
  await pass(3000);
  assert.equal(sockets.length, 3);
  ends.forEach((end) => end());
  assert.ok(sockets[2].closed);
  await pass(60 * MINUTE);
  assert.equal(sockets.length, 3);
});

test('what is watched later is connected for, too', async () => {
  const {liveOf} = await tab();
  liveOf('/collab').watch(watcher('plan'));
  await pass(1000);
  sockets[0].onopen();
  const map = watcher('map');
  liveOf('/collab').watch(map);
  assert.deepEqual(map.heard, [false]);
  await pass(1000);
  assert.deepEqual(asked('connect').at(-1), {documentIds: ['plan', 'map'], inbox: false});
  sockets[1].onopen();
  assert.equal(map.heard.at(-1), true);
  assert.ok(sockets[0].closed);
});

test('tabs of one browser share the connection, and the next takes over', async () => {
  const [one, two] = [await tab(), await tab()];
  const [plan, map] = [watcher('plan'), watcher('map')];
  const leave = one.liveOf('/collab').watch(plan);
  await pass(0);
  two.liveOf('/collab').watch(map);
  await pass(1000);
  assert.deepEqual(asked('connect').at(-1), {documentIds: ['plan', 'map'], inbox: false});
  sockets.at(-1).onopen();
  await pass(0);
  assert.equal(map.heard.at(-1), true);
  sockets.at(-1).says({changed: {documentId: 'map'}});
  await pass(0);
  assert.equal(map.heard.at(-1), 'hint');
  assert.ok(!plan.heard.includes('hint'));
  const before = sockets.length;
  leave();
  await pass(1000);
  assert.equal(sockets.length, before + 1);
  assert.deepEqual(asked('connect').at(-1), {documentIds: ['map'], inbox: false});
  assert.equal(map.heard.at(-1), false);
});

test('connections that fail are tried more and more seldom, and not at all before the server asks for it', async () => {
  const {liveOf} = await tab();
  liveOf('/collab').watch(watcher('plan'));
  for (let minute = 0; minute < 60; minute++) {
    await pass(MINUTE);
    for (const s of sockets) if (!s.closed) s.close();
  }
  assert.ok(sockets.length > 8 && sockets.length < 25, `${sockets.length} attempts in an hour`);
  answers.connect = () => ({url: '', retryAfter: 3600});
  await pass(10 * MINUTE);
  const before = requests.length;
  await pass(59 * MINUTE);
  assert.ok(requests.length <= before + 1, `${requests.length - before} requests where live is off`);
});

/** How many looks a page takes in an hour in which nothing happens, and one change after a time. */
async function looks(live, changes = () => false) {
  const {Poll} = await tab();
  let n = 0;
  const poll = new Poll(async () => changes(++n), () => {});
  poll.start();
  poll.live(live);
  await pass(60 * MINUTE);
  poll.stop();
  return n;
}

test('a page where nothing happens asks seldom, and where hints come hardly ever', async () => {
  assert.equal(await looks(true), 13, 'one at first, one after it is connected, and then by the clock');
  assert.equal(await looks(false), 142);
  assert.ok((await looks(false, (n) => n === 100)) > 160, 'after a change it asks often');
});

test('a hint is looked for at once, and one after the other once a second', async () => {
  const {Poll} = await tab();
  let n = 0;
  const poll = new Poll(async () => !!++n, () => {});
  poll.start();
  await pass(3000);
  poll.live(true);
  await pass(12_000);
  const before = n;
  poll.hint();
  await pass(100);
  assert.equal(n - before, 1, 'a hint is looked for at once');
  for (let i = 0; i < 28; i++) {
    poll.hint();
    await pass(100);
  }
  assert.equal(n - before, 3, 'looks in less than three seconds');
  await pass(3000);
  assert.equal(n - before, 4, 'the last hint is looked for');
  let end;
  const slow = new Poll(() => new Promise((done) => ((n = n + 1), (end = done))), () => {});
  slow.start();
  const began = n;
  slow.hint();
  end(false);
  await pass(1000);
  assert.equal(n, began + 1, 'a hint that comes during a look is looked for after it');
  slow.stop();
  poll.stop();
});

const at = (s) => new Date(1_700_000_000_000 + s * 1000).toISOString();
const thread = (id, s, more) => ({
  annotationId: id, status: {id: 'OPEN'}, createdAt: at(s), lastUpdated: at(s), comments: [{commentId: 1, commentText: id, from: {userId: 'bob'}, createdAt: at(s), lastUpdated: at(s)}], ...more,
});
const page = (threads, more) => ({threads, deleted: [], nextPageToken: '', since: Date.now() - 30_000, user: {userId: 'ann'}, canWrite: true, ...more});

test('the rest of the 250 newest threads comes straight after the first, and older ones on demand', async () => {
  const {storeOf} = await tab();
  const some = (from, n) => Array.from({length: n}, (_, i) => thread(`t${from - i}`, from - i));
  answers.threads = ({since, pageToken}) => (since ? page([]) : pageToken ? page(some(200, 150), {nextPageToken: 'third'}) : page(some(300, 100), {nextPageToken: 'second'}));
  const store = storeOf('/collab', 'plan');
  const painted = [];
  const end = store.watch(() => painted.push(store.threads.length));
  await pass(0);
  assert.deepEqual([painted[0], store.threads.length, store.more], [100, 250, true]);
  assert.deepEqual(asked('threads'), [{documentId: 'plan'}, {documentId: 'plan', pageToken: 'second'}]);
  await Promise.all([store.look(), pass(0)]);
  assert.equal(asked('threads').length, 3, 'no older ones by themselves');
  end();
});

test('what the reader has read elsewhere is no longer unread', async () => {
  const {storeOf} = await tab();
  let read = [];
  const list = () => ['c', 'b', 'a'].map((id, i) => thread(id, 30 - i, {unread: !read.includes(id)}));
  answers.threads = ({since, annotationIds}) => page(since ? [] : list().filter((t) => !annotationIds || annotationIds.includes(t.annotationId)));
  answers['read-thread'] = () => ({});
  const store = storeOf('/collab', 'plan');
  const end = store.watch(() => {});
  await pass(12_000);
  const unread = () => store.threads.filter((t) => t.unread).map((t) => t.annotationId).join(' ');
  const hint = async () => {
    const before = asked('threads').length;
    sockets[0].says({changed: {documentId: 'plan'}});
    await pass(1000);
    return asked('threads').slice(before).map(({annotationIds}) => annotationIds?.join(' ') ?? 'new');
  };
  sockets[0].onopen();
  await pass(12_000);
  assert.equal(unread(), 'c b a');
  read = ['b'];
  assert.deepEqual([await hint(), unread()], [['new', 'c b a'], 'c a']);
  store.read(store.threads.find((t) => t.annotationId === 'a'));
  read = ['a', 'b'];
  assert.deepEqual([await hint(), unread()], [['new'], 'c'], 'the hint of what is read here asks for nothing more');
  await pass(6000);
  read = ['a', 'b', 'c'];
  assert.deepEqual([await hint(), unread()], [['new', 'c'], '']);
  assert.deepEqual(await hint(), ['new'], 'where nothing is unread, nothing is asked for');
  const before = asked('threads').length;
  await pass(6 * MINUTE);
  assert.deepEqual(asked('threads').slice(before).map(Object.keys), [['documentId', 'since']], 'an idle page asks as seldom as ever');
  end();
});

test('a document begins with the newest threads, and learns of what comes, changes and goes', async () => {
  const {storeOf} = await tab();
  let answer = page([thread('c', 30, {unread: true}), thread('b', 20)], {nextPageToken: 'older'});
  answers.threads = () => answer;
  const store = storeOf('/collab', 'plan');
  const end = store.watch(() => {});
  await pass(0);
  const shown = () => store.threads.map((t) => t.annotationId + (t.unread ? '!' : '')).sort().join(' ');
  assert.deepEqual([shown(), store.more], ['b c!', true]);

  answer = page([thread('a', 10)]);
  await Promise.all([store.older(), pass(0)]);
  assert.deepEqual([shown(), store.more, asked('threads').at(-1)], ['a b c!', false, {documentId: 'plan', pageToken: 'older'}]);

  answer = page([thread('d', 40)], {deleted: ['b', 'never seen']});
  await Promise.all([store.look(), pass(0)]);
  assert.deepEqual([shown(), Object.keys(asked('threads').at(-1))], ['a c! d', ['documentId', 'since']]);

  answer = page([thread('z', 1)]);
  await Promise.all([store.find('z'), pass(0)]);
  assert.equal(shown(), 'a c! d z');

  // After an hour the newest are read anew: what is missing among them is gone, and what is older stays.
  answer = page([thread('d', 40), thread('c', 30)], {nextPageToken: 'older'});
  document.hidden = true;
  await pass(61 * MINUTE);
  document.hidden = false;
  await Promise.all([store.look(), pass(0)]);
  assert.deepEqual([shown(), asked('threads').at(-1)], ['a c d z', {documentId: 'plan'}]);
  answer = page([thread('f', 90), thread('e', 80)], {nextPageToken: 'older'});
  document.hidden = true;
  await pass(61 * MINUTE);
  document.hidden = false;
  await Promise.all([store.look(), pass(0)]);
  assert.deepEqual([shown(), store.more], ['e f', true], 'what may be missing in between is loaded on demand');

  // What is known is void.
  answers.threads = ({since}) => (since ? page([], {since: 0}) : page([thread('g', 95)]));
  await Promise.all([store.look(), pass(0)]);
  assert.equal(shown(), 'g');
  end();
});
