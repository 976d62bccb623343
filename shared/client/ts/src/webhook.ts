import {Webhook} from 'standardwebhooks';

import {ServiceError} from './errors.js';
import type {webhooks} from './schema.js';

type Posted = webhooks[keyof webhooks];

/** An event that the service posts to an endpoint; `id` is the same at every attempt, to detect duplicates. */
export type WebhookEvent = (Posted extends {post: {requestBody?: {content: {'application/json': infer E}}}} ? E : never) & {id: string};

/**
 * Returns the event that a webhook carries, once it is sure that the service sent it within the last five minutes. The secret is the one
 * that adding the endpoint, or rotating its secret, answered; the body is the text as it arrived. A ServiceError of the code
 * PERMISSION_DENIED means that the request is not to be believed: answer it with 401.
 */
export function verifyWebhook(secret: string, headers: Record<string, string | string[] | undefined>, body: string): WebhookEvent {
  const sent = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]));
  try {
    if (!/^whsec_.{32,}$/.test(secret)) throw new Error('the secret is not one that the service gave');
    const event = new Webhook(secret).verify(body, sent) as object;
    return {...event, id: sent['webhook-id']} as WebhookEvent;
  } catch (cause) {
    throw new ServiceError({code: 'PERMISSION_DENIED', message: 'the webhook is not signed with this secret', cause});
  }
}
