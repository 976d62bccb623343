const WAIT = 15_000; // ms to wait for the server before asking the reader
const TRIES = 5; // attempts at a request that the server delays

export const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** A failed request: a status of the service, UNAVAILABLE without a response, or OFFLINE. */
export class Failure extends Error {
  /** retryAfter is the wait in ms that the server requests, or 0. */
  constructor(readonly status: string, message = '', readonly retryAfter = 0) {
    super(message);
  }
}

/** Resolves to the response to one request, with retries when the server allows them. */
export async function patient<T>(request: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await request();
    } catch (e) {
      const {status, retryAfter} = e as Failure;
      if (status !== 'RESOURCE_EXHAUSTED' || !retryAfter || retryAfter > WAIT || tries === TRIES) throw e;
      await pause(retryAfter * (1 + (Math.random() * tries) / TRIES));
    }
  }
}

/** Sends requests one at a time, to keep their order. Each resolves and rejects by itself. */
export function inOrder(): <T>(send: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (send) => {
    const next = last.then(send, send);
    last = next;
    return next;
  };
}

/** Creates a request id. Without TLS, browsers have no crypto.randomUUID. */
export const newId = (): string => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('');
