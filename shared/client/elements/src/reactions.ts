import {css, html, LitElement, type TemplateResult} from 'lit';
import {property} from 'lit/decorators.js';
import {repeat} from 'lit/directives/repeat.js';

import {KeepFocus} from './focus.js';
import {hasReacted, sameEmoji, type ShownComment, type ShownThread} from './overlay.js';
import {nameOf} from './person.js';
import type {Reaction} from './protocol.js';
import type {Store} from './store.js';
import {base} from './styles.js';
import {say} from './texts.js';
import {joined} from './time.js';

/** Whether the reader has reacted to a comment with an emoji. */
export const hasChosen = ({user}: Store, {reactions = []}: ShownComment, emoji: string): boolean => reactions.some((r) => sameEmoji(r.emoji, emoji) && hasReacted(r, user.userId));

/** Adds the reader's reaction, or deletes it. */
export function react(store: Store, {key}: ShownThread, c: ShownComment, emoji: string): void {
  store.send({name: 'react', thread: key, commentId: c.commentId, emoji, reacted: !hasChosen(store, c, emoji)});
}

/** The reactions to a comment. */
export class ReactionsElement extends LitElement {
  @property({attribute: false}) store!: Store;
  @property({attribute: false}) thread!: ShownThread;
  @property({attribute: false}) comment!: ShownComment;

  constructor() {
    super();
    new KeepFocus(this, '.chip', () => (this.getRootNode() as ShadowRoot).host as HTMLElement);
  }

  static override styles = [
    base,
    css`
      .chip { border: 1px solid var(--_line); border-radius: 14px; padding: 1px 8px; font-size: .93em; min-height: 26px; }
      .chip[aria-pressed='true'] { border-color: var(--_accent); background: color-mix(in srgb, var(--_accent) 14%, transparent); }
    `,
  ];

  override render() {
    return html`<div class="row" part="reactions" role="group" aria-label=${say('reactions')}>${repeat(this.comment.reactions ?? [], (r) => r.emoji, (r) => this.#chip(r))}</div>`;
  }

  #chip(r: Reaction): TemplateResult {
    const me = this.store.user.userId;
    const names = r.users.filter((u) => u.userId !== me).map((u) => nameOf(this.store.named(u)));
    if (hasReacted(r, me)) names.push(say('you'));
    if (r.count > r.users.length) names.push(say('moreNames', {count: r.count - r.users.length}));
    const who = joined(names);
    const label = say('reaction', {emoji: r.emoji, count: r.count, names: who});
    const text = `${r.emoji} ${r.count}`;
    if (!this.store.canWrite) return html`<span class="chip" part="reaction" role="img" aria-label=${label} title=${who}>${text}</span>`;
    return html`<button type="button" class="chip" part="reaction" aria-pressed=${hasReacted(r, me)} aria-label=${label} title=${who} @click=${() => react(this.store, this.thread, this.comment, r.emoji)}>${text}</button>`;
  }
}
customElements.define('collab-reactions', ReactionsElement);
