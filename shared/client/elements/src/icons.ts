import {html, type TemplateResult} from 'lit';

/** The lines of the icons, in a square of 16. */
const LINES = {
  attach: 'M13.5 7.2 8 12.7a3.2 3.2 0 0 1-4.6-4.6l5.8-5.7a2.1 2.1 0 0 1 3 3l-5.7 5.7A1 1 0 0 1 5 9.6l5.2-5.2',
  bell: 'M4 11V7.5a4 4 0 0 1 8 0V11l1 1.5H3zM6.5 14.5h3',
  bold: 'M4.5 2.5h4a2.6 2.6 0 0 1 0 5.3h-4zm0 5.3h4.8a2.8 2.8 0 0 1 0 5.7H4.5z',
  check: 'm3 8.5 3.5 3.5L13 4.5',
  close: 'm4 4 8 8M12 4l-8 8',
  code: 'M5 4.5 1.5 8 5 11.5M11 4.5 14.5 8 11 11.5',
  down: 'm5 6.5 3 3 3-3',
  emoji: 'M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0zM5.5 9.5q2.5 3 5 0M6 6v.4M10 6v.4',
  eye: 'M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM10 8a2 2 0 1 1-4 0 2 2 0 0 1 4 0z',
  list: 'M6 4h8M6 8h8M6 12h8M2.5 4v.1M2.5 8v.1M2.5 12v.1',
  lock: 'M3.5 7.5h9v6h-9zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5',
  mention: 'M10.6 8a2.6 2.6 0 1 1-5.2 0 2.6 2.6 0 0 1 5.2 0zm0-2.6v3.3a1.7 1.7 0 0 0 3.4 0V8a6 6 0 1 0-2.4 4.8',
  more: 'M4 8a.5.5 0 1 1-1 0 .5.5 0 0 1 1 0zM8.5 8a.5.5 0 1 1-1 0 .5.5 0 0 1 1 0zM13 8a.5.5 0 1 1-1 0 .5.5 0 0 1 1 0z',
  muted: 'M4 11V7.5a4 4 0 0 1 8 0V11l1 1.5H3zM6.5 14.5h3M2 2l12 12',
  pencil: 'm10.5 3 2.5 2.5L5.5 13l-3 .5.5-3z',
  people: 'M6 7.5a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.6zM1.8 13c.3-2.3 2-3.7 4.2-3.7s3.9 1.4 4.2 3.7M11 3.2a2.2 2.2 0 0 1 0 4.2M12 9.6c1.3.5 2 1.7 2.2 3.4',
  react: 'M12.8 7A5.5 5.5 0 1 1 9 2.7M5 9.5q2.4 2.8 4.8 0M5.7 6.3v.4M9.2 6.3v.4M13 1v4M11 3h4',
  reopen: 'M3 2.5v4h4M3.3 6.5A5.3 5.3 0 1 1 2.8 9.5',
};
export type Icon = keyof typeof LINES;

/** An icon in the color of the text next to it. Screen readers ignore it. */
export const icon = (name: Icon): TemplateResult => html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d=${LINES[name]}></path></svg>`;
