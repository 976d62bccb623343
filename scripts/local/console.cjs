// Checks the console of a running local server as an operator uses it: see look.cjs. "texts" must
// not run as scripts. "organization", "folder" and "document" contain them.
const {given, url, problems, open, check, launch, run} = require('./look.cjs');

const {organization: organizationId, document: documentId, folder: folderId, texts} = given;
const at = (path, ids = {}) => `/console${path}?${new URLSearchParams({accountId: 'dev', ...ids})}`;

// inspect notes elements and links that a text added to a page.
async function inspect(page, shown) {
  const found = await page.evaluate(() => {
    const known = 'SECTION H1 H2 P DIV TABLE THEAD TBODY TR TH TD A FORM INPUT LABEL SPAN SELECT OPTION TEXTAREA BUTTON SMALL DETAILS SUMMARY NAV FOOTER'.split(' ');
    const wrong = [];
    for (const e of document.querySelectorAll('main *')) {
      const attributes = [...e.attributes].filter((a) => a.value !== '' && /^on|^style$|^src/.test(a.name)).map((a) => a.name);
      const href = e.getAttribute('href') ?? e.getAttribute('action') ?? '/console';
      if (!known.includes(e.tagName) || attributes.length || !href.startsWith('/console')) wrong.push(e.outerHTML.slice(0, 200));
    }
    if (document.scripts.length) wrong.push(`${document.scripts.length} scripts`);
    return [...wrong, ...window.ran];
  });
  for (const f of found) problems.add(`${shown}: ${f}`);
}

// walk visits the pages of a list and returns the texts of its rows.
async function walk(page, heading) {
  const list = page.locator('section', {has: page.getByRole('heading', {name: heading, exact: true})});
  for (const rows = []; ; ) {
    rows.push(...await list.locator('tbody tr').allInnerTexts());
    await inspect(page, heading);
    const more = list.getByRole('link', {name: 'More'});
    if (!await more.count()) return rows;
    await Promise.all([page.waitForEvent('load'), more.click()]);
  }
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
  await accounts.getByText('All operations on it').click();
  await accounts.getByRole('link', {name: 'settings update', exact: true}).click();
  await accounts.getByLabel('Mails per day').fill('7');
  await accounts.getByRole('button', {name: 'Call'}).click();
  await accounts.getByRole('button', {name: 'Continue'}).click();
  await accounts.getByText('were updated').waitFor();
  await inspect(accounts, 'settings');
  await check(accounts, 'console-settings');

  const refused = await context.newPage(); // open expects 200, but a refusal returns 400
  await refused.goto(url + at('/operator/settings/update'));
  await refused.getByLabel('Mails per day').fill('many');
  await refused.getByRole('button', {name: 'Call'}).click();
  await refused.getByText('must be an integer').waitFor();
  if (await refused.getByLabel('Mails per day').inputValue() !== 'many') problems.add('settings: a refused value does not stay in its field');
  await inspect(refused, 'refused');
  await check(refused, 'console-refused');

  await look('organization', at('/organization', {organizationId}));
  await look('folder', at('/folder', {organizationId, folderId}));
  const threads = await look('document', at('/document', {organizationId, documentId}));
  for (const href of (await threads.locator('td a[href*="/thread"]').evaluateAll((list) => list.map((a) => a.getAttribute('href')))).slice(0, 5)) {
    await (await visit(href)).close();
  }
  await walk(threads, 'Threads');
  const thread = await look('thread', at('/thread', {organizationId, documentId, annotationId: 'vectors'}));
  const link = await thread.locator('a[href*="/event?"]').first().getAttribute('href');
  const shown = (await walk(thread, 'Comments')).join(' ').replace(/[\s\uFFFD]+/g, ' ');
  for (const text of texts) {
    const words = text.replace(/[\s\0]+/g, ' ').trim();
    if (!shown.includes(words)) problems.add(`thread: it does not show ${text}`);
  }
  await look('event', link);
  await walk(await look('user', at('/user', {organizationId, documentId, userId: 'bob'})), 'Notifications');
  await look('webhook', at('/webhook', {webhookId: 'console'}));
  await look('pending', '/console/operator/pending/get');
  await look('form', at('/v2/commentannotations/add', {organizationId, documentId}));
  await visit(at('/find', {organizationId, id: documentId}));
  await look('missing', at('/document', {organizationId, documentId: texts[0]}), 404);
  await tryOthers(browser);
  await browser.close();
}

// tryOthers tries to read and change data from a page of another site, and of another server on
// this machine.
async function tryOthers(browser) {
  for (const site of ['http://evil.example', 'http://127.0.0.1:9']) {
    const context = await browser.newContext();
    const target = url + at('/account');
    const body = `<!doctype html><title>x</title><a href="${target}">read</a><form method="post" action="${url}/console/operator/accounts/update">
      <input name="accountId" value="dev"><input name="disabled" value="true"><input name="confirmed" value="yes"><button>write</button></form>`;
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
    if (!await page.locator('tr', {hasText: 'Disabled'}).getByText('no').count()) problems.add(`${site}: the account is disabled`);
    await context.close();
  }
}

run(main);
