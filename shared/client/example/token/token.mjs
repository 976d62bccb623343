// A product's server. It serves the folder public, and gets tokens for the pages of signed-in
// users: node token.mjs
import {randomUUID} from 'node:crypto';
import {readFile} from 'node:fs/promises';
import {createServer} from 'node:http';
import {text} from 'node:stream/consumers';

const {COLLABDATA_URL, COLLABDATA_KEY, COLLABDATA_TOKEN, PORT} = process.env;
const credentials = {'x-service-api-key': COLLABDATA_KEY, 'x-service-auth-token': COLLABDATA_TOKEN, 'Content-Type': 'application/json'};
const ann = {id: 'ann', name: 'Ann', email: 'ann@example.com', company: 'acme'};
const sessions = new Map(); // users by session: replace with your product's

// documentsOf returns the ids of the documents that the user may open in your product: fill this in.
async function documentsOf(user) {
  return ['plan'];
}

async function token(user, body) {
  if (!user) return [401];
  let page;
  try {
    page = JSON.parse(body) ?? {};
  } catch {
    return [400];
  }
  const {documentId} = page; // absent for an inbox
  const covered = (await documentsOf(user)).filter((id) => documentId === undefined || id === documentId);
  if (!covered.length) return [403];
  const data = {
    userId: user.id, userProperties: {name: user.name, email: user.email},
    permissions: {resources: covered.map((id) => ({type: 'document', id, organizationId: user.company}))},
    createOrganization: true, createDocument: true,
  };
  const answer = await fetch(`${COLLABDATA_URL}/v2/auth/generate_token`, {method: 'POST', headers: credentials, body: JSON.stringify({data})});
  return answer.ok ? [200, (await answer.json()).result.data] : [502];
}

createServer(async (request, response) => {
  const session = /(?:^|; )session=([\w-]+)/.exec(request.headers.cookie)?.[1];
  if (request.method === 'POST') {
    const body = await text(request);
    if (request.url === '/sign-out') sessions.delete(session);
    const [status, answer] = request.url === '/collab-token' ? await token(sessions.get(session), body).catch(() => [502]) : [request.url === '/sign-out' ? 200 : 404];
    return response.writeHead(status, {'Content-Type': 'application/json'}).end(JSON.stringify(answer ?? null));
  }
  if (request.url === '/') { // your product asks for a password first
    const fresh = randomUUID();
    sessions.set(fresh, ann);
    response.setHeader('Set-Cookie', `session=${fresh}; HttpOnly; SameSite=Lax`);
  }
  const script = /^\/assets\/[\w.]+\.js$/.test(request.url);
  response.setHeader('Content-Type', script ? 'text/javascript' : 'text/html');
  response.end(await readFile(`public/${script ? request.url : 'index.html'}`).catch(() => ''));
}).listen(PORT, '127.0.0.1');
