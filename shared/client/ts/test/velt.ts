// Code that must compile: answers of version 2 fit the types of the documented API's own client.
// Each list of fields is exact. The compiler reports a field that does not fit and is not in its
// list, and a field that is in its list and fits.
import type {Attachment, AutocompleteUserContactReplaceData, Comment, CommentAnnotation, Reaction, SuggestionData, User} from '@veltdev/types';
import type {Item} from '../src/index.js';
import type {components} from '../src/schema.js';

type Schemas = components['schemas'];

/** T as its JSON: times as text, and enumerations as their values. */
type Sent<T> = T extends Date ? string : T extends string ? `${T}` : T extends object ? {[K in keyof T]: Sent<T[K]>} : T;

/**
 * T as a back end receives it from version 2: with the fields that persons and version 1 do not
 * receive. Scripts check that the answers have them, and that those in Empty are empty.
 */
type Received<T, Typed extends keyof T, Empty extends keyof T> =
  Omit<T, Typed | Empty> & {[K in Typed]-?: T[K]} & {[K in Empty]-?: Required<T>[K] extends unknown[] ? never[] : Record<string, never>};

/** The fields of Theirs that Ours lacks or has with another type. */
type Unfit<Ours, Theirs> = {[K in keyof Theirs]-?: Pick<Ours, K & keyof Ours> extends Sent<Pick<Theirs, K>> ? never : K}[keyof Theirs];

/** True if the fields of Theirs that do not fit are Fields. */
type Except<Ours, Theirs, Fields> = Check<Exclude<Unfit<Ours, Theirs>, Fields>, Exclude<Fields, Unfit<Ours, Theirs>>>;
type Check<Unfit, Needless> = [Unfit, Needless] extends [never, never] ? true : {unfit: Unfit; needless: Needless};

export const annotation: Except<
  Received<NonNullable<Item<'/v2/commentannotations/get'>>, never, 'commentCategories' | 'iam'>,
  CommentAnnotation,
  | 'comments' // see comment
  | 'from' // absent if the request that added the annotation had no author and no comments
  | 'priority' // see priority
  | 'status' // see status
  | 'suggestion' // see suggestion
  | 'targetElement' // see target
> = true;

export const comment: Except<
  Received<
    Schemas['Comment'],
    'type' | 'status' | 'attachments' | 'taggedUserContacts',
    'reactionAnnotationIds' | 'recorders' | 'customList' | 'toOrganizationUserGroup'
  >,
  Comment,
  | 'attachments' // see attachment
  | 'taggedUserContacts' // see tag
> = true;

export const attachment: Except<
  Schemas['Attachment'],
  Attachment,
  | 'type' // any kind of file
> = true;

export const tag: Except<
  Schemas['Tag'],
  AutocompleteUserContactReplaceData,
  | 'contact' // see contact
  | 'userId' // absent if the tag is a group
> = true;

export const contact: Except<
  Schemas['User'],
  NonNullable<AutocompleteUserContactReplaceData['contact']>,
  | 'email' // a user may have none
> = true;

export const status: Except<
  Schemas['AnnotationStatus'],
  CommentAnnotation['status'],
  | 'color' // a custom status may have none
  | 'name' // a custom status may have none
  | 'type' // version 1 stores other types, and a custom status may have none
> = true;

export const priority: Except<
  Schemas['Priority'],
  NonNullable<CommentAnnotation['priority']>,
  | 'color' // a priority may have none
  | 'name' // a priority may have none
> = true;

export const target: Except<
  Schemas['TargetElement'],
  NonNullable<CommentAnnotation['targetElement']>,
  | 'leftPercentage' // the anchor is a text or an element, not a point
  | 'topPercentage' // the anchor is a text or an element, not a point
> = true;

/** The members that the service adds to the free-form members of a suggestion. */
type Completed = Pick<Sent<SuggestionData>, 'driftDetected' | 'rejectReason' | 'resolvedAt' | 'resolvedBy' | 'summary'>;

export const suggestion: Except<
  Completed,
  SuggestionData,
  | 'newValue' // as sent
  | 'oldValue' // as sent
  | 'status' // pending if the suggestion is new, else as sent
  | 'targetId' // as sent
  | 'targetType' // as sent
> = true;

export const user: Except<Schemas['User'], User, never> = true;
export const reactor: Except<Schemas['Reactor'], Reaction['from'], never> = true;
