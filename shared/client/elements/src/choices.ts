import type {ShownComment, ShownThread} from './overlay.js';
import {nameOf, type Person} from './person.js';
import {LEVELS, seersOf, type Visibility} from './protocol.js';
import type {Store} from './store.js';
import type {say as Say} from './texts.js';
import type {joined as Joined} from './time.js';

/** A choice of a menu. */
export interface Choice {
  label: string;
  act: () => void;
  /** Of a choice that can be chosen: whether it is. */
  checked?: boolean;
  /** It deletes something. */
  danger?: boolean;
  /** The heading above it, for the first choice of a group. */
  heading?: string;
  /** The CSS part of the group. */
  part?: string;
}

/** What a reader does to a comment. */
export type Act = 'edit' | 'copyLink' | 'markUnread' | 'delete';

/** Texts in the language of the page. */
interface Parts {
  say: typeof Say;
  joined: typeof Joined;
}

/** The menu of a comment; that of the first one is the menu of the thread. */
export function choicesOf({say, joined}: Parts, store: Store, t: ShownThread, c: ShownComment, act: (name: Act) => void): Choice[] {
  const {user: {userId: me}, canWrite} = store;
  const first = c === t.comments[0];
  const mine = c.from.userId === me && canWrite;
  const own = (name: Act, offered: boolean): Choice[] => (offered ? [{label: say(name), danger: name === 'delete', act: () => act(name)}] : []);
  const levels = LEVELS.map((level, i) => ({
    label: say(`level.${level}`), checked: t.level === level, ...(!i && {heading: say('follow'), part: 'follow'}), act: () => store.send({name: 'follow-thread', thread: t.key, level}),
  }));
  return [
    ...own('edit', mine), ...own('copyLink', !!navigator.clipboard), ...own('markUnread', first && !t.unread && t.comments.some((other) => other.from.userId !== me)),
    ...(first && canWrite && (t.from ?? c.from).userId === me ? audiences({say, joined}, store, t) : []), ...(first ? levels : []), ...own('delete', mine),
  ];
}

/** The readers that the author can choose: everyone, or the participants. */
function audiences({say, joined}: Parts, store: Store, t: ShownThread): Choice[] {
  const people = new Map<string, Person>();
  for (const p of t.visibility?.people ?? t.comments.flatMap((c) => [c.from, ...(c.tags ?? []).filter((tag) => !tag.group)])) if (p.userId !== store.user.userId) people.set(p.userId, store.named(p));
  const share = (visibility: Visibility) => () => store.send({name: 'update-thread', thread: t.key, changes: {visibility}});
  const restricted = {type: 'restricted', people: people.size ? [...people.values()] : [store.user]} as const;
  return [
    {label: say('everyone'), checked: !seersOf(t), heading: say('visibleTo'), act: share({type: 'public'})},
    {label: say('only', {names: joined([...[...people.values()].map(nameOf), say('you')])}), checked: !!seersOf(t), act: share(restricted)},
  ];
}
