import assert from 'node:assert/strict';
import {after, afterEach, beforeEach, mock, test} from 'node:test';

import {build} from 'esbuild';

const {outputFiles} = await build({
  stdin: {contents: "export {Access, accessOf, setTokens} from './src/access.ts'; export {connect} from './src/connect.ts'; export {liveOf} from './src/live.ts'; export {Poll} from './src/poll.ts'; export {storeOf} from './src/store.ts';", resolveDir: '.', loader: 'ts'},
  bundle: true, format: 'esm', write: false, external: ['lit'],
});
const code = outputFiles[0].text.replace(/^import .* from "lit.*";$/gm, '').replace(/^/, 'const html = String.raw, LitElement = class {}, property = () => () => {};\n');

class Page extends EventTarget {
  hidden = false;
  dispatchEvent(event) {
    requests.push([event.type, event.detail]);
    return super.dispatchEvent(event);
  }
  hide(hidden = true) {
    this.hidden = hidden;
    super.dispatchEvent(new Event('visibilitychange'));
  }
}

/** A tab of the browser: what it imports is its own, and document is that of the last one. */
let tabs = 0;
const tab = async (documentId = 'plan') => {
  const document = (globalThis.document = new Page());
  const {liveOf, storeOf, ...more} = await import(`data:text/javascript,${encodeURIComponent(`const document = globalThis.document; ${code}`)}//${++tabs}`);
  const access = new more.Access({api: 'http://service', token: '/token', organization: ''}, documentId);
  const of = async (id, organization = '') => { // one of several in the tab, whose person is known
    const one = more.accessOf({api: 'http://service', token: '/token', organization}, id);
    answers['users/get'] = () => ({data: []});
    await one.call('/v2/users/get', {});
    return liveOf(one);
  };
  return {...more, access, document, of, live: () => liveOf(access), store: () => storeOf(access)};
};

let requests, sockets, answers, claims;
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
const request = (name, {signal}, work) => {
  const held = (locks.get(name) ?? Promise.resolve()).then(() => !signal.aborted && work());
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
  [claims, answers] = [{sub: 'ann', exp: 1_800_003_600, iat: 1_800_000_000, resources: [{type: 'document', id: 'plan', organizationId: 'acme'}]}, {'tickets/add': () => ({data: {url: 'ws://service/?ticket=t'}})}];
  globalThis.addEventListener = globalThis.removeEventListener = () => {};
  globalThis.sessionStorage = {getItem: () => null, setItem() {}, removeItem() {}};
  globalThis.location = {href: 'http://application/', origin: 'http://application'};
  globalThis.WebSocket = Socket;
  globalThis.window = {BroadcastChannel: Channel};
  globalThis.BroadcastChannel = Channel;
  Object.defineProperty(globalThis, 'navigator', {value: {onLine: true, locks: {request}}, configurable: true});
  mock.method(AbortSignal, 'timeout', () => undefined);
  globalThis.fetch = async (url, {headers, body}) => {
    const name = url.split('/').slice(-2).join('/');
    const {organizationId, documentId, ...data} = JSON.parse(body).data ?? {};
    requests.push([name, data, headers]);
    if (name === '/token') return {ok: true, status: 200, json: async () => ({token: `x.${btoa(JSON.stringify(claims))}.x`})};
    const {error, retryAfter, ...result} = answers[name](data);
    return {headers: new Map([['Retry-After', retryAfter]]), json: async () => (error ? {error: {status: error}} : {result})};
  };
  locks.clear();
  channels.clear();
});
afterEach(() => {
  mock.timers.reset();
  mock.restoreAll();
});
after(() => delete globalThis.fetch);

const watcher = () => {
  const heard = [];
  return {
    heard, hint: (within, read) => heard.push(`hint within ${within}${read ? ', read' : ''}`), live: (on, refused) => heard.push(refused ? 'refused' : on), lead() {}, found() {},
  };
};
const asked = (name) => requests.filter(([n]) => n === name).map(([, body]) => body);

test('all elements of a page share one connection', async () => {
  const [{live}, inbox] = [await tab(), await tab('')];
  const [one, two] = [watcher(), watcher()];
  const ends = [one, two].map((w) => live().watch(w));
  await pass(1000);
  assert.deepEqual(asked('tickets/add'), [{documentIds: ['plan']}]);
  const [socket] = sockets;
  assert.equal(one.heard.at(-1), false);
  socket.onopen();
  socket.says({changed: {documentId: 'plan'}});
  assert.deepEqual([one, two].map((w) => w.heard.slice(w.heard.indexOf(true))), Array(2).fill([true, 'hint within 0']));
  await pass(8 * MINUTE);
  assert.deepEqual(socket.sent, ['{"ping":true}']);
  socket.says({pong: true});
  await pass(8 * MINUTE);
  assert.equal(sockets.length, 1);
  await pass(MINUTE + 2000); // the second ping gets no response
  assert.ok(socket.closed);
  assert.equal(sockets.length, 1, 'others may have lost theirs with it');
  await pass(2000);
  assert.equal(sockets.length, 2);
  sockets[1].onopen();
  await pass(2 * MINUTE);
  sockets[1].close();
  await pass(0);
  assert.equal(one.heard.at(-1), false, 'it asks by itself until there is a connection');
  await pass(3000);
  assert.equal(sockets.length, 3);
  ends.forEach((end) => end());
  assert.ok(sockets[2].closed);
  await pass(60 * MINUTE);
  assert.equal(sockets.length, 3);
  inbox.live().watch(watcher());
  await pass(0);
  assert.deepEqual(asked('tickets/add').at(-1), {inbox: true});
});

const TOGETHER = 2000;
const plan = {documentIds: ['plan'], inbox: true};

test('a page with a document and the inbox has one connection, with the hints of each', async () => {
  const {of} = await tab();
  const [doc, box, other] = [watcher(), watcher(), watcher()];
  const said = () => [doc, box].map((w) => w.heard.splice(0).join());
  const lives = [await of(''), await of('plan')]; // both are on the page before one connects
  lives[0].watch(box);
  await pass(TOGETHER - 1000);
  const leave = lives[1].watch(doc);
  await pass(TOGETHER);
  assert.deepEqual(asked('tickets/add'), [plan]);
  said();
  sockets[0].onopen();
  assert.deepEqual(said(), ['true', 'true']);
  sockets[0].says({changed: {inbox: true}});
  assert.deepEqual(said(), ['', 'hint within 0']);
  sockets[0].says({changed: {documentId: 'plan', read: true}});
  assert.deepEqual(said(), ['hint within 0, read', '']);
  sockets[0].close();
  await pass(0);
  assert.deepEqual(said(), ['false', 'false']);
  await pass(4000);
  assert.deepEqual(asked('tickets/add'), [plan, plan]);
  sockets[1].onopen();
  said();

  leave(); // the person goes to another document
  await pass(0);
  assert.deepEqual([sockets[1].closed, ...said()], [true, 'false', 'false']);
  await pass(2000);
  assert.deepEqual(asked('tickets/add').slice(2), [{inbox: true}], 'an inbox that is left alone connects');
  sockets[2].onopen();
  (await of('map')).watch(other);
  await pass(TOGETHER);
  assert.deepEqual([asked('tickets/add').slice(3), !!sockets[2].closed], [[{documentIds: ['map'], inbox: true}], false]);
  sockets[3].onopen();
  await pass(0);
  assert.deepEqual([!!sockets[2].closed, box.heard.at(-1), other.heard.at(-1)], [true, true, true]);
  await pass(60 * MINUTE); // nobody answers pings
  assert.equal(sockets.filter((s) => !s.closed).length, 1);
});

test('an inbox that comes late shares the connection of the document, and a second document has its own', async () => {
  const {of} = await tab();
  const [one, two, box] = [watcher(), watcher(), watcher()];
  (await of('plan')).watch(one);
  await pass(0);
  sockets[0].onopen();
  const inbox = await of('');
  for (const n of [1, 2]) { // it comes again
    const leave = inbox.watch(box);
    await pass(TOGETHER);
    assert.deepEqual(asked('tickets/add').slice(n), [plan]);
    assert.equal(one.heard.at(-1), false, 'the document polls for what happens between two connections');
    sockets[n].onopen();
    await pass(0);
    assert.deepEqual([sockets[n - 1].closed, !!sockets[n].closed, box.heard.at(-1), one.heard.at(-1)], [true, false, true, true]);
    if (n === 1) leave();
  }
  (await of('map')).watch(two);
  await pass(TOGETHER);
  assert.deepEqual(asked('tickets/add').slice(3), [{documentIds: ['map']}]);
});

test('an inbox lives without a document that is refused, and with it again later', async () => {
  for (const [error, again] of [['NOT_FOUND', 5], ['PERMISSION_DENIED', 5], ['RESOURCE_EXHAUSTED', 1]]) {
    locks.clear();
    [requests, sockets] = [[], []];
    const {of} = await tab();
    const [doc, box] = [watcher(), watcher()];
    answers['tickets/add'] = ({documentIds}) => (documentIds ? {error, retryAfter: 60} : {data: {url: 'ws://service/?ticket=t'}});
    await of('plan');
    (await of('')).watch(box);
    (await of('plan')).watch(doc);
    await pass(TOGETHER);
    assert.deepEqual([asked('tickets/add').at(-1), sockets.length], [{inbox: true}, 1], error);
    sockets[0].onopen();
    await pass(30_000);
    assert.deepEqual([sockets.length, box.heard.at(-1), doc.heard.at(-1)], [1, true, error === 'RESOURCE_EXHAUSTED' ? 'refused' : false]);
    answers['tickets/add'] = () => ({data: {url: 'ws://service/?ticket=t'}});
    await pass(again * MINUTE);
    assert.deepEqual(asked('tickets/add').at(-1), plan);
    sockets[1].onopen();
    await pass(0);
    assert.deepEqual([sockets.length, sockets[0].closed, box.heard.at(-1), doc.heard.at(-1)], [2, true, true, true]);
  }
});

test('an inbox opens no connection that the document has meanwhile', async () => {
  const {of} = await tab();
  const inbox = await of('');
  const {fetch} = globalThis;
  let answer;
  globalThis.fetch = (...request) => new Promise((done) => (answer = () => done(fetch(...request))));
  inbox.watch(watcher());
  await pass(0);
  globalThis.fetch = fetch;
  (await of('plan')).watch(watcher());
  await pass(TOGETHER);
  sockets[0].onopen();
  answer();
  await pass(1000);
  assert.deepEqual([asked('tickets/add'), sockets.length], [[plan, {inbox: true}], 1]);
});

test('an inbox of another organization has its own connection', async () => {
  const {of} = await tab();
  const [doc, box] = [watcher(), watcher()];
  (await of('plan')).watch(doc);
  (await of('', 'other')).watch(box);
  await pass(TOGETHER);
  assert.deepEqual(asked('tickets/add'), [{documentIds: ['plan']}, {inbox: true}]);
  for (const socket of sockets) socket.onopen();
  sockets[0].says({changed: {documentId: 'plan'}});
  assert.deepEqual([doc, box].map((w) => w.heard.at(-1)), ['hint within 0', true]);
});

test('a page that is left while it asks for a connection opens none, and one when it comes back', async () => {
  const {of} = await tab();
  const [doc, inbox] = [await of('plan'), await of('')];
  const {fetch} = globalThis;
  const answer = [];
  const wait = () => (globalThis.fetch = (...request) => new Promise((done) => answer.push(() => done(fetch(...request)))));
  wait();
  const leaves = [doc.watch(watcher()), inbox.watch(watcher())];
  await pass(TOGETHER);
  for (const leave of leaves) leave();
  globalThis.fetch = fetch;
  answer.forEach((done) => done());
  await pass(MINUTE);
  assert.deepEqual([asked('tickets/add').length, sockets.length], [1, 0]);

  const box = watcher();
  doc.watch(watcher());
  const leave = inbox.watch(watcher());
  await pass(TOGETHER);
  leave(); // before the connection has begun
  sockets[0].onopen();
  await pass(0);
  inbox.watch(box);
  await pass(TOGETHER);
  assert.equal(sockets.length, 2);
  sockets[1].onopen();
  await pass(0);
  assert.equal(box.heard.at(-1), true);
});

test('without an answer a page asks for one connection again', async () => {
  const {of} = await tab();
  (await of('')).watch(watcher());
  (await of('plan')).watch(watcher());
  answers['tickets/add'] = () => ({error: 'UNAVAILABLE'});
  await pass(5 * MINUTE);
  assert.ok(asked('tickets/add').length < 12);
  assert.deepEqual(asked('tickets/add').at(-1), plan);
  answers['tickets/add'] = () => ({data: {url: 'ws://service/?ticket=t'}});
  await pass(5 * MINUTE);
  assert.equal(sockets.length, 1);
});

test('tabs with the same document and the inbox share one connection, and the next takes it over', async () => {
  const tabsOf = [await tab(), await tab()];
  const heard = [];
  const leaves = [];
  for (const {of} of tabsOf) {
    for (const id of ['plan', '']) await of(id);
    for (const id of ['plan', '']) {
      heard.push(watcher());
      leaves.push((await of(id)).watch(heard.at(-1)));
    }
  }
  await pass(TOGETHER);
  assert.deepEqual([asked('tickets/add'), sockets.length], [[plan], 1]);
  sockets[0].onopen();
  await pass(0);
  assert.deepEqual(heard.map((w) => w.heard.at(-1)), Array(4).fill(true));
  sockets[0].says({changed: {inbox: true}});
  await pass(0);
  assert.deepEqual(heard.map((w) => w.heard.at(-1)), [true, 'hint within 0', true, 'hint within 0']);
  leaves[0]();
  leaves[1]();
  await pass(TOGETHER);
  assert.deepEqual([asked('tickets/add'), sockets.length, sockets[0].closed], [[plan, plan], 2, true]);
  sockets[1].onopen();
  await pass(0);
  assert.deepEqual(heard.slice(2).map((w) => w.heard.at(-1)), [true, true]);
});

test('a person who was removed loses the connection, and the document at once', async () => {
  const {store: open} = await tab();
  answers['commentannotations/get'] = () => page([thread('a', 1)]);
  const store = open();
  store.watch(() => {});
  await pass(0);
  sockets[0].onopen();
  await pass(20_000);
  answers['commentannotations/get'] = answers['tickets/add'] = () => ({error: 'NOT_FOUND'});
  sockets[0].close();
  await pass(6000);
  assert.deepEqual([store.loaded, store.threads.length, store.failure?.status], [false, 0, 'NOT_FOUND']);
  await pass(60 * MINUTE);
  assert.equal(sockets.length, 1);
});

test('tabs of one browser share the connection, and the next takes over', async () => {
  const [one, two] = [await tab(), await tab()];
  const [first, second] = [watcher(), watcher()];
  const leave = one.live().watch(first);
  await pass(0);
  sockets[0].onopen();
  two.live().watch(second);
  await pass(1000);
  assert.deepEqual([sockets.length, second.heard.at(-1)], [1, true]);
  sockets[0].says({changed: {documentId: 'plan', within: 3333, read: true}});
  await pass(0);
  assert.deepEqual([first, second].map((w) => w.heard.at(-1)), Array(2).fill('hint within 3333, read'));
  leave();
  await pass(1000);
  assert.deepEqual([sockets.length, second.heard.at(-1)], [2, false]);
});

test('connections that fail are tried more and more seldom, and not at all before the server asks for it', async () => {
  const {live} = await tab();
  live().watch(watcher());
  for (let minute = 0; minute < 60; minute++) {
    await pass(MINUTE);
    for (const s of sockets) if (!s.closed) s.close();
  }
  assert.ok(sockets.length > 8 && sockets.length < 25, `${sockets.length} attempts in an hour`);
  answers['tickets/add'] = () => ({error: 'FAILED_PRECONDITION'});
  await pass(10 * MINUTE);
  const before = asked('tickets/add').length;
  await pass(59 * MINUTE);
  assert.ok(asked('tickets/add').length <= before + 1, `${asked('tickets/add').length - before} requests where live is off`);
});

test('a page that gets no connection says so to all tabs, until it has one', async () => {
  const [one, two] = [await tab(), await tab()];
  const [plan, map] = [watcher(), watcher()];
  one.live().watch(plan);
  two.live().watch(map);
  answers['tickets/add'] = () => ({error: 'RESOURCE_EXHAUSTED', retryAfter: 1});
  await pass(2000);
  assert.deepEqual([plan, map].map((w) => w.heard.at(-1)), ['refused', 'refused'], 'the ticket is refused');
  answers['tickets/add'] = () => ({data: {url: 'ws://service/?ticket=t'}});
  await pass(10_000);
  sockets.at(-1).onopen();
  await pass(0);
  assert.deepEqual([plan, map].map((w) => w.heard.at(-1)), [true, true]);
  sockets.at(-1).close();
  await pass(0);
  assert.deepEqual([plan, map].map((w) => w.heard.at(-1)), [false, false], 'a connection that ends is none that is refused');
  await pass(5000);
  sockets.at(-1).close();
  await pass(0);
  assert.deepEqual([plan, map].map((w) => w.heard.at(-1)), ['refused', 'refused'], 'the connection is refused');
  answers['tickets/add'] = () => ({error: 'FAILED_PRECONDITION'});
  await pass(10_000);
  assert.deepEqual([plan, map].map((w) => w.heard.at(-1)), [false, false], 'there is no live');
});

/** How many looks a page takes in an hour in which nothing happens, and one change after a time. */
async function looks(live, changes = () => false, refused = false) {
  const {Poll} = await tab();
  let n = 0;
  const poll = new Poll(async () => changes(++n), () => {});
  poll.start();
  poll.live(live, refused);
  await pass(60 * MINUTE);
  poll.stop();
  return n;
}

test('a page where nothing happens asks seldom, and where hints come hardly ever', async () => {
  assert.equal(await looks(true), 2, 'one at first, and one after it is connected');
  assert.equal(await looks(false, () => true, true), 61, 'where hints are refused, once a minute, whatever changes');
  Math.random.mock.mockImplementation(() => 0);
  assert.equal(await looks(false, () => true, true), 121);
  Math.random.mock.mockImplementation(() => 0.999);
  assert.equal(await looks(false, () => true, true), 41);
  assert.equal(await looks(false), 142);
  assert.ok((await looks(false, (n) => n === 100)) > 160, 'after a change it asks often');
});

test('a hint is looked for at once, and one after the other once a second', async () => {
  const {Poll} = await tab();
  let n = 0;
  const poll = new Poll(async () => !!++n, () => {});
  poll.start();
  await pass(3000);
  poll.live(true, false);
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
  await pass(3000);
  const alone = n;
  poll.hint(4000);
  poll.hint();
  await pass(1500);
  assert.equal(n, alone, 'a hint to many is looked for at a random time, and what comes meanwhile with it');
  await pass(2000);
  assert.equal(n, alone + 1);
  let end;
  const slow = new Poll(() => new Promise((done) => ((n = n + 1), (end = done))), () => {});
  slow.start();
  const began = n;
  slow.hint();
  end(false);
  await pass(1200);
  assert.equal(n, began + 1, 'a hint that comes during a look is looked for after it');
  void slow.now();
  void slow.now();
  end(false);
  await pass(100);
  assert.equal(n, began + 2, 'a look that is asked for during another one comes at once after it');
  slow.stop();
  poll.stop();
});

test('a look waits as the server asks, whatever wants it sooner, and goes on every five seconds', async () => {
  const {Poll, document} = await tab();
  Math.random.mock.mockImplementation(() => 0);
  let looks = 0;
  const busy = (retryAfter) => Object.assign(new Error(), {status: 'RESOURCE_EXHAUSTED', retryAfter});
  const refusals = [busy(60_000), , , , busy(1000), busy(1000), busy(1000)];
  const poll = new Poll(async () => {
    const refusal = refusals[looks++];
    if (refusal) throw refusal;
  }, () => {});
  const after = async (ms) => {
    await settle();
    mock.timers.tick(ms);
    await settle();
    return looks;
  };
  poll.start();
  await settle();
  assert.equal(poll.failure, refusals[0]);
  document.hide(false);
  assert.deepEqual([await after(59_999), await after(1), poll.failure], [1, 2, undefined]);
  assert.equal(await after(5000), 3);
  document.hide();
  assert.equal(await after(30_000), 3);
  document.hide(false);
  assert.equal(await after(0), 4);
  assert.equal(await after(5000), 5);
  Math.random.mock.mockImplementation(() => 0.5);
  assert.equal(await after(2400), 6, 'the first refusal had no random part yet');
  assert.deepEqual([await after(5999), await after(1)], [6, 7], 'the pauses grow, each by a random part');
  assert.equal(poll.failure, undefined);
  poll.stop();
  assert.equal(await after(60_000), 7);
});

/** Tabs that show a document, with as many looks as they have taken since they were asked the last time. */
async function showing(...people) {
  let seen = 0;
  const list = [];
  for (const sub of people) {
    claims = {...claims, sub};
    const t = await tab();
    const store = t.store();
    list.push({...t, shows: () => store.threads.map((t) => t.annotationId + (t.unread ? '!' : '')).join(' '), read: (id) => store.read(store.threads.find((t) => t.annotationId === id), true), end: store.watch(() => {})});
    await pass(0);
  }
  for (const s of sockets) s.onopen();
  await pass(12_000);
  const looks = () => asked('commentannotations/get').length - seen;
  return {list, hint: (what) => sockets.filter((s) => !s.closed).forEach((s) => s.says({changed: {documentId: 'plan', ...what}})), looks: () => [looks(), (seen += looks())][0]};
}

test('tabs of one person share their looks, and the next that is seen takes over', async () => {
  let threads = ['a'];
  answers['commentannotations/get'] = () => page(threads.map((id, i) => thread(id, i)));
  const {list, hint, looks} = await showing('ann', 'ann', 'ann');
  const [one, two, three] = list;
  looks();
  const next = async (id, ms = 1000) => {
    threads = [...threads, id];
    hint();
    await pass(ms);
    return [looks(), ...list.map((t) => t.shows().at(-1))];
  };
  assert.deepEqual(await next('b'), [1, 'b', 'b', 'b']);
  await pass(6000);
  assert.equal(looks(), 0, 'what one tab found is not looked for by others');
  one.document.hide();
  await pass(0);
  assert.deepEqual(await next('c', 1300), [1, 'c', 'c', 'c'], 'a tab that nobody sees leaves it to another');
  await pass(12_000);
  looks();
  three.document.hide();
  one.document.hide(false);
  await pass(2000);
  assert.equal(looks(), 1, 'a tab that is seen again looks');
  two.end();
  await pass(12_000);
  looks();
  assert.deepEqual(await next('d', 1300), [1, 'd', 'c', 'd']);
  three.document.hide(false);
  await pass(2000);
  looks();
  const {fetch} = globalThis;
  globalThis.fetch = () => new Promise(() => {});
  hint();
  await pass(1300);
  globalThis.fetch = fetch;
  assert.deepEqual(await next('e', 3000), [0, 'd', 'c', 'd'], 'the tab that looks has no answer');
  await pass(4000);
  assert.deepEqual([looks(), three.shows().at(-1)], [1, 'e'], 'after a while another one looks');
});

test('a tab that missed what another one found looks by itself', async () => {
  let threads = ['a'];
  answers['commentannotations/get'] = ({updatedAfter}) => page(updatedAfter ? threads.slice(-1).map((id) => thread(id, 9)) : threads.map((id) => thread(id, 9)));
  const {list, hint, looks} = await showing('ann', 'ann');
  looks();
  mock.method(Channel.prototype, 'postMessage', () => {}, {times: 2}); // the hint, and the response
  threads = ['a', 'b'];
  hint();
  await pass(3000);
  assert.deepEqual([looks(), ...list.map((t) => t.shows())], [1, 'a b', 'a']);
  answers['commentannotations/get'] = () => page([thread('b', 9), thread('c', 9)]);
  hint();
  await pass(1300);
  assert.deepEqual([looks(), list[1].shows()], [1, 'a']);
  await pass(6000);
  assert.deepEqual([looks(), list[1].shows()], [1, 'a b c']);

  // One response is older than the other tab's findings.
  let answer;
  const {fetch} = globalThis;
  const delay = () => (globalThis.fetch = async (...request) => {
    globalThis.fetch = fetch;
    const old = await fetch(...request);
    return new Promise((done) => (answer = () => done(old)));
  });
  delay();
  void list[1].store().look();
  await pass(100);
  answers['commentannotations/get'] = () => page([thread('b', 10, {deleted: true})]);
  hint();
  await pass(2000);
  answer();
  await pass(0);
  assert.deepEqual(list.map((t) => t.shows()), ['a c', 'a b c']);
  await pass(6000);
  assert.equal(list[1].shows(), 'a c');

  // The polling tab is hidden before it polls for the last hint.
  looks();
  delay();
  hint();
  await pass(1300);
  answers['commentannotations/get'] = () => page([thread('d', 11)]);
  hint();
  answer();
  await pass(0);
  list[0].document.hide();
  await pass(0);
  assert.equal(looks(), 1);
  await pass(10_000);
  assert.equal(list[1].shows(), 'a c d');
});

test('tabs of two people share nothing, also where one tab gets another person', async () => {
  let threads = ['a'];
  answers['commentannotations/get'] = () => page(threads.map((id) => thread(id, 9)));
  const {list: [ann, also, bob], hint, looks} = await showing('ann', 'ann', 'bob');
  assert.equal(sockets.length, 2);
  looks();
  threads = ['a', 'b'];
  hint();
  await pass(1300);
  assert.deepEqual([looks(), ann.shows(), also.shows(), bob.shows()], [2, 'a b', 'a b', 'a b']);
  also.document.hide();
  let refusals = 1;
  answers['users/get'] = () => (refusals-- > 0 ? {error: 'UNAUTHENTICATED'} : {data: []});
  mock.method(console, 'error', () => {});
  claims = {...claims, sub: 'cleo'};
  await also.access.call('/v2/users/get', {});
  assert.deepEqual([also.access.user.userId, ann.access.user.userId], ['cleo', 'ann']);
  threads = ['a', 'b', 'c'];
  hint();
  await pass(1300);
  assert.deepEqual([ann.shows(), also.shows()], ['a b c', 'a b']);
});

test('what is read in one tab is read in the others', async () => {
  answers['commentannotations/get'] = ({updatedAfter}) => page(updatedAfter ? [] : ['a', 'b'].map((id) => thread(id, 9, {unread: true})));
  answers['read/set'] = () => ({data: {a: {success: true}}});
  const {list, hint, looks} = await showing('ann', 'ann');
  looks();
  await list[1].read('a');
  await pass(0);
  hint({read: true});
  await pass(1300);
  assert.deepEqual([looks(), ...list.map((t) => t.shows())], [0, 'a b!', 'a b!']);
});

test('in a large organization, two letters of a name are searched, or one that means as much', async () => {
  const store = (await tab()).store();
  answers['usergroups/get'] = () => ({data: []});
  answers['users/get'] = ({searchKey}) => (searchKey ? {data: [{userId: searchKey}]} : {data: Array.from({length: 30}, (_, i) => ({userId: `u${i}`})), nextPageToken: 'more'});
  const sought = async (letters) => {
    const [people] = await Promise.all([store.people(letters, () => true), pass(1000)]);
    return people.length === 1 && people[0].userId;
  };
  const found = [];
  for (const letters of ['', 'a', 'é', 'an', '田', '김', 'か', '\u{20bb7}']) found.push(await sought(letters));
  assert.deepEqual(found, [false, false, false, 'an', '田', '김', 'か', '\u{20bb7}']);
});

test('people are found although the service allows the page one request in some seconds', async () => {
  const store = (await tab()).store();
  let next = Date.now() + 2000;
  const limited = (data) => () => {
    if (Date.now() < next) return {error: 'RESOURCE_EXHAUSTED', retryAfter: (next - Date.now()) / 1000};
    next = Date.now() + 2000;
    return {data};
  };
  answers['usergroups/get'] = limited([{groupId: 'team', groupName: 'Team'}]);
  answers['users/get'] = limited([{userId: 'bob'}]);
  const [people] = await Promise.all([store.people('', () => true), pass(MINUTE)]);
  assert.deepEqual(people.map((p) => p.userId), ['bob', 'team']);
});

test('tabs of one person share a token that is newer, in memory', async () => {
  const [one, two, bob] = [await tab(), await tab(), await tab()];
  answers['users/get'] = () => ({data: []});
  const call = async (t) => {
    await Promise.all([t.access.call('/v2/users/get', {}), pass(0)]);
    return requests.at(-1)[2].Authorization;
  };
  const first = await call(one);
  await call(two);
  claims = {...claims, sub: 'bob'};
  const other = await call(bob);
  assert.equal(asked('/token').length, 3, 'each page asks who is signed in');
  await pass(58 * MINUTE);
  claims = {...claims, sub: 'ann', exp: claims.exp + 3600, iat: claims.iat + 3600};
  await pass(MINUTE);
  const next = await call(one);
  assert.notEqual(next, first);
  assert.equal(await call(two), next);
  assert.equal(asked('/token').length, 4);
  claims = {...claims, exp: claims.exp - 60};
  await call(await tab());
  assert.deepEqual([await call(one), asked('/token').length], [next, 5], 'an older one is not taken');
  claims = {...claims, sub: 'bob'};
  const others = await call(bob);
  assert.deepEqual([asked('/token').length, others === other || others === next], [6, false]);
});

test('what is not found is looked for with another token, once until something is found', async () => {
  const {access} = await tab();
  answers['users/get'] = () => ({error: 'NOT_FOUND'});
  const call = async () => {
    const [result] = await Promise.all([access.call('/v2/users/get', {}).catch((e) => e.status), pass(0)]);
    return [result.data ? 'found' : result, asked('/token').length, asked('users/get').length];
  };
  assert.deepEqual(await call(), ['NOT_FOUND', 2, 2], 'it may have been added meanwhile');
  assert.deepEqual(await call(), ['NOT_FOUND', 2, 3]);
  await pass(MINUTE);
  assert.deepEqual(await call(), ['NOT_FOUND', 2, 4]);
  answers['users/get'] = () => ({data: []});
  assert.deepEqual(await call(), ['found', 2, 5]);
  answers['users/get'] = () => ({error: 'NOT_FOUND'});
  const both = await Promise.all([call(), call()]);
  assert.deepEqual(both.map(([status]) => status), ['NOT_FOUND', 'NOT_FOUND']);
  assert.deepEqual([asked('/token').length, asked('users/get').length], [3, 9], 'one token for both');
  answers['users/get'] = () => ({data: []});
  await call();
  answers['users/get'] = () => {
    answers['users/get'] = () => ({data: []});
    return {error: 'NOT_FOUND'};
  };
  assert.deepEqual(await call(), ['found', 4, 12]);
});

test('a page whose document goes away forgets it, and asks no more', async () => {
  const {store: open} = await tab();
  answers['commentannotations/get'] = () => page([thread('a', 1)]);
  const store = open();
  const end = store.watch(() => {});
  await pass(0);
  assert.deepEqual([store.loaded, store.threads.length], [true, 1]);
  answers['commentannotations/get'] = () => ({error: 'NOT_FOUND'});
  await pass(5 * MINUTE);
  assert.deepEqual([store.loaded, store.threads.length, store.failure?.status], [false, 0, 'NOT_FOUND']);
  const before = [asked('/token').length, asked('commentannotations/get').length];
  assert.equal(before[0], 2, 'another token, once');
  await pass(3 * 60 * MINUTE);
  assert.deepEqual([asked('/token').length, asked('commentannotations/get').length], before);
  end();
  answers['commentannotations/get'] = () => page([thread('a', 1)]);
  const again = store.watch(() => {});
  await pass(0);
  assert.deepEqual([store.loaded, store.threads.length, store.failure], [true, 1, undefined]);
  answers['commentannotations/get'] = () => ({error: 'NOT_FOUND'});
  await pass(5 * MINUTE);
  again();
  const tokens = asked('/token').length;
  const last = store.watch(() => {});
  await pass(3 * 60 * MINUTE);
  assert.deepEqual([store.failure?.status, asked('/token').length], ['NOT_FOUND', tokens + 1], 'another token, once, for each time it is shown');
  last();
});

const at = (s) => new Date(1_700_000_000_000 + s * 1000).toISOString();
const thread = (id, s, more) => ({
  annotationId: id, status: {id: 'OPEN'}, createdAt: at(s), lastUpdated: at(s), comments: [{commentId: 1, commentText: id, from: {userId: 'bob'}, createdAt: at(s), lastUpdated: at(s)}], ...more,
});
const page = (data, more) => ({data, ...more});

test('the rest of the 250 newest threads comes straight after the first, and older ones on demand', async () => {
  const {store: open} = await tab();
  const some = (from, n) => Array.from({length: n}, (_, i) => thread(`t${from - i}`, from - i));
  answers['commentannotations/get'] = ({updatedAfter, pageToken}) => (updatedAfter ? page([]) : pageToken ? page(some(200, 150), {nextPageToken: 'third'}) : page(some(300, 100), {nextPageToken: 'second'}));
  const store = open();
  const painted = [];
  const end = store.watch(() => painted.push(store.threads.length));
  await pass(0);
  assert.deepEqual([painted[0], store.threads.length, store.more], [100, 250, true]);
  assert.deepEqual(asked('commentannotations/get'), [{order: 'desc', pageSize: 100}, {order: 'desc', pageSize: 150, pageToken: 'second'}]);
  await Promise.all([store.look(), pass(0)]);
  assert.equal(asked('commentannotations/get').length, 3, 'no older ones by themselves');
  end();
});

test('what the reader has read elsewhere is no longer unread', async () => {
  const {store: open} = await tab();
  let read = [];
  const list = () => ['c', 'b', 'a'].map((id, i) => thread(id, 30 - i, {unread: !read.includes(id)}));
  answers['commentannotations/get'] = ({updatedAfter, annotationIds}) => page(updatedAfter ? [] : list().filter((t) => !annotationIds || annotationIds.includes(t.annotationId)));
  answers['read/set'] = () => ({data: {a: {success: true}}});
  const store = open();
  const end = store.watch(() => {});
  await pass(12_000);
  const unread = () => store.threads.filter((t) => t.unread).map((t) => t.annotationId).join(' ');
  const hint = async (what = {read: true}) => {
    const before = asked('commentannotations/get').length;
    sockets[0].says({changed: {documentId: 'plan', ...what}});
    await pass(1000);
    return asked('commentannotations/get').slice(before).map(({annotationIds}) => annotationIds?.join(' ') ?? 'new');
  };
  sockets[0].onopen();
  await pass(12_000);
  assert.equal(unread(), 'c b a');
  read = ['b'];
  assert.deepEqual([await hint(), unread()], [['new', 'c b a'], 'c a']);
  store.read(store.threads.find((t) => t.annotationId === 'a'), true);
  await pass(0);
  assert.deepEqual([asked('read/set'), asked('collab-read')], [[{annotationIds: ['a'], read: true}], [{documentId: 'plan', annotationId: 'a'}]]);
  read = ['a', 'b'];
  assert.deepEqual([await hint(), unread()], [[], 'c'], 'the hint of what is read here asks for nothing');
  assert.deepEqual(await hint({}), ['new']);
  await pass(6000);
  read = ['a', 'b', 'c'];
  assert.deepEqual([await hint(), unread()], [['new', 'c'], '']);
  assert.deepEqual(await hint(), ['new'], 'where nothing is unread, nothing is asked for');
  const before = asked('commentannotations/get').length;
  sockets[0].send = () => queueMicrotask(() => sockets[0].says({pong: true}));
  await pass(31 * MINUTE);
  assert.deepEqual(asked('commentannotations/get').slice(before).map(Object.keys), [], 'an idle page asks as seldom as ever');
  end();
});

test('a document begins with the newest threads, and learns of what comes, changes and goes', async () => {
  const {store: open} = await tab();
  let answer = page([thread('c', 30, {unread: true}), thread('b', 20)], {nextPageToken: 'older'});
  answers['commentannotations/get'] = () => answer;
  const store = open();
  const end = store.watch(() => {});
  await pass(0);
  const shown = () => store.threads.map((t) => t.annotationId + (t.unread ? '!' : '')).sort().join(' ');
  assert.deepEqual([shown(), store.more], ['b c!', true]);

  answer = page([thread('a', 10)]);
  await Promise.all([store.older(), pass(0)]);
  assert.deepEqual([shown(), store.more, asked('commentannotations/get').at(-1)], ['a b c!', false, {order: 'desc', pageSize: 150, pageToken: 'older'}]);

  answer = page([thread('d', 40), thread('b', 50, {deleted: true}), thread('never seen', 50, {deleted: true})]);
  await Promise.all([store.look(), pass(0)]);
  assert.deepEqual([shown(), Object.keys(asked('commentannotations/get').at(-1))], ['a c! d', ['updatedAfter', 'includeDeleted', 'pageSize']]);

  answer = page([thread('z', 1)]);
  await Promise.all([store.find('z'), pass(0)]);
  assert.equal(shown(), 'a c! d z');

  // After an hour, the newest threads are reloaded: missing ones are deleted, older ones stay.
  answer = page([thread('d', 40), thread('c', 30)], {nextPageToken: 'older'});
  document.hidden = true;
  await pass(61 * MINUTE);
  document.hidden = false;
  await Promise.all([store.look(), pass(0)]);
  assert.deepEqual([shown(), asked('commentannotations/get').at(-1)], ['a c d z', {order: 'desc', pageSize: 100}]);
  answer = page([thread('f', 90), thread('e', 80)], {nextPageToken: 'older'});
  document.hidden = true;
  await pass(61 * MINUTE);
  document.hidden = false;
  await Promise.all([store.look(), pass(0)]);
  assert.deepEqual([shown(), store.more], ['e f', true], 'what may be missing in between is loaded on demand');

  // The known threads are invalid.
  answers['commentannotations/get'] = ({updatedAfter}) => (updatedAfter ? {error: 'FAILED_PRECONDITION'} : page([thread('g', 95)]));
  await Promise.all([store.look(), pass(0)]);
  assert.equal(shown(), 'g');
  end();
});

test('more than 30 unread threads are asked for in parts', async () => {
  const {store: open} = await tab();
  const list = Array.from({length: 70}, (_, i) => thread(`t${i}`, i, {unread: true}));
  answers['commentannotations/get'] = ({updatedAfter, annotationIds}) => page(updatedAfter ? [] : list.filter((t) => !annotationIds || annotationIds.includes(t.annotationId)));
  const end = open().watch(() => {});
  await pass(12_000);
  sockets[0].onopen();
  await pass(12_000);
  const before = requests.length;
  sockets[0].says({changed: {documentId: 'plan', read: true}});
  await pass(0);
  assert.deepEqual(requests.slice(before).map(([, {annotationIds}]) => annotationIds?.length), [undefined, 30, 30, 10]);
  end();
});

test('a page asks for a token once, before it expires, and once where it is refused', async () => {
  const {access} = await tab();
  answers['users/get'] = () => ({data: []});
  const call = () => access.call('/v2/users/get', {});
  await Promise.all([call(), call(), pass(0)]);
  assert.equal(asked('/token').length, 1);
  assert.deepEqual([access.user, access.canWrite], [{userId: 'ann'}, true]);
  assert.match(requests.at(-1)[2].Authorization, /^Bearer x\./);
  await pass(58 * MINUTE);
  await call();
  assert.equal(asked('/token').length, 1);
  await pass(1.5 * MINUTE);
  claims = {...claims, exp: 1_800_007_200, iat: 1_800_003_600, resources: [{...claims.resources[0], accessRole: 'viewer'}, {type: 'organization', id: 'acme'}]};
  await call();
  assert.equal(asked('/token').length, 2);
  assert.equal(access.canWrite, false, 'what a token says of the document goes before the organization');
  let refusals = 1;
  answers['users/get'] = () => (refusals-- > 0 ? {error: 'UNAUTHENTICATED'} : {data: []});
  mock.method(console, 'error', () => {});
  await call();
  assert.equal(asked('/token').length, 3);
  refusals = Infinity;
  await assert.rejects(call(), {status: 'UNAUTHENTICATED'});
  assert.equal(asked('/token').length, 4);
});

test('nobody is signed in where the page has no token, and somebody once it has one', async () => {
  const {access, setTokens, Access} = await tab();
  answers['users/get'] = () => ({data: []});
  globalThis.fetch = ((fetch) => async (url, init) => (url === '/token' ? {ok: false, status: 401} : fetch(url, init)))(globalThis.fetch);
  await assert.rejects(access.call('/v2/users/get', {}), {status: 'UNAUTHENTICATED'});
  const inbox = new Access({api: 'http://service', token: '', organization: ''}, '');
  const asking = inbox.call('/v2/users/get', {});
  const about = [];
  setTokens(async (what) => (about.push(what), `x.${btoa(JSON.stringify(claims))}.x`));
  await asking;
  assert.deepEqual(about, [{}]);
  const carol = {...claims, exp: claims.exp + 7_200, sub: 'carol'};
  setTokens(async () => `x.${btoa(JSON.stringify(carol))}.x`);
  const later = new Access({api: 'http://service', token: '', organization: ''}, '');
  await later.call('/v2/users/get', {});
  assert.equal(later.user.userId, 'carol', 'the second function replaces the first');
  later.end();
  await assert.rejects(later.call('/v2/users/get', {}), {status: 'UNAUTHENTICATED'}, 'a request that begins after the end fails');
  mock.method(console, 'error', () => {});
  claims = {...claims, exp: 0};
  await inbox.call('/v2/users/get', {});
  globalThis.fetch = async () => {
    throw new TypeError('Failed to fetch');
  };
  const before = console.error.mock.callCount();
  await assert.rejects(inbox.call('/v2/users/get', {}), {status: 'UNAVAILABLE'});
  assert.equal(console.error.mock.callCount(), before, 'a page that is left has requests without an answer');
  await assert.rejects(inbox.call('/v2/users/get', {}), {status: 'UNAVAILABLE'});
  assert.match(console.error.mock.calls.at(-1).arguments[0], /no answer from http:\/\/service/);
});

test('a repeat has the key of the first try', async () => {
  const {store: open} = await tab();
  const store = open();
  let written = [];
  answers['commentannotations/get'] = () => page(written);
  const end = store.watch(() => {});
  await pass(0);
  let lost = 1;
  answers['commentannotations/add'] = () => {
    if (lost--) throw new TypeError('Failed to fetch');
    written = [thread('new', 9)];
    return {data: {new: {success: true, annotationId: 'new'}}};
  };
  mock.method(console, 'error', () => {});
  const {id} = store.send({name: 'add-thread', text: 'Hi {{bob}}', tags: [{userId: 'bob', name: 'Bob'}]});
  await pass(0);
  const [failed] = store.threads[0].pending;
  assert.equal(failed.failed.status, 'UNAVAILABLE');
  store.retry(failed);
  await pass(0);
  assert.deepEqual(store.threads.map((t) => [t.annotationId, t.key, t.pending.length]), [['new', id, 0]]);
  const sent = requests.filter(([name]) => name === 'commentannotations/add');
  assert.deepEqual(sent.map(([, data, headers]) => [data.commentAnnotations[0].commentData[0], headers['Idempotency-Key']]), Array(2).fill([{commentText: 'Hi {{bob}}', taggedUserContacts: [{userId: 'bob'}]}, id]));
  end();
});

test('a change resolves when the service has it, and rejects only when it is refused or discarded', async () => {
  const {store: open} = await tab();
  const store = open();
  let written = [];
  answers['commentannotations/get'] = () => page(written);
  const end = store.watch(() => {});
  await pass(0);
  mock.method(console, 'error', () => {});
  const ends = [];
  const settles = (name, what) => store.send({...what, done: ({annotationId}) => ends.push([name, annotationId]), ended: ({status}) => ends.push([name, status])});
  answers['commentannotations/add'] = () => {
    throw new TypeError('Failed to fetch');
  };
  settles('sent', {name: 'add-thread', text: 'sent late', tags: []});
  settles('discarded', {name: 'add-thread', text: 'never sent', tags: []});
  await pass(0);
  assert.deepEqual(ends, [], 'a failed change waits');
  const [sent, discarded] = store.threads.map((t) => t.pending[0]);
  store.discard(discarded);
  answers['commentannotations/add'] = () => {
    written = [thread('new', 9)];
    return {data: {new: {success: true, annotationId: 'new'}}};
  };
  store.retry(sent);
  store.discard(sent);
  await pass(0);
  assert.deepEqual(ends, [['discarded', 'UNAVAILABLE'], ['sent', 'new']], 'what is sent again is not discarded any more');
  settles('refused', {name: 'add-thread', text: 'too long', tags: []});
  answers['commentannotations/add'] = () => ({error: 'INVALID_ARGUMENT'});
  await pass(0);
  assert.deepEqual([ends.at(-1), store.threads.length], [['refused', 'INVALID_ARGUMENT'], 1], 'a refused one is over');
  store.send({name: 'add-thread', text: 'too long', tags: []});
  await pass(0);
  assert.equal(store.threads.length, 2, 'unless nobody waits: the reader sees it, to copy its text');
  end();
});

/** A connection in a tab that has loaded some threads, or the inbox. */
async function connected(options = {documentId: 'plan'}) {
  const {connect, setTokens} = await tab();
  setTokens(async () => `x.${btoa(JSON.stringify(claims))}.x`);
  const connection = connect({api: 'http://service', ...options});
  await pass(0);
  return connection;
}

/** What a promise comes to. */
const result = async (promise, ms = 0) => {
  const [outcome] = await Promise.all([promise.then((value) => value, ({status}) => status), pass(ms)]);
  return outcome;
};

test('a connection acts on a thread of any age, and refuses an unknown one without a write', async () => {
  const old = thread('old', 1);
  answers['commentannotations/get'] = ({annotationIds}) => page(annotationIds ? [annotationIds[0] === 'old' ? old : null] : []);
  for (const name of ['commentannotations/update', 'read/set']) answers[name] = ({annotationIds: [id]}) => ({data: {[id]: id === 'old' ? {success: true, annotationId: id} : {success: false, code: 'NOT_FOUND'}}});
  answers['comments/update'] = answers['comments/delete'] = () => ({data: {2: {success: true, annotationId: 'old', commentIds: [2]}}});
  answers['comments/add'] = () => ({data: [2]});
  answers['reactions/add'] = answers['config/set'] = () => ({data: {}});
  const plan = await connected();
  const acts = {
    reply: [{text: 'x'}], edit: [1, {text: 'y'}], remove: [1], resolve: [], react: [1, '👍'], follow: ['none'], decide: ['rejected', 'no'], update: [{context: {x: 1}}], read: [], unread: [], find: [],
  };
  for (const [name, given] of Object.entries(acts)) {
    const before = requests.length;
    assert.equal(await result(plan[name]('nobody knows', ...given)), 'NOT_FOUND', name);
    const writes = requests.slice(before).map(([n]) => n).filter((n) => n !== 'commentannotations/get');
    assert.deepEqual(writes, /read/.test(name) ? ['read/set'] : [], name);
  }
  assert.equal(await result(plan.reply('', {text: 'x'})), 'NOT_FOUND');
  for (const [name, given] of Object.entries(acts)) {
    const outcome = await result((await connected())[name]('old', ...given));
    assert.equal(outcome?.annotationId, /read|find/.test(name) ? undefined : 'old', name);
  }
  plan.close();
});

test('a connection updates the place, the data and the readers of a thread, at once and then in the service', async () => {
  let pin = thread('pin', 1, {context: {x: 1}});
  answers['commentannotations/get'] = () => page([pin]);
  answers['commentannotations/update'] = () => ({data: {pin: {success: true, annotationId: 'pin'}}});
  const plan = await connected();
  const [shown] = plan.threads;
  const moved = plan.update('pin', {context: {x: 2}, target: {elementId: 'b'}, only: [{userId: 'bob'}]});
  assert.deepEqual([plan.threads[0].context, plan.threads[0].targetElement, plan.threads[0].visibility], [{x: 2}, {elementId: 'b'}, {type: 'restricted', people: [{userId: 'bob'}]}]);
  assert.notEqual(plan.threads[0], shown);
  pin = thread('pin', 2, {context: {x: 2}});
  await result(moved);
  const nowhere = {targetText: null, occurrence: null, prefix: null, suffix: null};
  assert.deepEqual(asked('commentannotations/update'), [{annotationIds: ['pin'], updatedData: {context: {x: 2}, targetElement: {...nowhere, elementId: 'b'}, visibility: {type: 'restricted', userIds: ['bob']}}}]);
  await result(plan.update('pin', {only: null}));
  assert.deepEqual(asked('commentannotations/update').at(-1).updatedData, {visibility: {type: 'public'}});
  answers['commentannotations/update'] = () => ({data: {pin: {success: false, code: 'PERMISSION_DENIED'}}});
  assert.equal(await result(plan.update('pin', {context: {x: 9}})), 'PERMISSION_DENIED');
  assert.deepEqual([plan.threads[0].context, plan.threads[0].pending], [{x: 2}, []], 'a refused move is taken back');
  plan.close();
});

test('the key of a thread stands for its id, also before the thread has one', async () => {
  let list = [];
  answers['commentannotations/get'] = ({annotationIds}) => page(annotationIds ? list.filter((t) => annotationIds.includes(t.annotationId)) : list);
  answers['commentannotations/add'] = () => ({data: {new: {success: true, annotationId: 'new', commentIds: [1]}}});
  answers['comments/add'] = () => ((list = [thread('new', 9)]), {data: [2]});
  answers['read/set'] = ({annotationIds: [id]}) => ({data: {[id]: {success: id === 'new', code: 'NOT_FOUND'}}});
  const plan = await connected();
  const added = plan.add({text: 'x'});
  const [{key, annotationId}] = plan.threads;
  assert.equal(annotationId, '');
  assert.deepEqual(await result(Promise.all([added, plan.reply(key, {text: 'y'})])), [{annotationId: 'new', commentId: 1}, {annotationId: 'new', commentId: 2}]);
  assert.deepEqual([plan.threads[0].key, plan.threads[0].annotationId], [key, 'new']);
  for (const name of ['read', 'unread', 'find']) assert.equal(await result(plan[name](key)), undefined, name);
  plan.close();
});

test('a connection has suggestions, levels, preferences and marks', async () => {
  let list = [thread('a', 9)];
  const seen = [];
  answers['commentannotations/get'] = () => page(list);
  answers['commentannotations/add'] = () => ({data: {s: {success: true, annotationId: 's', commentIds: [1]}}});
  answers['commentannotations/update'] = ({updatedData}) => ({data: {s: {success: !!seen.push(updatedData), annotationId: 's'}}});
  answers['read/set'] = () => ({data: {a: {success: true}}});
  answers['config/set'] = (data) => ({data: {ok: seen.push(data)}});
  let config = {inbox: 'ALL', email: 'MINE'};
  answers['config/get'] = () => ({data: [{config}]});
  const plan = await connected();
  const suggestion = {oldValue: 'October', newValue: 'November', summary: 'Later'};
  const added = plan.add({text: 'Later', html: '<b>Later</b>', suggestion});
  assert.deepEqual(plan.threads[1].suggestion, suggestion);
  list = [thread('a', 9), thread('s', 10, {type: 'suggestion', suggestion})];
  assert.deepEqual(await result(added), {annotationId: 's', commentId: 1});
  const [sent] = asked('commentannotations/add')[0].commentAnnotations;
  assert.deepEqual([sent.type, sent.suggestion, sent.commentData[0].commentHtml], ['suggestion', suggestion, '<b>Later</b>']);
  await result(plan.decide('s', 'accepted'));
  await result(plan.decide('s', 'rejected', 'too late'));
  assert.deepEqual(seen, [{suggestion: {status: 'accepted'}}, {suggestion: {status: 'rejected', rejectReason: 'too late'}}]);
  await result(plan.follow('a', 'none'));
  assert.deepEqual([seen.at(-1), plan.threads[0].level], [{documentIds: ['plan'], annotationIds: ['a'], level: 'none'}, 'default']);
  const unread = plan.unread('a');
  assert.equal(plan.threads[0].unread, true);
  await result(unread);
  await result(plan.read('a'));
  assert.deepEqual([asked('read/set').map((r) => r.read), plan.threads[0].unread], [[false, true], false]);
  list = list.map((t) => ({...t, unread: t.annotationId === 'a'}));
  await result(plan.find('a'));
  assert.equal(plan.threads[0].unread, false, 'a response may be older than the mark');
  list[0] = thread('a', 11, {unread: true});
  await result(plan.find('a'));
  assert.equal(plan.threads[0].unread, true, 'unless the thread has changed');
  answers['read/set'] = () => ({error: 'UNAVAILABLE'});
  list = list.map((t) => ({...t, unread: t.annotationId === 'a'}));
  await result(plan.find('a'));
  assert.equal(await result(plan.read('a')), 'UNAVAILABLE');
  assert.equal(plan.threads[0].unread, true, 'it is unread again');
  assert.deepEqual(await result(plan.preferences()), {inbox: 'MINE', email: 'MINE'});
  const both = [plan.setPreferences({inbox: 'NONE'}), plan.setPreferences({email: 'NONE'})];
  answers['config/set'] = (data) => ((config = data.config), {data: {}});
  await result(Promise.all(both));
  assert.deepEqual(config, {inbox: 'NONE', email: 'NONE'}, 'the second change has the first one');
  plan.close();
});

test('a connection without a document is the inbox, shared with other parts of the page', async () => {
  const note = (n, more) => ({notificationId: `n${n}`, documentId: 'plan', annotationId: 'a', createdAt: at(n), read: false, displayHeadlineMessage: `${n}`, ...more});
  let list = [note(3), note(2), note(1)];
  answers['notifications/get'] = ({pageToken}) => page(pageToken ? [note(0)] : list, {nextPageToken: pageToken ? '' : 'older', unreadCount: {count: list.filter((n) => !n.read).length + 1}});
  answers['notifications/update'] = ({notifications = []}) => {
    const ids = notifications.map(({id}) => id);
    list = list.map((n) => ({...n, read: n.read || ids.includes(n.notificationId)}));
    return {data: Object.fromEntries(ids.map((id) => [id, {success: id !== 'nobody knows', code: 'NOT_FOUND'}]))};
  };
  const inbox = await connected({});
  const shows = () => inbox.notifications.map((n) => n.notificationId + (n.read ? '' : '!')).join(' ') + ` ${inbox.unread}`;
  assert.deepEqual([shows(), inbox.loaded, inbox.more], ['n3! n2! n1! 4', true, true]);
  let told = 0;
  inbox.subscribe(() => told++);
  const {notifications} = inbox;
  assert.equal(inbox.notifications, notifications);
  const read = inbox.read(['n3', 'n2'], 'n3');
  assert.deepEqual([shows(), told > 0], ['n3 n2 n1! 2', true], 'at once');
  assert.equal(await result(read), undefined);
  assert.deepEqual(asked('notifications/update'), [{notifications: [{id: 'n3', clickedByUserIds: ['ann']}, {id: 'n2', readByUserIds: ['ann']}]}]);
  await result(inbox.older());
  assert.deepEqual([shows(), inbox.more], ['n3 n2 n1! n0! 2', false]);
  assert.equal(await result(inbox.read(['nobody knows'])), 'NOT_FOUND');
  document.dispatchEvent(new CustomEvent('collab-read', {detail: {documentId: 'plan', annotationId: 'a'}}));
  assert.equal(shows(), 'n3 n2 n1 n0 0', 'a thread that is read on the page is read here');
  list = [note(4), ...list];
  await pass(6000);
  assert.equal(inbox.notifications[0].notificationId, 'n4');
  await result(inbox.readAll());
  assert.deepEqual([asked('notifications/update').at(-1), inbox.unread], [{readUntil: Date.parse(at(4))}, 0]);
  answers['notifications/update'] = () => ({error: 'UNAVAILABLE'});
  list = [note(5), ...list];
  await pass(6000);
  assert.equal(await result(inbox.read(['n5'])), 'UNAVAILABLE');
  assert.equal(inbox.notifications[0].read, false, 'it is unread again');
  inbox.close();
  const before = asked('notifications/get').length;
  await pass(10 * MINUTE);
  assert.equal(asked('notifications/get').length, before);
});
