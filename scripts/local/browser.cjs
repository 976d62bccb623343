// Checks the pages of a running local server as a newcomer sees them: see look.cjs.
const {execFileSync} = require('node:child_process');
const path = require('node:path');
const {url, screenshots, problems, open, runAxe, check, launch, run} = require('./look.cjs');

async function main() {
  const {browser, context} = await launch({permissions: ['clipboard-read', 'clipboard-write']});
  const home = await open(context, '/');
  await home.getByRole('button', {name: 'Copy'}).first().click();
  const copied = await home.evaluate(() => navigator.clipboard.readText());
  if (copied !== await home.locator('pre').first().textContent()) problems.add(`/: the button copies ${copied}`);
  await check(home, 'home');
  await check(await open(context, '/webhook', 404), 'missing');
  const example = await open(context, '/page');
  await example.getByRole('heading', {name: 'Comments', exact: true}).waitFor();
  await check(example, 'page');
  await check(await open(context, '/mail/preview'), 'previews');

  await tryWebhooks(context);
  await tryMails(context);
  await tryReference(context);
  await browser.close();
}

// tryWebhooks runs the commands on the page. A delivery appears at once, leaves an open one open,
// and can be replayed.
async function tryWebhooks(context) {
  const page = await open(context, '/webhooks');
  await page.getByText('Nothing has arrived yet').waitFor();
  const commands = await page.locator('pre').first().innerText();
  execFileSync('sh', ['-ec', commands]);
  await page.getByText('verified').first().waitFor();
  await page.locator('summary').first().click(); // close it
  await page.locator('summary').first().click();
  const read = page.locator('details[data-touched]');
  await read.getByText('"commentText"').waitFor();
  const delivery = await open(context, await read.getByRole('link', {name: 'post it again'}).getAttribute('href'));
  await delivery.getByText('All operations on it').click();
  await delivery.getByRole('link', {name: 'webhooks deliveries replay', exact: true}).click();
  await delivery.getByRole('button', {name: 'Call'}).click();
  await delivery.getByRole('button', {name: 'Continue'}).click();
  await page.locator('details').nth(1).waitFor();
  if (!await read.getByText('"commentText"').isVisible()) problems.add('/webhooks: what was open is closed when another arrives');
  const ids = await page.locator('details').evaluateAll((list) => list.map((d) => d.querySelector('pre').textContent.split('\n')[0]));
  if (ids[0] !== ids[1]) problems.add(`/webhooks: sent again is ${ids}`);
  await check(page, 'webhooks');
}

// tryMails finds an email and follows its button.
async function tryMails(context) {
  const list = await open(context, '/mail');
  await list.locator('.mails li').nth(1).waitFor();
  await check(list, 'mails');
  await list.getByRole('searchbox').fill('FINAL bob@example.com');
  await list.getByRole('searchbox').press('Enter');
  await list.waitForURL('**/mail?q=*');
  const found = await list.locator('.mails a').evaluateAll((links) => links.map((a) => a.getAttribute('href')));
  if (found.length !== 1) problems.add(`/mail: ${found.length} emails are found, want one`);
  const mail = await open(context, found[0]);
  await check(mail, 'mail');
  const [product] = await Promise.all([
    context.waitForEvent('page'), mail.frameLocator('iframe').getByRole('link', {name: 'Open the thread'}).click(),
  ]);
  await product.getByRole('heading', {name: 'Your product would open here'}).waitFor();
  await check(product, 'opened');
  const [unsubscribe] = await Promise.all([
    context.waitForEvent('page'), mail.frameLocator('iframe').getByRole('link', {name: 'Unsubscribe'}).click(),
  ]);
  await unsubscribe.getByRole('heading', {name: 'Unsubscribe?'}).waitFor();
  await check(unsubscribe, 'unsubscribe');
}

// tryReference checks the reference, opens an operation by its address, and calls it twice.
async function tryReference(context) {
  const start = await open(context, '/docs');
  await start.locator('html[data-ready]').waitFor();
  await check(start, 'docs', {whole: false});
  const docs = await open(context, '/docs#tag/notifications/POST/v2/notifications/config/set');
  await docs.getByRole('heading', {name: "Set notification preferences"}).waitFor();
  await check(docs, 'docs-operation', {whole: false});
  await docs.getByRole('button', {name: /Test Request.*v2\/notifications\/config\/set/}).click();
  const over = await docs.evaluate(() => {
    const boxes = [...document.querySelectorAll('.response-card .scalar-card-header-tabs :is(button, label)')].map((e) => [e.innerText, e.getBoundingClientRect()]);
    const lie = ([, a], [, b]) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
    return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => lie(a, b)).map((b) => `${a[0]} over ${b[0]}`));
  });
  if (over.length > 0) problems.add(`/docs: ${over.slice(0, 3)}`);
  const keys = [];
  for (const which of ['first', 'second']) {
    const [request] = await Promise.all([
      docs.waitForRequest('**/v2/notifications/config/set'), docs.getByRole('button', {name: 'Send post request'}).click(),
    ]);
    const status = (await request.response()).status();
    if (status !== 200) problems.add(`/docs: the ${which} try of an operation answers ${status}`);
    keys.push(request.headers()['idempotency-key']);
  }
  if (!keys[0] || keys[0] === keys[1]) problems.add(`/docs: two tries have the keys ${keys}`);
  await runAxe(docs, 'docs-tried');
  await docs.screenshot({path: path.join(screenshots, 'docs-tried.png')});
}

run(main);
