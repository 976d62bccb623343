import {Failure} from './protocol.js';

const PAUSE = 5_000; // ms between polls
const QUIET = 120_000; // ms without changes until pauses grow
const QUIET_PAUSE = 30_000; // ms, if nothing changes
const LIVE_PAUSE = 900_000; // ms, while hints arrive
// ms, ± half, if the service has no connection for the page: there may be thousands of such pages
const REFUSED_PAUSE = 60_000;
const LONGEST = 60_000; // ms, if polls fail repeatedly
// ms between a poll and one after a hint: the limit is ten polls per person in ten seconds
const APART = 1_200;
const COVER = 10_000; // ms from a poll to the next if a connection started in between
const SHORT = 15_000; // ms to wait for the server before showing a message
const SPARE = 5_000; // ms until this tab polls if the polling tab is silent

let lately = 0; // last poll of the page, or of a tab that reported it

/**
 * Looks for what is new while the page is seen: every 15 minutes where hints come, about once a minute where the service refuses them, else
 * every five seconds, and more seldom where nothing changes; never while the page is hidden, and later where another tab looks.
 */
export class Poll {
  /** Why the last look failed. */
  failure: Failure | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #current: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #on = false;
  #live = false;
  #refused = false;
  #leads = true;
  #failing = 0; // ms of the next pause after failures
  #quiet = 0; // ms of the last pause without changes
  #changed = 0; // when a poll last found changes
  #began = 0; // last poll of this instance
  #hinted = false; // since the last poll started
  #due = 0; // when to poll for the first of these hints
  #cover = 0; // when to poll for changes before the first hint
  #notBefore = 0;

  /**
   * look resolves to whether anything changed; asked says that somebody or something wants to know, and not just the clock. It rejects with a
   * Failure: then the pauses grow, to what it asks for at least, and by a random part where it asked too often. changed is called when failure
   * has changed.
   */
  constructor(readonly look: (asked: boolean) => Promise<boolean>, readonly changed: () => void) {}

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

  /** Says whether hints come from now on, or are refused. Where they come, it looks for what was changed before. */
  live(on: boolean, refused: boolean): void {
    if (on === this.#live && refused === this.#refused) return;
    [this.#live, this.#refused] = [on, refused];
    this.#changed = Date.now();
    this.#cover = on ? this.#began + COVER : 0;
    if (!this.#current) this.#in(this.#pause());
  }

  /** Says whether this tab looks first, or another one does. */
  lead(on: boolean): void {
    if (on === this.#leads) return;
    this.#leads = on;
    if (on) this.#cover = this.#began + COVER; // the other may have missed hints
    if (!this.#current) this.#follow();
  }

  /** When the last look began. */
  get began(): number {
    return this.#began;
  }

  /** Shows what another tab has found, by a function that returns whether anything changed, unless this one has looked since that look began. */
  found(began: number, take: () => boolean): void {
    if (this.#current || began < this.#began) return;
    const before = this.failure;
    this.#looked(began);
    this.#done(take());
    if (before) this.changed();
    this.#follow();
  }

  /** Looks soon: at a random time within some ms, and a second after the last look of the page. */
  hint(within = 0): void {
    if (!this.#hinted) this.#due = Date.now() + Math.random() * within;
    this.#hinted = true;
    if (!this.#current) this.#follow();
  }

  /** Looks for what a hint told of, where one came, else after a pause. */
  #follow(): void {
    const wait = (this.#hinted ? Math.max(lately + APART, this.#due) - Date.now() : this.#pause()) + (this.#leads ? 0 : SPARE);
    if (wait <= 0) void this.now(this.#hinted);
    else if (this.#hinted) this.#in(wait, () => this.#follow());
    else this.#in(wait);
  }

  /** Looks at once, after the look that is under way, or once the server lets it; not while the page is hidden. It resolves after the look. */
  now(asked = true): Promise<void> {
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
      this.#in(wait, () => void this.now(asked));
      return Promise.resolve();
    }
    this.#current = this.#run(asked).finally(() => {
      this.#current = undefined;
      if (!this.#next) this.#follow();
    });
    return this.#current;
  }

  async #run(asked: boolean): Promise<void> {
    const before = this.failure;
    this.#looked(Date.now());
    try {
      this.#done(await this.look(asked));
    } catch (e) {
      const failure = e as Failure;
      const {status, retryAfter} = failure;
      const busy = status === 'RESOURCE_EXHAUSTED';
      this.#failing = Math.min((this.#failing || (busy ? APART : PAUSE)) * 2, LONGEST);
      this.#notBefore = Date.now() + (busy ? Math.max(retryAfter, this.#failing) * (1 + Math.random() / 2) : retryAfter || 0);
      if (!busy || !retryAfter || retryAfter > SHORT) this.failure = failure;
    }
    if (before?.status !== this.failure?.status) this.changed();
  }

  #looked(began: number): void {
    lately = this.#began = began;
    this.#hinted = false;
    this.#changed ||= this.#began;
    if (this.#began >= this.#cover) this.#cover = 0;
  }

  #done(changed: boolean): void {
    if (changed) this.#changed = Date.now();
    this.failure = undefined;
    this.#failing = 0;
  }

  #pause(): number {
    if (this.#failing) return this.#failing;
    if (this.#live) return this.#cover ? Math.max(this.#cover - Date.now(), 0) : LIVE_PAUSE;
    if (this.#refused) return REFUSED_PAUSE * (0.5 + Math.random());
    return (this.#quiet = Date.now() - this.#changed < QUIET ? PAUSE : Math.min(this.#quiet * 2, QUIET_PAUSE));
  }

  #in(ms: number, then: () => void = () => void this.now(false)): void {
    clearTimeout(this.#timer);
    if (this.#on && !document.hidden) this.#timer = setTimeout(then, ms);
  }

  #seen = (): void => {
    if (document.hidden) clearTimeout(this.#timer);
    else void this.now();
  };
}
