/**
 * The code that is rarely needed: menus, the palette of emojis, places in the margin, suggestions
 * and the times of emails. It is loaded at the first use.
 */
import type {Choice} from './choices.js';

export {choicesOf} from './choices.js';
export {lostDrafts} from './lost.js';
export {suggested} from './suggested.js';
export {emailsView} from './times.js';

const EMOJIS = [
  '👍❤️😄🎉😕👀🙏🚀', '✅👎🔥💡😂🤔😍👏', '😊😉😅😢😮😎🤯😬', '🙂🙃😇🥳😴😭😡🤷', '💪🤝👋👌✌️🤞☝️🫶', '💯⭐⚡🏁🏆🎯📌📎', '❓❗⚠️⛔🚧🐛🔒⏳', '➕➖✏️📝📅📈📉☕',
].flatMap((row) => [...new Intl.Segmenter().segment(row)].map(({segment}) => segment));
const COLUMNS = 8;

const LOOK = new CSSStyleSheet();
LOOK.replaceSync(`
.menu {
  position: fixed; inset: auto; margin: 0; padding: 4px; width: max-content; max-width: min(320px, calc(100vw - 16px)); overflow: auto; color: var(--_ink); font: inherit;
  background: var(--_paper); border: 1px solid var(--_line); border-radius: var(--_radius); box-shadow: 0 8px 28px rgb(0 0 0 / .22);
}
.menu button { display: flex; align-items: center; gap: 8px; width: 100%; min-height: 32px; padding: 4px 12px 4px 8px; text-align: start; }
.menu button::before { content: ''; flex: none; width: 14px; }
.menu:not(:has([aria-checked])) button::before { display: none; }
.menu [aria-checked=true]::before { content: '✓'; }
.menu button:focus { outline: none; background: color-mix(in srgb, var(--_accent) 16%, transparent); }
.menu button:focus-visible { outline: 2px solid var(--_accent); outline-offset: -2px; }
.menu .danger { color: var(--_danger); }
.menu [role=group] + [role=group], .menu [role=group] + button, .menu button + [role=group] { border-top: 1px solid var(--_line); margin-top: 4px; padding-top: 4px; }
.menu p { padding: 4px 8px; font-size: .86em; color: var(--_soft); }
.menu.emojis { display: none; grid-template-columns: repeat(${COLUMNS}, 32px); }
.menu.emojis:popover-open { display: grid; }
.menu.emojis button { display: grid; place-items: center; padding: 0; font-size: 1.25em; }
.menu.emojis button::before { display: none; }
.menu.emojis [aria-checked=true] { background: color-mix(in srgb, var(--_accent) 20%, transparent); }
@media (pointer: coarse) { .menu button { min-height: 40px; } .menu.emojis { grid-template-columns: repeat(${COLUMNS}, 40px); max-width: none; } }
`);

const GAP = 4; // px between a button and its menu
const EDGE = 8; // px between a menu and the edge of the window
const LEAST = 160; // px of the height of a menu in a small window

/** Opens a menu at a button. If it is open, it is closed. */
export function menu(button: HTMLButtonElement, label: string, choices: Choice[]): void {
  const list = opened(button, label);
  if (!list) return;
  let group: HTMLElement = list;
  for (const {label, act, checked, danger, heading, part} of choices) {
    if (heading) {
      group = list.appendChild(document.createElement('div'));
      group.role = 'group';
      group.ariaLabel = heading;
      if (part) group.setAttribute('part', part);
      const shown = group.appendChild(document.createElement('p'));
      shown.textContent = heading;
      shown.ariaHidden = 'true';
    } else if (checked === undefined) group = list;
    const item = itemOf(list, group, button, label, act);
    if (danger) item.className = 'danger';
    if (checked === undefined) continue;
    item.role = 'menuitemradio';
    item.ariaChecked = `${checked}`;
  }
  show(list, button, 1);
}

/** Opens the palette of emojis at a button. If it is open, it is closed. */
export function emojis(button: HTMLButtonElement, label: string, choose: (emoji: string) => void, chosen: (emoji: string) => boolean): void {
  const list = opened(button, label);
  if (!list) return;
  list.classList.add('emojis');
  list.setAttribute('part', 'palette');
  for (const emoji of EMOJIS) {
    const item = itemOf(list, list, button, emoji, () => choose(emoji));
    item.role = 'menuitemcheckbox';
    item.ariaChecked = `${chosen(emoji)}`;
  }
  show(list, button, COLUMNS);
}

/** A new menu of a button; undefined if it closed the one that was open. */
function opened(button: HTMLButtonElement, label: string): HTMLElement | undefined {
  const open = button.popoverTargetElement as HTMLElement | null;
  if (open) return void open.hidePopover();
  const home = button.getRootNode() as ShadowRoot;
  if (!home.adoptedStyleSheets.includes(LOOK)) home.adoptedStyleSheets.push(LOOK);
  const list = document.createElement('div');
  list.className = 'menu';
  list.role = 'menu';
  list.ariaLabel = label;
  list.popover = 'auto';
  home.append(list);
  return list;
}

function itemOf(list: HTMLElement, group: HTMLElement, button: HTMLElement, label: string, act: () => void): HTMLButtonElement {
  const item = group.appendChild(document.createElement('button'));
  item.type = 'button';
  item.role = 'menuitem';
  item.tabIndex = -1;
  item.textContent = label;
  item.onclick = (e) => {
    e.stopPropagation();
    list.hidePopover();
    button.focus({preventScroll: true});
    act();
  };
  return item;
}

/** Shows a menu inside the window, and handles its keys. */
function show(list: HTMLElement, button: HTMLButtonElement, columns: number): void {
  const items = [...list.querySelectorAll('button')];
  const focus = (at: number): void => items.at(at % items.length)!.focus({preventScroll: true});
  list.onkeydown = (e) => {
    const at = items.indexOf(e.target as HTMLButtonElement);
    const forward = columns < 2 ? 0 : getComputedStyle(list).direction === 'rtl' ? -1 : 1;
    const to = {ArrowDown: at + columns, ArrowUp: at - columns, ArrowRight: at + forward, ArrowLeft: at - forward, Home: 0, End: -1}[e.key];
    const named = e.key.length === 1 ? [...items.slice(at + 1), ...items.slice(0, at + 1)].find((item) => item.textContent!.toLowerCase().startsWith(e.key.toLowerCase())) : undefined;
    if (e.key === 'Tab') return list.hidePopover(); // the focus moves on from the button
    e.stopPropagation();
    if (to !== undefined) focus(to);
    else if (e.key === 'Escape') list.hidePopover();
    else if (named && e.key !== ' ') named.focus();
    else return;
    e.preventDefault();
  };
  const place = (): void => placed(list, button);
  list.addEventListener('beforetoggle', (e) => {
    if (e.newState === 'open') return;
    removeEventListener('scroll', place, true);
    removeEventListener('resize', place);
    if (list.contains((button.getRootNode() as ShadowRoot).activeElement)) button.focus({preventScroll: true});
    button.popoverTargetElement = null;
    button.ariaExpanded = 'false';
    queueMicrotask(() => list.remove());
  });
  button.popoverTargetElement = list; // a click on it does not close the menu by itself
  button.ariaExpanded = 'true';
  list.showPopover();
  place();
  addEventListener('scroll', place, {capture: true, passive: true});
  addEventListener('resize', place);
  focus(0);
}

/** Places a menu at its button, inside the window. */
function placed(list: HTMLElement, button: HTMLElement): void {
  const {left, right, top, bottom} = button.getBoundingClientRect();
  const above = top - GAP - EDGE;
  const below = innerHeight - bottom - GAP - EDGE;
  const {style, offsetWidth: width, scrollHeight: height} = list;
  const up = height > below && above > below;
  const room = Math.max(up ? above : below, LEAST);
  style.maxHeight = `${room}px`;
  style.left = `${Math.max(EDGE, Math.min(left + width > innerWidth - EDGE ? right - width : left, innerWidth - width - EDGE))}px`;
  style.top = `${Math.max(EDGE, Math.min(up ? top - GAP - Math.min(height, room) : bottom + GAP, innerHeight - EDGE - Math.min(height, room)))}px`;
}

const SPACE = 8; // px between threads in the margin

/**
 * Places the items of a list at the height of their marks. They do not overlap: the active one is at
 * its mark, and the others make room for it. The list is as high as its items.
 */
export function arrange(list: HTMLElement, active: Element | null, markOf: (item: Element) => Range | undefined): void {
  const {top} = list.getBoundingClientRect();
  const notes = [...list.children].map((element) => {
    const mark = markOf(element)?.getBoundingClientRect();
    return {element: element as HTMLElement, height: (element as HTMLElement).offsetHeight + SPACE, wanted: mark ? Math.max(mark.top - top, 0) : 0, place: 0};
  });
  if (!active || !notes.length) return down(list, notes, 0);
  const at = notes.findIndex(({element}) => element === active);
  const [note] = notes.splice(at, 1); // a draft is the first
  const next = notes.findIndex(({wanted}, i) => wanted > note!.wanted || (i >= at && wanted === note!.wanted));
  const before = next < 0 ? notes.length : next;
  notes.splice(before, 0, note!);
  // Those above move up as far as there is room, and those below follow.
  down(list, notes, 0);
  let end = (note!.place = Math.max(note!.wanted, notes.slice(0, before).reduce((sum, {height}) => sum + height, 0)));
  for (const above of notes.slice(0, before).reverse()) end = above.place = Math.min(above.place, end - above.height);
  down(list, notes, before);
}

/** Places notes from one on at their marks, or below those before them. */
function down(list: HTMLElement, notes: {element: HTMLElement; height: number; wanted: number; place: number}[], from: number): void {
  let end = from ? notes[from]!.place : 0;
  for (const note of notes.slice(from)) {
    note.place = Math.max(from && note === notes[from] ? note.place : note.wanted, end);
    end = note.place + note.height;
  }
  for (const {element, place} of notes) element.style.top = `${place}px`;
  list.style.height = `${Math.max(end, 0)}px`;
}

/** Moves the focus to the next control after the selected text, or to the one before it. */
export function leave(home: Document, back: boolean): void {
  const selection = home.getSelection()!;
  const range = selection.rangeCount ? selection.getRangeAt(0) : undefined;
  const stops = [...home.querySelectorAll<HTMLElement>('a[href], button, input, select, textarea, summary, [tabindex], [contenteditable]')].filter((e) => e.tabIndex >= 0 && e.checkVisibility());
  const side = back ? -1 : 1;
  const beyond = (e: Element) => range?.comparePoint(e, 0) === side;
  (back ? stops.findLast(beyond) : stops.find(beyond))?.focus();
}

/** The lines of a text from one place to another, as a list, or without it if they are one already. */
export function listed(text: string, from: number, to: number): {start: number; end: number; lines: string} {
  const start = text.lastIndexOf('\n', from - 1) + 1;
  const last = to > from && text[to - 1] === '\n' ? to - 1 : text.indexOf('\n', to);
  const end = last < 0 ? text.length : last;
  const lines = text.slice(start, end).split('\n');
  const all = lines.every((line) => /^[-*] /.test(line));
  return {start, end, lines: lines.map((line) => (all ? line.slice(2) : `- ${line}`)).join('\n')};
}
