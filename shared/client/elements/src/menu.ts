import type {Choice} from './choices.js';

export type Late = typeof import('./late.js');

/** The code that is rarely needed. */
export const late = (): Promise<Late> => import('./late.js');

/** Opens a menu at the button that was clicked, or closes it. It does not open without choices. */
export function openMenu(e: Event, label: string, choices: (late: Late) => Choice[] | Promise<Choice[]>): void {
  e.preventDefault(); // a second click would open it again
  const button = e.currentTarget as HTMLButtonElement;
  late().then(async (l) => {
    const list = await choices(l);
    if (list.length) l.menu(button, label, list);
  }).catch(failed);
}

/** Opens the palette of emojis at the button that was clicked, or closes it. */
export function openEmojis(e: Event, label: string, choose: (emoji: string) => void, chosen = (_: string) => false): void {
  e.preventDefault();
  const button = e.currentTarget as HTMLButtonElement;
  late().then((l) => l.emojis(button, label, choose, chosen), failed);
}

const failed = (e: unknown): void => console.error('collabdata: late.min.js, which belongs next to elements.min.js, could not be loaded', e);
