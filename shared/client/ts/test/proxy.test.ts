import assert from 'node:assert/strict';
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import {after, mock, test} from 'node:test';

import {Client} from '../src/index.js';
import {Limiter} from '../src/limits.js';
import {proxy, type ProxyConfig} from '../src/proxy.js';

const closing: (() => void)[] = [];
after(() => closing.forEach((close) => close()));

/** An application before a service that answers every call with a status, or not at all, and how Ann sends it a request. */
async function application(status: number, config: Partial<ProxyConfig> = {}) {
  let calls = 0;
  const server = createServer((_, response) => {
    calls++;
    if (status) response.writeHead(status, {'Retry-After': '60'}).end(JSON.stringify({error: {status: 'RESOURCE_EXHAUSTED', message: 'later'}}));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closing.push(() => server.closeAllConnections(), () => server.close());
  const client = new Client({baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, apiKey: 'k', authToken: 't'});
  const who = () => ({user: {userId: 'ann'}, organizationId: 'acme', canRead: () => true, canWrite: () => true});
  const handler = proxy({client, who, ...config});
  const ask = (name: string, body: object) =>
    handler(new Request(`http://application/collab/${name}`, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)}));
  return {ask, calls: () => calls};
}

test('the Retry-After of the service reaches the browser, and is not waited for', async () => {
  const {ask, calls} = await application(429);
  const answer = await ask('people', {documentId: 'plan'});
  assert.deepEqual([answer.status, answer.headers.get('Retry-After'), calls()], [429, '60', 1]);
});

test('a page that gets no connection is told when to ask for one again', async () => {
  const {ask} = await application(429);
  assert.deepEqual(await (await ask('connect', {inbox: true})).json(), {url: '', retryAfter: 300});
});

test('a browser waits for at most ten seconds, for the service or for the application', async () => {
  mock.timers.enable({apis: ['setTimeout']});
  try {
    for (const config of [{}, {people: () => new Promise<never>(() => {})}]) {
      const {ask} = await application(0, config);
      const answer = ask('people', {documentId: 'plan'});
      for (let i = 0; i < 20; i++) await new Promise(setImmediate); // the body is read
      mock.timers.tick(9_999);
      const first = await Promise.race([answer, new Promise((done) => setImmediate(() => done('waiting')))]);
      assert.equal(first, 'waiting');
      mock.timers.tick(1);
      assert.equal((await answer).status, 504);
    }
  } finally {
    mock.timers.reset();
  }
});

test('what one person asks for is bounded', async () => {
  const {ask, calls} = await application(429, {limits: {looks: 1, mentions: 1}, people: () => [{userId: 'bob'}, {userId: 'cleo'}]});
  assert.equal((await ask('people', {documentId: 'plan'})).status, 200);
  const late = await ask('people', {documentId: 'plan'});
  assert.equal(late.status, 429);
  assert.ok(Number(late.headers.get('Retry-After')) > 1);
  const mention = () => ask('add-comment', {documentId: 'plan', annotationId: 'a', requestId: 'r', text: '{{bob}} {{cleo}}'});
  assert.equal((await mention()).headers.get('Retry-After'), '60', 'one comment may mention more');
  assert.equal((await mention()).headers.get('Retry-After'), '3600');
  assert.equal(calls(), 1);
});

test('what was taken comes back over the period, to the one who took it', () => {
  mock.timers.enable({apis: ['Date'], now: 1_000_000});
  try {
    const limiter = new Limiter({mentions: Infinity});
    const look = (who: string) => limiter.take(['acme', who], 'looks', 1);
    for (let i = 0; i < 10; i++) assert.equal(look('ann'), 0);
    assert.equal(look('ann'), 1000);
    assert.equal(look('bob'), 0);
    mock.timers.tick(999);
    assert.equal(look('ann'), 1);
    mock.timers.tick(1);
    assert.equal(look('ann'), 0);
    assert.equal(look('ann'), 1000);
    for (let i = 0; i < 1000; i++) assert.equal(limiter.take(['acme', 'ann'], 'mentions', 30), 0);
    for (let i = 0; i < 20_000; i++) look(`${i}`);
    assert.equal(look('ann'), 0, 'nobody is kept for ever');
  } finally {
    mock.timers.reset();
  }
});
