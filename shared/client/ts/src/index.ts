/**
 * Calls a collaboration data service, from a back end.
 *
 *     const credentials = {apiKey: 'dev-key', authToken: 'dev-token'};
 *     const client = new Client({baseURL: 'http://127.0.0.1:8080', ...credentials});
 *     const {data} = await client.call('/v2/organizations/get', {pageSize: 10});
 *
 * The types come from the service's OpenAPI description: a misspelled field does not compile.
 */
import {failureOf, mayRepeat, ServiceError} from './errors.js';
import type {CallData, CallResult, Grouped, Item, ListData, ListResult, PagedPath, Path, Result} from './operations.js';

export {ServiceError, type Code, type FieldError} from './errors.js';
export type {CallData, CallResult, Data, Grouped, GroupedPath, GroupedResult, Item, ListData, ListResult, PagedPath, Path, Result} from './operations.js';
export type {components} from './schema.js';
export {verifyWebhook, type WebhookEvent} from './webhook.js';

/** The address of the service, and the credentials. */
export interface Config {
  /** Such as https://example.execute-api.eu-west-1.amazonaws.com/prod. */
  baseURL: string;
  apiKey: string;
  authToken: string;
  /** The header of apiKey, by default x-service-api-key: the operator of a stage may change it. */
  apiKeyHeader?: string;
  /** The header of authToken, by default x-service-auth-token. */
  authTokenHeader?: string;
  /** The attempts at a call, including the first; 5 by default. */
  attempts?: number;
  /**
   * The limit in ms of one call with all attempts and pauses; 60,000 by default. If Retry-After
   * exceeds it, the call rejects with the service's error immediately.
   */
  timeout?: number;
}

/** Options of one call. */
export interface CallOptions {
  /**
   * Replaces the random key, so that another process can repeat the call: 1 to 255 printable ASCII
   * characters.
   */
  idempotencyKey?: string;
  /** Cancels the call and its waits. */
  signal?: AbortSignal;
  /** Overrides the client's timeout, in ms. */
  timeout?: number;
}

const FIRST_DELAY = 200; // maximum ms before the second attempt; doubles each time
const LAST_DELAY = 10_000; // maximum ms, unless Retry-After asks for more

/** Calls one deployment with the credentials of one account. */
export class Client {
  readonly #config: Required<Config>;

  /** It throws if the config is invalid, and in a browser, which would expose the credentials. */
  constructor(config: Config) {
    if ('document' in globalThis) {
      throw new Error(
        'collabdata-client is for back ends: its credentials can read and change all data of the account, and in a browser anybody can read them. ' +
          'Have the browser ask your back end, and call the service from there.',
      );
    }
    check(config);
    this.#config = {
      attempts: 5,
      timeout: 60_000,
      apiKeyHeader: 'x-service-api-key',
      authTokenHeader: 'x-service-auth-token',
      ...config,
      baseURL: config.baseURL.replace(/\/$/, ''),
    };
  }

  /**
   * Calls the operation at a path and resolves to its result.
   *
   * It retries after a temporary failure (UNAVAILABLE, ABORTED, RESOURCE_EXHAUSTED, INTERNAL,
   * DEADLINE_EXCEEDED, or no response). It waits for the time in Retry-After, else for a growing
   * random time, unless the call's time would end before. All attempts have the same
   * Idempotency-Key, so that nothing is written twice. Other failures reject with a ServiceError. A
   * bulk operation resolves, with failures per item.
   */
  async call<P extends Path, G extends Grouped = false>(path: P, data: CallData<P, G>, options: CallOptions = {}): Promise<CallResult<P, G>> {
    const headers: Record<string, string> = {
      'Content-Type': 'application/json',
      [this.#config.apiKeyHeader]: this.#config.apiKey,
      [this.#config.authTokenHeader]: this.#config.authToken,
    };
    if (!path.endsWith('/get')) headers['Idempotency-Key'] = options.idempotencyKey ?? crypto.randomUUID();
    const body = JSON.stringify({data});
    const end = performance.now() + (options.timeout ?? this.#config.timeout);
    for (let attempt = 1; ; attempt++) {
      const failure = await this.#attempt<P>(path, headers, body, end, options.signal);
      if (!(failure instanceof ServiceError)) return failure as CallResult<P, G>;
      if (attempt >= this.#config.attempts || !mayRepeat(failure.code)) throw failure;
      const most = Math.min(FIRST_DELAY * 2 ** (attempt - 1), LAST_DELAY);
      const wait = failure.retryAfter + Math.random() * most;
      if (performance.now() + wait >= end) throw failure;
      await pause(wait, options.signal);
    }
  }

  /** Yields the pages of a list, starting with data.pageToken. */
  async *pages<P extends PagedPath>(path: P, data: ListData<P>, options: CallOptions = {}): AsyncGenerator<ListResult<P>, void, undefined> {
    for (let next: ListData<P> = data; ; ) {
      const page = (await this.call(path, next as CallData<P, false>, options)) as ListResult<P> & {nextPageToken?: string};
      yield page;
      if (!page.nextPageToken) return;
      next = {...(data as object), pageToken: page.nextPageToken} as ListData<P>;
    }
  }

  /** Yields the items of all pages of a list, in order. */
  async *items<P extends PagedPath>(path: P, data: ListData<P>, options: CallOptions = {}): AsyncGenerator<Item<P>, void, undefined> {
    for await (const page of this.pages(path, data, options)) yield* page.data as Item<P>[];
  }

  /**
   * Sends a request once, until the end, a time of performance.now. It returns the result or the
   * failure.
   */
  async #attempt<P extends Path>(path: P, headers: Record<string, string>, body: string, end: number, signal?: AbortSignal): Promise<Result<P> | ServiceError> {
    let response: Response;
    let text: string;
    const late = AbortSignal.timeout(Math.max(0, Math.ceil(end - performance.now())));
    try {
      response = await fetch(this.#config.baseURL + path, {method: 'POST', headers, body, signal: signal ? AbortSignal.any([signal, late]) : late});
      text = await response.text();
    } catch (cause) {
      signal?.throwIfAborted();
      const {baseURL} = this.#config;
      if (late.aborted) return new ServiceError({code: 'DEADLINE_EXCEEDED', message: `the call to ${baseURL}${path} was ended`, cause});
      return new ServiceError({code: 'UNAVAILABLE', message: `no answer from ${baseURL}${path}: ${reasonOf(cause)}`, cause});
    }
    if (response.ok) {
      try {
        const {result} = JSON.parse(text) as {result?: Result<P>};
        if (result) return result;
      } catch {
        // Another server responded.
      }
    }
    return failureOf(response, text);
  }
}

/** Refuses an invalid config. */
function check({baseURL, apiKey, authToken}: Config): void {
  if (!/^https?:\/\/[^/]/.test(baseURL) || !URL.canParse(baseURL)) {
    throw new TypeError(`baseURL must be an address such as https://example.com/prod, not ${JSON.stringify(baseURL)}`);
  }
  if (!apiKey) throw new TypeError('apiKey must not be empty');
  if (!authToken) throw new TypeError('authToken must not be empty');
}

/** The cause of a failed fetch, whose own message is always "fetch failed". */
function reasonOf(error: unknown): string {
  for (let e: unknown = error; e instanceof Error; e = e.cause) {
    // several addresses failed
    if (e instanceof AggregateError && e.errors[0] instanceof Error) return e.errors[0].message;
    if (!(e.cause instanceof Error)) return e.message;
  }
  return String(error);
}

/** Waits a number of milliseconds, or rejects when the signal cancels the call. */
function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end);
      resolve();
    }, ms);
    if (signal?.aborted) end();
    else signal?.addEventListener('abort', end, {once: true});
  });
}
