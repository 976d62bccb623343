// Uses the page of the elements' README on a product's server: see look.cjs.
const {url, problems, open, launch, call, connected, until, run} = require('./look.cjs');

const text = `From outside, on ${new Date().toISOString()}`;
const organizationId = 'acme';
const documentId = 'plan';

async function main() {
  await call('/v2/users/add', {organizationId, createOrganization: true, users: [{userId: 'bob', name: 'Bob'}]});
  const {browser, context} = await launch();
  const first = await context.newPage();
  first.on('response', (r) => r.status() === 404 && problems.add(`the first page: ${r.url()} answered 404`));
  await until(async () => { // functions apply allowedOrigins within a minute
    const [answer] = await Promise.all([first.waitForResponse('**/v2/commentannotations/get'), first.goto(url)]);
    return answer.status() !== 403;
  });
  await first.close();

  // Ann starts a thread, mentions Bob and replies.
  const page = await open(context, '/');
  const inbox = page.getByRole('button', {name: /^Inbox/});
  const unread = async () => Number(/\d+/.exec(await inbox.getAttribute('aria-label')) ?? 0);
  await page.getByRole('button', {name: 'Comment', exact: true}).click();
  await page.keyboard.type(`${text}: @bo`);
  await page.getByRole('option', {name: 'Bob'}).click();
  await page.getByRole('button', {name: 'Send'}).click();
  const thread = page.locator('collab-thread[open]');
  await thread.getByText(`${text}: @Bob`).waitFor();
  await until(async () => (await call('/v2/notifications/get', {organizationId, userId: 'bob'})).some((n) => n.displayBodyMessage.startsWith(text)));
  await thread.getByRole('textbox').fill('An answer');
  await thread.getByRole('button', {name: 'Send'}).click();
  await thread.getByText('An answer').waitFor();
  await page.keyboard.press('Escape');

  // Bob mentions her: the page shows it automatically, and the inbox counts it until she opens the
  // thread.
  await connected(page);
  const before = await unread();
  const {annotationId} = (await call('/v2/commentannotations/get', {organizationId, documentId, order: 'desc'})).find((t) => t.comments[0].commentText.startsWith(text));
  await call('/v2/commentannotations/comments/add', {organizationId, documentId, annotationId, commentData: [{
    commentText: '{{ann}}, yes', from: {userId: 'bob', name: 'Bob'}, taggedUserContacts: [{userId: 'ann', contact: {userId: 'ann', name: 'Ann'}}], triggerNotification: true,
  }]});
  await until(() => ['"documentId":"plan"', '"inbox":true'].every((what) => page.hints.some((hint) => hint.includes(what))));
  await until(async () => (await unread()) === before + 1);
  await page.locator('collab-thread').filter({hasText: text}).getByRole('button', {name: 'Show 2 replies'}).click();
  await thread.getByText('@Ann, yes').waitFor();
  await until(async () => (await unread()) === before);
  await page.reload();
  await page.locator('collab-thread').getByText(text).waitFor(); // wait until it is stored
  await browser.close();
}

run(main);
