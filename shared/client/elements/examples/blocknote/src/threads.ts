import {DefaultThreadStoreAuth, ThreadStore, type CommentData, type ThreadData} from '@blocknote/core/comments';
import type {Connection, ShownComment, ShownThread} from 'collabdata-elements';

/** A BlockNote comment: an array of blocks. */
type Body = {content?: unknown}[];
type Comment = {body: Body};

/** The plain text of blocks, for notifications, emails and other pages. */
const textOf = (value: unknown): string => {
  if (Array.isArray(value)) return value.map(textOf).filter(Boolean).join('');
  const {text, content, type} = (value ?? {}) as {text?: string; content?: unknown; type?: string};
  return (text ?? textOf(content ?? [])) + (type === 'paragraph' ? '\n' : '');
};
const written = ({body}: Comment) => ({text: textOf(body).trim() || '…', context: {body}});
const paragraph = (text = '') => [{type: 'paragraph', content: text}];

const commentOf = (c: ShownComment): CommentData => ({
  type: 'comment', id: String(c.commentId), userId: c.from.userId, createdAt: new Date(c.createdAt), updatedAt: new Date(c.lastUpdated), metadata: {},
  body: (c.context as Comment | undefined)?.body ?? paragraph(c.commentText),
  reactions: (c.reactions ?? []).map((r) => ({emoji: r.emoji, createdAt: new Date(c.createdAt), userIds: r.users.map((u) => u.userId)})),
});

const threadOf = (t: ShownThread): ThreadData => ({
  type: 'thread', id: t.annotationId, createdAt: new Date(t.createdAt), updatedAt: new Date(t.lastUpdated), metadata: t.context ?? {},
  comments: t.comments.map(commentOf), resolved: t.status.type === 'terminal', ...(t.resolvedByUserId && {resolvedBy: t.resolvedByUserId}),
});

/** BlockNote's comments, stored by the service. */
export class Threads extends ThreadStore {
  addThreadToDocument = undefined;

  constructor(readonly service: Connection) {
    super(new DefaultThreadStoreAuth(service.user.userId, service.canWrite ? 'editor' : 'comment'));
  }

  createThread = async ({initialComment, metadata}: {initialComment: Comment; metadata?: object}) => {
    const {annotationId} = await this.service.add({...written(initialComment), threadContext: metadata});
    await this.service.find(annotationId);
    return this.getThread(annotationId);
  };
  addComment = async ({threadId, comment}: {threadId: string; comment: Comment}) => {
    const {commentId} = await this.service.reply(threadId, written(comment));
    await this.service.find(threadId);
    return this.getThread(threadId).comments.find((c) => c.id === String(commentId))!;
  };
  updateComment = async ({threadId, commentId, comment}: {threadId: string; commentId: string; comment: Comment}) => {
    await this.service.edit(threadId, Number(commentId), written(comment));
  };
  deleteComment = async ({threadId, commentId}: {threadId: string; commentId: string}) => {
    await this.service.remove(threadId, Number(commentId));
  };
  deleteThread = async ({threadId}: {threadId: string}) => {
    for (const c of this.getThread(threadId).comments) await this.service.remove(threadId, Number(c.id));
  };
  resolveThread = async ({threadId}: {threadId: string}) => void (await this.service.resolve(threadId));
  unresolveThread = async ({threadId}: {threadId: string}) => void (await this.service.resolve(threadId, false));
  addReaction = async (r: {threadId: string; commentId: string; emoji: string}) => void (await this.service.react(r.threadId, Number(r.commentId), r.emoji));
  deleteReaction = async (r: {threadId: string; commentId: string; emoji: string}) => void (await this.service.react(r.threadId, Number(r.commentId), r.emoji, false));

  getThreads = () => new Map(this.service.threads.filter((t) => t.annotationId).map((t) => [t.annotationId, threadOf(t)]));
  getThread = (id: string) => {
    const thread = this.getThreads().get(id);
    if (!thread) throw new Error(`no thread ${id}`);
    return thread;
  };
  subscribe = (listener: (threads: Map<string, ThreadData>) => void) => this.service.subscribe(() => listener(this.getThreads()));
}
