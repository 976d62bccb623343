// Looks at the pages of a running local server in a browser, as a newcomer does, and prints what is wrong with them, one line each.
// Standard input: {"url", "browser" (path of the program), "screenshots" (folder)}.
const {execFileSync} = require('node:child_process');
const {readFileSync} = require('node:fs');
const path = require('node:path');
const {chromium} = require('playwright-core');

const {url, browser: program, screenshots} = JSON.parse(readFileSync(0, 'utf8'));
const axe = readFileSync(require.resolve('axe-core'), 'utf8');
const problems = new Set();

// open returns a page that notes errors and requests to anywhere else.
async function open(context, at, status = 200) {
  const page = await context.newPage();
  page.on('console', (m) => m.type() === 'error' && status === 200 && problems.add(`${at}: console: ${m.text()}`));
  page.on('pageerror', (e) => problems.add(`${at}: ${e}`));
  page.on('requestfailed', (r) => problems.add(`${at}: ${r.url()} failed: ${r.failure()?.errorText}`));
  page.on('response', (r) => r.status() >= 400 && r.status() !== status && problems.add(`${at}: ${r.url()} answered ${r.status()}`));
  const answer = await page.goto(url + at);
  if (answer.status() !== status) problems.add(`${at} answered ${answer.status()}, want ${status}`);
  return page;
}

// runAxe notes what keeps people out.
async function runAxe(page, shown) {
  // What is far out of sight keeps the colours of the scheme before, as the browser does not paint it.
  await page.evaluate(() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync('* { content-visibility: visible !important; transition: none !important }');
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  });
  await page.evaluate(() => Promise.all(document.getAnimations().map((a) => a.finished.catch(() => {})))); // of colours, too
  await page.evaluate(axe);
  const {violations} = await page.evaluate(() => window.axe.run(document, {iframes: false, resultTypes: ['violations']}));
  for (const v of violations.filter((v) => ['serious', 'critical'].includes(v.impact))) {
    const where = v.nodes.slice(0, 4).map((n) => `${n.target} ${n.html.slice(0, 100)} ${n.any[0]?.message.match(/foreground.*?\)/) ?? ''}`);
    problems.add(`${shown}: axe: ${v.id}: ${v.help}: ${where.join(' | ')}`);
  }
}

// check runs axe and takes a picture, in light and dark, wide and narrow. Nothing may be wider than the window.
async function check(page, name, {whole = true} = {}) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({colorScheme, reducedMotion: 'reduce'});
    for (const width of [1280, 390]) {
      await page.setViewportSize({width, height: 800});
      const shown = `${name}-${colorScheme}-${width}`;
      if (width === 1280) await runAxe(page, shown);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      if (wide > width) problems.add(`${shown}: it is ${wide} wide`);
      await page.screenshot({path: path.join(screenshots, shown + '.png'), fullPage: whole});
    }
  }
  await page.setViewportSize({width: 1280, height: 800});
  await page.emulateMedia({colorScheme: 'light', reducedMotion: 'reduce'});
}

async function main() {
  const browser = await chromium.launch({executablePath: program, args: process.getuid?.() === 0 ? ['--no-sandbox'] : []});
  const context = await browser.newContext({permissions: ['clipboard-read', 'clipboard-write']});
  context.setDefaultTimeout(60_000);
  await context.route('**', (route) => {
    const to = new URL(route.request().url());
    if (to.origin === url || ['data:', 'blob:'].includes(to.protocol)) return route.continue();
    problems.add(`a request leaves the machine: ${to}`);
    return route.abort();
  });

  const home = await open(context, '/');
  await home.getByRole('button', {name: 'Copy'}).first().click();
  const copied = await home.evaluate(() => navigator.clipboard.readText());
  if (copied !== await home.locator('pre').first().textContent()) problems.add(`/: the button copies ${copied}`);
  await check(home, 'home');
  await check(await open(context, '/webhook', 404), 'missing');

  await tryWebhooks(context);
  await tryMails(context);
  await tryReference(context);
  await browser.close();
}

// tryWebhooks does what the page says to type; what arrives is seen at once, and leaves open what is read. What arrived comes again.
async function tryWebhooks(context) {
  const page = await open(context, '/webhooks');
  await page.getByText('Nothing has arrived yet').waitFor();
  const commands = await page.locator('pre').first().innerText();
  execFileSync('sh', ['-ec', commands]);
  await page.getByText('verified').first().waitFor();
  await page.locator('summary').first().click(); // it was open
  await page.locator('summary').first().click();
  const read = page.locator('details[data-touched]');
  await read.getByText('"commentText"').waitFor();
  await read.getByRole('button', {name: 'Send it again'}).click();
  await page.locator('details').nth(1).waitFor();
  if (!await read.getByText('"commentText"').isVisible()) problems.add('/webhooks: what was open is closed when another arrives');
  const ids = await page.locator('details').evaluateAll((list) => list.map((d) => d.querySelector('pre').textContent.split('\n')[0]));
  if (ids[0] !== ids[1]) problems.add(`/webhooks: sent again is ${ids}`);
  await check(page, 'webhooks');
}

// tryMails finds a mail, and opens what its button leads to.
async function tryMails(context) {
  const list = await open(context, '/mail');
  await list.locator('.mails li').nth(1).waitFor();
  await check(list, 'mails');
  await list.getByRole('searchbox').fill('FINAL bob@example.com');
  await list.getByRole('searchbox').press('Enter');
  await list.waitForURL('**/mail?q=*');
  const found = await list.locator('.mails a').evaluateAll((links) => links.map((a) => a.getAttribute('href')));
  if (found.length !== 1) problems.add(`/mail: ${found.length} mails are found, want one`);
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

// tryReference looks at the reference, opens an operation by its address, and calls it twice.
async function tryReference(context) {
  const start = await open(context, '/docs');
  await start.locator('html[data-ready]').waitFor();
  await check(start, 'docs', {whole: false});
  const docs = await open(context, '/docs#tag/notifications/POST/v2/notifications/config/set');
  await docs.getByRole('heading', {name: "Sets users' notification preferences"}).waitFor();
  await check(docs, 'docs-operation', {whole: false});
  await docs.getByRole('button', {name: /Test Request.*v2\/notifications\/config\/set/}).click();
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

main().then(() => {
  console.log([...problems].join('\n'));
}, (e) => {
  console.log([...problems, e.stack].join('\n'));
  process.exit(1);
});
