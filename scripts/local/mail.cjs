// Notifies Bob of two threads, of which he opens one: see look.cjs.
const path = require('node:path');
const {url, screenshots, problems, open, launch, run} = require('./look.cjs');

const logo = `<svg xmlns="http://www.w3.org/2000/svg" width="150" height="32"><path d="M2 28V4l20 24V4" fill="none" stroke="#0a7d4f" stroke-width="5"/>
  <text x="34" y="23" font-family="sans-serif" font-size="19" font-weight="700" fill="#0a7d4f">Northwind</text></svg>`;

async function main() {
  const [ann, bob] = await Promise.all([launch(), launch()]);
  for (const {context} of [ann, bob]) await context.route('https://northwind.example/logo.svg', (route) => route.fulfill({contentType: 'image/svg+xml', body: logo}));
  const [writes, reads] = [await open(ann.context, '/demo?as=ann'), await open(bob.context, '/demo?as=bob')];
  await reads.getByRole('button', {name: 'Inbox', exact: true}).waitFor();

  // He reads Ann's question and replies before an email is due.
  await mention(writes, 'Is this read?');
  await reads.getByRole('button', {name: 'Inbox, 1 unread'}).click();
  await reads.getByRole('dialog').getByRole('button', {name: /Is this read/}).click();
  const thread = reads.locator('collab-thread[open]');
  await thread.getByRole('textbox').fill('It is.');
  await thread.getByRole('button', {name: 'Send'}).click();
  await writes.locator('collab-thread[open]').getByText('It is.').waitFor();
  const list = await open(ann.context, '/mail');
  const mails = async () => {
    await list.reload();
    return list.locator('.mails li', {hasText: 'bob@example.com'}).locator('a').evaluateAll((all) => all.map((a) => a.href));
  };
  if ((await mails()).length > 0) problems.add('the email arrived before Bob replied: the machine is too slow');

  // He gets an email about the unread thread. It is due later than that of the other thread, and
  // comes alone.
  await mention(writes, 'Is this unread?');
  let found = [];
  for (let tries = 0; found.length === 0 && tries < 600; tries++) found = await mails();
  if (found.length !== 1) problems.add(`Bob gets ${found.length} emails, want one`);
  const mail = await open(ann.context, new URL(found[0]).pathname);
  const text = await mail.frameLocator('iframe').locator('body').innerText();
  if (!text.includes('Is this unread?') || text.includes('Is this read?')) problems.add(`the mail says ${text}`);
  await draw(ann.context);
  await Promise.all([ann.browser.close(), bob.browser.close()]);
}

// draw takes the screenshot for infra/README.md, with a product's changes to emails.
async function draw(context) {
  const page = await open(context, '/mail/preview');
  const drawn = [];
  for (const [lang, colorScheme] of [['de', 'light'], ['ja', 'dark']]) {
    await page.emulateMedia({colorScheme});
    await page.setViewportSize({width: 420, height: 450});
    await page.goto(`${url}/mail/preview/mention/${lang}`);
    drawn.push((await page.screenshot()).toString('base64'));
  }
  await page.setViewportSize({width: 870, height: 470});
  await page.goto('about:blank');
  await page.setContent(`<body style="margin:10px;display:flex;gap:10px;background:#8893a2">${drawn.map((png) => `<img src="data:image/png;base64,${png}">`).join('')}`);
  await page.screenshot({path: path.join(screenshots, 'mail-look.png')});
}

// mention starts a thread with a question to Bob.
async function mention(page, text) {
  await page.getByRole('button', {name: 'Comment', exact: true}).click();
  await page.keyboard.type(`${text} @bob`);
  await page.getByRole('option', {name: 'Bob Builder'}).waitFor();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Control+Enter');
  await page.locator('collab-thread[open]').getByRole('button', {name: 'Resolve'}).waitFor();
}

run(main);
