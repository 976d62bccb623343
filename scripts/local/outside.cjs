// Uses the page of the elements' README on a product's server, and prints what is wrong, one line each.
// Standard input: {"url", "service" (address), "browser" (path of the program)}.
const {readFileSync} = require('node:fs');
const {chromium} = require('playwright-core');

const {url, service, browser: program} = JSON.parse(readFileSync(0, 'utf8'));
const problems = [];
const text = `From outside, on ${new Date().toISOString()}`;

// call calls an operation of the service, as the product's back end.
async function call(operation, data) {
  const headers = {'Content-Type': 'application/json', 'x-service-api-key': 'dev-key', 'x-service-auth-token': 'dev-token'};
  const answer = await fetch(service + operation, {method: 'POST', headers, body: JSON.stringify({data: {organizationId: 'acme', ...data}})});
  return (await answer.json()).result.data;
}

// until waits for something that holds, and returns it.
async function until(what, holds) {
  for (const end = Date.now() + 90_000; Date.now() < end; await new Promise((done) => setTimeout(done, 100))) {
    const found = await holds();
    if (found) return found;
  }
  throw new Error(`${what} did not come`);
}

async function main() {
  await call('/v2/users/add', {users: [{userId: 'bob', name: 'Bob'}]});
  const browser = await chromium.launch({executablePath: program, args: process.getuid?.() === 0 ? ['--no-sandbox'] : []});
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  page.on('pageerror', (e) => problems.push(`${e}`));
  const hints = [];
  page.on('websocket', (socket) => socket.on('framereceived', ({payload}) => hints.push(payload)));
  await until('the right to call', async () => { // functions follow a change of allowedOrigins within a minute
    const [answer] = await Promise.all([page.waitForResponse('**/v2/commentannotations/get'), page.goto(url)]);
    return answer.status() !== 403;
  });
  page.on('response', (r) => r.status() >= 400 && r.status() !== 429 && !r.url().endsWith('/favicon.ico') && problems.push(`${r.url()} answered ${r.status()}`));
  const inbox = page.getByRole('button', {name: /^Inbox/});
  const unread = async () => Number(/\d+/.exec(await inbox.getAttribute('aria-label')) ?? 0);
  await page.getByRole('button', {name: 'Comment', exact: true}).click();
  await page.keyboard.type(`${text}: @bo`);
  await page.getByRole('option', {name: 'Bob'}).click();
  await page.getByRole('button', {name: 'Send'}).click();
  const thread = page.locator('collab-thread[open]');
  await thread.getByText(`${text}: @Bob`).waitFor();
  await until("Bob's notification", async () => (await call('/v2/notifications/get', {userId: 'bob'})).some((n) => n.displayBodyMessage.startsWith(text)));
  await thread.getByRole('textbox').fill('An answer');
  await thread.getByRole('button', {name: 'Send'}).click();
  await thread.getByText('An answer').waitFor();
  await page.keyboard.press('Escape');

  // Bob mentions the reader: the page shows it by itself, and the inbox counts it until the thread is opened.
  const before = await unread();
  const {annotationId} = (await call('/v2/commentannotations/get', {documentId: 'plan', order: 'desc'})).find((t) => t.comments[0].commentText.startsWith(text));
  await call('/v2/commentannotations/comments/add', {documentId: 'plan', annotationId, commentData: [{
    commentText: '{{ann}}, yes', from: {userId: 'bob', name: 'Bob'}, taggedUserContacts: [{userId: 'ann', contact: {userId: 'ann', name: 'Ann'}}], triggerNotification: true,
  }]});
  await until('a hint for each element', () => hints.some((h) => h.includes('"documentId":"plan"')) && hints.some((h) => h.includes('"inbox":true')));
  await until('what the inbox counts', async () => (await unread()) === before + 1);
  await page.locator('collab-thread').filter({hasText: text}).getByRole('button', {name: 'Show 2 replies'}).click();
  await thread.getByText('@Ann, yes').waitFor();
  await until('an inbox where it is read', async () => (await unread()) === before);
  await page.reload();
  await page.locator('collab-thread').getByText(text).waitFor(); // it is stored
  await browser.close();
}

const end = (lines) => process.stdout.write(lines.join('\n') + '\n', () => process.exit());
main().then(() => end(problems), (e) => end([...problems, e.stack.replaceAll('\n', ' ')]));
