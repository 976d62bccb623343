import {endsWithPerson, type Access} from './access.js';
import type {Failure} from './failure.js';
import {ask} from './protocol.js';

// ms between pings; the gateway closes a connection after ten minutes without one, and browsers
// delay timers of a hidden page by up to one
const PING = 480_000;
const PONG = 60_000; // ms for the response, even if the browser slows timers of a hidden page
const LONGEST = 300_000; // maximum ms between attempts to connect, unless the server asks for more
const TOGETHER = 2000; // ms in which the document and the inbox of a page begin, for one connection
const STEADY = 60_000; // ms after which a connection counts as stable
const STEADY_TRIES = 2; // then others may have ended with it: they connect again over some seconds

/** A follower of changes of a document or an inbox. */
interface Watcher {
  /** Something changed: poll within some ms. If read is true, the user has read something. */
  hint(within: number, read: boolean): void;
  /** Hints start, stop, or are refused. */
  live(on: boolean, refused: boolean): void;
  /** This tab starts or stops being the polling one. */
  lead(on: boolean): void;
  /** Another tab has shared its findings. */
  found(what: any): void;
}

/** A message between the tabs of a browser. */
interface Message {
  joined?: boolean; // from the tab that connects: its state
  live?: boolean;
  refused?: boolean;
  within?: number; // ms within which to poll
  read?: boolean;
  found?: unknown;
  user?: string; // user who found the change
}

/**
 * Acquires a lock of the browser, and releases it when the returned function is called. Without a
 * name, it has the lock immediately.
 */
function hold(name: string, held: () => void): () => void {
  const end = new AbortController();
  const {signal} = end;
  const take = () => new Promise<void>((done) => {
    if (signal.aborted) return done();
    signal.addEventListener('abort', () => done());
    held();
  });
  if (name) navigator.locks.request(name, {signal}, take).catch(take);
  else void take();
  return () => end.abort();
}

/**
 * The tabs of a browser that show a document or an inbox. One tab connects, and gets the hints of
 * the service. If it also connects for the inbox of the person, the document's connection has the
 * hints of both, unless the document is refused. A visible tab polls and shares its findings.
 * Without TLS, the browser has no locks, and each tab does both.
 */
export class Live {
  readonly #watchers = new Set<Watcher>();
  #channel: BroadcastChannel | undefined;
  #name = ''; // of the tabs' channel while they share one
  #free: (() => void) | undefined; // releases the lock of the connecting tab
  #yield: (() => void) | undefined; // releases the lock of the polling tab
  #connects = false;
  #leads = false;
  #live = false;
  #refused = false; // the service has too many connections
  #by: Live | undefined; // of an inbox: the document that connects for it
  #apart = false; // of a document: it was refused, and the inbox connects by itself
  #socket: WebSocket | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #ping: ReturnType<typeof setTimeout> | undefined;
  #tries = 0;

  constructor(readonly access: Access) {}

  /** Adds a watcher of changes. The returned function removes it. */
  watch(w: Watcher): () => void {
    this.#watchers.add(w);
    if (this.#watchers.size === 1) this.#join();
    w.live(this.#live, this.#refused);
    w.lead(this.#leads);
    return () => {
      this.#watchers.delete(w);
      w.live(false, false);
      w.lead(true);
      if (!this.#watchers.size) this.#leave();
    };
  }

  /** Shares findings with the other tabs. */
  tell(found: unknown): void {
    this.#post({found, user: this.access.user.userId});
  }

  #join(): void {
    if (navigator.locks) {
      this.#name = `collab ${this.access.name}`;
      this.#channel = new BroadcastChannel(this.#name);
      this.#channel.onmessage = ({data}: MessageEvent<Message>) => this.#heard(data);
      this.#post({joined: true});
    }
    this.#free = hold(this.#name, () => {
      this.#connects = true;
      this.#turn(false);
      if (this.access.both) this.#timer = setTimeout(() => void this.#connect(), TOGETHER);
      else void this.#connect();
    });
    document.addEventListener('visibilitychange', this.#seen);
    this.#seen();
  }

  /** A hidden tab leaves polling to another. */
  readonly #seen = (): void => {
    this.#yield?.();
    this.#lead(false);
    if (!document.hidden) this.#yield = hold(this.#name && `${this.#name} looks`, () => this.#lead(true));
  };

  #lead(on: boolean): void {
    this.#leads = on;
    for (const w of this.#watchers) w.lead(on);
  }

  #leave(): void {
    document.removeEventListener('visibilitychange', this.#seen);
    clearTimeout(this.#timer);
    this.#close();
    this.#free?.();
    this.#yield?.();
    this.#channel?.close();
    this.#channel = undefined;
    this.#name = '';
    this.#connects = this.#leads = this.#live = this.#refused = false;
    this.#by = undefined;
    const inbox = this.#release();
    if (inbox) inbox.#later();
  }

  /** For an inbox the document that connects for it or could; for a document such an inbox. */
  get #partner(): Live | undefined {
    const {documentId, person} = this.access;
    return this.#by ?? [...all.values()].find((l) => l.#connects && !l.#apart && !l.access.documentId === !!documentId && l.access.person === person && (!l.#by || l.#by === this));
  }

  /** The inbox that this document connects for. */
  get #inbox(): Live | undefined {
    return [...all.values()].find((l) => l.#by === this);
  }

  /** Leaves the inbox to itself, and returns it. */
  #release(): Live | undefined {
    const inbox = this.#inbox;
    if (inbox) inbox.#by = undefined;
    return inbox;
  }

  #post(m: Message): void {
    this.#channel?.postMessage(m);
  }

  #heard({joined, live, refused = false, within, read = false, found, user}: Message): void {
    if (joined && this.#connects) this.#post({live: this.#live, refused: this.#refused});
    if (live !== undefined && !this.#connects) this.#turn(live, refused);
    if (within !== undefined) this.#hint(within, read);
    if (found && user === this.access.user.userId) for (const w of this.#watchers) w.found(found);
  }

  #hint(within: number, read: boolean): void {
    for (const w of this.#watchers) w.hint(within, read);
  }

  /** Reports whether hints arrive. */
  #turn(live: boolean, refused = false): void {
    [this.#live, this.#refused] = [live, refused];
    for (const w of this.#watchers) w.live(live, refused);
    if (this.#connects) this.#post({live, refused});
    const inbox = this.#inbox;
    if (inbox) inbox.#turn(live, refused);
  }

  /**
   * Retries after a growing random time, or a longer one that the server requests. If the document
   * itself is denied, the inbox connects without it.
   */
  #later(least = 0, refused = false, denied = false): void {
    if (denied) {
      this.#apart = !!this.access.documentId;
      const inbox = this.#release();
      if (inbox) void inbox.#connect();
    }
    this.#turn(false, refused);
    const pause = Math.min(1000 * 2 ** this.#tries++, LONGEST);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#connect(), Math.max(pause * (0.5 + Math.random() / 2), least));
  }

  #close(): void {
    clearTimeout(this.#ping);
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.close();
  }

  async #connect(): Promise<void> {
    clearTimeout(this.#timer);
    const partner = this.#partner;
    const {documentId} = this.access;
    if (partner && !documentId) {
      if (!this.#by) void partner.#connect();
      return;
    }
    if (partner && !partner.#socket) partner.#by = this;
    try {
      const {url, retryAfter} = await ask(this.access, 'connect', {inbox: !documentId || !!partner});
      if (!this.#connects || this.#by) return;
      if (!url) return this.#later(retryAfter, false, true);
      this.#apart = false;
      if (this.#socket) this.#turn(false); // no hints until the next connection
      this.#close();
      this.#open(new WebSocket(url), partner);
    } catch (e) {
      const {status, retryAfter} = e as Failure;
      const full = status === 'RESOURCE_EXHAUSTED';
      if (this.#connects && !this.#by) this.#later(retryAfter, full, full);
    }
  }

  #open(socket: WebSocket, inbox: Live | undefined): void {
    this.#socket = socket;
    const began = Date.now();
    let open = false;
    socket.onopen = () => {
      if (this.#socket !== socket) return;
      open = true;
      if (inbox && inbox.#connects) {
        inbox.#close();
        inbox.#by = this;
      }
      this.#turn(true); // all tabs poll, because changes since the last connection had no hints
      ping();
    };
    socket.onmessage = ({data}) => {
      if (this.#socket !== socket) return;
      const {changed, pong} = JSON.parse(data);
      if (changed) {
        const {within = 0, read = false} = changed;
        const to = changed.inbox && this.access.documentId ? this.#inbox : this;
        if (!to) return;
        to.#hint(within, read);
        to.#post({within, read});
      }
      if (pong) ping();
    };
    const lost = (socket.onclose = () => {
      if (this.#socket !== socket) return;
      this.#close();
      if (Date.now() - began > STEADY) this.#tries = STEADY_TRIES;
      this.#later(0, !open); // browsers do not report why a connection was refused
    });
    const ping = () => {
      clearTimeout(this.#ping);
      this.#ping = setTimeout(() => {
        socket.send('{"ping":true}');
        this.#ping = setTimeout(lost, PONG);
      }, PING);
    };
  }
}

const all = new Map<Access, Live>();

endsWithPerson(() => all.clear()); // their elements have ended them

/** The Live of a document or an inbox, one per page. Its access must have been used. */
export function liveOf(access: Access): Live {
  let live = all.get(access);
  if (!live) all.set(access, (live = new Live(access)));
  return live;
}
