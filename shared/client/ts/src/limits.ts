/**
 * How much one person may ask of a handler: at once, and again over the time that is named. What is beyond is RESOURCE_EXHAUSTED with a
 * Retry-After, and reaches neither the service nor canRead and canWrite. Infinity stands for no limit. Each process of the application counts
 * for itself.
 */
export interface Limits {
  /** Requests that read, in 10 seconds; 10 unless given. */
  looks?: number;
  /** Requests that change something, in 10 seconds; 20 unless given. */
  writes?: number;
  /** People mentioned in an hour; 200 unless given. */
  mentions?: number;
}

const PERIODS = {looks: 10_000, writes: 10_000, mentions: 3_600_000}; // ms
const REMEMBERED = 10_000; // counts that are kept at least, of those last used; at most twice as many

/** Bounds what each person does. A count that was not used for long is forgotten, and so is free. */
export class Limiter {
  readonly #most: Required<Limits>;
  #now = new Map<string, number>(); // when all that was taken will have come back
  #earlier = new Map<string, number>(); // as #now was when it was full

  constructor(limits: Limits = {}) {
    this.#most = {looks: 10, writes: 20, mentions: 200, ...limits};
  }

  /** Counts n more, or returns after how many ms they may be. */
  take(person: string[], kind: keyof Limits, n: number): number {
    const most = this.#most[kind];
    const period = PERIODS[kind];
    if (!n) return 0;
    const count = JSON.stringify([kind, ...person]);
    const now = Date.now();
    const back = Math.max(now, this.#now.get(count) ?? this.#earlier.get(count) ?? 0) + (period / most) * Math.min(n, most);
    if (back - now > period) return back - now - period;
    if (this.#now.size >= REMEMBERED) [this.#now, this.#earlier] = [new Map(), this.#now];
    this.#now.set(count, back);
    return 0;
  }
}
