import type {InboxElement} from './inbox.js';
import type {ThreadElement} from './thread.js';
import type {ThreadsElement} from './threads.js';

/**
 * The attributes that a framework may set on an element: these, and those of every element in Base.
 */
type Set<Base, Own, Needed extends keyof Own> = Base & Partial<Own> & Pick<Own, Needed>;

type Reach = 'api' | 'token' | 'organization';

/**
 * The elements by name, for the types of a framework's templates. Base has the framework's
 * attributes of every element, such as React.HTMLAttributes<HTMLElement> &
 * React.RefAttributes<HTMLElement>.
 */
export interface Elements<Base = object> {
  'collab-threads': Set<Base, Pick<ThreadsElement, Reach | 'document' | 'for' | 'href' | 'placement'>, 'api' | 'document'>;
  'collab-thread': Set<Base, Pick<ThreadElement, Reach | 'document' | 'thread' | 'comment' | 'href'>, 'api' | 'document' | 'thread'>;
  'collab-inbox': Set<Base, Pick<InboxElement, Reach | 'href'>, 'api'>;
}
