import {LitElement} from 'lit';
import {property} from 'lit/decorators.js';

import {isRightToLeft} from './direction.js';
import {Failure} from './failure.js';
import type {Person} from './person.js';
import {load, say} from './texts.js';

/** The addresses of the service and of tokens. */
export interface Source {
  /** The address of the service, such as https://example.execute-api.eu-west-1.amazonaws.com/prod. */
  api: string;
  /**
   * The address of your server that returns a token to a signed-in browser; '' for the function of
   * setTokens.
   */
  token: string;
  /** The organization; '' for the token's only one. */
  organization: string;
}

/**
 * Creates a token of the signed-in user, or nothing if there is none: for a document, or for the
 * inbox.
 */
export type Tokens = (about: {documentId?: string}) => Promise<string | null | undefined>;

let given: Tokens | undefined;
let setter!: () => void;
const set = new Promise<void>((done) => (setter = done));

/** Sets the source of tokens, instead of the attribute token. A second function replaces the first. */
export function setTokens(own: Tokens): void {
  const replaces = !!given;
  given = own;
  setter();
  if (replaces) renew();
}

interface Resource {
  type: 'organization' | 'folder' | 'document';
  id: string;
  organizationId?: string;
  accessRole?: 'viewer' | 'editor';
}

/** The claims of a token. The service verifies them, not the page. */
interface Claims {
  sub: string;
  name?: string;
  photoUrl?: string;
  exp: number;
  iat?: number;
  resources: Resource[];
}

interface Token {
  text: string;
  from: number; // time of the request, by the local clock
  until: number; // time of renewal, by the local clock
}

/** A successful response, with the time by the service's clock. */
export interface Result {
  data: any;
  nextPageToken?: string;
  unreadCount?: {count: number; more?: boolean};
  at: number;
}

const TIMEOUT = 30_000; // ms for one request
const OUTLIVING = 16_000; // characters of a write that the browser still sends when the page closes
const EARLY = 60_000; // ms before expiry to renew a token, or a tenth of its life if shorter
const UNSET = 5_000; // ms until developers are warned that no token source is set

const told = new Set<string>();

/** Logs a mistake once, for developers of the page. */
function tell(text: string): void {
  if (!told.has(text)) console.error(`collabdata: ${text}`);
  told.add(text);
}

const offline = (): Failure => new Failure(navigator.onLine ? 'UNAVAILABLE' : 'OFFLINE');

/**
 * Calls the service for a user, with a token for one document or for the inbox. Pages keep tokens
 * in memory. Each page asks the product's server for its first token, because only this server
 * knows the signed-in user. Then the tabs of that user share newer ones.
 */
export class Access {
  #token: Promise<Token> | undefined;
  #claims: Claims | undefined;
  #channel: BroadcastChannel | undefined;
  #ended = false;
  #renewed = false; // after NOT_FOUND, with no result since
  #begun = 0; // requests
  #unanswered = 0; // how many had begun when one had no answer, since the last answer

  constructor(readonly source: Source, readonly documentId: string) {}

  /** The page shows its document anew, so that it may get another token after NOT_FOUND again. */
  begin(): void {
    this.#renewed = false;
  }

  /** Ends its token: a request that begins later fails, as the next person may be another. */
  end(): void {
    this.#ended = true;
    this.#channel?.close();
  }

  /** The key of the service, user and organization. It is known after the first response. */
  get person(): string {
    return JSON.stringify([new URL(this.source.api, location.href).href, this.#claims?.sub, this.#organization]);
  }

  /** The key of person and document, for sharing between tabs. */
  get name(): string {
    return JSON.stringify([this.person, this.documentId]);
  }

  /** Whether the page uses both documents and the inbox of the source. */
  get both(): boolean {
    const source = JSON.stringify(this.source);
    return [...all.values()].some((a) => !a.documentId !== !this.documentId && JSON.stringify(a.source) === source);
  }

  /** The user; without an id until the first response. */
  get user(): Person {
    const {sub: userId = '', name, photoUrl} = this.#claims ?? {};
    return {userId, ...(name && {name}), ...(photoUrl && {photoUrl})};
  }

  /** Whether the token allows the user to write in the document. */
  get canWrite(): boolean {
    const all = this.#claims?.resources.filter((r) => organizationOf(r) === this.#organization) ?? [];
    const own = all.filter((r) => r.type === 'document' && r.id === this.documentId);
    return (own.length ? own : all.filter((r) => r.type !== 'document')).some((r) => r.accessRole !== 'viewer');
  }

  get #organization(): string {
    const {resources = []} = this.#claims ?? {};
    const named = resources.filter((r) => r.type === 'document' && r.id === this.documentId);
    const [organization = '', another] = new Set((named.length ? named : resources).map(organizationOf));
    if (another && !this.source.organization) tell('the token has several organizations: name one in the attribute organization.');
    return this.source.organization || organization;
  }

  /**
   * Calls an operation. Writes with the same key are executed once. After NOT_FOUND, it gets another
   * token, once until a request succeeds, because the document may be newer than the token. It
   * rejects with a Failure.
   */
  async call(path: string, data: object, key = ''): Promise<Result> {
    const token = await this.#current();
    try {
      return await this.#send(path, data, key, token.text);
    } catch (e) {
      const {status} = e as Failure;
      const held = this.#token;
      const newest = held && (await held) === token && this.#token === held; // otherwise another request renewed it
      const missing = status === 'NOT_FOUND';
      if (status !== 'UNAUTHENTICATED' && !(missing && !(newest && this.#renewed))) throw e;
      if (newest) [this.#token, this.#renewed] = [undefined, this.#renewed || missing];
    }
    return this.#send(path, data, key, (await this.#current()).text);
  }

  /** The token, or a new one if it expires soon. */
  async #current(): Promise<Token> {
    if (this.#ended) throw new Failure('UNAUTHENTICATED');
    const held = this.#token;
    const token = held && (await held);
    if (token && Date.now() >= token.until && this.#token === held) this.#token = undefined;
    const next = (this.#token ??= this.#fetch());
    // fetch again, and forget it if nobody is signed in
    next.catch(() => this.#token === next && (this.#token = undefined));
    return next;
  }

  /**
   * Shares a token with the other tabs. It accepts theirs if it has the same claims and expires
   * later.
   */
  #share(token: Token): void {
    const {name, photoUrl, resources} = this.#claims!;
    const channel = new BroadcastChannel(`collab token ${this.name} ${JSON.stringify([name, photoUrl, resources])}`);
    channel.onmessage = ({data}: MessageEvent<Token>) => {
      if (data.until > token.until) this.#token = Promise.resolve((token = data));
    };
    channel.postMessage(token);
    this.#channel?.close();
    this.#channel = channel;
    if (this.#ended) channel.close();
  }

  async #fetch(): Promise<Token> {
    const from = Date.now();
    const text = await this.#ask();
    if (this.#ended || !text) throw new Failure('UNAUTHENTICATED');
    try {
      const bytes = Uint8Array.from(atob(text.split('.')[1]!.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));
      const claims = JSON.parse(new TextDecoder().decode(bytes)) as Claims;
      const life = (claims.exp - (claims.iat ?? Date.now() / 1000)) * 1000;
      this.#claims = claims;
      const token = {text, from, until: Date.now() + life - Math.min(EARLY, life / 10)};
      this.#share(token);
      return token;
    } catch {
      tell('the token is not one of the service: answer that of /v2/auth/generate_token as it is.');
      throw new Failure('UNAUTHENTICATED');
    }
  }

  /** Asks the page's server for a token. It resolves to nothing if no user is signed in. */
  async #ask(): Promise<string | null | undefined> {
    const {token: address} = this.source;
    const about = this.documentId ? {documentId: this.documentId} : {};
    if (!address) {
      const late = setTimeout(() => tell('there are no tokens: set the attribute token, or call setTokens.'), UNSET);
      await set;
      clearTimeout(late);
      return given!(about).catch((e) => {
        console.error('collabdata: the function of setTokens failed', e);
        throw offline();
      });
    }
    let status = 0;
    try {
      const response = await fetch(address, {
        method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(about), credentials: 'same-origin', signal: AbortSignal.timeout(TIMEOUT),
      });
      status = response.status;
      if (response.ok) return (await response.json()).token;
    } catch {
      // No response, or no JSON.
    }
    if (status === 403) tell(`${address} answered 403. If that is its protection against CSRF, exempt the address, or call setTokens with a function that sends its header.`);
    if (status === 401 || status === 403) return undefined;
    if (status) tell(`${address} answered ${status}: it must return {"token"} for a POST of {"documentId"} by a signed-in browser.`);
    throw offline();
  }

  async #send(path: string, data: object, key: string, token: string): Promise<Result> {
    const {api} = this.source;
    const body = JSON.stringify({data: {organizationId: this.#organization, ...data}}, wellFormed);
    const number = ++this.#begun;
    let response: Response;
    let answer;
    try {
      response = await fetch(api + path, {
        method: 'POST',
        headers: {'Content-Type': 'application/json', Authorization: `Bearer ${token}`, ...(key && {'Idempotency-Key': key})},
        body,
        signal: AbortSignal.timeout(TIMEOUT),
        keepalive: !!key && body.length < OUTLIVING,
      });
      this.#unanswered = 0;
      answer = await response.json().catch(() => undefined);
    } catch (e) {
      const failure = offline();
      // A browser ends all requests of a page that is left, which says nothing about the address.
      const again = this.#unanswered && number > this.#unanswered;
      this.#unanswered ||= this.#begun;
      if (failure.status === 'UNAVAILABLE' && (e as Error).name !== 'TimeoutError' && again) {
        tell(`no answer from ${api}: is that the address of the service?`);
      }
      throw failure;
    }
    if (answer?.result) {
      this.#renewed = false;
      return {...answer.result, at: Date.parse(response.headers.get('Date') ?? '') || Date.now()};
    }
    const {status = 'UNAVAILABLE', message, details} = answer?.error ?? {};
    const mistake = key ? /^(UNAUTHENTICATED|PERMISSION_DENIED|INVALID_ARGUMENT|FAILED_PRECONDITION)$/ : /^(UNAUTHENTICATED|PERMISSION_DENIED|INVALID_ARGUMENT)$/;
    if (mistake.test(status)) tell(`${api}${path} answers ${status}: ${message}. ${details ? JSON.stringify(details) : ''}`);
    throw new Failure(status, message, Number(response.headers.get('Retry-After')) * 1000 || 0);
  }
}

/** A value for JSON, without halves of characters, which the service refuses. */
const wellFormed = (_: string, value: unknown): unknown => (typeof value === 'string' ? value.replace(/\p{Surrogate}/gu, '\ufffd') : value);

const organizationOf = (r: Resource): string => r.organizationId ?? r.id;

const all = new Map<string, Access>();
const connected = new Set<Member>();
const SIGN_OUT = 'collab sign-out'; // the channel of all tabs
let channel: BroadcastChannel | undefined;

/** A part of the page that uses the service while it is connected. */
export interface Member {
  readonly isConnected: boolean;
  connectedCallback(): void;
  disconnectedCallback(): void;
}

/** Adds a part of the page. The first one listens to sign-outs. */
export function join(member: Member): void {
  if (!connected.size) {
    channel = new BroadcastChannel(SIGN_OUT);
    channel.onmessage = () => renew(false);
    addEventListener('pageshow', restored);
  }
  connected.add(member);
}

/**
 * Removes a part of the page. The last one to leave forgets the person: another may be signed in
 * when the next one comes.
 */
export function leave(member: Member): void {
  connected.delete(member);
  if (connected.size) return;
  channel?.close();
  removeEventListener('pageshow', restored);
  queueMicrotask(() => connected.size || forget(true));
}

/** The access to a document or the inbox, shared by all parts of a page. */
export function accessOf(source: Source, documentId = ''): Access {
  const {token, organization} = source;
  const api = source.api.replace(/\/$/, '');
  const key = JSON.stringify([api, token, organization, documentId]);
  let access = all.get(key);
  if (!access) all.set(key, (access = new Access({api, token, organization}, documentId)));
  return access;
}

/** Ends a cache of the data of a person. drafts tells whether the tab keeps their drafts. */
type End = (drafts: boolean) => void;
const caches: End[] = [];

/** Registers a cache that ends with the person. */
export function endsWithPerson(end: End): void {
  caches.push(end);
}

/** Forgets the person: the next element asks for a token. */
function forget(drafts: boolean): void {
  for (const end of caches) end(drafts);
  for (const access of all.values()) access.end();
  all.clear();
}

/** Forgets the person, and has the elements begin again. */
function renew(drafts = true): void {
  const elements = [...connected];
  for (const e of elements) e.disconnectedCallback();
  forget(drafts);
  for (const e of elements) if (e.isConnected) e.connectedCallback();
}

/**
 * Ends the session of the person in all tabs: their tokens, drafts, caches and connections. Call it
 * after your server signed them out.
 */
export function signOut(): void {
  renew(false);
  const others = new BroadcastChannel(SIGN_OUT);
  others.postMessage('');
  others.close();
}

/** In a page of the back/forward cache, another user may be signed in, or none. */
const restored = (e: PageTransitionEvent): void => {
  if (e.persisted) renew();
};

/** Draws the parts of an element again, in another language. */
function redraw({renderRoot}: LitElement): void {
  for (const part of renderRoot?.querySelectorAll('*') ?? []) {
    if (!(part instanceof LitElement)) continue;
    part.requestUpdate();
    redraw(part);
  }
}

/** An element that uses the service. */
export class Connected extends LitElement implements Source {
  /** The address of the service. */
  @property() api = '';
  /** The address of your server that returns a token to a signed-in browser. */
  @property() token = '';
  /** The organization, required if the token has several. */
  @property() organization = '';

  readonly #internals = this.attachInternals();

  /**
   * Waits for the texts in the language of the nearest element with a lang, which may be this one.
   */
  protected override scheduleUpdate(): void | Promise<unknown> {
    let at: Element | undefined = this;
    while (at && !at.closest('[lang]')) at = (at.getRootNode() as ShadowRoot).host;
    const update = () => {
      this.#internals.states[isRightToLeft(say('comments')) ? 'add' : 'delete']('rtl');
      return super.scheduleUpdate();
    };
    return load(at?.closest<HTMLElement>('[lang]')?.lang)?.then(update).then(() => redraw(this)) ?? update();
  }

  override connectedCallback(): void {
    join(this);
    super.connectedCallback();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    leave(this);
  }

  /** The access to a document or the inbox, shared by all elements of a page. */
  accessTo(documentId = ''): Access {
    return accessOf(this, documentId);
  }
}
