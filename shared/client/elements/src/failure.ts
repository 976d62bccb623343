/** A failed request: a status of the service, UNAVAILABLE without a response, or OFFLINE. */
export class Failure extends Error {
  /** retryAfter is the wait in ms that the server requests, or 0. */
  constructor(readonly status: string, message = '', readonly retryAfter = 0) {
    super(message);
  }
}

/** Creates a request id. Without TLS, browsers have no crypto.randomUUID. */
export const newId = (): string => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('');
