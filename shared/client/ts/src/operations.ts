import type {paths} from './schema.js';

/** The path of an operation. */
export type Path = keyof paths & string;

type Body<P extends Path> = paths[P] extends {post: {requestBody?: {content: {'application/json': infer B}}}} ? B : never;

type Answer<P extends Path> = paths[P] extends {post: {responses: {[Status in 200 | 202]?: {content: {'application/json': infer A}}}}} ? A : never;

/** The data of the operation at a path. */
export type Data<P extends Path> = Body<P> extends {data: infer D} ? D : never;

/**
 * The result of the operation at a path: its message, its data and, for a list, nextPageToken if
 * there are more items.
 */
export type Result<P extends Path> = Answer<P> extends {result: infer R} ? R : never;

/** The path of an operation with a field in its request. */
type With<Field extends string> = {[P in Path]: Field extends keyof Data<P> ? P : never}[Path];

/** The path of an operation that returns a list in pages. */
export type PagedPath = {[P in With<'pageToken'>]: Item<P> extends never ? never : P}[With<'pageToken'>];

/**
 * The path of a list that can be grouped by document: its data is an array, or an object of arrays.
 */
export type GroupedPath = With<'groupByDocumentId'>;

/** Result with an array as the list. */
export type ListResult<P extends Path> = ResultWith<P, Extract<DataOf<P>, readonly unknown[]>>;

/** Result with an object of arrays by document id as the list. */
export type GroupedResult<P extends Path> = ResultWith<P, Exclude<DataOf<P>, readonly unknown[]>>;

/** The groupByDocumentId of a call to a list that can be grouped by document. */
export type Grouped = boolean | null | undefined;

/** Data with the groupByDocumentId G. */
export type CallData<P extends Path, G extends Grouped> = P extends GroupedPath ? Data<P> & {groupByDocumentId?: G} : Data<P>;

/**
 * The result of a call: for a list that can be grouped, an array, or an object of arrays by
 * document id if G is true.
 */
export type CallResult<P extends Path, G extends Grouped> = P extends GroupedPath ? (G extends true ? GroupedResult<P> : ListResult<P>) : Result<P>;

/** Data of a list that is not grouped. */
export type ListData<P extends Path> = P extends GroupedPath ? Data<P> & {groupByDocumentId?: false | null} : Data<P>;

/** An item of the list that the operation at a path returns. */
export type Item<P extends Path> = Extract<DataOf<P>, readonly unknown[]>[number];

type DataOf<P extends Path> = Result<P> extends {data: infer D} ? D : never;

type ResultWith<P extends Path, D> = Omit<Result<P>, 'data'> & {data: D};
