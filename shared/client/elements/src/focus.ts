import type {LitElement, ReactiveController} from 'lit';

/** The element that has the focus, in whatever shadow it is; null where it is the page itself. */
export function focused(root: DocumentOrShadowRoot = document): HTMLElement | null {
  const at = root.activeElement as HTMLElement | null;
  return at?.shadowRoot?.activeElement ? focused(at.shadowRoot) : at === document.body ? null : at;
}

/** Keeps the focus in an element when it is drawn again: where it was, or, where that is gone, where next says. */
export class KeepFocus implements ReactiveController {
  #had: HTMLElement | null = null;
  #index = -1;

  /** next gets which of the items had the focus, counted from 0; -1 for none of them. */
  constructor(readonly host: LitElement, readonly items: string, readonly next: (index: number) => HTMLElement | null | undefined) {
    host.addController(this);
  }

  hostUpdate(): void {
    const root = this.host.shadowRoot;
    this.#had = root?.activeElement ? focused(root) : null;
    if (this.#had) this.#index = [...root!.querySelectorAll(this.items)].findIndex((e) => e === root!.activeElement || e.contains(root!.activeElement));
  }

  hostUpdated(): void {
    const had = this.#had;
    this.#had = null;
    if (had && !this.host.shadowRoot?.activeElement) (had.isConnected ? had : this.next(this.#index))?.focus();
  }
}
