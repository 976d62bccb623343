const PAUSE = 5_000; // ms between the end of a look and the next
const LONGEST = 60_000; // ms, where looks fail one after the other

/** Looks for what is new every five seconds while the page is seen, and not at all while it is hidden. */
export class Poll {
  failing = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running = false;
  #on = false;
  #pause = PAUSE;

  /** look rejects where it fails: then the pauses grow. changed is called when failing changes. */
  constructor(readonly look: () => Promise<void>, readonly changed: () => void) {}

  start(): void {
    this.#on = true;
    document.addEventListener('visibilitychange', this.#seen);
    void this.now();
  }

  stop(): void {
    this.#on = false;
    document.removeEventListener('visibilitychange', this.#seen);
    clearTimeout(this.#timer);
  }

  /** Looks at once, unless it is looking. */
  async now(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#running || document.hidden) return;
    this.#running = true;
    const failing = this.failing;
    try {
      await this.look();
      this.failing = false;
      this.#pause = PAUSE;
    } catch {
      this.failing = true;
      this.#pause = Math.min(this.#pause * 2, LONGEST);
    }
    this.#running = false;
    if (failing !== this.failing) this.changed();
    clearTimeout(this.#timer);
    if (this.#on && !document.hidden) this.#timer = setTimeout(() => void this.now(), this.#pause);
  }

  #seen = (): void => {
    if (document.hidden) clearTimeout(this.#timer);
    else void this.now();
  };
}
