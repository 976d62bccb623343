// Uses BlockNote's own comments, stored by the service, as two people: see
// shared/client/elements/examples/blocknote. Standard input also has "token", the address of a
// person's tokens with {user} in it.
const look = require('./look.cjs');

const {given, problems, open, contextOf, until} = look;

const organizationId = 'demo';
const documentId = 'blocknote';

async function main() {
  await look.call('/v2/organizations/documents/add', {organizationId, documents: [{documentId}]});
  const {browser, context} = await look.launch();
  await context.close();
  const enter = async (user) => open(await contextOf(browser), `/?${new URLSearchParams({api: given.service, token: given.token.replace('{user}', user)})}`);
  const ann = await enter('ann');
  await ann.locator('[contenteditable=true]').click();
  await ann.keyboard.type('We launch in October.');
  await until(() => ann.evaluate(async () => new TextDecoder().decode(await (await fetch('/document')).arrayBuffer()).includes('October.')));
  const sidebar = (page) => page.locator('.bn-threads-sidebar');

  // Ann comments on a selected word, while Bob has the page open.
  const bob = await enter('bob');
  await bob.getByText('We launch in October.').waitFor();
  await ann.bringToFront();
  await ann.getByText('We launch in October.').click();
  await ann.keyboard.press('End');
  await ann.keyboard.press('Shift+Home');
  await ann.getByRole('button', {name: 'Add comment'}).click();
  await ann.locator('.bn-comment-editor [contenteditable=true]').last().click();
  await ann.keyboard.type('Is that a Friday?');
  await ann.getByRole('button', {name: 'Save'}).click();
  await sidebar(ann).getByText('Is that a Friday?').waitFor();

  // Bob sees it without a reload. The text is the product's: a reload brings its mark.
  await sidebar(bob).getByText('Is that a Friday?').waitFor();
  await sidebar(bob).getByText('Ann Archer').first().waitFor();
  await bob.reload();
  await bob.bringToFront();
  await bob.locator('.bn-thread-mark').first().waitFor();
  await sidebar(bob).getByText('Is that a Friday?').click();
  await sidebar(bob).locator('.bn-thread-composer [contenteditable=true]').click();
  await bob.keyboard.type('A Thursday');
  await sidebar(bob).getByRole('button', {name: 'Save'}).click();
  await sidebar(ann).getByText('A Thursday').waitFor();

  // The service has the plain text beside the blocks.
  const threads = await look.call('/v2/commentannotations/get', {organizationId, documentId});
  const texts = threads.flatMap((t) => t.comments.map((c) => c.commentText));
  if (`${texts}` !== 'Is that a Friday?,A Thursday') problems.add(`the texts are ${texts}`);
  const [{annotationId, comments: [first]}] = threads;

  // A reaction of a back end, a change and a resolution reach both.
  await look.call('/v2/commentannotations/comments/reactions/add', {organizationId, documentId, annotationId, commentId: first.commentId, emoji: '👍', from: {userId: 'bob'}});
  for (const page of [ann, bob]) await sidebar(page).locator('.bn-comment-reaction').getByText('👍').waitFor();

  // After a reload, both are there, and the mark is on its word.
  await ann.reload();
  await ann.locator('.bn-thread-mark').first().waitFor();
  await sidebar(ann).getByText('Is that a Friday?').click();
  await sidebar(ann).getByText('A Thursday').waitFor();

  // Ann resolves the thread from its menu.
  await sidebar(ann).locator('.bn-thread-comment').first().hover();
  await sidebar(ann).locator('.bn-thread-comment').first().locator('.bn-action-toolbar button').nth(1).click();
  await until(async () => (await look.call('/v2/commentannotations/get', {organizationId, documentId}))[0].status.id === 'RESOLVED');
  await browser.close();
}

look.run(main);
