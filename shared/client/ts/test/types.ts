// Code that must not compile. Nothing here runs: an error that is not there is one of the compiler.
import {Client} from '../src/index.js';

export async function wrong(client: Client): Promise<void> {
  // @ts-expect-error a path that there is not
  await client.call('/v2/commentannotations/ad', {});
  // @ts-expect-error a misspelt field
  await client.call('/v2/commentannotations/get', {organizationId: 'a', documentID: 'd'});
  // @ts-expect-error a field that is missing
  await client.call('/v2/commentannotations/get', {documentId: 'd'});
  // @ts-expect-error a misspelt field further below
  await client.call('/v2/commentannotations/add', {organizationId: 'a', documentId: 'd', commentAnnotations: [{commentData: [{commentTxt: 'x', from: {userId: 'u'}}]}]});
  // @ts-expect-error a value of another type
  await client.call('/v2/commentannotations/get', {organizationId: 'a', pageSize: '50'});
  // @ts-expect-error a list that has no pages
  client.items('/v2/webhooks/add', {url: 'https://example.com'});
  for await (const notification of client.items('/v2/notifications/get', {organizationId: 'a', userId: 'u'})) {
    // @ts-expect-error a field that no notification has
    notification.title;
  }
  // @ts-expect-error a list that is grouped has no items
  client.items('/v2/commentannotations/get', {organizationId: 'a', groupByDocumentId: true});
  // @ts-expect-error an object of arrays
  (await client.call('/v2/commentannotations/get', {organizationId: 'a', groupByDocumentId: true})).data.map((thread) => thread);
  // @ts-expect-error it is not known which it is
  (await client.call('/v2/commentannotations/get', {organizationId: 'a', groupByDocumentId: Math.random() > 0.5})).data.map((thread) => thread);
  // @ts-expect-error a field that this operation has not
  await client.call('/v2/organizations/get', {groupByDocumentId: false});
}

/** Code that must compile: the literal groupByDocumentId says of which shape the answer is. */
export async function right(client: Client): Promise<string[]> {
  const list = await client.call('/v2/commentannotations/get', {organizationId: 'a'});
  const ids = list.data.map((thread) => thread?.annotationId ?? 'unknown');
  const same = await client.call('/v2/commentannotations/get', {organizationId: 'a', groupByDocumentId: false});
  const grouped = await client.call('/v2/commentannotations/get', {organizationId: 'a', groupByDocumentId: true});
  return [...ids, ...same.data.map((thread) => thread?.documentId ?? ''), ...(grouped.data['plan'] ?? []).map((thread) => thread.annotationId)];
}
