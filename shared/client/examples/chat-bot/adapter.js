// An adapter of the Chat SDK for threads of comments. A bot is a user of the service: a comment that
// tags this user is a message for the bot, and the bot's messages are comments in its name.
import {BaseFormatConverter, Message, defaultEmojiResolver, parseMarkdown, stringifyMarkdown} from 'chat';
import {verifyWebhook} from 'collabdata-client';

/**
 * @typedef {import('collabdata-client').components['schemas']} Schemas
 * @typedef {Schemas['EventComment'] | Schemas['ListedComment']} Comment
 * @typedef {{organizationId: string, documentId: string, annotationId: string}} ThreadId
 * @typedef {{threadId: string, comment: Comment}} Raw
 * @typedef {import('chat').Adapter<ThreadId, Raw>} Adapter
 * @typedef {{client: import('collabdata-client').Client, secret: string, user: {userId: string, name: string}}} Config
 */

const THREADS = '/v2/commentannotations';

class Markdown extends BaseFormatConverter {
  /** @param {string} text */
  toAst = (text) => parseMarkdown(text);
  /** @param {import('chat').Root} ast */
  fromAst = (ast) => stringifyMarkdown(ast).trim();
}
const markdown = new Markdown();

/** @implements {Adapter} */
export class CollabdataAdapter {
  name = 'collabdata';

  /** @param {Config} config */
  constructor(config) {
    this.config = config;
    this.userName = config.user.name;
    this.botUserId = config.user.userId;
  }

  /** @param {import('chat').ChatInstance} chat */
  async initialize(chat) {
    this.chat = chat;
  }

  /**
   * Answers a webhook of an endpoint with the types comment.added and comment_annotation.added.
   *
   * @param {Request} request
   * @param {import('chat').WebhookOptions} [options]
   */
  async handleWebhook(request, options) {
    let event;
    try {
      event = verifyWebhook(this.config.secret, Object.fromEntries(request.headers), await request.text());
    } catch {
      return new Response('not signed', {status: 401});
    }
    if (event.type === 'comment.added' || event.type === 'comment_annotation.added') {
      const threadId = this.encodeThreadId(/** @type {ThreadId} */ (event.data));
      for (const comment of event.data.comments ?? []) {
        if (!comment.deleted) void this.chat?.processMessage(this, threadId, this.parseMessage({threadId, comment}), options);
      }
    }
    return new Response(null, {status: 204});
  }

  /** @param {ThreadId} id */
  encodeThreadId({organizationId, documentId, annotationId}) {
    return [this.name, ...[organizationId, documentId, annotationId].map((id) => Buffer.from(id).toString('base64url'))].join(':');
  }

  /** @param {string} threadId */
  decodeThreadId(threadId) {
    const [organizationId = '', documentId = '', annotationId = ''] = threadId.split(':').slice(1).map((id) => Buffer.from(id, 'base64url').toString());
    return {organizationId, documentId, annotationId};
  }

  /** @param {string} threadId */
  channelIdFromThreadId(threadId) {
    return threadId.slice(0, threadId.lastIndexOf(':')); // the document
  }

  /** @param {Raw} raw */
  parseMessage(raw) {
    const {threadId, comment} = raw;
    const tags = comment.taggedUserContacts ?? [];
    const names = new Map(tags.map((tag) => [`{{${tag.userId}}}`, `@${tag.contact?.name ?? tag.userId}`]));
    const text = (comment.commentText ?? '').replace(/{{[^{}]+}}/g, (placeholder) => names.get(placeholder) ?? placeholder);
    const from = comment.from ?? {userId: ''};
    const message = new Message({
      id: `${this.decodeThreadId(threadId).annotationId}:${comment.commentId}`, // comment ids are unique in their thread
      threadId, raw, text, formatted: markdown.toAst(text), attachments: [],
      author: {userId: from.userId, userName: from.userId, fullName: from.name ?? from.userId, isBot: 'unknown', isMe: from.userId === this.botUserId},
      metadata: {dateSent: new Date(comment.createdAt ?? 0), edited: false},
    });
    message.isMention = tags.some((tag) => tag.userId === this.botUserId);
    return message;
  }

  /** @param {string} threadId @param {import('chat').AdapterPostableMessage} message */
  async postMessage(threadId, message) {
    const commentText = markdown.renderPostable(message);
    const {data} = await this.#call('/comments/add', threadId, {commentData: [{commentText, from: this.config.user, triggerNotification: true}]});
    return this.#sent(threadId, data[0], commentText);
  }

  /** @param {string} threadId @param {string} messageId @param {import('chat').AdapterPostableMessage} message */
  async editMessage(threadId, messageId, message) {
    const commentText = markdown.renderPostable(message);
    const commentId = idOf(messageId);
    await this.#change('/comments/update', threadId, {commentIds: [commentId], updatedData: {commentText}});
    return this.#sent(threadId, commentId, commentText);
  }

  /** @param {string} threadId @param {string} messageId */
  async deleteMessage(threadId, messageId) {
    await this.#change('/comments/delete', threadId, {commentIds: [idOf(messageId)]});
  }

  /** @param {string} threadId @param {string} messageId @param {import('chat').EmojiValue | string} emoji */
  async addReaction(threadId, messageId, emoji) {
    await this.#call('/comments/reactions/add', threadId, {commentId: idOf(messageId), emoji: defaultEmojiResolver.toGChat(emoji), from: this.config.user});
  }

  /** @param {string} threadId @param {string} messageId @param {import('chat').EmojiValue | string} emoji */
  async removeReaction(threadId, messageId, emoji) {
    await this.#call('/comments/reactions/delete', threadId, {commentId: idOf(messageId), emoji: defaultEmojiResolver.toGChat(emoji), from: this.config.user});
  }

  /**
   * Sets the status of a thread, which the Chat SDK has no method for.
   *
   * @param {string} threadId @param {'OPEN' | 'RESOLVED'} status
   */
  async setStatus(threadId, status) {
    const {annotationId} = this.decodeThreadId(threadId);
    await this.#change('/update', threadId, {annotationId: undefined, annotationIds: [annotationId], updatedData: {status: {id: status}}, actionUser: this.config.user, triggerNotification: true});
  }

  /**
   * Returns a page of the latest messages, or of the earliest if the direction is forward. The service
   * lists the earliest first, so the former reads the whole thread.
   *
   * @param {string} threadId @param {import('chat').FetchOptions} [options]
   */
  async fetchMessages(threadId, {limit = 50, cursor, direction = 'backward'} = {}) {
    const parse = (/** @type {Comment} */ comment) => this.parseMessage({threadId, comment});
    if (direction === 'forward') {
      const {data, nextPageToken} = await this.#call('/comments/get', threadId, {pageSize: limit, ...(cursor && {pageToken: cursor})});
      return {messages: data.map(parse), nextCursor: nextPageToken || undefined};
    }
    const earlier = [];
    for await (const comment of this.config.client.items('/v2/commentannotations/comments/get', this.decodeThreadId(threadId))) {
      if (comment && (!cursor || comment.commentId < Number(cursor))) earlier.push(comment);
    }
    const page = earlier.slice(-limit);
    return {messages: page.map(parse), nextCursor: page.length < earlier.length ? String(page[0]?.commentId) : undefined};
  }

  /** @param {string} threadId */
  async fetchThread(threadId) {
    return {id: threadId, channelId: this.channelIdFromThreadId(threadId), metadata: {...this.decodeThreadId(threadId)}};
  }

  async startTyping() {} // threads show nobody typing

  /** @param {import('chat').FormattedContent} content */
  renderFormatted(content) {
    return markdown.fromAst(content);
  }

  /** @param {string} threadId @param {number} commentId @param {string} commentText */
  #sent(threadId, commentId, commentText) {
    const comment = /** @type {Comment} */ ({commentId, commentText, from: this.config.user});
    return {id: `${this.decodeThreadId(threadId).annotationId}:${commentId}`, threadId, raw: {threadId, comment}};
  }

  /** @param {string} path @param {string} threadId @param {object} data @returns {Promise<{data: any, nextPageToken?: string}>} */
  #call(path, threadId, data) {
    return /** @type {any} */ (this.config.client).call(THREADS + path, {...this.decodeThreadId(threadId), ...data});
  }

  /** @param {string} path @param {string} threadId @param {object} data */
  async #change(path, threadId, data) {
    check((await this.#call(path, threadId, data)).data);
  }
}

/** @param {string} messageId */
const idOf = (messageId) => Number(messageId.slice(messageId.lastIndexOf(':') + 1));

/** Throws the first failure of a bulk operation. @param {unknown} data */
function check(data) {
  for (const item of Object.values(/** @type {Record<string, {success: boolean, message: string}>} */ (data))) {
    if (!item.success) throw new Error(item.message);
  }
}
