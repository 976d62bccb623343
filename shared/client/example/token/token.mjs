// A product's server. It serves the folder public, and gets tokens for the pages of signed-in
// users: node token.mjs
import {readFile} from 'node:fs/promises';
import {createServer} from 'node:http';
import {json} from 'node:stream/consumers';

const {COLLABDATA_URL, COLLABDATA_KEY, COLLABDATA_TOKEN, PORT} = process.env;
const credentials = {'x-service-api-key': COLLABDATA_KEY, 'x-service-auth-token': COLLABDATA_TOKEN, 'Content-Type': 'application/json'};
// replace with your product's sessions
const sessions = new Map([['session=1', {id: 'ann', name: 'Ann', company: 'acme', documents: ['plan']}]]);

async function token(request) {
  const user = sessions.get(request.headers.cookie);
  if (!user) return [401];
  const {documentId} = await json(request); // empty for an inbox: all documents of the user
  const covered = user.documents.filter((id) => !documentId || id === documentId);
  if (!covered.length) return [403];
  const resources = covered.map((id) => ({type: 'document', id, organizationId: user.company}));
  const data = {userId: user.id, userProperties: {name: user.name}, permissions: {resources}, createOrganization: true, createDocument: true};
  const answer = await fetch(`${COLLABDATA_URL}/v2/auth/generate_token`, {method: 'POST', headers: credentials, body: JSON.stringify({data})});
  return [answer.status, (await answer.json()).result?.data];
}

createServer(async (request, response) => {
  if (request.url === '/collab-token') {
    const [status, answer] = await token(request).catch(() => [502]);
    return response.writeHead(status, {'Content-Type': 'application/json'}).end(JSON.stringify(answer));
  }
  const script = /^\/assets\/[\w.]+\.js$/.test(request.url);
  response.setHeader('Content-Type', script ? 'text/javascript' : 'text/html');
  response.setHeader('Set-Cookie', 'session=1; HttpOnly'); // your product asks for a password first
  response.end(await readFile(`public/${script ? request.url : 'index.html'}`).catch(() => ''));
}).listen(PORT, '127.0.0.1');
