import type {LitElement, ReactiveController} from 'lit';

/** The focused element in any shadow root; null for the page itself. */
export function focused(root: DocumentOrShadowRoot = document): HTMLElement | null {
  const at = root.activeElement as HTMLElement | null;
  return at?.shadowRoot?.activeElement ? focused(at.shadowRoot) : at === document.body ? null : at;
}

/**
 * Keeps the focus in an element when it is redrawn: in the same place or, if that is gone, in the
 * one that next returns.
 */
export class KeepFocus implements ReactiveController {
  #had: HTMLElement | null = null;
  #index = -1;

  /** next gets the index of the item that had the focus, or -1. */
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
