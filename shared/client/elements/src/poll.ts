import {Failure} from './failure.js';

const PAUSE = 5_000; // ms between polls
const QUIET = 120_000; // ms without changes until pauses grow
const QUIET_PAUSE = 30_000; // ms, if nothing changes
const LIVE_PAUSE = 7_200_000; // ms, while hints arrive
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
 * Polls for changes while the page is visible: every two hours with hints, about once a minute if
 * the service refuses them, else every five seconds, and less often if nothing changes. It polls
 * later if another tab polls.
 */
export class Poll {
  /** The failure of the last poll. */
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
   * look resolves to whether anything changed; asked means that it was requested, not scheduled. It
   * rejects with a Failure, which makes the pauses grow, at least to the requested wait, plus a
   * random part after too many requests. NOT_FOUND ends the polling until the next start. changed is
   * called when failure changes.
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

  /** Sets whether hints arrive or are refused. If they arrive, it polls for earlier changes. */
  live(on: boolean, refused: boolean): void {
    if (on === this.#live && refused === this.#refused) return;
    [this.#live, this.#refused] = [on, refused];
    this.#changed = Date.now();
    this.#cover = on ? this.#began + COVER : 0;
    if (!this.#current) this.#in(this.#pause());
  }

  /** Sets whether this tab polls first. */
  lead(on: boolean): void {
    if (on === this.#leads) return;
    this.#leads = on;
    if (on) this.#cover = this.#began + COVER; // the other may have missed hints
    if (!this.#current) this.#follow();
  }

  /** The start of the last poll. */
  get began(): number {
    return this.#began;
  }

  /**
   * Shows another tab's findings with a function that returns whether anything changed, unless this
   * tab started a poll later.
   */
  found(began: number, take: () => boolean): void {
    if (this.#current || began < this.#began) return;
    const before = this.failure;
    this.#looked(began);
    this.#done(take());
    if (before) this.changed();
    this.#follow();
  }

  /**
   * Polls soon: at a random time within some ms, and at least a second after the last poll of the
   * page.
   */
  hint(within = 0): void {
    if (!this.#hinted) this.#due = Date.now() + Math.random() * within;
    this.#hinted = true;
    if (!this.#current) this.#follow();
  }

  /** Polls for a hint if one arrived, else after a pause. */
  #follow(): void {
    const wait = (this.#hinted ? Math.max(lately + APART, this.#due) - Date.now() : this.#pause()) + (this.#leads ? 0 : SPARE);
    if (wait <= 0) void this.now(this.#hinted);
    else if (this.#hinted) this.#in(wait, () => this.#follow());
    else this.#in(wait);
  }

  /**
   * Polls immediately, after a running poll, or when the server allows it; not while the page is
   * hidden. It resolves after the poll.
   */
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
      if (status === 'NOT_FOUND') this.stop();
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
