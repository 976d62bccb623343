// The application that package proxytest describes, for its tests: COLLABDATA_URL, COLLABDATA_KEY and COLLABDATA_TOKEN say where the service is; with
// COLLABDATA_PEOPLE it says itself who may be mentioned, and names its documents. It prints its own URL.
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';

import {Client} from '../src/index.js';
import {nodeListener, proxy, type Caller, type User} from '../src/proxy.js';

const env = (name: string) => process.env[`COLLABDATA_${name}`]!;
const staff: User[] = ['Ann', 'Bob', 'Cleo'].map((name) => ({userId: name.toLowerCase(), name, email: `${name.toLowerCase()}@example.com`}));

const collab = proxy({
  limits: {looks: Infinity, writes: Infinity, mentions: Infinity},
  client: new Client({baseURL: env('URL'), apiKey: env('KEY'), authToken: env('TOKEN')}),
  who(request) {
    const id = /user=(\w*)/.exec(request.headers.get('cookie') ?? '')?.[1] ?? '';
    const user = id === 'eve' ? {userId: id} : staff.find((u) => u.userId === id);
    const organizationId = id === 'eve' ? 'other' : 'acme';
    return user && {user, organizationId, canRead: (d) => d === 'plan', canWrite: (d) => d === 'plan' && id !== 'cleo'};
  },
  ...(process.env['COLLABDATA_PEOPLE'] && {
    people: (caller: Caller, _: string, ids?: string[]) => (caller.organizationId === 'acme' ? staff.filter((u) => !ids || ids.includes(u.userId)) : []),
    documentName: (caller: Caller, documentId: string) => `The ${documentId} of ${caller.organizationId}`,
  }),
});
const server = createServer(nodeListener(collab)).listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.stdin.resume().on('end', () => process.exit()); // it ends with its starter
