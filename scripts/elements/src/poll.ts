import {Failure} from './protocol.js';

const PAUSE = 5_000; // ms between the end of a look and the next
const LONGEST = 60_000; // ms, where looks fail one after the other

/** Looks for what is new every five seconds while the page is seen, and not at all while it is hidden. */
export class Poll {
  /** Why the last look failed. */
  failure: Failure | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #current: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #on = false;
  #pause = PAUSE;
  #notBefore = 0;

  /** look rejects with a Failure: then the pauses grow, to what it asks for at least. changed is called when failure has changed. */
  constructor(readonly look: () => Promise<void>, readonly changed: () => void) {}

  start(): void {
    this.#on = true;
    document.addEventListener('visibilitychange', this.#seen);
    addEventListener('online', this.#seen);
    void this.now();
  }

  stop(): void {
    this.#on = false;
    document.removeEventListener('visibilitychange', this.#seen);
    removeEventListener('online', this.#seen);
    clearTimeout(this.#timer);
  }

  /** Looks at once, after the look that is under way, or once the server lets it; not while the page is hidden. It resolves after the look. */
  now(): Promise<void> {
    if (this.#current) {
      this.#next ??= this.#current.then(() => {
        this.#next = undefined;
        return this.now();
      });
      return this.#next;
    }
    clearTimeout(this.#timer);
    if (!this.#on || document.hidden) return Promise.resolve();
    const wait = this.#notBefore - Date.now();
    if (wait > 0) {
      this.#in(wait);
      return Promise.resolve();
    }
    this.#current = this.#run().finally(() => {
      this.#current = undefined;
      if (!this.#next) this.#in(this.#pause);
    });
    return this.#current;
  }

  async #run(): Promise<void> {
    const before = this.failure;
    try {
      await this.look();
      this.failure = undefined;
      this.#pause = PAUSE;
    } catch (e) {
      this.failure = e as Failure;
      this.#pause = Math.min(this.#pause * 2, LONGEST);
      this.#notBefore = Date.now() + (this.failure.retryAfter || 0);
    }
    if (before?.status !== this.failure?.status) this.changed();
  }

  #in(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#on && !document.hidden) this.#timer = setTimeout(() => void this.now(), ms);
  }

  #seen = (): void => {
    if (document.hidden) clearTimeout(this.#timer);
    else void this.now();
  };
}
