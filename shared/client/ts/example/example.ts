// Adds threads, pages through them, handles a conflict and verifies a webhook, on the local server
// of make run:
//
//     npm ci && npm run example
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';

import {Client, verifyWebhook, type WebhookEvent} from 'collabdata-client';

const baseURL = process.env['COLLABDATA_URL'] ?? 'http://127.0.0.1:8080';
const client = new Client({baseURL, apiKey: 'dev-key', authToken: 'dev-token'});

// A webhook receiver that trusts events signed with its secret.
let arrive: (event: WebhookEvent) => void;
const arrived = new Promise<WebhookEvent>((resolve) => (arrive = resolve));
const receiver = createServer(async (request, response) => {
  try {
    const body = await request.reduce((text: string, piece: Buffer) => text + piece, '');
    arrive(verifyWebhook(hook.secret, request.headers, body));
    response.writeHead(204).end();
  } catch {
    response.writeHead(401).end();
  }
});
await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done));
const {port} = receiver.address() as AddressInfo;
const eventTypes = ['comment_annotation.added' as const];
const {data: hook} = await client.call('/v2/webhooks/add', {url: `http://127.0.0.1:${port}/`, eventTypes});

// 120 threads in one call, each with a comment. The first is posted to the webhook.
const document = {organizationId: 'ts-example', documentId: `plan-${crypto.randomUUID()}`};
const commentAnnotations = Array.from({length: 120}, (_, i) => ({
  annotationId: `thread-${i + 1}`,
  commentData: [{commentText: `Comment ${i + 1}`, from: {userId: 'ann', name: 'Ann'}, triggerNotification: i === 0}],
}));
const add = {...document, createOrganization: true, createDocument: true, commentAnnotations};
console.log((await client.call('/v2/commentannotations/add', add)).message);

// A conflict is a failure of one item: the others are added.
const again = await client.call('/v2/commentannotations/add', {...add, commentAnnotations: commentAnnotations.slice(0, 1)});
if (again.data['thread-1']?.code === 'ALREADY_EXISTS') console.log('thread-1 already exists');

// All threads of the document, 50 per page.
let count = 0;
for await (const thread of client.items('/v2/commentannotations/get', {...document, pageSize: 50})) {
  if (thread) count++;
}
console.log(count, 'threads');

console.log('verified', (await arrived).type);
await client.call('/v2/webhooks/delete', {webhookId: hook.webhookId});
receiver.close();
