import {Webhook} from 'standardwebhooks';

import {ServiceError} from './errors.js';
import type {webhooks} from './schema.js';

type Posted = webhooks[keyof webhooks];

/** An event that the service posts to an endpoint; `id` is the same at every attempt, to detect duplicates. */
export type WebhookEvent = (Posted extends {post: {requestBody?: {content: {'application/json': infer E}}}} ? E : never) & {id: string};

/**
 * Verifies a webhook and returns its event. The service must have signed it within the last five
 * minutes. secret is the secret in the response that added the endpoint or rotated its secret; body
 * is the raw text. If it throws a ServiceError with the code PERMISSION_DENIED, respond with 401
 * and do not trust the request.
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
