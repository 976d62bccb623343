import type {Access} from './access.js';
import {ask, type Failure} from './protocol.js';

const PING = 420_000; // ms between two pings; the service ends a connection after ten minutes without one
const PONG = 60_000; // ms for its answer, also where the browser slows the clock of a hidden page
const LONGEST = 300_000; // ms between two attempts to connect, but where the server asks for more
const STEADY = 60_000; // ms after which a connection counts as one that lasts
const SOON = 100; // ms in which the elements of a page, and of other tabs, say what they watch

/** What wants to hear of changes: of a document, or '' of the inbox. */
interface Watcher {
  topic: string;
  hint(within?: number): void;
  live(on: boolean, refused: boolean): void;
}

/** What the tabs of a browser tell each other: what one watches, who connects for all, what changed. */
interface Message {
  tab?: string;
  topics?: string[];
  who?: boolean;
  live?: string[];
  refused?: boolean;
  changed?: string;
  within?: number;
}

/**
 * The connection by which the service says where to look: one for all elements of a page, and for all tabs of a browser that has locks and
 * channels. Where there is none, nobody hears anything, and all ask by themselves.
 */
export class Live {
  readonly #watchers = new Set<Watcher>();
  readonly #tab = crypto.randomUUID();
  readonly #others = new Map<string, string[]>(); // what other tabs watch, where this one connects for all
  #channel: BroadcastChannel | undefined;
  #end: (() => void) | undefined; // of connecting for all
  #asked: string[] = []; // what the connection is for
  #live: string[] = []; // what hints come of
  #refused = false; // by the service, which has too many connections
  #socket: WebSocket | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #ping: ReturnType<typeof setTimeout> | undefined;
  #tries = 0;

  constructor(readonly access: Access) {}

  /** Tells a watcher of changes, until the function that it returns is called. */
  watch(w: Watcher): () => void {
    if (!this.#watchers.size) this.#join();
    this.#watchers.add(w);
    w.live(this.#live.includes(w.topic), this.#refused);
    this.#say();
    return () => {
      this.#watchers.delete(w);
      w.live(false, false);
      this.#say();
      if (!this.#watchers.size) this.#leave();
    };
  }

  #topics(): string[] {
    return [...new Set([...this.#watchers].map((w) => w.topic))];
  }

  #join(): void {
    const lead = () => new Promise<void>((done) => {
      this.#end = done;
      this.#turn([]);
      this.#post({who: true});
      this.#again(SOON);
    });
    if (!navigator.locks || !window.BroadcastChannel) return void lead();
    const name = `collab-live ${this.access.name}`;
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = ({data}: MessageEvent<Message>) => this.#heard(data);
    navigator.locks.request(name, () => (this.#watchers.size && !this.#end ? lead() : undefined)).catch(() => lead());
  }

  #leave(): void {
    clearTimeout(this.#timer);
    this.#close();
    this.#end?.();
    this.#end = undefined;
    this.#others.clear();
    this.#channel?.close();
    this.#channel = undefined;
    [this.#live, this.#refused] = [[], false];
  }

  #post(m: Message): void {
    this.#channel?.postMessage(m);
  }

  /** Says what this tab watches to whom connects. */
  #say(): void {
    this.#post({tab: this.#tab, topics: this.#topics()});
    if (this.#end) this.#need();
  }

  #heard({tab, topics, who, live, refused, changed, within}: Message): void {
    if (who) this.#say();
    if (changed !== undefined) this.#tell(changed, within);
    if (live && !this.#end) this.#turn(live, refused);
    if (!tab || !topics || !this.#end) return;
    topics.length ? this.#others.set(tab, topics) : this.#others.delete(tab);
    this.#post({live: this.#live, refused: this.#refused});
    this.#need();
  }

  /** What all watch; documents beyond 30 are asked for by themselves. */
  #all(): string[] {
    return [...new Set([...this.#topics(), ...[...this.#others.values()].flat()])].slice(0, 30);
  }

  /** Connects anew where something is watched that the connection is not for. */
  #need(): void {
    if (this.#asked.length && this.#all().some((t) => !this.#asked.includes(t))) this.#again(SOON);
  }

  #tell(topic: string, within?: number): void {
    for (const w of this.#watchers) if (w.topic === topic) w.hint(within);
  }

  /** Says of what hints come from now on. */
  #turn(live: string[], refused = false): void {
    [this.#live, this.#refused] = [live, refused];
    for (const w of this.#watchers) w.live(live.includes(w.topic), refused);
    if (this.#end) this.#post({live, refused});
  }

  #again(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#connect(), ms);
  }

  /** Tries again after a growing random time, or a longer one that the server asks for. */
  #later(least = 0, refused = false): void {
    this.#turn([], refused);
    const pause = Math.min(1000 * 2 ** this.#tries++, LONGEST);
    this.#again(Math.max(pause * (0.5 + Math.random() / 2), least));
  }

  #close(): void {
    clearTimeout(this.#ping);
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.close();
  }

  async #connect(): Promise<void> {
    const topics = this.#all();
    this.#asked = topics;
    try {
      const {url, retryAfter} = await ask(this.access, 'connect', {documentIds: topics.filter((t) => t), inbox: topics.includes('')});
      if (!this.#end) return;
      if (!url) return this.#later(retryAfter);
      this.#close();
      this.#open(new WebSocket(url), topics);
    } catch (e) {
      const {status, retryAfter} = e as Failure;
      if (this.#end) this.#later(retryAfter, status === 'RESOURCE_EXHAUSTED');
    }
  }

  #open(socket: WebSocket, topics: string[]): void {
    this.#socket = socket;
    const began = Date.now();
    let open = false;
    socket.onopen = () => {
      if (this.#socket !== socket) return;
      open = true;
      this.#turn([]); // so that all look: what changed since the last connection was told to nobody
      this.#turn(topics);
      ping();
    };
    socket.onmessage = ({data}) => {
      if (this.#socket !== socket) return;
      const {changed, bye, pong} = JSON.parse(data);
      const topic = changed?.inbox ? '' : changed?.documentId;
      if (topic !== undefined) {
        this.#tell(topic, changed.within);
        this.#post({changed: topic, within: changed.within});
      }
      if (pong) ping();
      if (bye) lost();
    };
    const lost = (socket.onclose = () => {
      if (this.#socket !== socket) return;
      this.#close();
      if (Date.now() - began > STEADY) this.#tries = 0;
      this.#later(0, !open); // a browser does not say why a connection was refused
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

/** The connection of a document, or of the inbox, one for each page. Its access has been used. */
export function liveOf(access: Access): Live {
  let live = all.get(access);
  if (!live) all.set(access, (live = new Live(access)));
  return live;
}
