// Uses the page of the README as two users: see look.cjs. Its address is the input "page".
const {given, url, problems, open, launch, connected, until, run} = require('./look.cjs');

const text = `Is that final, on ${url}`;

async function main() {
  const {browser, context} = await launch();
  const bob = await open(context, `${given.page}?as=bob`);
  const inbox = bob.getByRole('button', {name: /^Inbox/});
  await connected(bob);
  const unread = async () => Number(/\d+/.exec(await inbox.getAttribute('aria-label')) ?? 0);
  const before = await unread();

  const ann = await open(context, `${given.page}?as=ann`);
  await ann.getByRole('button', {name: 'Comment', exact: true}).click();
  await ann.keyboard.type(`${text}: @bo`);
  await ann.getByRole('option', {name: 'Bob'}).click();
  await ann.getByRole('button', {name: 'Send'}).click();
  await ann.locator('collab-thread[open]').getByText(`${text}: @Bob`).waitFor();

  const thread = bob.locator('collab-thread').filter({hasText: text});
  await thread.getByText('Ann', {exact: true}).waitFor();
  await until(async () => (await unread()) === before + 1);
  await ann.getByRole('link', {name: 'Bob'}).click();
  await ann.locator('collab-thread').filter({hasText: text}).waitFor();
  const [shown] = await ann.getByRole('link', {name: 'Bob'}).evaluateAll((links) => links.map((a) => a.getAttribute('aria-current')));
  if (shown !== 'page') problems.add('the link to Bob does not lead to his page');
  await browser.close();
}

run(main);
