/** The code of a failure in a response. */
export type Code =
  | 'INVALID_ARGUMENT'
  | 'FAILED_PRECONDITION'
  | 'UNAUTHENTICATED'
  | 'PERMISSION_DENIED'
  | 'NOT_FOUND'
  | 'ALREADY_EXISTS'
  | 'ABORTED'
  | 'RESOURCE_EXHAUSTED'
  | 'INTERNAL'
  | 'UNAVAILABLE'
  | 'DEADLINE_EXCEEDED';

/** One mistake of a request: the path of the field, and the broken rule. */
export interface FieldError {
  field: string;
  message: string;
}

/** A failed call. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: Code;
  /** HTTP status, 0 without a response. */
  readonly status: number;
  /** All mistakes of the request. */
  readonly details: FieldError[];
  /** The wait in milliseconds before a retry, or 0. */
  readonly retryAfter: number;

  constructor(e: {code: Code; message: string; status?: number; details?: FieldError[]; retryAfter?: number; cause?: unknown}) {
    super(`${e.code}: ${e.message}`, {cause: e.cause});
    this.code = e.code;
    this.status = e.status ?? 0;
    this.details = e.details ?? [];
    this.retryAfter = e.retryAfter ?? 0;
  }
}

const REPEATED = new Set<Code>(['UNAVAILABLE', 'ABORTED', 'RESOURCE_EXHAUSTED', 'INTERNAL', 'DEADLINE_EXCEEDED']);

/** Whether the same request may succeed later. */
export function mayRepeat(code: Code): boolean {
  return REPEATED.has(code);
}

/** The error in a failed response. */
export function failureOf(response: Response, text: string): ServiceError {
  const after = response.headers.get('Retry-After') ?? '';
  const ms = Number.isInteger(Number(after)) ? Number(after) * 1000 : Date.parse(after) - Date.now();
  const rest = {status: response.status, retryAfter: ms > 0 ? ms : 0};
  try {
    const {error} = JSON.parse(text) as {error: {status: Code; message: string; details?: FieldError[]}};
    return new ServiceError({...rest, code: error.status, message: error.message, ...(error.details && {details: error.details})});
  } catch {
    const code = response.status >= 500 ? 'UNAVAILABLE' : response.status === 429 ? 'RESOURCE_EXHAUSTED' : 'FAILED_PRECONDITION';
    return new ServiceError({...rest, code, message: `the answer is none of the service: HTTP status ${response.status}`});
  }
}
