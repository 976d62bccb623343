/**
 * Calls a collaboration data service.
 *
 *     const client = new Client({baseURL: 'http://127.0.0.1:8080', apiKey: 'dev-key', authToken: 'dev-token'});
 *     const {data} = await client.call('/v2/organizations/get', {pageSize: 10});
 *
 * The types are made of the service's OpenAPI description: a misspelt field does not compile.
 */
import {setTimeout as sleep} from 'node:timers/promises';

import {failureOf, mayRepeat, ServiceError} from './errors.js';
import type {Data, Item, PagedPath, Path, Result} from './operations.js';

export {ServiceError, type Code, type FieldError} from './errors.js';
export type {Data, Item, PagedPath, Path, Result} from './operations.js';
export type {components} from './schema.js';
export {verifyWebhook, type WebhookEvent} from './webhook.js';

/** Where the service is and who calls it. */
export interface Config {
  /** Such as https://example.execute-api.eu-west-1.amazonaws.com/prod. */
  baseURL: string;
  apiKey: string;
  authToken: string;
  /** How often a call is tried, the first time counted; 5 unless given. */
  attempts?: number;
}

/** What can be said about one call. */
export interface CallOptions {
  /** In the place of a random one, so that another process may make the same call again: 1 to 255 characters of printable ASCII. */
  idempotencyKey?: string;
  /** Ends the call, and its waits. */
  signal?: AbortSignal;
}

const FIRST_DELAY = 200; // ms at most before the second attempt; doubled with each
const LAST_DELAY = 10_000; // ms at most, unless Retry-After asks for more

/** Calls one deployment with the credentials of one account. */
export class Client {
  readonly #config: Required<Config>;

  constructor(config: Config) {
    this.#config = {attempts: 5, ...config, baseURL: config.baseURL.replace(/\/$/, '')};
  }

  /**
   * Runs the operation at a path and resolves to its result.
   *
   * What failed for now (UNAVAILABLE, ABORTED, RESOURCE_EXHAUSTED, INTERNAL, DEADLINE_EXCEEDED, or no answer) is tried again after the time
   * that Retry-After asks for, else after a growing random one. Calls carry an Idempotency-Key, the same at each attempt, so that nothing
   * is written twice. Any other failure rejects with a ServiceError. A bulk operation resolves, with a failure for each item that failed.
   */
  async call<P extends Path>(path: P, data: Data<P>, options: CallOptions = {}): Promise<Result<P>> {
    const headers: Record<string, string> = {
      'Content-Type': 'application/json',
      'x-service-api-key': this.#config.apiKey,
      'x-service-auth-token': this.#config.authToken,
    };
    if (!path.endsWith('/get')) headers['Idempotency-Key'] = options.idempotencyKey ?? crypto.randomUUID();
    const body = JSON.stringify({data});
    for (let attempt = 1; ; attempt++) {
      const failure = await this.#attempt<P>(path, headers, body, options.signal);
      if (!(failure instanceof ServiceError)) return failure;
      if (attempt >= this.#config.attempts || !mayRepeat(failure.code)) throw failure;
      const most = Math.min(FIRST_DELAY * 2 ** (attempt - 1), LAST_DELAY);
      await sleep(failure.retryAfter + Math.random() * most, undefined, {...(options.signal && {signal: options.signal})});
    }
  }

  /** Yields the pages of a list, from the one that data.pageToken names on, the first without one. */
  async *pages<P extends PagedPath>(path: P, data: Data<P>, options: CallOptions = {}): AsyncGenerator<Result<P>, void, undefined> {
    for (let pageToken: string | undefined; ; ) {
      const page = await this.call(path, pageToken === undefined ? data : ({...(data as object), pageToken} as Data<P>), options);
      yield page;
      pageToken = (page as {nextPageToken?: string}).nextPageToken;
      if (!pageToken) return;
    }
  }

  /** Yields the items of all pages of a list, in their order. Where the request groups the answer, call pages. */
  async *items<P extends PagedPath>(path: P, data: Data<P>, options: CallOptions = {}): AsyncGenerator<Item<P>, void, undefined> {
    for await (const page of this.pages(path, data, options)) {
      const list: unknown = (page as {data: unknown}).data;
      if (!Array.isArray(list)) throw new TypeError(`the answer of ${path} is no array: groupByDocumentId is for pages`);
      yield* list as Item<P>[];
    }
  }

  /** Sends a request once: its result, or why there is none. */
  async #attempt<P extends Path>(path: P, headers: Record<string, string>, body: string, signal?: AbortSignal): Promise<Result<P> | ServiceError> {
    let response: Response;
    let text: string;
    try {
      response = await fetch(this.#config.baseURL + path, {method: 'POST', headers, body, ...(signal && {signal})});
      text = await response.text();
    } catch (cause) {
      signal?.throwIfAborted();
      return new ServiceError({code: 'UNAVAILABLE', message: `no answer from ${path}`, cause});
    }
    if (response.status === 200) {
      try {
        const {result} = JSON.parse(text) as {result?: Result<P>};
        if (result) return result;
      } catch {
        // Something in between answered.
      }
    }
    return failureOf(response, text);
  }
}
