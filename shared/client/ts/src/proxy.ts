/**
 * Lets the browsers of an application use the service through the application's own server, as the elements of collabdata-elements do. The
 * application says who asks; the handler sets author and user itself, refuses what is not one's own, and calls the service with credentials
 * that never leave the server:
 *
 *     const collab = proxy({
 *       client: new Client({baseURL, apiKey, authToken}),
 *       who: async (request) => {
 *         const s = await sessionOf(request);
 *         return s && {user: {userId: s.user, name: s.name}, organizationId: s.company, canRead: s.mayRead, canWrite: s.mayWrite};
 *       },
 *     });
 *     app.use('/collab', nodeListener(collab)); // Express and node:http; Hono: app.post('/collab/*', (c) => collab(c.req.raw)); Next: export {collab as POST}
 *
 * PROTOCOL.md beside the Go package shared/client/proxy describes the requests. Both take the same ones.
 */
import {createHash} from 'node:crypto';
import type {IncomingMessage, ServerResponse} from 'node:http';

import {ServiceError, type Code} from './errors.js';
import type {Client} from './index.js';
import {Limiter, type Limits} from './limits.js';

export type {Limits} from './limits.js';

/** A person of the application. The e-mail address goes to the service, which sends mail to it, and never to a browser. */
export interface User {
  userId: string;
  name?: string;
  email?: string;
  photoUrl?: string;
}

type May = (documentId: string) => boolean | Promise<boolean>;

/** Who asks, and what that person may do. The application vouches for a document that it lets write: the service makes it where it is missing. */
export interface Caller {
  user: User;
  organizationId: string;
  canRead: May;
  canWrite: May;
}

/** How to ask the application, and how to reach the service. */
export interface ProxyConfig {
  client: Client;
  /** Who sent a request; nothing where nobody is signed in. */
  who(request: Request): Caller | null | undefined | Promise<Caller | null | undefined>;
  /**
   * Those whom the caller may mention in a document: all, at most 1,000, where there are no ids, else those of at most 30 ids. Left out: the
   * users of the organization and of the document, whom users/add makes. Nobody mentions themselves: the caller may be among them, and is left
   * out.
   */
  people?(caller: Caller, documentId: string, ids?: string[]): User[] | Promise<User[]>;
  /**
   * How a document is called in mails, '' for its id: asked when the first thread of a document that the service does not know is begun. Left
   * out: such documents have no name.
   */
  documentName?(caller: Caller, documentId: string): string | Promise<string>;
  /** Bounds what one person may ask for. */
  limits?: Limits;
  /** Gets why requests failed that should not have; console.error unless given. */
  onError?(error: unknown): void;
}

const MAX_BODY = 128 * 1024; // bytes of a request; a comment of 20,000 characters fits into it, whatever they are
const TIMEOUT = 10_000; // ms that a request takes at most once it has arrived
const MAX_SKIPPED = 4 << 20; // bytes that are read of a larger one, and not kept: a browser that is still sending would not see the answer
const NEWEST_PAGE = 100; // threads of the first answer about a document
const OLDER_PAGE = 150; // of each answer about older ones: one of them comes straight after the first
const CHANGED_PAGE = 250; // of an answer about what changed
const MAX_THREADS = 100; // that are asked for by id
const INBOX_PAGE = 30; // notifications of an answer
const MAX_PEOPLE = 1000; // of the organization, and of the document, who may be mentioned
const MAX_MENTIONS = 30; // people whom a comment mentions, and for whom alone a thread is begun
const MAX_CONNECTED = 30; // documents of one connection
const NO_CONNECTIONS = 3600; // s before a page asks for one again where the deployment has none
const NO_CONNECTION = 300; // s, where this page gets none
const OVERLAP = 30_000; // ms that a look for what is new goes back behind the last one: a time is the start of a request, not the moment at which its data can be read
const DELAY = 300_000; // ms that a look at an inbox goes back before the last one: it takes some time until people are told

const HTTP: Record<Code, number> = {
  INVALID_ARGUMENT: 400, FAILED_PRECONDITION: 400, UNAUTHENTICATED: 401, PERMISSION_DENIED: 403, NOT_FOUND: 404, ALREADY_EXISTS: 409,
  ABORTED: 409, RESOURCE_EXHAUSTED: 429, INTERNAL: 500, UNAVAILABLE: 503, DEADLINE_EXCEEDED: 504,
};

class Refusal extends Error {
  constructor(readonly code: Code, message: string, readonly retryAfter = 0) {
    super(message);
  }
}

const is = (e: unknown, code: Code): boolean => e instanceof Refusal && e.code === code;

/** Returns a handler of the requests that PROTOCOL.md describes. It goes by the last element of the path, so that it can be mounted anywhere. */
export function proxy(config: ProxyConfig): (request: Request) => Promise<Response> {
  const limiter = new Limiter(config.limits);
  return async (request) => {
    const headers: Record<string, string> = {'Content-Type': 'application/json', 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff'};
    try {
      return new Response(JSON.stringify(await answer(config, limiter, request)), {headers});
    } catch (e) {
      const {code, message, retryAfter} = e instanceof Refusal ? e : new Refusal('INTERNAL', 'internal error');
      if (code === 'INTERNAL') (config.onError ?? console.error)(e);
      if (retryAfter) headers['Retry-After'] = String(Math.ceil(retryAfter / 1000));
      return new Response(JSON.stringify({error: {status: code, message}}), {status: HTTP[code], headers});
    }
  };
}

/** Whether a page of the application sent the request, or no browser did. */
function ours(request: Request): boolean {
  const site = request.headers.get('sec-fetch-site');
  if (site) return site === 'same-origin' || site === 'none';
  const origin = request.headers.get('origin');
  if (!origin) return true;
  return URL.canParse(origin) && new URL(origin).host === (request.headers.get('host') ?? new URL(request.url).host);
}

async function answer(config: ProxyConfig, limiter: Limiter, request: Request): Promise<object> {
  if (!ours(request)) throw new Refusal('PERMISSION_DENIED', 'requests from other sites are refused');
  const kind = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (request.method !== 'POST' || kind !== 'application/json') throw new Refusal('INVALID_ARGUMENT', 'the request must be a POST of application/json');
  const name = new URL(request.url).pathname.split('/').at(-1)!;
  const asked = Object.hasOwn(REQUESTS, name) ? REQUESTS[name] : undefined;
  if (!asked) throw new Refusal('NOT_FOUND', 'there is no such request');
  const who = await config.who(request);
  if (!who) throw new Refusal('UNAUTHENTICATED', 'nobody is signed in');
  const body = await read(request, asked.fields);
  return within(TIMEOUT, () => new Exchange(config, limiter, who).answer(asked, body));
}

/** What work resolves to, unless it takes more than so many ms. */
async function within<T>(ms: number, work: () => Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout>;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Refusal('DEADLINE_EXCEEDED', 'the request took too long')), ms);
  });
  return Promise.race([work(), late]).finally(() => clearTimeout(timer));
}

type Fields = Record<string, unknown>;

/** What a browser may send: the type of each field. Each request takes the fields that REQUESTS lists for it. */
const TYPES = {
  documentId: '', annotationId: '', commentId: 0, requestId: '', text: '', targetElement: {elementId: '', targetText: '', occurrence: 0},
  visibility: {type: '', people: [{userId: '', name: '', photoUrl: ''}]}, resolved: false, read: false, since: 0, pageToken: '', notificationIds: [''], clicked: false, config: {inbox: '', email: ''},
  documentIds: [''], annotationIds: [''], inbox: false,
};

type Body = Partial<typeof TYPES> & {documentId: string};

/** Whether a value is of the type of another one: objects may have its fields, integers are safe ones. */
function fits(value: unknown, like: unknown): boolean {
  if (Array.isArray(like)) return Array.isArray(value) && value.every((v) => fits(v, like[0]));
  if (typeof value !== typeof like || value === null || Array.isArray(value)) return false;
  if (typeof value === 'object') return Object.entries(value as Fields).every(([k, v]) => Object.hasOwn(like as Fields, k) && fits(v, (like as Fields)[k]));
  return typeof value !== 'number' || Number.isSafeInteger(value);
}

async function read(request: Request, fields: string[]): Promise<Body> {
  const reader = request.body?.getReader();
  const pieces: Uint8Array[] = [];
  for (let size = 0, next; (next = await reader?.read()) && !next.done; ) {
    size += next.value.length;
    if (size > MAX_BODY) {
      await reader!.cancel();
      throw new Refusal('INVALID_ARGUMENT', `the body must have at most ${MAX_BODY} bytes`);
    }
    pieces.push(next.value);
  }
  try {
    const body: unknown = JSON.parse(new TextDecoder('utf-8', {fatal: true}).decode(Buffer.concat(pieces)));
    if (fits(body, TYPES) && Object.keys(body as Fields).every((k) => fields.includes(k))) return body as Body;
  } catch {
    // It is no JSON.
  }
  throw new Refusal('INVALID_ARGUMENT', `the body must be a JSON object with these fields: ${fields.join(', ')}`);
}

// What browsers see has the names of the service's answers. What is not named here does not reach them: e-mail addresses, contexts.
const PERSON = {userId: 1, name: 1, photoUrl: 1};
const USER = {...PERSON, email: 1}; // as the service gets one
const ANNOTATION = {
  annotationId: 1, targetElement: {elementId: 1, targetText: 1, occurrence: 1}, status: {id: 1, name: 1, type: 1}, resolvedByUserId: 1, createdAt: 1, lastUpdated: 1,
  visibility: {type: 1, userIds: 1}, comments: {commentId: 1, commentText: 1, commentHtml: 1, from: PERSON, taggedUserContacts: {userId: 1, contact: PERSON}, createdAt: 1, lastUpdated: 1},
  commentsTruncated: 1, unread: 1,
};
const NOTIFICATION = {
  notificationId: 1, documentId: 1, annotationId: 1, actionUser: PERSON, displayHeadlineMessage: 1, displayBodyMessage: 1, createdAt: 1, read: 1,
};

/** The named members of a value, of each one in an array. */
function pick(value: unknown, names: unknown): unknown {
  if (typeof names !== 'object' || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((v) => pick(v, names));
  return Object.fromEntries(Object.entries(names as Fields).filter(([k]) => Object.hasOwn(value, k)).map(([k, n]) => [k, pick((value as Fields)[k], n)]));
}

/** One request of a caller. */
class Exchange {
  readonly #end = performance.now() + TIMEOUT;

  constructor(readonly config: ProxyConfig, readonly limiter: Limiter, readonly who: Caller) {}

  async answer(asked: Asked, body: Body): Promise<object> {
    this.take(asked.writes || body.config ? 'writes' : 'looks');
    if (asked.right) {
      if (!body.documentId) throw new Refusal('INVALID_ARGUMENT', 'documentId is required');
      if (!(await this.who[asked.right](body.documentId))) throw new Refusal('PERMISSION_DENIED', 'you may not do this in this document');
    }
    return asked.do(this, body);
  }

  /** Counts what the caller does, or refuses it. */
  take(kind: keyof Limits, n = 1): void {
    const wait = this.limiter.take([this.who.organizationId, this.who.user.userId], kind, n);
    if (wait > 0) throw new Refusal('RESOURCE_EXHAUSTED', kind === 'mentions' ? 'you mention too many people' : 'you ask too often', wait);
  }

  /** Calls an operation of the service. That it refuses the server's credentials, or where it is, is no business of the browser's. */
  async call(path: string, data: Fields, requestId?: string): Promise<any> {
    const call = this.config.client.call.bind(this.config.client) as unknown as (path: string, data: Fields, options: object) => Promise<unknown>;
    const ids = [this.who.organizationId, this.who.user.userId, path, requestId];
    const timeout = Math.max(0, this.#end - performance.now());
    const options = {timeout, ...(requestId && {idempotencyKey: createHash('sha256').update(JSON.stringify(ids)).digest('hex')})};
    try {
      return await call(path, {...data, organizationId: this.who.organizationId}, options);
    } catch (e) {
      if (!(e instanceof ServiceError) || e.code === 'UNAUTHENTICATED' || e.code === 'PERMISSION_DENIED' || e.code === 'INTERNAL') throw e;
      throw new Refusal(e.code, e.status ? e.message.slice(e.code.length + 2) : 'the service did not answer', e.retryAfter);
    }
  }

  /** Is call, and undefined for what does not exist. */
  async find(path: string, data: Fields): Promise<any> {
    try {
      return await this.call(path, data);
    } catch (e) {
      if (is(e, 'NOT_FOUND')) return undefined;
      throw e;
    }
  }

  /** Calls an operation that changes a single item, and answers what became of it. */
  async change(path: string, data: Fields, requestId?: string): Promise<any> {
    const [item] = Object.values((await this.call(path, data, requestId)).data as Record<string, any>);
    if (!item?.success) throw new Refusal(item?.code ?? 'NOT_FOUND', item?.message ?? 'there is nothing to change');
    return item;
  }

  /** The newest threads of a document, older ones by pageToken, what changed since a time, or those of some ids. */
  async threads({documentId, annotationIds = [], since, pageToken}: Body) {
    let next = Date.now() - OVERLAP;
    if (annotationIds.length > MAX_THREADS) throw new Refusal('INVALID_ARGUMENT', `annotationIds must be at most ${MAX_THREADS}`);
    const {userId} = this.who.user;
    const canWrite = await this.who.canWrite(documentId);
    const newest = {order: 'desc', pageSize: pageToken ? OLDER_PAGE : NEWEST_PAGE};
    const walk = since ? {updatedAfter: since, includeDeleted: true, pageSize: CHANGED_PAGE} : newest;
    const selected = {documentId, asUserId: userId, unreadFor: userId, ...(annotationIds.length ? {annotationIds} : walk)};
    const page = await this.call('/v2/commentannotations/get', {...selected, ...(pageToken && {pageToken})}).catch((e) => {
      if (!is(e, 'NOT_FOUND') && !(since && is(e, 'FAILED_PRECONDITION'))) throw e;
      next = 0; // what the browser knows is void
    });
    const found = ((page?.data ?? []) as ({annotationId: string; deleted?: boolean} | null)[]).filter((t) => !!t);
    const deleted = found.filter((t) => t.deleted).map((t) => t.annotationId);
    const threads = await this.shown(documentId, found.filter((t) => !t.deleted));
    return {threads, deleted, nextPageToken: page?.nextPageToken ?? '', since: next, user: pick(this.who.user, PERSON), canWrite};
  }

  /** A thread that the caller sees. One that they may not see fails as one that does not exist, with the same words. */
  async thread({documentId, annotationId = ''}: Body): Promise<object> {
    const selected = {documentId, asUserId: this.who.user.userId, annotationIds: [annotationId]};
    const [thread] = (await this.find('/v2/commentannotations/get', selected))?.data ?? [];
    if (!thread) throw new Refusal('NOT_FOUND', 'the thread does not exist');
    return thread;
  }

  /** Answers a thread as it is after a change. */
  async changed(body: Body) {
    const [thread] = await this.shown(body.documentId, [await this.thread(body)]);
    return {thread};
  }

  /**
   * Threads of a document as browsers get them: with people in the place of the users for whom alone they are. One whom the caller may not mention
   * has no name.
   */
  async shown(documentId: string, threads: object[]): Promise<object[]> {
    const list = pick(threads, ANNOTATION) as {visibility?: {type: string; userIds?: string[]}}[];
    const seers = (v?: {type: string; userIds?: string[]}) => (v?.type === 'restricted' ? (v.userIds ?? []) : []);
    const ids = [...new Set(list.flatMap((t) => seers(t.visibility)))];
    const people = ids.length ? await this.mentionable(documentId, ids.length > MAX_MENTIONS ? undefined : ids) : []; // many: all are looked up at once
    const known = new Map([...people, this.who.user].map((u) => [u.userId, pick(u, PERSON)]));
    return list.map((t) => ({
      ...t,
      visibility: t.visibility?.type === 'restricted' ? {type: 'restricted', people: seers(t.visibility).map((userId) => known.get(userId) ?? {userId})} : {type: 'public'},
    }));
  }

  async addThread(body: Body) {
    const {documentId, targetElement, requestId} = body;
    const annotation = {commentData: [await this.written(body)], ...(targetElement && {targetElement}), ...(await this.visibility(body))};
    const data = {documentId, commentAnnotations: [annotation]};
    const add = (flags: Fields = {}) => this.change('/v2/commentannotations/add', {...data, ...flags}, requestId);
    if (!this.config.documentName) {
      const {annotationId} = await add({createOrganization: true, createDocument: true});
      return this.changed({documentId, annotationId});
    }
    const {annotationId} = await add().catch(async (e) => {
      if (!is(e, 'NOT_FOUND')) throw e;
      await this.addDocument(documentId);
      return add();
    });
    return this.changed({documentId, annotationId});
  }

  /** Who may see a thread that the caller begins: the caller, and people whom they may mention. */
  async visibility({documentId, visibility}: Body) {
    if (!visibility) return {};
    const ids = [...new Set((visibility.people ?? []).map((p) => p.userId))].filter((id) => id !== this.who.user.userId);
    if (visibility.type === 'public') {
      if (ids.length) throw new Refusal('INVALID_ARGUMENT', 'visibility.people must be left out where everyone sees the thread');
      return {visibility: {type: 'public'}};
    }
    if (visibility.type !== 'restricted') throw new Refusal('INVALID_ARGUMENT', 'visibility.type must be public or restricted');
    if (!ids.length || ids.length > MAX_MENTIONS) throw new Refusal('INVALID_ARGUMENT', `visibility.people must be 1 to ${MAX_MENTIONS} others`);
    const people = new Set((await this.mentionable(documentId, ids)).map((u) => u.userId));
    if (!ids.every((id) => people.has(id))) throw new Refusal('INVALID_ARGUMENT', 'visibility.people must be people whom you may mention');
    return {visibility: {type: 'restricted', userIds: [...ids, this.who.user.userId]}};
  }

  /**
   * Adds a document, and its organization where it is missing, with the name that the application has for it. That somebody else added it
   * meanwhile is no error.
   */
  async addDocument(documentId: string): Promise<void> {
    const documentName = await this.config.documentName!(this.who, documentId);
    const data = {createOrganization: true, documents: [{documentId, ...(documentName && {documentName})}]};
    await this.change('/v2/organizations/documents/add', data).catch((e) => {
      if (!is(e, 'ALREADY_EXISTS')) throw e;
    });
  }

  async addComment(body: Body) {
    const {documentId, annotationId, requestId} = body;
    const comment = await this.written(body);
    await this.thread(body);
    await this.call('/v2/commentannotations/comments/add', {documentId, annotationId, commentData: [comment]}, requestId);
    return this.changed(body);
  }

  /** A new comment of the caller's, which tells those concerned. */
  async written(body: Body) {
    if (!body.requestId) throw new Refusal('INVALID_ARGUMENT', 'requestId is required');
    return {...(await this.content(body)), from: pick(this.who.user, USER), triggerNotification: true};
  }

  /** A text with those whom its tokens mention. A token of somebody whom the caller may not mention stays a text. */
  async content({documentId, text = ''}: Body) {
    if (!text.trim()) throw new Refusal('INVALID_ARGUMENT', 'text must not be empty');
    const ids = [...new Set(Array.from(text.matchAll(/\{\{([^{}]+)\}\}/g), (m) => m[1]!))];
    if (ids.length > MAX_MENTIONS) throw new Refusal('INVALID_ARGUMENT', `text must mention at most ${MAX_MENTIONS} people`);
    const people = ids.length ? (await this.mentionable(documentId, ids)).filter((u) => ids.includes(u.userId)) : [];
    this.take('mentions', people.length);
    return {commentText: text, taggedUserContacts: people.map((u) => ({userId: u.userId, contact: pick(u, USER)}))};
  }

  /** How an operation selects the comment, which the caller must have written. */
  async own({documentId, annotationId, commentId}: Body) {
    const selected = {documentId, annotationId, commentIds: [commentId]};
    const [comment] = (await this.call('/v2/commentannotations/comments/get', {...selected, asUserId: this.who.user.userId})).data;
    if (!comment) throw new Refusal('NOT_FOUND', 'the comment does not exist');
    if (comment.from.userId !== this.who.user.userId) throw new Refusal('PERMISSION_DENIED', 'the comment is not yours');
    return selected;
  }

  async editComment(body: Body) {
    const comment = await this.own(body);
    await this.change('/v2/commentannotations/comments/update', {...comment, updatedData: {...(await this.content(body)), commentHtml: null}});
    return this.changed(body);
  }

  /** Deletes a comment. Its thread stays, even without comments: so other windows learn of it. */
  async deleteComment(body: Body) {
    await this.change('/v2/commentannotations/comments/delete', await this.own(body));
    return this.changed(body);
  }

  async resolveThread(body: Body) {
    const status = body.resolved ? {id: 'RESOLVED', name: 'Resolved', type: 'terminal'} : {id: 'OPEN', name: 'Open', type: 'default'};
    const {documentId, annotationId = ''} = body;
    const {userId} = this.who.user;
    const updatedData = {status, statusUpdatedByUserId: userId, ...(body.resolved && {resolvedByUserId: userId})};
    await this.thread(body);
    await this.change('/v2/commentannotations/update', {documentId, annotationIds: [annotationId], updatedData});
    return this.changed(body);
  }

  /** Says that the caller has seen the comments of a thread, or none of them. */
  async readThread(body: Body) {
    const {documentId, annotationId = '', read = false} = body;
    await this.thread(body);
    await this.change('/v2/commentannotations/read/set', {documentId, userId: this.who.user.userId, annotationIds: [annotationId], read});
    return {};
  }

  /** A page of the caller's notifications, newest first, those alone that were made since a time where there is one, and without those of documents that the caller may not read. */
  async inbox({since, pageToken}: Body) {
    const {userId} = this.who.user;
    const next = Date.now() - DELAY;
    const page = await this.find('/v2/notifications/get', {userId, pageSize: INBOX_PAGE, ...(since && {createdAfter: since}), ...(pageToken && {pageToken})});
    const readable = new Map<string, boolean>();
    for (const {documentId} of page?.data ?? []) {
      if (!readable.has(documentId)) readable.set(documentId, await this.who.canRead(documentId));
    }
    const notifications = pick((page?.data ?? []).filter((n: any) => readable.get(n.documentId)), NOTIFICATION);
    return {notifications, nextPageToken: page?.nextPageToken ?? '', since: next, user: pick(this.who.user, PERSON)};
  }

  /**
   * The address of a connection by which the service tells of changes, of those documents that the caller may read; an empty one, and after how
   * many seconds to ask again, where there is none.
   */
  async connect({documentIds = [], inbox = false}: Body) {
    if (documentIds.length > MAX_CONNECTED) throw new Refusal('INVALID_ARGUMENT', `documentIds must be at most ${MAX_CONNECTED}`);
    const readable: string[] = [];
    for (const id of documentIds) if (await this.who.canRead(id)) readable.push(id);
    if (!inbox && !readable.length) return {url: '', retryAfter: NO_CONNECTION};
    const data = {userId: this.who.user.userId, inbox, ...(readable.length && {documentIds: readable})};
    try {
      const {url} = (await this.call('/v2/live/tickets/add', data)).data;
      return {url, retryAfter: 0};
    } catch (e) {
      const {code, retryAfter} = e as {code?: Code; retryAfter?: number};
      if (code === 'FAILED_PRECONDITION') return {url: '', retryAfter: NO_CONNECTIONS};
      if (code === 'NOT_FOUND' || code === 'PERMISSION_DENIED') return {url: '', retryAfter: NO_CONNECTION};
      if (code === 'RESOURCE_EXHAUSTED') return {url: '', retryAfter: Math.max(NO_CONNECTION, Math.ceil((retryAfter ?? 0) / 1000))};
      throw e;
    }
  }

  /** Marks notifications of the caller's as read, or as clicked, too. Those that the caller does not have are passed over. */
  async readInbox({notificationIds = [], clicked}: Body) {
    const {userId} = this.who.user;
    const notifications = [...new Set(notificationIds)].map((id) => ({id, [clicked ? 'clickedByUserIds' : 'readByUserIds']: [userId]}));
    await this.call('/v2/notifications/update', {userId, notifications});
    return {};
  }

  /** What the caller is told of a document, after setting it where the request says what. */
  async preferences({documentId, config}: Body) {
    const {userId} = this.who.user;
    if (config) await this.call('/v2/notifications/config/set', {userIds: [userId], documentIds: [documentId], config});
    const {data} = await this.call('/v2/notifications/config/get', {userId, documentIds: [documentId]});
    return pick(data[0], {config: {inbox: 1, email: 1}}) as object;
  }

  async people({documentId}: Body) {
    return {people: pick(await this.mentionable(documentId), PERSON)};
  }

  /** Those whom the caller may mention in a document, of the ids where there are some. */
  async mentionable(documentId: string, ids?: string[]): Promise<User[]> {
    const all = this.config.people ? await this.config.people(this.who, documentId, ids) : await this.users(documentId, ids);
    return all.filter((u) => u.userId !== this.who.user.userId);
  }

  /** The users of the organization and of a document, as the service knows them, of the ids where there are some. */
  async users(documentId: string, ids?: string[]): Promise<User[]> {
    const all = new Map<string, User>();
    for (const at of [{}, {documentId}]) {
      const page = await this.find('/v2/users/get', {...at, pageSize: MAX_PEOPLE, ...(ids && {userIds: ids})});
      for (const user of (page?.data ?? []) as User[]) if (!all.has(user.userId)) all.set(user.userId, user);
    }
    return [...all.values()];
  }
}

/** A request, with its fields and the right that it needs on its document, if it has one. */
interface Asked {
  fields: string[];
  right?: 'canRead' | 'canWrite';
  /** It counts as a write, else as a look; preferences does where it sets some. */
  writes?: boolean;
  do(x: Exchange, body: Body): Promise<object>;
}

/** The requests by name. */
const REQUESTS: Record<string, Asked> = {
  'threads': {fields: ['documentId', 'annotationIds', 'since', 'pageToken'], right: 'canRead', do: (x, b) => x.threads(b)},
  'add-thread': {fields: ['documentId', 'requestId', 'text', 'targetElement', 'visibility'], right: 'canWrite', writes: true, do: (x, b) => x.addThread(b)},
  'add-comment': {fields: ['documentId', 'annotationId', 'requestId', 'text'], right: 'canWrite', writes: true, do: (x, b) => x.addComment(b)},
  'edit-comment': {fields: ['documentId', 'annotationId', 'commentId', 'text'], right: 'canWrite', writes: true, do: (x, b) => x.editComment(b)},
  'delete-comment': {fields: ['documentId', 'annotationId', 'commentId'], right: 'canWrite', writes: true, do: (x, b) => x.deleteComment(b)},
  'resolve-thread': {fields: ['documentId', 'annotationId', 'resolved'], right: 'canWrite', writes: true, do: (x, b) => x.resolveThread(b)},
  'read-thread': {fields: ['documentId', 'annotationId', 'read'], right: 'canRead', writes: true, do: (x, b) => x.readThread(b)},
  'people': {fields: ['documentId'], right: 'canRead', do: (x, b) => x.people(b)},
  'preferences': {fields: ['documentId', 'config'], right: 'canRead', do: (x, b) => x.preferences(b)},
  'inbox': {fields: ['since', 'pageToken'], do: (x, b) => x.inbox(b)},
  'connect': {fields: ['documentIds', 'inbox'], do: (x, b) => x.connect(b)},
  'read-inbox': {fields: ['notificationIds', 'clicked'], writes: true, do: (x, b) => x.readInbox(b)},
};

/** Returns a listener of node:http, which is middleware of Express too. It must come before what reads bodies, such as express.json(). */
export function nodeListener(handler: (request: Request) => Promise<Response>): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (incoming, outgoing) => {
    try {
      const headers = new Headers();
      for (const [name, value] of Object.entries(incoming.headers)) for (const v of [value ?? []].flat()) headers.append(name, v);
      const pieces: Buffer[] = [];
      let size = 0;
      for await (const piece of incoming.iterator({destroyOnReturn: false})) {
        if (size <= MAX_BODY) pieces.push(piece as Buffer); // beyond it the handler refuses the request
        size += (piece as Buffer).length;
        if (size > MAX_SKIPPED) break;
      }
      const method = incoming.method ?? 'GET';
      const init = {method, headers, ...(method !== 'GET' && method !== 'HEAD' && {body: Buffer.concat(pieces)})};
      const response = await handler(new Request(new URL(incoming.url ?? '/', 'http://application'), init));
      if (size > MAX_SKIPPED) outgoing.setHeader('Connection', 'close');
      outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
    } catch {
      outgoing.destroy(); // the browser is gone, or sent what is no request
    }
  };
}
