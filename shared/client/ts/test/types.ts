// Code that must not compile. The compiler reports an expected error that does not occur.
import {Client} from '../src/index.js';

export async function wrong(client: Client): Promise<void> {
  // @ts-expect-error unknown path
  await client.call('/v2/commentannotations/ad', {});
  // @ts-expect-error misspelled field
  await client.call('/v2/commentannotations/get', {organizationId: 'a', documentID: 'd'});
  // @ts-expect-error missing field
  await client.call('/v2/commentannotations/get', {documentId: 'd'});
  // @ts-expect-error misspelled nested field
  await client.call('/v2/commentannotations/add', {organizationId: 'a', documentId: 'd', commentAnnotations: [{commentData: [{commentTxt: 'x', from: {userId: 'u'}}]}]});
  // @ts-expect-error wrong type
  await client.call('/v2/commentannotations/get', {organizationId: 'a', pageSize: '50'});
  // @ts-expect-error list without pages
  client.items('/v2/webhooks/add', {url: 'https://example.com'});
  for await (const notification of client.items('/v2/notifications/get', {organizationId: 'a', userId: 'u'})) {
    // @ts-expect-error unknown field
    notification.title;
  }
  // @ts-expect-error a grouped list has no items
  client.items('/v2/commentannotations/get', {organizationId: 'a', groupByDocumentId: true});
  // @ts-expect-error an object of arrays
  (await client.call('/v2/commentannotations/get', {organizationId: 'a', groupByDocumentId: true})).data.map((thread) => thread);
  // @ts-expect-error the type is unknown
  (await client.call('/v2/commentannotations/get', {organizationId: 'a', groupByDocumentId: Math.random() > 0.5})).data.map((thread) => thread);
  // @ts-expect-error not a field of this operation
  await client.call('/v2/organizations/get', {groupByDocumentId: false});
}

/** Code that must compile: the literal groupByDocumentId determines the type of the result. */
export async function right(client: Client): Promise<string[]> {
  const list = await client.call('/v2/commentannotations/get', {organizationId: 'a'});
  const ids = list.data.map((thread) => thread?.annotationId ?? 'unknown');
  const same = await client.call('/v2/commentannotations/get', {organizationId: 'a', groupByDocumentId: false});
  const grouped = await client.call('/v2/commentannotations/get', {organizationId: 'a', groupByDocumentId: true});
  return [...ids, ...same.data.map((thread) => thread?.documentId ?? ''), ...(grouped.data['plan'] ?? []).map((thread) => thread.annotationId)];
}
