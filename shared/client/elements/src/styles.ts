import {css} from 'lit';

/**
 * Styles of all elements. They inherit nothing of the page except custom properties, its
 * color-scheme, which light-dark() follows, and whether they are hidden.
 */
export const base = css`
  :host {
    all: initial; color-scheme: inherit; visibility: inherit; pointer-events: inherit; -webkit-locale: inherit; -webkit-text-size-adjust: inherit; text-size-adjust: inherit;
    --_ink: var(--collab-ink, light-dark(#1c2430, #e8ecf2));
    --_soft: var(--collab-ink-soft, light-dark(#566171, #a3afbf));
    --_paper: var(--collab-paper, light-dark(#ffffff, #171c24));
    --_raised: var(--collab-raised, light-dark(#f4f6f9, #202733));
    --_line: var(--collab-line, light-dark(#d5dbe4, #37414f));
    --_accent: var(--collab-accent, light-dark(#0b57d0, #8ab4ff));
    --_on-accent: var(--collab-on-accent, light-dark(#ffffff, #0b1a33));
    --_danger: var(--collab-danger, light-dark(#b3261e, #ffb4ab));
    --_quote: var(--collab-quote, #d99a00);
    --_radius: var(--collab-radius, 8px);
    font: var(--collab-font, 14px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif);
    color: var(--_ink);
    display: block;
  }
  :host([hidden]), [hidden] { display: none !important; }
  *, *::before { box-sizing: border-box; }
  button {
    font: inherit; color: inherit; background: none; border: 1px solid transparent; border-radius: 6px; padding: 3px 9px; cursor: pointer; min-height: 28px;
  }
  button:hover { background: color-mix(in srgb, currentColor 9%, transparent); }
  button:disabled { opacity: .55; cursor: default; }
  button.main { flex: none; white-space: nowrap; background: var(--_accent); color: var(--_on-accent); font-weight: 600; }
  button.main:hover:enabled { background: color-mix(in srgb, var(--_accent) 86%, var(--_ink)); }
  button[aria-pressed='true'] { background: var(--_raised); border-color: var(--_line); font-weight: 600; }
  button.line { border-color: var(--_line); }
  button.link { color: var(--_accent); padding: 0 4px; }
  :focus-visible { outline: 2px solid var(--_accent); outline-offset: 1px; }
  a { color: var(--_accent); }
  ol, ul { list-style: none; margin: 0; padding: 0; }
  h2, p { margin: 0; font-size: 1em; }
  time, .soft { color: var(--_soft); }
  summary, label { min-height: 24px; }
  summary { cursor: pointer; padding: 4px 0; }
  input[type=checkbox] { width: 18px; height: 18px; margin: 3px; accent-color: var(--_accent); }
  select, input, textarea { font: inherit; color: inherit; background: var(--_paper); border: 1px solid color-mix(in srgb, var(--_ink) 50%, transparent); border-radius: 6px; padding: 3px 6px; }
  textarea { display: block; width: 100%; min-height: 40px; border-radius: var(--_radius); padding: 8px 10px; field-sizing: content; resize: vertical; }
  ::placeholder { color: var(--_soft); opacity: 1; }
  .row { display: flex; align-items: center; gap: 6px; flex-wrap: wrap; }
  .grow { flex: 1; min-width: 0; }
  .error { color: var(--_danger); }
  svg.icon { flex: none; display: block; width: 16px; height: 16px; fill: none; stroke: currentColor; stroke-width: 1.5; stroke-linecap: round; stroke-linejoin: round; }
  button.icon { display: grid; place-items: center; flex: none; width: 28px; padding: 0; color: var(--_soft); }
  .said { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
  .avatar {
    flex: none; width: 28px; height: 28px; border-radius: 50%; display: grid; place-items: center; overflow: hidden; font-size: 11px; font-weight: 650; color: #fff;
    background: #5f6b7a;
  }
  .avatar.group { border-radius: 6px; }
  .avatar img { width: 100%; height: 100%; object-fit: cover; }
  .h1 { background: #8e3b9c; } .h2 { background: #1a6fb0; } .h3 { background: #2c7a4b; } .h4 { background: #a8480c; } .h5 { background: #b12c57; } .h6 { background: #4c55b8; }
  .dot { flex: none; width: 8px; height: 8px; border-radius: 50%; background: var(--_accent); }
  .lost { border: 1px dashed var(--_danger); border-radius: var(--_radius); padding: 8px 10px; margin-bottom: 8px; background: var(--_paper); }
  .lost textarea { margin: 6px 0; }
  @media (pointer: coarse), (max-width: 600px) { select, input, textarea { font-size: max(16px, 1em); } button { min-height: 32px; } button.icon { width: 32px; } }
  @media (forced-colors: active) { .dot { background: Highlight; forced-color-adjust: none; } button[aria-pressed='true'] { border-color: Highlight; } }
  @media print { button, input, select, textarea, summary, .said { display: none !important; } }
  @media (prefers-reduced-motion: no-preference) { button { transition: background-color .12s; } }
`;

/** Styles of the content of comments. */
export const rich = css`
  .text { overflow-wrap: anywhere; white-space: pre-wrap; }
  .text.html { white-space: normal; }
  .html > :first-child { margin-top: 0; } .html > :last-child { margin-bottom: 0; }
  .html ul { list-style: disc; padding-inline-start: 22px; } .html ol { list-style: decimal; padding-inline-start: 22px; } .html p + p { margin-top: .6em; }
  .html blockquote { margin: 4px 0; padding-inline-start: 8px; border-inline-start: 3px solid var(--_line); color: var(--_soft); }
  .html code { background: var(--_raised); border-radius: 4px; padding: 0 3px; }
  .html pre { overflow-x: auto; white-space: pre; } .html h1, .html h2, .html h3 { font-size: 1.08em; }
  .mention { color: var(--_accent); font-weight: 600; }
  .mention.mine { background: color-mix(in srgb, var(--_quote) 25%, transparent); border-radius: 4px; padding: 0 2px; color: inherit; }
`;

/** A sheet at the bottom of a narrow window, above a keyboard. */
export const sheet = css`
  position: fixed; z-index: 4; inset: auto 0 var(--_keyboard, 0); max-height: min(65dvh, calc(var(--_height, 100dvh) - 8px)); overflow: auto; overscroll-behavior: contain; margin: 0; padding: 12px 16px;
  background: var(--_paper); border: 1px solid var(--_line); border-width: 1px 0 0; border-radius: 14px 14px 0 0; box-shadow: 0 -6px 28px rgb(0 0 0 / .28);
`;

/** The windows in which sheets are. */
export const narrow = (): boolean => matchMedia('(max-width: 600px)').matches;

/** Styles of elements in pages: the frame has the direction of its texts. */
export const frame = [base, css`:host { direction: ltr; } :host(:state(rtl)) { direction: rtl; }`];
