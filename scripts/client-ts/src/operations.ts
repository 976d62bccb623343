import type {paths} from './schema.js';

/** The path of an operation. */
export type Path = keyof paths & string;

type Body<P extends Path> = paths[P] extends {post: {requestBody?: {content: {'application/json': infer B}}}} ? B : never;

type Answer<P extends Path> = paths[P] extends {post: {responses: {200: {content: {'application/json': infer A}}}}} ? A : never;

/** What the operation at a path takes. */
export type Data<P extends Path> = Body<P> extends {data: infer D} ? D : never;

/** What the operation at a path answers: its message, its data and, of a list, nextPageToken where there is more. */
export type Result<P extends Path> = Answer<P> extends {result: infer R} ? R : never;

/** The path of an operation that answers a list in pages. */
export type PagedPath = {[P in Path]: Data<P> extends {pageToken?: unknown} ? ('pageToken' extends keyof Data<P> ? P : never) : never}[Path];

/** An item of the list that the operation at a path answers. */
export type Item<P extends Path> = Result<P> extends {data: infer D} ? Extract<D, readonly unknown[]>[number] : never;
