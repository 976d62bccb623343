// Web push: receives notification.due events of the channel push, and sends them to the browsers of
// their users. See README.md.
import {readFileSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:http';
import {text} from 'node:stream/consumers';

import {Client, ServiceError, verifyWebhook} from 'collabdata-client';
import webPush, {type PushSubscription, WebPushError} from 'web-push';

const env = (name: string) => process.env[name] ?? '';
webPush.setVapidDetails(env('VAPID_SUBJECT'), env('VAPID_PUBLIC_KEY'), env('VAPID_PRIVATE_KEY'));
const client = new Client({baseURL: env('COLLABDATA_URL'), apiKey: env('COLLABDATA_KEY'), authToken: env('COLLABDATA_TOKEN')});

// A secret is shown once: an existing endpoint gets another.
const webhookId = 'push';
const url = `http://127.0.0.1:${env('PORT')}/`;
const {data: hook} = await client
  .call('/v2/webhooks/add', {webhookId, url, eventTypes: ['notification.due'], channel: 'push'})
  .catch(async (e: unknown) => {
    if (!(e instanceof ServiceError) || e.code !== 'ALREADY_EXISTS') throw e;
    await client.call('/v2/webhooks/update', {webhookId, updatedData: {url}});
    return client.call('/v2/webhooks/secrets/rotate', {webhookId});
  });

/** The subscriptions by user, which your server stores when a page of a signed-in user sends one. */
const subscriptions = () => JSON.parse(readFileSync(env('SUBSCRIPTIONS'), 'utf8')) as Record<string, PushSubscription[]>;

/** Removes a subscription that has ended. */
function remove(userId: string, endpoint: string) {
  const all = subscriptions();
  all[userId] = (all[userId] ?? []).filter((s) => s.endpoint !== endpoint);
  writeFileSync(env('SUBSCRIPTIONS'), JSON.stringify(all));
}

/** Cuts a text, because a push service takes 4,096 bytes. */
const cut = (s: string, length: number) => (s.length > length ? `${[...s].slice(0, length).join('')}…` : s);

createServer(async (request, response) => {
  const body = await text(request);
  let event;
  try {
    event = verifyWebhook(hook.secret, request.headers, body);
  } catch {
    response.writeHead(401).end();
    return;
  }
  if (event.type !== 'notification.due') {
    response.writeHead(200).end();
    return;
  }
  const {userId = '', notifications = []} = event.data;
  const sent = (subscriptions()[userId] ?? []).flatMap((subscription) =>
    notifications.map(async (n) => {
      // The service worker shows one notification for a tag, so that a repeated one replaces the first.
      const message = {title: cut(n.headline, 200), body: cut(n.body, 500), url: n.url, tag: n.notificationId};
      try {
        await webPush.sendNotification(subscription, JSON.stringify(message), {TTL: 24 * 3_600});
      } catch (e) {
        if (!(e instanceof WebPushError) || ![404, 410].includes(e.statusCode)) throw e;
        remove(userId, subscription.endpoint);
      }
    }),
  );
  const failed = (await Promise.allSettled(sent)).some((s) => s.status === 'rejected');
  response.writeHead(failed ? 502 : 200).end(); // after a failure, the service posts the event again
}).listen(Number(env('PORT')), '127.0.0.1');
