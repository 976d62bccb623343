// Bob accepts the suggestion of Ann's assistant: see look.cjs. Its thread and new text are the inputs
// "thread" and "text".
const {given, problems, open, launch, run} = require('./look.cjs');

async function main() {
  const {browser, context} = await launch();
  const bob = await open(context, `/demo?as=bob#collab-thread=${given.thread}`);
  const thread = bob.locator('collab-thread[open]');
  const suggestion = thread.getByRole('group', {name: 'Suggested change'});
  await suggestion.getByText(given.text, {exact: true}).waitFor();
  await thread.getByText('Ann Archer, with Helper').first().waitFor();
  await thread.getByText('@Cleo Clark').first().waitFor();
  if (await bob.locator('[part=gone] collab-thread[open]').count()) problems.add('the page does not find the quote');
  const stored = bob.waitForResponse('**/v2/commentannotations/update');
  await suggestion.getByRole('button', {name: 'Accept'}).click();
  await suggestion.getByText('Accepted by Bob Builder').waitFor();
  await stored; // the page shows it before
  await browser.close();
}

run(main);
