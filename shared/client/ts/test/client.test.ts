import assert from 'node:assert/strict';
import {createServer, type IncomingMessage} from 'node:http';
import type {AddressInfo} from 'node:net';
import {after, test} from 'node:test';

import {Webhook} from 'standardwebhooks';

import {Client, ServiceError, verifyWebhook} from '../src/index.js';

/** One answer of the service, [0, ''] for a connection that ends without one. */
type Answer = [status: number, body: string, headers?: Record<string, string>];

const closing: (() => void)[] = [];
after(() => closing.forEach((close) => close()));

/** A client, and its requests to a service with these responses, in order. */
async function serving(answers: Answer[], attempts = 5) {
  const sent: {path: string; key: string | undefined; body: string; headers: IncomingMessage['headers']}[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    sent.push({path: request.url!, key: request.headers['idempotency-key'] as string | undefined, body, headers: request.headers});
    const [status, text, headers] = answers[sent.length - 1] ?? [500, 'a request too many'];
    if (status === 0) request.socket.destroy();
    else response.writeHead(status, headers).end(text);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closing.push(() => server.close());
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {sent, baseURL, client: new Client({baseURL, apiKey: 'k', authToken: 't', attempts})};
}

const ok = (data: unknown, nextPageToken?: string) => JSON.stringify({result: {status: 'success', message: 'm', data, nextPageToken}});
const failed = (status: string) => JSON.stringify({error: {status, message: 'text', details: [{field: 'data.x', message: 'rule'}]}});

test('what may succeed later is sent again under the same key', async () => {
  const {client, sent} = await serving([[503, failed('UNAVAILABLE')], [0, ''], [502, '<html>'], [200, ok({})]]);
  const result = await client.call('/v2/webhooks/delete', {webhookId: 'crm'});
  assert.equal(result.message, 'm');
  assert.equal(sent.length, 4);
  for (const s of sent) {
    assert.equal(s.body, '{"data":{"webhookId":"crm"}}');
    assert.equal(s.headers['x-service-api-key'], 'k');
    assert.equal(s.headers['x-service-auth-token'], 't');
    assert.ok(s.key && s.key === sent[0]!.key);
  }
});

test('credentials go into the headers that the config names', async () => {
  const {sent, baseURL} = await serving([[200, ok([])]]);
  await new Client({baseURL, apiKey: 'k', authToken: 't', apiKeyHeader: 'x-other-key', authTokenHeader: 'x-other-token'}).call('/v2/organizations/get', {});
  assert.equal(sent[0]!.headers['x-other-key'], 'k');
  assert.equal(sent[0]!.headers['x-other-token'], 't');
  assert.equal(sent[0]!.headers['x-service-api-key'], undefined);
});

test('Retry-After is waited for', async () => {
  for (const of of [failed('RESOURCE_EXHAUSTED'), 'a proxy is busy']) {
    const {client} = await serving([[429, of, {'Retry-After': '1'}], [200, ok([])]]);
    const start = performance.now();
    await client.call('/v2/organizations/get', {});
    assert.ok(performance.now() - start >= 1000);
  }
  const {client} = await serving([[429, failed('RESOURCE_EXHAUSTED'), {'Retry-After': new Date(Date.now() + 100_000_000).toUTCString()}]]);
  await assert.rejects(client.call('/v2/organizations/get', {}), {code: 'RESOURCE_EXHAUSTED'});
});

for (const [name, answers, attempts, code] of [
  ['a mistake', [[400, failed('INVALID_ARGUMENT')]], 1, 'INVALID_ARGUMENT'],
  ['always later', [[503, failed('UNAVAILABLE')], [503, failed('UNAVAILABLE')]], 2, 'UNAVAILABLE'],
  ['another server', [[404, 'not here']], 1, 'FAILED_PRECONDITION'],
] as [string, Answer[], number, string][]) {
  test(`the error of ${name}`, async () => {
    const {client, sent} = await serving(answers, 2);
    await assert.rejects(client.call('/v2/organizations/get', {}), (e: ServiceError) => {
      assert.ok(e instanceof ServiceError);
      assert.equal(e.code, code);
      if (code === 'INVALID_ARGUMENT') assert.deepEqual(e.details, [{field: 'data.x', message: 'rule'}]);
      return true;
    });
    assert.equal(sent.length, attempts);
  });
}

test('a call is ended by its signal', async () => {
  const {client} = await serving([[503, failed('UNAVAILABLE'), {'Retry-After': '30'}]]);
  await assert.rejects(client.call('/v2/organizations/get', {}, {signal: AbortSignal.timeout(100)}), {name: /Abort|Timeout/});
});

test('a Retry-After beyond the time of a call is not waited for', async () => {
  const {client, sent} = await serving([[429, failed('RESOURCE_EXHAUSTED'), {'Retry-After': '60'}]]);
  const refused = {code: 'RESOURCE_EXHAUSTED', retryAfter: 60_000};
  await assert.rejects(client.call('/v2/organizations/get', {}), refused);
  assert.equal(sent.length, 1);
});

test('a call ends when its time is over, even without an answer', async () => {
  const server = createServer(() => {});
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closing.push(() => server.closeAllConnections(), () => server.close());
  const client = new Client({baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, apiKey: 'k', authToken: 't', timeout: 50});
  await assert.rejects(client.call('/v2/organizations/get', {}), {code: 'DEADLINE_EXCEEDED'});
});

test('pages are asked for one after the other, until the last or until the caller has enough', async () => {
  const answers: Answer[] = [[200, ok([{id: 'a'}, {id: 'b'}], 't1')], [200, ok([], 't2')], [200, ok([{id: 'c'}])]];
  const {client, sent} = await serving(answers);
  const ids: string[] = [];
  for await (const o of client.items('/v2/organizations/get', {pageSize: 2})) ids.push(o.id);
  assert.deepEqual(ids, ['a', 'b', 'c']);
  assert.deepEqual(sent.map((s) => s.body), ['{"data":{"pageSize":2}}', '{"data":{"pageSize":2,"pageToken":"t1"}}', '{"data":{"pageSize":2,"pageToken":"t2"}}']);
  assert.deepEqual(sent.map((s) => s.key), [undefined, undefined, undefined]);

  const first = await serving(answers);
  for await (const o of first.client.items('/v2/organizations/get', {})) {
    assert.equal(o.id, 'a');
    break;
  }
  assert.equal(first.sent.length, 1);
});

test('in a browser it says where it belongs', () => {
  Object.defineProperty(globalThis, 'document', {value: {}, configurable: true});
  try {
    assert.throws(() => new Client({baseURL: 'http://127.0.0.1:1', apiKey: 'k', authToken: 't'}), /is for back ends/);
  } finally {
    Reflect.deleteProperty(globalThis, 'document');
  }
});

test('only what the service signed is believed', () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  const body = '{"type":"comment.added","timestamp":"2026-03-01T12:00:00.250Z","data":{"organizationId":"acme"}}';
  const at = new Date();
  const headers = {
    'Webhook-Id': 'm-1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign('m-1', at, body),
  };
  const event = verifyWebhook(secret, headers, body);
  assert.equal(event.id, 'm-1');
  assert.equal(event.type, 'comment.added');
  const refused = {name: 'ServiceError', code: 'PERMISSION_DENIED'};
  assert.throws(() => verifyWebhook(secret, headers, `${body} `), refused);
  assert.throws(() => verifyWebhook(`whsec_${Buffer.alloc(32, 8).toString('base64')}`, headers, body), refused);
  assert.throws(() => verifyWebhook('', headers, body), refused);
  assert.throws(() => verifyWebhook('whsec_', headers, body), refused);
  assert.throws(() => verifyWebhook(secret, {}, body), refused);
});

test('a config that no call could succeed with is refused at once', () => {
  const good = {baseURL: 'http://127.0.0.1:1', apiKey: 'k', authToken: 't'};
  for (const [wrong, message] of [
    [{baseURL: 'x'}, 'baseURL must be an address such as https://example.com/prod, not "x"'],
    [{baseURL: ''}, 'baseURL must be an address such as https://example.com/prod, not ""'],
    [{baseURL: 'ftp://example.com'}, 'baseURL must be an address such as https://example.com/prod, not "ftp://example.com"'],
    [{baseURL: 'https://'}, 'baseURL must be an address such as https://example.com/prod, not "https://"'],
    [{apiKey: ''}, 'apiKey must not be empty'],
    [{authToken: ''}, 'authToken must not be empty'],
  ] as const) {
    assert.throws(() => new Client({...good, ...wrong}), {name: 'TypeError', message});
  }
});

test('a service that cannot be reached is named, with the cause', async () => {
  const server = createServer(() => {});
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const {port} = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  const client = new Client({baseURL: `http://127.0.0.1:${port}`, apiKey: 'k', authToken: 't', attempts: 1});
  await assert.rejects(client.call('/v2/organizations/get', {}), {
    message: `UNAVAILABLE: no answer from http://127.0.0.1:${port}/v2/organizations/get: connect ECONNREFUSED 127.0.0.1:${port}`,
  });
});
