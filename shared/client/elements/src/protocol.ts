/** The requests of the elements. See the operations for persons in the reference at /docs. */
import type {Access, Result} from './access.js';
import {isolated} from './direction.js';
import {Failure, newId, patient} from './failure.js';
import {nameOf, type Person} from './person.js';
import {say} from './texts.js';

/**
 * The place of a thread: an element, or an occurrence of a text in it, counted from 1, with the
 * text before and after it.
 */
export interface Target {
  elementId?: string;
  targetText?: string;
  occurrence?: number;
  prefix?: string;
  suffix?: string;
}

/** A file of a comment. The service only stores its address. */
export interface Attachment {
  name?: string;
  mimeType?: string;
  size?: number;
  url?: string;
}

/** The users that reacted to a comment with an emoji. */
export interface Reaction {
  emoji: string;
  count: number;
  /** At most 50; the reader is among them if they reacted. */
  users: Person[];
}

/** An agent that wrote a comment: free-form. */
export interface Agent {
  agentName?: unknown;
  avatar?: unknown;
}

/** A suggested change of the document, with the decision about it. */
export interface Suggestion {
  oldValue?: unknown;
  newValue?: unknown;
  summary?: string | null;
  status?: string;
  rejectReason?: string;
  resolvedBy?: Person;
}

export interface Comment {
  commentId: number;
  commentText?: string;
  commentHtml?: string;
  from: Person;
  /** The people and groups in its tokens. */
  tags?: Person[] | undefined;
  attachments?: Attachment[];
  reactions?: Reaction[];
  /** Free-form data of your pages, at most 8 KB. */
  context?: object;
  agent?: Agent;
  createdAt: string;
  lastUpdated: string;
}

/** The readers of a thread: all readers of the document, or only these people. */
export interface Visibility {
  type: 'public' | 'restricted';
  people?: Person[];
}

/** The level of notifications about a thread; default means the preferences for the document. */
export const LEVELS = ['default', 'all', 'mentions', 'none'] as const;
export type Level = (typeof LEVELS)[number];

export interface Thread {
  annotationId: string;
  /** Who began it. */
  from?: Person;
  targetElement?: Target;
  type?: string;
  suggestion?: Suggestion;
  status: {id: string; name?: string; type?: unknown};
  resolvedByUserId?: string;
  createdAt: string;
  lastUpdated: string;
  visibility?: Visibility;
  /** The reader's level for it. */
  level?: Level;
  comments: Comment[];
  commentsTruncated?: boolean;
  unread?: boolean;
  /** Free-form data of your pages, at most 8 KB. */
  context?: object;
}

/** A change of the place, the data or the readers of a thread. */
export interface ThreadChanges {
  targetElement?: Target;
  context?: object;
  visibility?: Visibility;
}

export interface Notification {
  notificationId: string;
  documentId: string;
  documentName?: string;
  annotationId?: string;
  targetText?: string;
  commentIds?: number[];
  actionUser: Person;
  displayHeadlineMessage: string;
  displayBodyMessage?: string;
  createdAt: string;
  read: boolean;
}

/** Notification preferences: ALL, MINE or NONE for each channel. */
export interface Channels {
  inbox?: string | undefined;
  email?: string | undefined;
}

/** The times of the reader's emails in the organization; never means none. */
export interface Emails {
  frequency: (typeof FREQUENCIES)[number];
  /** Of weekly, in timeZone. */
  day: string;
  /** Of daily and weekly: 0 to 23, in timeZone. */
  hour: number;
  /** Times without emails, in timeZone. */
  quiet?: Quiet | undefined;
  timeZone?: string | undefined;
  /** Why the reader's address accepts no email, if it does not. */
  state?: string | undefined;
  /** The preferences for the organization. */
  config: Channels;
}
export const FREQUENCIES = ['instant', 'hourly', 'daily', 'weekly', 'never'] as const;
export const DAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;

/** Hours of each day, as HH:MM, and whole days without emails. */
export interface Quiet {
  from?: string | undefined;
  to?: string | undefined;
  days?: string[] | undefined;
}

/** A change by the reader. id is the Idempotency-Key of the request. */
interface Write {
  id: string;
  annotationId: string;
  commentId?: number | undefined;
  text?: string | undefined;
  html?: string | undefined;
  seen?: string | undefined;
  tags?: Person[] | undefined;
  attachments?: Attachment[] | undefined;
  target?: Target | undefined;
  only?: Person[] | undefined;
  resolved?: boolean | undefined;
  level?: Level | undefined;
  emoji?: string | undefined;
  reacted?: boolean | undefined;
  context?: object | undefined;
  threadContext?: object | undefined;
  suggestion?: Suggestion | undefined;
  changes?: ThreadChanges | undefined;
}

export const MOST_PEOPLE = 30; // people and groups in a response
const SEARCHED_PAGES = 5; // of 1,000 searched people
const NEWEST_PAGE = 100; // threads in the first response about a document
const OLDER_PAGE = 150; // threads in responses about older ones; one follows the first directly
const CHANGED_PAGE = 250; // threads in a response about changes
const MOST_UPDATED = 30; // notifications in a request
const DAILY = 8; // hour of a daily or weekly email
const INBOX_PAGE = 30; // notifications in a response
// ms that a poll overlaps the last one: times are of the request's start, before its data is
// readable
const OVERLAP = 30_000;
const DELAY = 300_000; // ms that a poll of an inbox overlaps: notifications are delayed
// ms until a page asks for a connection again if the deployment has none
const NO_CONNECTIONS = 3_600_000;
const NO_CONNECTION = 300_000; // ms, if this page gets none

const failed = (e: unknown, ...statuses: string[]): boolean => statuses.includes((e as Failure).status);

/** Placeholder of missing data. */
const unlessMissing = (e: Failure): undefined => {
  if (!failed(e, 'NOT_FOUND')) throw e;
};

/** The first item of a bulk operation's result. It throws if an item failed. */
function changed({data}: Result): {annotationId: string; commentId: number | undefined} {
  const items = Object.values(data) as {success: boolean; code?: string; message?: string; annotationId: string; commentIds?: number[]}[];
  const item = items.find((i) => !i.success) ?? items[0];
  if (!item?.success) throw new Failure(item?.code ?? 'NOT_FOUND', item?.message);
  return {...item, commentId: item.commentIds?.[0]};
}

const content = ({text, html, tags, attachments, context}: Write) => ({
  commentText: text, ...(html && {commentHtml: html}), ...(context && {context}), taggedUserContacts: (tags ?? []).map(({userId, group}) => (group ? {organizationUserGroupId: userId} : {userId})), ...(attachments?.length && {attachments: attachments.map((a, i) => ({...a, attachmentId: i + 1}))}),
});

/** A thread or deleted thread in the service's response to a person. */
type Annotation = Omit<Thread, 'visibility' | 'comments'> & {
  deleted?: boolean; visibility?: {type: string; userIds?: string[]}; subscribedUsers?: Subscriptions; unsubscribedUsers?: Subscriptions;
  comments: (Comment & {taggedUserContacts?: Tag[]})[];
};
type Subscriptions = Record<string, {level: Level}>;
type Tag = {userId: string; contact?: Person; organizationUserGroupId?: string; text?: string};

const taggedOf = ({userId, contact, organizationUserGroupId: id, text}: Tag): Person => (id ? {userId: id, name: text, group: true} : (contact ?? {userId}));

const threadOf = ({visibility, subscribedUsers, unsubscribedUsers, ...t}: Annotation): Thread => ({
  ...t, level: Object.values({...subscribedUsers, ...unsubscribedUsers})[0]?.level ?? 'default',
  comments: t.comments.map(({taggedUserContacts, ...c}) => ({...c, tags: taggedUserContacts?.map(taggedOf)})),
  ...(visibility?.type === 'restricted' && {visibility: {type: 'restricted', people: (visibility.userIds ?? []).map((userId) => ({userId}))}}),
});

const THREADS = '/v2/commentannotations';
const INBOX = '/v2/notifications';

/** A target in a request, which the service merges with the present one. */
const NOWHERE = {elementId: null, targetText: null, occurrence: null, prefix: null, suffix: null};

/** A visibility in a request: for these people, or for everyone. */
const visibleTo = (people?: Person[]) => people ? {type: 'restricted', userIds: people.map((p) => p.userId)} : {type: 'public'};

async function update(to: Access, w: Write, updatedData: object): Promise<Write> {
  changed(await to.call(`${THREADS}/update`, {documentId: to.documentId, annotationIds: [w.annotationId], updatedData}, w.id));
  return w;
}

/** The requests by name. */
const REQUESTS = {
  /**
   * The newest threads, older ones by pageToken, those changed since a time, or those of some ids.
   * If since is 0 in the response, known threads are invalid.
   */
  async threads(to: Access, {annotationIds, since, pageToken}: {annotationIds?: string[]; since?: number; pageToken?: string}) {
    const {documentId} = to;
    const walk = annotationIds ? {annotationIds} : since ? {updatedAfter: since, includeDeleted: true, pageSize: CHANGED_PAGE} : {order: 'desc', pageSize: pageToken ? OLDER_PAGE : NEWEST_PAGE};
    const page = await to.call(`${THREADS}/get`, {documentId, ...walk, ...(pageToken && {pageToken})}).catch((e) => {
      if (!failed(e, annotationIds ? 'NOT_FOUND' : '', since ? 'FAILED_PRECONDITION' : '')) throw e;
    });
    const found = ((page?.data ?? []) as (Annotation | null)[]).filter((t) => !!t);
    return {
      threads: found.filter((t) => !t.deleted).map(threadOf), deleted: found.filter((t) => t.deleted).map((t) => t.annotationId),
      nextPageToken: page?.nextPageToken ?? '', since: page ? page.at - OVERLAP : 0, user: to.user, canWrite: to.canWrite,
    };
  },
  async 'add-thread'(to: Access, w: Write) {
    const thread = {
      ...(w.target && {targetElement: w.target}), ...(w.threadContext && {context: w.threadContext}), ...(w.only && {visibility: visibleTo(w.only)}),
      ...(w.suggestion && {type: 'suggestion', suggestion: w.suggestion}), commentData: [content(w)],
    };
    return changed(await to.call(`${THREADS}/add`, {documentId: to.documentId, commentAnnotations: [thread]}, w.id));
  },
  async 'add-comment'(to: Access, w: Write) {
    const {data} = await to.call(`${THREADS}/comments/add`, {documentId: to.documentId, annotationId: w.annotationId, commentData: [content(w)]}, w.id);
    return {...w, commentId: data[0] as number};
  },
  async 'edit-comment'(to: Access, w: Write) {
    const updatedData = {commentHtml: null, ...content(w)};
    changed(await to.call(`${THREADS}/comments/update`, {documentId: to.documentId, annotationId: w.annotationId, commentIds: [w.commentId], updatedData, ...(w.seen && {lastUpdated: w.seen})}, w.id));
    return w;
  },
  async 'delete-comment'(to: Access, w: Write) {
    changed(await to.call(`${THREADS}/comments/delete`, {documentId: to.documentId, annotationId: w.annotationId, commentIds: [w.commentId]}, w.id));
    return w;
  },
  'resolve-thread': (to: Access, w: Write) => update(to, w, {status: {id: w.resolved ? 'RESOLVED' : 'OPEN'}}),
  decide: (to: Access, w: Write) => update(to, w, {suggestion: w.suggestion}),
  'update-thread'(to: Access, {changes: {targetElement, visibility, ...rest} = {}, ...w}: Write) {
    return update(to, w, {...rest, ...(targetElement && {targetElement: {...NOWHERE, ...targetElement}}), ...(visibility && {visibility: visibleTo(visibility.people)})});
  },
  async react(to: Access, w: Write) {
    const {annotationId, commentId, emoji} = w;
    await to.call(`${THREADS}/comments/reactions/${w.reacted ? 'add' : 'delete'}`, {documentId: to.documentId, annotationId, commentId, emoji}, w.id);
    return w;
  },
  async 'follow-thread'(to: Access, w: Write) {
    await to.call(`${INBOX}/config/set`, {documentIds: [to.documentId], annotationIds: [w.annotationId], level: w.level}, w.id);
    return w;
  },
  async 'read-thread'(to: Access, {annotationId, read}: {annotationId: string; read: boolean}) {
    changed(await to.call(`${THREADS}/read/set`, {documentId: to.documentId, annotationIds: [annotationId], read}, newId()));
    return {};
  },
  /** The time until which the reader has seen the comments of a thread, or 0 if unknown. */
  async 'read-until'(to: Access, {annotationId}: {annotationId: string}) {
    const {data} = await to.call(`${THREADS}/read/get`, {documentIds: [to.documentId]});
    const states = (data as {annotationId?: string; read: boolean; readAt: number}[]).filter((s) => !s.annotationId || s.annotationId === annotationId);
    const {read, readAt} = states.sort((a, b) => b.readAt - a.readAt)[0] ?? {};
    return {until: (read && readAt) || 0};
  },
  async people(to: Access, {searchKey, userIds}: {searchKey?: string; userIds?: string[]}) {
    const key = searchKey ? {searchKey} : {};
    const find = async (path: string, data: object) => {
      const list: any[] = [];
      let pageToken: string | undefined;
      for (let page = 0; page < (searchKey ? SEARCHED_PAGES : 1); page++) {
        const answer = await patient(() => to.call(path, {...key, ...data, ...(pageToken && {pageToken})})).catch(unlessMissing);
        list.push(...(answer?.data ?? []));
        if (!(pageToken = answer?.nextPageToken) || list.length >= MOST_PEOPLE) break;
      }
      return {list, more: !!pageToken};
    };
    const [people, groups] = await Promise.all([
      find('/v2/users/get', {documentId: to.documentId, ...(userIds && {userIds})}),
      userIds ? {list: [], more: false} : find('/v2/organizations/usergroups/get', {}),
    ]);
    return {
      people: [...people.list, ...groups.list.map((g) => ({userId: g.groupId, name: g.groupName, group: true}))] as Person[], more: people.more || groups.more,
    };
  },
  /**
   * The reader's preferences for a document, after a change. A channel with all activity follows
   * the document; while the reader does not follow it, ALL means MINE.
   */
  async preferences(to: Access, {change}: {change?: Channels | undefined}): Promise<Channels> {
    const documentIds = [to.documentId];
    if (change) {
      const config = {...(await REQUESTS.preferences(to, {})), ...change};
      const level = Object.values(config).includes('ALL') ? 'all' : 'default';
      await to.call(`${INBOX}/config/set`, {documentIds, config, level}, newId());
    }
    const {config: {inbox, email}, level} = (await to.call(`${INBOX}/config/get`, {documentIds})).data[0];
    const shown = (choice: string) => (choice === 'ALL' && level !== 'all' ? 'MINE' : choice);
    return {inbox: shown(inbox), email: shown(email)} as Channels;
  },
  /** The times of the reader's emails, after setting them if set is given. */
  async emails(to: Access, {set}: {set?: Emails}) {
    if (!set) {
      const {config, mailFrequency, mailDay, mailHour, quietHours, timeZone, emailState} = (await to.call(`${INBOX}/config/get`, {getOrganizationConfig: true})).data[0];
      const frequency = config.email === 'NONE' ? 'never' : (mailFrequency ?? 'instant');
      return {frequency, day: mailDay ?? DAYS[0], hour: mailHour ?? DAILY, quiet: quietHours, timeZone, state: emailState, config} as Emails;
    }
    const {config} = set;
    const never = set.frequency === 'never';
    const {frequency, quiet: {from, to: until, days} = {}} = set;
    const nights = from && until && from !== until ? {from, to: until} : {};
    const quietHours = {...nights, ...(days?.length && {days})};
    const times = {
      mailFrequency: frequency, ...(frequency === 'weekly' && {mailDay: set.day}), ...(/^(daily|weekly)$/.test(frequency) && {mailHour: set.hour}),
      quietHours: Object.keys(quietHours).length ? quietHours : null, timeZone: set.timeZone,
    };
    if (never !== (config.email === 'NONE')) await to.call(`${INBOX}/config/set`, {config: {...config, email: never ? 'NONE' : null}}, newId());
    if (!never) await to.call(`${INBOX}/config/set`, times, newId());
    return set;
  },
  async inbox(to: Access, {since, pageToken, locale}: {since?: number; pageToken?: string; locale?: string | undefined}) {
    const page = await to.call(`${INBOX}/get`, {pageSize: INBOX_PAGE, ...(locale && {locale}), ...(since && {createdAfter: since}), ...(pageToken && {pageToken})});
    const {count, more} = page.unreadCount ?? {count: 0};
    return {notifications: page.data as Notification[], nextPageToken: page.nextPageToken ?? '', unread: count, more: !!more, since: page.at - DELAY, user: to.user, locale};
  },
  /**
   * Marks notifications as read until a time, or one as clicked and others of its thread as read.
   */
  async 'read-inbox'(to: Access, what: {readUntil: number} | {clicked?: string | undefined; read: string[]}) {
    if ('readUntil' in what) {
      await to.call(`${INBOX}/update`, what, newId());
      return {};
    }
    const me = [to.user.userId];
    const all: object[] = what.read.map((id) => ({id, readByUserIds: me}));
    if (what.clicked) all.unshift({id: what.clicked, clickedByUserIds: me});
    for (let i = 0; i < all.length; i += MOST_UPDATED) changed(await to.call(`${INBOX}/update`, {notifications: all.slice(i, i + MOST_UPDATED)}, newId()));
    return {};
  },
  /**
   * The address of a connection, for a document also with the inbox, or an empty address with the
   * time in ms to ask again.
   */
  async connect(to: Access, {inbox}: {inbox: boolean}) {
    try {
      return {url: (await to.call('/v2/live/tickets/add', {...(to.documentId && {documentIds: [to.documentId]}), ...(inbox && {inbox})})).data.url as string, retryAfter: 0};
    } catch (e) {
      if (failed(e, 'FAILED_PRECONDITION')) return {url: '', retryAfter: NO_CONNECTIONS};
      if (failed(e, 'NOT_FOUND', 'PERMISSION_DENIED')) return {url: '', retryAfter: NO_CONNECTION};
      throw e;
    }
  },
};

type Requests = typeof REQUESTS;
export type Answers = {[N in keyof Requests]: Awaited<ReturnType<Requests[N]>>};

/** Sends a request to the service. It rejects with a Failure. */
export const ask = <N extends keyof Requests>(to: Access, name: N, body: Parameters<Requests[N]>[1]): Promise<Answers[N]> => (REQUESTS[name] as any)(to, body);

/** The author of a comment, with the picture of its agent, and the agent's name if the author has none. */
export function authorOf({from, agent}: Comment): Person {
  const {agentName, avatar} = agent ?? {};
  return {...from, ...(!from.name && typeof agentName === 'string' && {name: agentName}), ...(typeof avatar === 'string' && {photoUrl: avatar})};
}

/** The name of the author of a comment, and that of the agent with which they wrote it. */
export function signatureOf(c: Comment): string {
  const name = nameOf(authorOf(c));
  const agent = c.agent?.agentName;
  return typeof agent === 'string' && agent && agent !== name ? say('withAgent', {name: isolated(name), agent: isolated(agent)}) : name;
}

/** The only readers of a thread, its first author first; undefined for everyone. */
export function seersOf({visibility, comments}: Thread): Person[] | undefined {
  if (visibility?.type !== 'restricted') return undefined;
  const author = comments[0]?.from;
  const others = (visibility.people ?? []).filter((p) => p.userId !== author?.userId);
  return author ? [author, ...others] : others;
}

export const isResolved = (t: Thread): boolean => t.status.type === 'terminal';
