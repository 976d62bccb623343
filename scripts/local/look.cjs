// Shared code of the scripts that check a running local server in a browser. Standard input:
// {"url", "browser" (path of the program), "screenshots" (folder), "service" (its address if
// different)}, and further values per script. Scripts print one line per problem.
const {readFileSync} = require('node:fs');
const path = require('node:path');
const {chromium} = require('playwright-core');

const given = JSON.parse(readFileSync(0, 'utf8'));
const {url, service = url, browser: program, screenshots} = given;
const axe = readFileSync(require.resolve('axe-core'), 'utf8');
const problems = new Set();

// open returns a page that records errors except expected ones, the subjects of its connections by
// address as tickets, and their messages as hints.
async function open(context, at, status = 200) {
  const page = await context.newPage();
  page.expected = false; // whether requests are meant to fail
  page.hints = [];
  page.tickets = new Map();
  await page.addInitScript(() => {
    window.sockets = [];
    window.WebSocket = class extends WebSocket {
      constructor(url) {
        super(url);
        window.sockets.push(this);
      }
    };
  });
  const note = (text) => page.expected || problems.add(`${at}: ${text}`);
  // checked below
  page.on('console', (m) => m.type() === 'error' && status === 200 && !m.text().includes('429') && note(`console: ${m.text()}`));
  page.on('pageerror', (e) => problems.add(`${at}: ${e}`));
  page.on('requestfailed', (r) => {
    const why = r.failure()?.errorText;
    // otherwise the page was left
    if (why !== 'net::ERR_ABORTED') note(`${r.url()} failed: ${why}`);
  });
  // The script is faster than the rate limit: elements wait and retry.
  const expected = (r) => r.status() === status || r.status() === 429 && r.request().headers().authorization;
  page.on('response', (r) => r.status() >= 400 && !expected(r) && note(`${r.url()} answered ${r.status()}`));
  page.on('response', async (r) => {
    if (!r.url().endsWith('/live/tickets/add') || r.request().method() !== 'POST' || !r.ok()) return;
    const answer = await r.json().catch(() => null); // none if the page was left
    if (answer) page.tickets.set(answer.result.data.url, r.request().postDataJSON().data);
  });
  page.on('websocket', (socket) => socket.on('framereceived', ({payload}) => page.hints.push(payload)));
  const answer = await page.goto(url + at);
  if (answer.status() !== status) problems.add(`${at} answered ${answer.status()}, want ${status}`);
  return page;
}

// runAxe notes accessibility problems, in light and dark.
async function runAxe(page, shown, schemes = ['light', 'dark']) {
  // The browser does not repaint elements far out of view, so they keep the colors of the old
  // scheme.
  await page.evaluate(() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync('* { content-visibility: visible !important; transition: none !important }');
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  });
  await page.evaluate(axe);
  for (const colorScheme of schemes) {
    await page.emulateMedia({colorScheme});
    // including colors
    await page.evaluate(() => Promise.all(document.getAnimations().map((a) => a.finished.catch(() => {}))));
    const {violations} = await page.evaluate(() => window.axe.run(document, {iframes: false, resultTypes: ['violations']}));
    // Scalar has duplicates
    for (const v of violations.filter((v) => !(shown.startsWith('docs') && v.id.startsWith('landmark')))) {
      const where = v.nodes.slice(0, 4).map((n) => `${n.target} ${n.html.slice(0, 100)} ${n.any[0]?.message.match(/foreground.*?\)/) ?? ''}`);
      problems.add(`${shown}, ${colorScheme}: axe: ${v.id}: ${v.help}: ${where.join(' | ')}`);
    }
  }
  if (schemes.length > 1) await page.emulateMedia({colorScheme: 'light'});
}

// check runs axe and takes screenshots: light and dark, wide and narrow. It notes content wider
// than the window.
async function check(page, name, {whole = true} = {}) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({colorScheme, reducedMotion: 'reduce'});
    for (const width of [1280, 390]) {
      await page.setViewportSize({width, height: 800});
      const shown = `${name}-${colorScheme}-${width}`;
      await runAxe(page, shown, [colorScheme]);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      if (wide > width) problems.add(`${shown}: it is ${wide} wide`);
      await page.screenshot({path: path.join(screenshots, shown + '.png'), fullPage: whole});
    }
  }
  await page.setViewportSize({width: 1280, height: 800});
  await page.emulateMedia({colorScheme: 'light', reducedMotion: 'reduce'});
}

// launch returns a browser and a context that cannot reach other machines.
async function launch(options) {
  const browser = await chromium.launch({executablePath: program, args: process.getuid?.() === 0 ? ['--no-sandbox'] : []});
  return {browser, context: await contextOf(browser, options)};
}

async function contextOf(browser, options) {
  const context = await browser.newContext({viewport: {width: 1280, height: 800}, reducedMotion: 'reduce', ...options});
  context.setDefaultTimeout(60_000);
  await context.route('**', (route) => {
    const to = new URL(route.request().url());
    if ([url, service].includes(to.origin) || ['data:', 'blob:'].includes(to.protocol)) return route.continue();
    problems.add(`a request leaves the machine: ${to}`);
    return route.abort();
  });
  return context;
}

// call calls an operation of the service as a back end.
async function call(operation, data) {
  const headers = {'Content-Type': 'application/json', 'x-service-api-key': 'dev-key', 'x-service-auth-token': 'dev-token'};
  const answer = await fetch(service + operation, {method: 'POST', headers, body: JSON.stringify({data})});
  if (!answer.ok) throw new Error(`${operation} answered ${answer.status} ${await answer.text()}`);
  return (await answer.json()).result.data;
}

// until waits for a condition.
async function until(holds) {
  for (const end = Date.now() + 90_000; !(await holds()); await new Promise((done) => setTimeout(done, 100))) {
    if (Date.now() > end) return void problems.add(`${holds} did not come`);
  }
}

// connected waits until a page has one connection, for its document and the inbox.
const connected = (page) => until(async () => {
  const [address, ...others] = await page.evaluate(() => window.sockets.filter((s) => s.readyState === WebSocket.OPEN).map((s) => s.url));
  const ticket = page.tickets.get(address);
  return ticket?.documentIds && ticket.inbox && !others.length;
});

// select selects the n-th occurrence of a text in an element, which it scrolls into the window.
const select = (page, id, text, n = 1) => page.evaluate(([id, text, n]) => {
  const node = [...document.getElementById(id).childNodes].find((node) => node.data?.includes(text));
  node.parentElement.scrollIntoView({block: 'center'});
  const at = node.data.split(text, n).join(text).length;
  getSelection().setBaseAndExtent(node, at, node, at + text.length);
}, [id, text, n]);

// want notes a problem if the locator does not appear in time.
async function want(what, locator) {
  await locator.waitFor({timeout: 20_000}).catch(() => problems.add(`not seen: ${what}`));
}

// equal notes a problem if a value is not the wanted one.
function equal(what, got, wanted) {
  if (JSON.stringify(got) !== JSON.stringify(wanted)) problems.add(`${what}: ${JSON.stringify(got)}, want ${JSON.stringify(wanted)}`);
}

// focusedName returns the name of the focused element, in any shadow root.
const focusedName = (page) => page.evaluate(() => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  return at?.ariaLabel || at?.textContent.trim();
});

// act chooses from the menu of a thread, or of its n-th comment. keys uses the keyboard.
async function act(thread, name, {n = 0, keys = false} = {}) {
  const button = thread.getByRole('button', {name: /^More actions/}).nth(n);
  const menu = thread.page().getByRole('menu');
  const choice = menu.getByRole('menuitem', {name, exact: true}).or(menu.getByRole('menuitemradio', {name, exact: true}));
  for (const element of [button, choice]) await (keys ? element.press('Enter') : element.click());
}

// watch chooses a person's notifications of the document by a channel, and watched returns them.
async function watch(page, channel, choice) {
  await page.getByRole('button', {name: /: Notifications for this document$/}).click();
  await page.getByRole('group', {name: channel}).getByRole('menuitemradio', {name: choice}).click();
}

async function watched(page) {
  await page.getByRole('button', {name: /: Notifications for this document$/}).click();
  const chosen = page.locator('collab-preferences').getByRole('menuitemradio', {checked: true});
  await chosen.first().waitFor();
  const texts = await chosen.allInnerTexts();
  await page.keyboard.press('Escape');
  return texts;
}

// restrict chooses that only some people see the thread that is being written.
async function restrict(page) {
  await page.getByRole('button', {name: /^Visible to/}).press('Enter');
  await page.getByRole('menuitemradio', {name: 'Only these people'}).press('Enter');
}

// comment sends a comment on the selected text, and returns its thread.
async function comment(page, text) {
  await page.getByRole('button', {name: 'Comment on the selected text'}).click();
  await page.keyboard.type(text);
  await page.keyboard.press('Control+Enter');
  const thread = page.locator('collab-thread[open]');
  await thread.getByRole('button', {name: 'Resolve'}).waitFor();
  return thread;
}

// marked waits until a text is marked as the place of the open thread, with what is around it in
// its element.
async function marked(page, what, wanted) {
  const find = () => [...CSS.highlights.get('collab-thread-active') ?? []].map((r) => {
    const element = r.startContainer.parentElement?.closest('[id]') ?? document.body;
    const [before, after] = [document.createRange(), document.createRange()];
    before.selectNodeContents(element);
    before.setEnd(r.startContainer, r.startOffset);
    after.selectNodeContents(element);
    after.setStart(r.endContainer, r.endOffset);
    const [left, text, right] = [before, r, after].map((range) => `${range}`.replace(/\s+/g, ' '));
    return `${left.slice(-9)}[${text}]${right.slice(0, 9)}`;
  });
  let got;
  const end = Date.now() + 10_000;
  do got = await page.evaluate(find); while (`${got}` !== `${wanted}` && Date.now() < end);
  equal(`the mark ${what}`, got, wanted ? [wanted] : []);
}

// run runs a script and prints its problems. It exits immediately, because open connections would
// delay the end by most of a minute.
function run(main) {
  const end = (code, lines) => process.stdout.write(lines.join('\n') + '\n', () => process.exit(code));
  main().then(() => end(0, [...problems]), (e) => end(1, [...problems, e.stack]));
}

module.exports = {given, url, screenshots, problems, open, runAxe, check, launch, contextOf, call, until, connected, select, want, equal, focusedName, act, watch, watched, restrict, comment, marked, run};
