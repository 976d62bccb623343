import type {html as Html, TemplateResult} from 'lit';

import type {newThread as NewThread} from './drafts.js';
import type {Target} from './protocol.js';
import type {Store} from './store.js';
import type {say as Say} from './texts.js';

/** What they are drawn with: the code that is rarely needed has no Lit of its own. */
export interface Parts {
  html: typeof Html;
  newThread: typeof NewThread;
  say: typeof Say;
}

/**
 * The drafts of a store whose thread or comment was deleted. Each has its text, and buttons to copy
 * and discard it. With start, a button starts a new thread with it at the same place.
 */
export const lostDrafts = ({html, newThread, say}: Parts, store: Store, start?: (target?: Target) => void, annotationId?: string): TemplateResult[] =>
  store.lost.filter((lost) => annotationId === undefined || lost.annotationId === annotationId).map(({place, draft, target, edit}) => {
    const discard = () => {
      store.drafts.set(place);
      store.tell();
    };
    const move = () => {
      const {seen: _, id: __, ...kept} = draft;
      const there = store.drafts.get(newThread(target));
      store.drafts.set(newThread(target), {...there, ...kept, target, text: [there?.text, kept.text].filter(Boolean).join('\n\n'), people: [...(there?.people ?? []), ...kept.people]});
      discard();
      start!(target);
    };
    return html`<div class="lost" part="draft" role="group" aria-label=${say(edit ? 'lostEdit' : 'lostReply')}>
      <p role="alert">${say(edit ? 'lostEdit' : 'lostReply')}</p>
      <textarea readonly dir="auto" part="textarea" aria-label=${say(edit ? 'lostEdit' : 'lostReply')} .value=${draft.text}></textarea>
      <div class="row">${navigator.clipboard ? html`<button type="button" @click=${() => void navigator.clipboard.writeText(draft.text)}>${say('copyText')}</button>` : ''}
        ${start && store.canWrite ? html`<button type="button" class="main" @click=${move}>${say('startThread')}</button>` : ''}
        <button type="button" @click=${discard}>${say('discard')}</button></div></div>`;
  });
