// Looks at the console of a running local server as its operator does: see look.cjs. "texts" are those that must not run; "organization",
// "folder", "document" and "event" name what has them, and "threads" says how many the document has.
const {given, url, problems, open, check, launch, run} = require('./look.cjs');

const {organization, document: plan, event} = given;
const at = (path, names = {}) => `/console${path}?${new URLSearchParams(names)}`;
const inOrganization = {account: 'dev', organization};
const inDocument = {...inOrganization, document: plan};

// inspect notes what a text has brought onto a page: the console makes no other elements, and leads nowhere else.
async function inspect(page, shown) {
  const found = await page.evaluate(() => {
    const known = 'SECTION H1 H2 P DIV TABLE THEAD TBODY TR TH TD A FORM INPUT LABEL SPAN SELECT OPTION TEXTAREA BUTTON PRE NAV FOOTER'.split(' ');
    const wrong = [];
    for (const e of document.querySelectorAll('main *')) {
      const attributes = [...e.attributes].filter((a) => a.value !== '' && /^on|^style$|^src/.test(a.name)).map((a) => a.name);
      const href = e.getAttribute('href') ?? e.getAttribute('action') ?? '/console';
      if (!known.includes(e.tagName) || attributes.length || !href.startsWith('/console')) wrong.push(e.outerHTML.slice(0, 200));
    }
    if (document.scripts.length !== 1) wrong.push(`${document.scripts.length} scripts`);
    return [...wrong, ...window.ran];
  });
  for (const f of found) problems.add(`${shown}: ${f}`);
}

// follow goes on with a list until it ends, without leaving the page, and returns how many rows it has then.
async function follow(page, list) {
  const rows = page.locator(`#${list} tbody tr`);
  const address = page.url();
  for (let more = page.locator(`#${list}-more a`); await more.count(); ) {
    const before = await rows.count();
    await more.click();
    const grown = ([list, n]) => document.querySelectorAll(`#${list} tbody tr`).length > n || !document.querySelector(`#${list}-more a`);
    await page.waitForFunction(grown, [list, before]);
  }
  if (page.url() !== address) problems.add(`${list}: more of it leads to ${page.url()}`);
  return rows.count();
}

async function main() {
  const {browser, context} = await launch();
  await context.addInitScript(() => {
    window.ran = [];
    for (const name of ['alert', 'confirm', 'prompt', 'print']) window[name] = (text) => window.ran.push(`${name} ran: ${text}`);
    document.addEventListener('securitypolicyviolation', (e) => window.ran.push(`${e.violatedDirective} kept ${e.blockedURI} from it`));
  });
  const visit = async (path, status) => {
    const page = await open(context, path, status);
    await inspect(page, path);
    return page;
  };
  const look = async (name, path, status) => {
    const page = await visit(path, status);
    await check(page, `console-${name}`);
    return page;
  };
  const accounts = await look('accounts', '/console');
  await accounts.getByRole('searchbox').fill('dev');
  await accounts.getByRole('button', {name: 'Find'}).click();
  await accounts.getByRole('link', {name: 'dev', exact: true}).click();
  await accounts.getByRole('heading', {name: 'Account dev'}).waitFor();
  await check(accounts, 'console-account');
  const setting = accounts.locator('tr', {has: accounts.getByRole('rowheader', {name: 'mails-per-day', exact: true})});
  await setting.getByRole('textbox').fill('7');
  await setting.getByRole('button').click();
  await accounts.getByText('from 20000 to 7').waitFor();
  await inspect(accounts, 'question');
  await check(accounts, 'console-question');
  await accounts.getByRole('link', {name: 'Cancel'}).click();
  await accounts.getByRole('heading', {name: 'Account dev'}).waitFor();
  await setting.getByRole('textbox').fill('7');
  await setting.getByRole('button').click();
  await accounts.getByRole('button', {name: 'Do it'}).click();
  await accounts.getByText('The setting mails-per-day is changed').waitFor();
  await accounts.locator('tr', {hasText: 'Mails'}).first().getByText('7', {exact: true}).first().waitFor();
  await accounts.getByRole('button', {name: 'Make an API key'}).click();
  await accounts.getByRole('button', {name: 'Do it'}).click();
  await accounts.getByText('The token is shown this once').waitFor();
  await check(accounts, 'console-key');

  const refused = await context.newPage(); // and not by open: a refusal is answered with 400
  await refused.goto(url + at('/account', {account: 'dev'}));
  const events = refused.locator('tr', {has: refused.getByRole('rowheader', {name: 'events-per-minute', exact: true})});
  await events.getByRole('textbox').fill('many');
  await events.getByRole('button').click();
  await events.getByText('must be a number from').waitFor();
  if (await events.getByRole('textbox').inputValue() !== 'many') problems.add('account: a refused value does not stay in its field');
  await inspect(refused, 'refused');
  await check(refused, 'console-refused');

  await visit(at('/organizations', {account: 'dev'}));
  await look('organization', at('/organization', inOrganization));
  const folder = await look('folder', at('/folder', {...inOrganization, folder: given.folder}));
  if (await follow(folder, 'documents') !== 1) problems.add('folder: it does not have its document');
  const threads = await look('document', at('/document', inDocument));
  const n = await follow(threads, 'threads');
  if (n !== given.threads) problems.add(`document: it has ${n} threads, want ${given.threads}`);
  await inspect(threads, 'document to its end');
  const links = await threads.locator('#threads td:first-child a').evaluateAll((list) => list.map((a) => a.getAttribute('href')));
  for (const link of links.slice(0, 5)) {
    await (await visit(link)).close();
  }
  const thread = await look('thread', at('/thread', {...inDocument, annotation: 'vectors'}));
  const comments = await follow(thread, 'comments');
  if (comments !== given.texts.length) problems.add(`thread: it has ${comments} comments, want ${given.texts.length}`);
  const shown = await thread.locator('#comments').innerText();
  for (const text of given.texts) {
    const words = text.replace(/[\s\0]+/g, ' ').trim();
    if (!shown.replace(/[\s\uFFFD]+/g, ' ').includes(words)) problems.add(`thread: it does not show ${text}`);
  }
  await inspect(thread, 'thread to its end');
  await look('events', at('/events', {...inDocument, annotation: 'vectors'}));
  const user = await look('user', at('/user', {...inDocument, user: 'bob'}));
  await follow(user, 'inbox');
  await inspect(user, 'user to the end');
  await visit(at('/members', inOrganization));
  await look('event', at('/event', {account: 'dev', event}));
  await visit(at('/webhooks', {account: 'dev'}));
  const deliveries = await look('webhook', at('/webhook', {account: 'dev', webhook: 'console'}));
  await deliveries.locator('#deliveries tbody tr td:nth-child(1) a').first().click();
  await deliveries.getByRole('heading', {name: 'Delivery of event'}).waitFor();
  await inspect(deliveries, 'delivery');
  await check(deliveries, 'console-delivery');
  const posts = deliveries.locator('section', {has: deliveries.getByRole('heading', {name: 'Answers'})}).locator('tbody tr');
  const before = await posts.count();
  await deliveries.getByRole('button', {name: 'Post it again'}).click();
  await deliveries.getByRole('button', {name: 'Do it'}).click();
  for (let end = Date.now() + 60_000; await posts.count() <= before; await deliveries.reload()) {
    if (Date.now() > end) throw new Error('it was not posted again');
  }
  await look('pending', '/console/pending');
  await look('quarantine', '/console/quarantine');
  const dead = await look('dead-letters', '/console/dead-letters');
  await dead.getByRole('button', {name: 'Send those of events again'}).first().click();
  await dead.getByRole('button', {name: 'Do it'}).click();
  await dead.getByText('were sent again').waitFor();
  await visit(at('/find', {...inOrganization, id: plan}));
  await look('missing', at('/document', {...inOrganization, document: given.texts[0]}), 404);
  await tryOthers(browser);
  await browser.close();
}

// tryOthers has a page of another site, and one of another server on this machine, read and change what is here.
async function tryOthers(browser) {
  for (const site of ['http://evil.example', 'http://127.0.0.1:9']) {
    const context = await browser.newContext();
    const target = url + at('/account', {account: 'dev'});
    const body = `<!doctype html><title>x</title><a href="${target}">read</a><form method="post" action="${url}/console/account/disable">
      <input name="account" value="dev"><input name="confirmed" value="yes"><button>write</button></form>`;
    await context.route(site + '/**', (route) => route.fulfill({contentType: 'text/html', body}));
    const page = await context.newPage();
    for (const [role, name] of [['button', 'write'], ['link', 'read']]) {
      await page.goto(site + '/');
      const answered = page.waitForResponse((r) => r.url().startsWith(url));
      await page.getByRole(role, {name}).click();
      const answer = await answered;
      if (answer.status() !== 403) problems.add(`${site}: to ${name} answers ${answer.status()}`);
    }
    await page.getByRole('heading', {name: 'Another page led here'}).waitFor();
    if (site.includes('evil')) await check(page, 'console-others');
    await page.getByRole('link', {name: 'Go on'}).click();
    await page.getByRole('heading', {name: 'Account dev'}).waitFor();
    if (await page.getByText('disabled', {exact: true}).count()) problems.add(`${site}: the account is disabled`);
    await context.close();
  }
}

run(main);
