// Looks at the pages of a running local server in a browser, as a newcomer does, and prints what is wrong with them, one line each.
// Standard input: {"url", "browser" (path of the program, "" for Playwright's own), "screenshots" (folder)}.
const {execFileSync} = require('node:child_process');
const {readFileSync} = require('node:fs');
const path = require('node:path');
const {chromium} = require('playwright-core');

const {url, browser: program, screenshots} = JSON.parse(readFileSync(0, 'utf8'));
const axe = readFileSync(require.resolve('axe-core'), 'utf8');
const problems = new Set();

// open returns a page that notes errors and requests to anywhere else.
async function open(context, at) {
  const page = await context.newPage();
  page.on('console', (m) => m.type() === 'error' && problems.add(`${at}: console: ${m.text()}`));
  page.on('pageerror', (e) => problems.add(`${at}: ${e}`));
  page.on('requestfailed', (r) => problems.add(`${at}: ${r.url()} failed: ${r.failure()?.errorText}`));
  page.on('response', (r) => r.status() >= 400 && problems.add(`${at}: ${r.url()} answered ${r.status()}`));
  await page.goto(url + at);
  return page;
}

// check runs axe, and takes a picture.
async function check(page, name) {
  await page.evaluate(axe);
  const {violations} = await page.evaluate(() => window.axe.run(document, {iframes: false, resultTypes: ['violations']}));
  for (const v of violations.filter((v) => ['serious', 'critical'].includes(v.impact))) {
    problems.add(`${name}: axe: ${v.id}: ${v.help}: ${v.nodes.slice(0, 30).map((n) => n.html.slice(0, 100) + ' ' + (n.any[0]?.message.match(/foreground.*?\)/) ?? '')).join(' | ')}`);
  }
  await page.screenshot({path: path.join(screenshots, name + '.png'), fullPage: name !== 'docs'});
}

async function main() {
  const browser = await chromium.launch({executablePath: program || undefined, args: process.getuid?.() === 0 ? ['--no-sandbox'] : []});
  const context = await browser.newContext({viewport: {width: 1200, height: 800}});
  context.setDefaultTimeout(30_000);
  await context.route('**', (route) => {
    const to = new URL(route.request().url());
    if (to.origin === url || to.protocol === 'data:') return route.continue();
    problems.add(`a request leaves the machine: ${to}`);
    return route.abort();
  });

  const home = await open(context, '/');
  await check(home, 'home');

  // What the pages say to type works, and is seen at once.
  const webhooks = await open(context, '/webhooks');
  await webhooks.getByText('Nothing has arrived yet').waitFor();
  execFileSync('sh', ['-ec', await webhooks.locator('pre').first().innerText()]);
  await webhooks.getByText('verified').first().waitFor();
  await webhooks.getByText('comment_annotation.added', {exact: true}).first().waitFor();
  await check(webhooks, 'webhooks');

  const mail = await open(context, '/mail');
  await mail.locator('main td a').nth(1).waitFor();
  await check(mail, 'mail');
  const links = await mail.locator('main td a').evaluateAll((list) => list.map((a) => a.getAttribute('href')));
  for (const [i, href] of links.slice(0, 2).entries()) {
    const page = await open(context, href);
    await page.frameLocator('iframe').locator('body').getByText('Bob').or(page.frameLocator('iframe').locator('body').getByText('final')).first().waitFor();
    await check(page, `mail-${i + 1}`);
    const html = await open(context, href + '/html');
    await html.screenshot({path: path.join(screenshots, `mail-${i + 1}-html.png`), fullPage: true});
  }
  if (links.length < 2) problems.add(`/mail: ${links.length} mails, want two`);

  await tryReference(context);
  await browser.close();
}

// tryReference looks at the reference, and calls an operation from it.
async function tryReference(context) {
  const docs = await open(context, '/docs');
  await docs.locator('html[data-ready]').waitFor();
  await check(docs, 'docs');
  await docs.getByRole('button', {name: /\/v2\/organizations\/get/}).first().click();
  const operation = docs.locator('.opblock.is-open');
  await operation.getByRole('button', {name: 'Execute'}).click();
  const status = operation.locator('.live-responses-table tr.response td.response-col_status').first();
  await status.waitFor();
  const code = (await status.innerText()).trim();
  if (!code.startsWith('200')) problems.add(`/docs: trying an operation answers ${code}`);
  await check(docs, 'docs-operation');

  // The fields of a request are seen by one click, down to those of its comments.
  await docs.getByRole('button', {name: /\/v2\/commentannotations\/add/}).first().click();
  const add = docs.locator('.opblock.is-open').first();
  await add.getByText('Schema', {exact: true}).first().click();
  await add.getByText('Users whom the comment tags').waitFor();
  await check(docs, 'docs-schema');
}

main().then(() => {
  console.log([...problems].join('\n'));
}, (e) => {
  console.log([...problems, e.stack].join('\n'));
  process.exit(1);
});
