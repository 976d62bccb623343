import {html, nothing} from 'lit';

import {newThread} from './drafts.js';
import {late, type Late} from './menu.js';
import type {Target} from './protocol.js';
import type {Store} from './store.js';
import {say} from './texts.js';

let loaded: Late | undefined;

/** The drafts of a store whose thread or comment was deleted: see lostDrafts. */
export function goneDrafts(store: Store, start?: (target?: Target) => void, annotationId?: string): unknown {
  if (!store.lost.length) return nothing;
  if (loaded) return loaded.lostDrafts({html, newThread, say}, store, start, annotationId);
  void late().then((l) => {
    loaded = l;
    store.tell();
  }, () => {});
  return nothing;
}
