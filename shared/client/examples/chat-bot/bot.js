// A bot that answers mentions: COLLABDATA_URL=http://127.0.0.1:8080 COLLABDATA_KEY=dev-key
// COLLABDATA_TOKEN=dev-token PORT=3000 npm start
import {createServer} from 'node:http';
import {text} from 'node:stream/consumers';
import {setTimeout} from 'node:timers/promises';

import {createMemoryState} from '@chat-adapter/state-memory';
import {Chat, emoji} from 'chat';
import {Client, ServiceError} from 'collabdata-client';

import {CollabdataAdapter} from './adapter.js';

const {COLLABDATA_URL: baseURL = '', COLLABDATA_KEY: apiKey = '', COLLABDATA_TOKEN: authToken = '', PORT = '3000'} = process.env;
const client = new Client({baseURL, apiKey, authToken});
const user = {userId: 'helper', name: 'Helper'};

// The endpoint posts only comments that mention the bot. A secret is shown once: an existing endpoint
// gets another.
const webhookId = 'helper';
const url = `http://127.0.0.1:${PORT}/`;
const {data: hook} = await client
  .call('/v2/webhooks/add', {webhookId, url, eventTypes: ['comment_annotation.added', 'comment.added'], mentionedUserIds: [user.userId]})
  .catch(async (e) => {
    if (!(e instanceof ServiceError) || e.code !== 'ALREADY_EXISTS') throw e;
    await client.call('/v2/webhooks/update', {webhookId, updatedData: {url}});
    return client.call('/v2/webhooks/secrets/rotate', {webhookId});
  });

const adapter = new CollabdataAdapter({client, secret: hook.secret, user});
const bot = new Chat({
  userName: user.name, adapters: {collabdata: adapter}, state: createMemoryState(), logger: 'warn',
  concurrency: 'concurrent', // by default, a mention is lost while another in its thread gets its answer
  fallbackStreamingPlaceholderText: null, // a comment starts with the first words, not with dots
  dedupeTtlMs: 48 * 3_600_000, // a webhook may be repeated for so long
});

bot.onNewMention(async (thread, message) => {
  await adapter.addReaction(thread.id, message.id, emoji.eyes);
  if (/\bresolve\b/i.test(message.text)) return adapter.setStatus(thread.id, 'RESOLVED');
  await thread.post(answer(message.text));
});

/** The answer of a language model, for example. @param {string} question */
async function* answer(question) {
  for (const word of `You wrote: ${question}`.split(/(?<= )/)) {
    yield word;
    await setTimeout(100); // the pace of a model
  }
}

createServer(async (request, response) => {
  const headers = /** @type {Record<string, string>} */ (request.headers);
  const answered = await bot.webhooks.collabdata(new Request(url, {method: 'POST', headers, body: await text(request)}));
  response.writeHead(answered.status).end(await answered.text());
}).listen(Number(PORT), '127.0.0.1');
