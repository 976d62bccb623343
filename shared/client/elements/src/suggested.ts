import type {css as Css, html as Html, LitElement as Lit, nothing as Nothing} from 'lit';

import type {isolated as Isolated} from './direction.js';
import type {KeepFocus as Keep} from './focus.js';
import type {ShownThread} from './overlay.js';
import type {nameOf as NameOf} from './person.js';
import type {Suggestion} from './protocol.js';
import type {Store} from './store.js';
import type {base as Base} from './styles.js';
import type {Key, say as Say} from './texts.js';

/** What the element is made of: the code that is rarely needed has no Lit of its own. */
export interface Parts {
  css: typeof Css;
  html: typeof Html;
  LitElement: typeof Lit;
  nothing: typeof Nothing;
  base: typeof Base;
  isolated: typeof Isolated;
  KeepFocus: typeof Keep;
  nameOf: typeof NameOf;
  say: typeof Say;
  valueOf: (value: unknown) => string;
}

const LONGEST_REASON = 600; // characters; the service stores 2,000 bytes

/** The detail of collab-suggestion: the reader's decision about a suggestion. */
export interface Decision {
  annotationId: string;
  documentId: string;
  status: 'accepted' | 'rejected';
  suggestion: Suggestion;
  /** The text of the document has changed since the suggestion: it may have no oldValue to replace. */
  stale: boolean;
}

/**
 * The element of a suggested change: the old and the new text, and the decision or the buttons to
 * make it.
 *
 * @fires collab-suggestion - the service has stored the reader's decision: detail.annotationId,
 * detail.documentId, detail.status, detail.suggestion, detail.stale
 */
export function suggested({css, html, LitElement, nothing, base, isolated, KeepFocus, nameOf, say, valueOf}: Parts): CustomElementConstructor {
  return class SuggestionElement extends LitElement {
    static override properties = {store: {attribute: false}, thread: {attribute: false}, stale: {type: Boolean}, rejecting: {state: true}};

    declare store: Store;
    declare thread: ShownThread;
    /** The text has changed since the suggestion. */
    declare stale: boolean;
    declare rejecting: boolean;

    constructor() {
      super();
      this.stale = this.rejecting = false;
      new KeepFocus(this, 'button', () => this.renderRoot.querySelector<HTMLElement>('.decision'));
    }

    static override styles = [
      base,
      css`
        div { margin-bottom: 6px; }
        del, ins { display: block; white-space: pre-wrap; overflow-wrap: anywhere; padding: 2px 8px; border-radius: 4px; }
        del { background: color-mix(in srgb, var(--_danger) 12%, transparent); }
        ins { background: light-dark(#dff3e4, #17361f); text-decoration: none; margin-top: 2px; }
        .row { margin: 6px 0 0; }
        .decision { color: var(--_soft); font-size: .93em; margin-top: 4px; }
        .decision:focus { outline: none; }
      `,
    ];

    override render() {
      const {suggestion} = this.thread;
      if (!suggestion) return nothing;
      const {summary, oldValue, newValue, status = 'pending', rejectReason} = suggestion;
      return html`
        <div part="suggestion" role="group" aria-label=${say('suggestion')}>
          ${summary ? html`<p dir="auto">${summary}</p>` : nothing}
          ${valueOf(oldValue) ? html`<span class="said">${say('oldText')}: </span><del dir="auto">${valueOf(oldValue)}</del>` : nothing}
          ${valueOf(newValue) ? html`<span class="said">${say('newText')}: </span><ins dir="auto">${valueOf(newValue)}</ins>` : nothing}
          ${status !== 'pending'
            ? html`<p class="decision" tabindex="-1">${this.#decision(suggestion, status)}</p>${valueOf(rejectReason) ? html`<p class="decision" dir="auto">${valueOf(rejectReason)}</p>` : nothing}`
            : this.store.canWrite && this.thread.annotationId ? this.#buttons() : nothing}
        </div>`;
    }

    #decision({resolvedBy}: Suggestion, status: string): string {
      if (!resolvedBy?.userId || !/^(accepted|rejected)$/.test(status)) return say(`suggestion.${status}` as Key);
      return say(`suggestion.${status}By` as Key, {name: isolated(nameOf(this.store.named(resolvedBy)))});
    }

    #buttons(): unknown {
      return html`
        ${this.rejecting ? html`<label class="soft">${say('rejectReason')}<textarea dir="auto" maxlength=${LONGEST_REASON} @keydown=${this.#key}></textarea></label>` : nothing}
        <div class="row">
          ${this.rejecting ? html`<button type="button" @click=${this.#cancel}>${say('cancel')}</button>` : html`<button type="button" class=${this.stale ? 'line' : 'main'} part="accept" @click=${() => this.#decide({status: 'accepted'})}>${say('accept')}</button>`}
          <button type="button" class="line" part="reject" @click=${this.#reject}>${say('reject')}</button>
        </div>`;
    }

    /** Asks for the reason, then rejects. */
    #reject = (): void => {
      if (this.rejecting) {
        const rejectReason = this.renderRoot.querySelector('textarea')!.value.trim();
        this.#decide({status: 'rejected', ...(rejectReason && {rejectReason})});
      }
      this.rejecting = !this.rejecting;
      if (this.rejecting) void this.updateComplete.then(() => this.renderRoot.querySelector('textarea')!.focus());
    };

    #cancel = (): void => {
      this.rejecting = false;
      this.renderRoot.querySelector<HTMLElement>('.line')!.focus();
    };

    #key = (e: KeyboardEvent): void => {
      if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) this.#reject();
      if (e.key !== 'Escape') return;
      this.#cancel();
      e.stopPropagation();
    };

    /** Sends a decision, and keeps the thread in sight. */
    #decide(decision: Suggestion & Pick<Decision, 'status'>): void {
      const {store, thread} = this;
      const {annotationId} = thread;
      const detail: Decision = {annotationId, documentId: store.access.documentId, status: decision.status, suggestion: {...thread.suggestion, ...decision}, stale: this.stale};
      // the thread may have left the page when the service answers
      const path: EventTarget[] = [this];
      for (let at: Element | undefined = this; (at = (at.getRootNode() as ShadowRoot).host); ) path.push(at);
      const done = () => (path.find((e) => (e as Node).isConnected) ?? document).dispatchEvent(new CustomEvent('collab-suggestion', {bubbles: true, composed: true, detail}));
      this.dispatchEvent(new CustomEvent('collab-opened', {bubbles: true, composed: true, detail: {thread}}));
      store.send({name: 'decide', thread: thread.key, suggestion: decision, done});
    }
  };
}
