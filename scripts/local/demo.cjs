// Uses the demo of a running local server as two people in two windows: see look.cjs. "vectors" are
// texts that must not run as scripts.
const {readFileSync} = require('node:fs');
const path = require('node:path');
const look = require('./look.cjs');

const {given: {vectors}, url, screenshots, problems, open, contextOf, until, equal} = look;

const check = (page, name, options) => look.check(page, `demo-${name}`, options);
const call = (operation, data) => look.call(operation, {organizationId: 'demo', documentId: 'launch-plan', ...data});

// select selects the first occurrence of a text in an element.
const select = (page, id, text) => page.evaluate(([id, text]) => {
  const node = [...document.getElementById(id).childNodes].find((n) => n.data?.includes(text));
  const at = node.data.indexOf(text);
  getSelection().setBaseAndExtent(node, at, node, at + text.length);
}, [id, text]);

// hide hides a page, as if another tab covered it, or shows it again.
const hide = (page, hidden) => page.evaluate((hidden) => {
  Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});
  document.dispatchEvent(new Event('visibilitychange'));
}, hidden);

// want notes a problem if the locator does not appear in time.
async function want(what, locator) {
  await locator.waitFor().catch(() => problems.add(`not seen: ${what}`));
}

async function main() {
  const {browser, context} = await look.launch();
  const ann = await open(context, '/demo?as=ann');
  const bob = await open(context, '/demo?as=bob');
  await want('a thread', ann.getByText('Is this with VAT?'));
  await check(ann, 'begin');

  // Ann comments on a text and mentions Bob, using the keyboard.
  await select(ann, 'intro', 'first of October');
  const float = ann.getByRole('button', {name: 'Comment on the selected text'});
  await want('the button beside the selection', float);
  await check(ann, 'selection');
  await float.click();
  await ann.keyboard.type('Is this certain, @bo');
  await want('Bob in the list, without his id', ann.getByRole('option', {name: 'Bob Builder', exact: true}));
  await check(ann, 'mention');
  await ann.keyboard.press('Enter');
  await ann.keyboard.type('?');
  await ann.keyboard.press('Control+Enter');
  await want('the thread', ann.getByRole('article', {name: 'Thread by Ann Archer'}).getByText('@Bob Builder'));
  await ann.getByText('Sending').waitFor({state: 'hidden'});
  await check(ann, 'thread');

  // Bob sees it in his inbox, replies and resolves.
  const bell = bob.getByRole('button', {name: 'Inbox, 1 unread'});
  await want("Bob's badge", bell);
  const dot = bob.getByRole('article', {name: 'Thread by Ann Archer'}).getByText('Unread', {exact: true});
  await want('the dot of what is unread', dot);
  await bell.click();
  await want('the notification', bob.getByRole('dialog').getByRole('button', {name: /Ann Archer mentioned you/}));
  await want('where it is', bob.getByRole('dialog').getByRole('button', {name: /first of October/}));
  const emails = bob.getByRole('dialog').getByLabel('Emails');
  await bob.getByRole('dialog').getByText('Emails').click();
  const chosen = async () => (await call('/v2/notifications/config/get', {documentId: undefined, userId: 'bob', getOrganizationConfig: true}))[0];
  await emails.selectOption('never');
  await until(async () => (await chosen()).config.email === 'NONE');
  await emails.selectOption('daily');
  await bob.getByLabel('Time of the daily email').selectOption('7');
  await until(async () => {
    const {config, mailFrequency, mailHour} = await chosen();
    return config.email === 'MINE' && mailFrequency === 'daily' && mailHour === 7;
  });
  await bob.getByRole('dialog').getByText('Emails').click();
  await check(bob, 'inbox', {whole: false});
  await bob.getByRole('dialog').getByRole('button', {name: /Ann Archer/}).click();
  const thread = bob.getByRole('article', {name: 'Thread by Ann Archer'});
  await want("Ann's thread", thread.getByRole('textbox'));
  await want('an empty inbox', bob.getByRole('button', {name: 'Inbox', exact: true}));
  await dot.waitFor({state: 'detached'}).catch(() => problems.add('what was opened is unread'));
  await thread.getByRole('textbox').fill('Yes, see https://example.com/plan.');
  await thread.getByRole('button', {name: 'Send'}).click();
  await want('the answer', thread.getByRole('link', {name: 'https://example.com/plan'}));
  await want("Bob's answer in Ann's window", ann.getByRole('article', {name: 'Thread by Ann Archer'}).getByText('Yes, see'));
  if (!ann.hints.includes('{"changed":{"documentId":"launch-plan"}}')) problems.add(`nothing told Ann's window of Bob's answer: ${ann.hints}`);
  if (!bob.hints.includes('{"changed":{"inbox":true}}')) problems.add(`nothing told Bob's window of his inbox: ${bob.hints}`);

  // A failed comment can be retried, and is not sent twice.
  bob.expected = true;
  await bob.route('**/comments/add', (route) => route.abort());
  await thread.getByRole('textbox').fill('By the way');
  await thread.getByRole('button', {name: 'Send'}).click();
  await want('the error', thread.getByRole('alert').getByText('Your reply was not sent.'));
  await check(bob, 'failed');
  await bob.unroute('**/comments/add');
  await thread.getByRole('button', {name: 'Try again'}).click();
  await thread.getByRole('alert').waitFor({state: 'hidden'});
  await thread.getByText('Sending').waitFor({state: 'hidden'});
  bob.expected = false;
  if ((await thread.getByText('By the way').count()) !== 1) problems.add('the comment that failed is not there once');
  await look.act(thread, 'Edit', {n: -1});
  await check(bob, 'edit');
  await thread.getByRole('textbox', {name: /^Edit/}).fill('By the way, thanks, @cl');
  await bob.getByRole('option', {name: 'Cleo Clark'}).waitFor();
  await bob.keyboard.press('Tab');
  await thread.getByRole('button', {name: 'Save'}).click();
  await want('the edit', thread.getByText('By the way, thanks, @Cleo Clark'));
  await want('that it was edited', thread.getByText('edited'));
  await thread.getByRole('button', {name: 'Resolve'}).click();
  await bob.getByRole('button', {name: 'Resolved 2'}).click();
  await want('the resolved thread', thread.getByText('✓ Resolved by Bob Builder'));

  // He sets his notifications, and the choice persists.
  await look.watch(bob, 'Email', 'Nothing');
  await check(bob, 'preferences');
  await bob.reload();
  equal('the kept preferences', await look.watched(bob), ['Replies and mentions', 'Nothing']);

  // An element without text; a deleted thread; HTML.
  await ann.getByRole('button', {name: 'Comment on the table'}).click();
  await ann.keyboard.type('More months, please');
  await ann.getByRole('button', {name: 'Send'}).click();
  await want('a thread on the table', ann.getByRole('button', {name: 'Numbers', exact: true}));
  const own = ann.locator('collab-thread[open]');
  await look.act(own, 'Delete');
  await check(ann, 'delete');
  await own.getByRole('button', {name: 'Delete', exact: true}).click();
  await ann.getByRole('button', {name: 'Numbers', exact: true}).waitFor({state: 'detached'}).catch(() => problems.add('a deleted comment is seen'));
  await want('the gone thread', ann.getByText('1 thread on removed text'));
  await ann.getByRole('button', {name: 'Resolved 2'}).click();
  await ann.getByRole('button', {name: 'Show 1 reply'}).click();
  await want('formatted HTML', ann.locator('b', {hasText: 'second table'}));

  // A hidden page sends no requests.
  const asked = [];
  ann.on('request', (r) => r.method() === 'POST' && asked.push(r.url()));
  await hide(ann, true);
  asked.length = 0;
  const [annHeard, bobHeard] = [ann.hints.length, bob.hints.length];

  const mail = await open(context, '/mail');
  await want('the email to Cleo, whom an edit mentioned', mail.getByText('cleo@example.com').first());
  const webhooks = await open(context, '/webhooks');
  await want('the webhook', webhooks.getByText('comment_annotation.added', {exact: true}).first());
  await want('what will be deleted', bob.getByText('1 thread on removed text'));
  await call('/v2/commentannotations/delete', {annotationIds: ['demo-gone']});
  await bob.getByText('1 thread on removed text').waitFor({state: 'detached'}).catch(() => problems.add('what was deleted is seen'));
  await until(() => ann.hints.length > annHeard && bob.hints.length > bobHeard);
  if (asked.length > 0) problems.add(`a hidden page asks: ${asked}`);
  await hide(ann, false);
  await ann.getByText('1 thread on removed text').waitFor({state: 'detached'}).catch(() => problems.add('a page that is shown again does not look'));
  await context.close();

  await writing(browser);
  await following(browser);
  await restricted(browser);
  await telling(browser);
  await notifying(browser);
  await reading(browser);
  await resending(browser);
  await failing(browser);
  await readded(browser);
  await signing(browser);
  await attack(browser);
  await browser.close();
}

// focus returns the name of the focused button, field or part.
async function focus(page, what, name) {
  const on = (name) => {
    let at = document.activeElement;
    while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    const is = (at.getAttribute('aria-label') ?? (at === document.body ? 'nothing' : at.textContent)).trim().replace(/\s+/g, ' ');
    return name === undefined ? is : is.startsWith(name);
  };
  await page.waitForFunction(on, name, {timeout: 10_000}).catch(async () => problems.add(`${what}: the focus is on ${await page.evaluate(on)}, want ${name}`));
}

// writing writes with the keyboard and with interruptions: no text is lost, and the focus stays.
async function writing(browser) {
  const context = await contextOf(browser);
  const page = await open(context, '/demo?as=cleo');
  const keys = page.keyboard;
  const thread = page.getByRole('article', {name: 'Thread by Cleo Clark'});
  await thread.getByRole('button', {name: 'Show 1 reply'}).press('Enter');
  await keys.type('A reply to @bo');
  await page.getByRole('option', {name: 'Bob Builder'}).waitFor();
  await keys.press('Enter');
  await keys.press('Escape');
  await focus(page, 'Escape in a reply', 'Show 1 reply');
  await want('that there is a draft', thread.getByText('Draft', {exact: true}));
  await page.getByRole('button', {name: 'Comment', exact: true}).press('Enter');
  await keys.type('A thread');
  await check(page, 'drafts');
  await keys.press('Escape');
  await focus(page, 'Escape in a new thread', 'Comment');
  await page.getByRole('button', {name: 'Comment on the table'}).press('Enter');
  await keys.type('@');
  await page.getByRole('option').first().waitFor();
  if ((await page.getByRole('option', {name: 'Cleo Clark'}).count()) > 0) problems.add('one can mention oneself');
  await keys.press('Escape');
  await page.getByRole('button', {name: 'Cancel'}).press('Enter');
  await focus(page, 'Cancel', 'Comment on the table');
  await page.reload();
  const kept = page.getByRole('button', {name: /^Continue/});
  await want('the draft of a thread', kept);
  if ((await kept.count()) !== 1) problems.add('what was canceled is kept');
  await kept.press('Enter');
  const text = page.getByRole('textbox');
  if ((await text.inputValue()) !== 'A thread') problems.add(`a draft became ${await text.inputValue()}`);
  await twins(page, text);
  await text.fill('x'.repeat(20_001));
  await want('that a text is too long', page.getByText('1 character too many'));
  if (await page.getByRole('button', {name: 'Send'}).isEnabled()) problems.add('a text that is too long can be sent');
  await check(page, 'long');
  await keys.press('Backspace');
  await want('how much may come', page.getByText('0 characters left'));
  await keys.press('Control+Enter');
  await focus(page, 'a thread was sent', 'Thread by Cleo Clark');
  const own = page.locator('collab-thread[open]');
  await own.getByRole('button', {name: 'Resolve'}).press('Enter');
  await want('that it is resolved', own.getByRole('button', {name: 'Reopen', exact: true}));
  await focus(page, 'Resolve', 'Reopen');
  await keys.press('Escape');
  await focus(page, 'Escape in what is not listed', 'Show 1 reply');
  await thread.getByRole('button', {name: 'Show 1 reply'}).press('Enter');
  await focus(page, 'a thread was opened', 'Write a reply');
  if ((await text.inputValue()) !== 'A reply to @Bob Builder ') problems.add(`a draft became ${await text.inputValue()}`);
  await thread.getByRole('button', {name: 'Send'}).click();
  await focus(page, 'a reply was sent', 'Write a reply');
  await want('the mention', thread.locator('.mention', {hasText: '@Bob Builder'}));
  await look.act(thread, 'Edit', {n: 2, keys: true});
  await keys.type(' and more');
  await keys.press('Escape');
  await focus(page, 'Escape in an edit', 'More actions for the comment');
  await look.act(thread, 'Delete', {n: 2, keys: true});
  await keys.press('Enter');
  await focus(page, 'Delete', 'Thread by Cleo Clark');
  await page.getByRole('button', {name: /^Inbox/}).press('Enter');
  await focus(page, 'the inbox', 'Inbox');
  await keys.press('Escape');
  await focus(page, 'Escape in the inbox', 'Inbox');
  await context.close();
}

// following mentions a group and mutes the thread, using the keyboard.
async function following(browser) {
  const context = await contextOf(browser);
  const page = await open(context, '/demo?as=ann');
  const keys = page.keyboard;
  const group = page.getByRole('option', {name: 'Launch team Group'});
  await page.getByRole('button', {name: 'Comment', exact: true}).press('Enter');
  await keys.type('News for @te');
  await want('the group in the list', group);
  await check(page, 'group');
  await keys.press('Enter');
  await keys.press('Control+Enter');
  const thread = page.locator('collab-thread[open]');
  const mention = thread.locator('.mention', {hasText: '@Launch team'});
  await want('the name of the group', mention);
  await thread.getByRole('button', {name: 'Resolve'}).waitFor();
  await until(async () => (await call('/v2/notifications/get', {userId: 'cleo'})).some((n) => n.displayBodyMessage === 'News for @Launch team'));

  // level returns the level in the menu.
  const level = async () => {
    await thread.getByRole('button', {name: 'More actions', exact: true}).press('Enter');
    const checked = await page.getByRole('group', {name: 'Notifications for this thread'}).getByRole('menuitemradio', {checked: true}).innerText();
    await keys.press('Escape');
    return checked;
  };
  const saved = (response) => response.url().endsWith('/config/set');
  await Promise.all([page.waitForResponse(saved), look.act(thread, 'Mute', {keys: true})]);
  await focus(page, 'a level was chosen', 'More actions');
  await look.act(thread, 'Edit', {keys: true});
  await keys.type('!');
  await keys.press('Control+Enter');
  let id;
  await until(async () => (id = (await call('/v2/commentannotations/get', {})).find((a) => a.comments[0]?.commentText === 'News for {{launch}}!')?.annotationId));
  await page.goto(`${url}/demo?as=ann#collab-thread=${id}`);
  await page.reload();
  await want('the group after an edit', mention);
  if ((await level()) !== 'Mute') problems.add('the level is not kept');
  page.expected = true;
  await page.route('**/config/set', (route) => route.abort());
  await look.act(thread, 'Follow');
  await want('that the level is not saved', thread.getByRole('alert').getByText('The change was not saved.'));
  await check(page, 'level');
  await thread.getByRole('button', {name: 'Discard'}).click();
  if ((await level()) !== 'Mute') problems.add('a level that was not saved is shown');
  await page.unroute('**/config/set');
  page.expected = false;

  // Groups are not suggested in a restricted thread, because their members are unknown.
  await page.getByRole('button', {name: 'Comment', exact: true}).press('Enter');
  await look.restrict(page);
  await page.getByRole('textbox', {name: /^Write a comment/}).fill('@');
  await page.getByRole('option', {name: 'Bob Builder'}).waitFor();
  if ((await group.count()) > 0) problems.add('a group is offered for a thread of few');
  await page.getByRole('button', {name: 'Cancel'}).press('Enter');

  for (const lang of ['de', 'es', 'fr', 'ja', 'pt']) {
    const {elements: words} = JSON.parse(readFileSync(`../../shared/words/catalogs/${lang}.json`, 'utf8'));
    await page.goto(`${url}/demo?as=ann&lang=${lang}#collab-thread=${id}`);
    await thread.getByRole('button', {name: words.actions, exact: true}).click();
    const levels = page.getByRole('group', {name: words.follow});
    await want(`the level in ${lang}`, levels);
    const options = await levels.getByRole('menuitemradio').allInnerTexts();
    const wanted = ['default', 'all', 'mentions', 'none'].map((l) => words[`level.${l}`]);
    if (`${options}` !== `${wanted}`) problems.add(`${lang}: the levels are ${options}`);
    if (lang === 'de') await check(page, `level-${lang}`); // has the longest texts
  }
  await context.close();
}

// twins mentions people with the same name, who differ only by their ids.
async function twins(page, text) {
  const photoUrl = `${url}/pages/icon.svg`;
  const users = [{userId: 'dee-1', name: 'Dan Dee'}, {userId: 'dee-2', name: 'Dan Dee'}, {userId: 'ell-1', name: 'Eve Ell'}, {userId: 'ell-2', name: 'Eve Ell', photoUrl}];
  await call('/v2/users/add', {documentId: undefined, users});
  await page.reload();
  await page.getByRole('button', {name: /^Continue/}).click();
  for (const [typed, people] of [['dan', 'DD Dan Dee dee-1, DD Dan Dee dee-2'], ['eve', 'EE Eve Ell,  Eve Ell']]) {
    await text.fill(`@${typed}`);
    await page.getByRole('option', {name: new RegExp(typed, 'i')}).first().waitFor();
    const offered = await page.getByRole('option').evaluateAll((list) => list.map((o) => [...o.children].map((s) => s.textContent.trim()).join(' ')).join(', '));
    if (offered !== people) problems.add(`people of one name are offered as ${offered}`);
  }
}

// restricted starts a thread that only two people see, using the keyboard.
async function restricted(browser) {
  const context = await contextOf(browser);
  const page = await open(context, '/demo?as=ann');
  const other = await open(context, '/demo?as=bob');
  await other.getByRole('article').first().waitFor();
  const keys = page.keyboard;
  await page.getByRole('button', {name: 'Comment', exact: true}).press('Enter');
  await keys.type('Only for you, @cl');
  await page.getByRole('option', {name: 'Cleo Clark'}).waitFor();
  await keys.press('Enter');
  await look.restrict(page);
  await focus(page, 'Only these people', 'Add a person');
  const cleo = page.getByRole('button', {name: 'Remove Cleo Clark'});
  await want('that who is mentioned will see it', cleo);
  await keys.type('Bo');
  await page.getByRole('option', {name: 'Bob Builder'}).waitFor();
  await check(page, 'people');
  await keys.press('Enter');
  await page.getByRole('button', {name: 'Remove Bob Builder'}).waitFor();
  await check(page, 'only');
  await focus(page, 'a person was added', 'Add a person');
  await keys.press('Backspace');
  await page.getByRole('button', {name: 'Remove Bob Builder'}).waitFor({state: 'detached'});
  await cleo.press('Enter');
  await cleo.waitFor({state: 'detached'});
  await focus(page, 'a person was removed', 'Add a person');
  const send = page.getByRole('button', {name: 'Send'});
  if (await send.isEnabled()) problems.add('a thread can be sent that nobody sees');
  await keys.type('cle');
  await page.getByRole('option', {name: 'Cleo Clark'}).waitFor();
  await keys.press('Enter');
  await cleo.waitFor();
  await keys.press('Escape'); // closes the list
  await keys.press('Escape');
  await focus(page, 'Escape where people are chosen', 'Comment');
  await page.reload();
  await page.getByRole('button', {name: /^Continue/}).press('Enter');
  await want('that the draft is still for Cleo', cleo);
  await keys.press('Control+Enter');
  const thread = page.locator('collab-thread[open]');
  await want('for whom the thread is', thread.getByText('Only Cleo Clark and you'));
  await thread.getByRole('button', {name: 'Resolve'}).waitFor();
  const reply = thread.getByRole('textbox');
  await until(async () => { // a look that ends meanwhile may close the list
    await reply.fill('');
    await reply.fill('@');
    return page.getByRole('option', {name: 'Cleo Clark'}).waitFor({timeout: 10_000}).then(() => true, () => false);
  });
  if ((await page.getByRole('listbox').getByRole('option').count()) !== 1) problems.add('somebody is offered who does not see the thread');
  await keys.press('Escape');
  await check(page, 'restricted');

  const bell = await open(context, '/demo?as=cleo');
  await want("Cleo's thread", bell.getByText('Only Ann Archer and you'));
  const inbox = bell.getByRole('button', {name: /^Inbox/});
  const unread = async () => Number(/\d+/.exec(await inbox.getAttribute('aria-label')) ?? 0);
  await until(async () => (await unread()) > 0);
  const before = await unread();
  const polling = await context.newPage();
  await polling.addInitScript(() => delete window.WebSocket);
  const looked = polling.waitForResponse((r) => r.url().endsWith('/notifications/get') && r.request().postData().includes('createdAfter'));
  await polling.goto(`${url}/demo?as=cleo`);
  await (await looked).finished();
  await want('the badge after a look that finds nothing new', polling.getByRole('button', {name: `Inbox, ${before} unread`}));
  await bell.locator('collab-threads').getByText('Only for you').click();
  await until(async () => (await unread()) === before - 1);

  // An open thread becomes read only when the page is visible.
  await hide(bell, true);
  await thread.getByRole('textbox').fill('Are you there?');
  await keys.press('Control+Enter');
  const seen = bell.locator('collab-thread[open]');
  await seen.getByText('Are you there?').waitFor();
  const dot = seen.getByText('Unread', {exact: true});
  await want('the dot of a reply on a hidden page', dot);
  await hide(bell, false);
  await dot.waitFor({state: 'detached'}).catch(() => problems.add('an open thread stays unread on a page that is seen again'));
  await polling.close();
  await inbox.click();
  if (before > 1) {
    // a reload would cancel the request
    const marked = bell.waitForResponse((r) => r.url().endsWith('/notifications/update'));
    await bell.getByRole('button', {name: 'Mark all as read'}).click();
    await marked;
  }
  await until(async () => (await unread()) === 0);
  await bell.reload();
  await want('that all is read', bell.getByRole('button', {name: 'Inbox', exact: true}));
  await want("Cleo's thread", bell.getByText('Only Ann Archer and you'));
  for (let i = 0; i < 2; i++) {
    const look = other.waitForResponse((r) => r.url().endsWith('/commentannotations/get'));
    await other.evaluate(() => dispatchEvent(new Event('online')));
    await look;
  }
  if ((await other.getByText('Only for you').count()) > 0) problems.add('Bob sees what is not for him');
  await context.close();
}

// telling notifies Cleo of two threads, one in Hebrew with several comments: one row each, in the
// language of the page.
async function telling(browser) {
  const from = {userId: 'dana', name: 'דנה כהן'};
  const comment = (commentText) => ({commentText, from, triggerNotification: true, taggedUserContacts: [{userId: 'cleo', contact: {userId: 'cleo', name: 'Cleo Clark'}}]});
  await call('/v2/commentannotations/add', {commentAnnotations: [
    {annotationId: 'hebrew', targetElement: {elementId: 'intro', targetText: 'המחיר החדש.'}, commentData: [comment('האם זה כולל מע"מ?')]},
    {annotationId: 'html', commentData: [{...comment(), commentHtml: '<p>שלום {{cleo}}.</p>'}]},
  ]});
  for (let i = 0; i < 4; i++) await call('/v2/commentannotations/comments/add', {annotationId: 'hebrew', commentData: [comment(`תשובה ${i}.`)]});
  const told = async (more) => (await call('/v2/notifications/get', {userId: 'cleo', ...more})).filter((n) => ['hebrew', 'html'].includes(n.annotationId)).length;
  await until(async () => (await told()) === 6);
  const context = await contextOf(browser);
  const page = await open(context, '/demo?as=cleo&lang=de');
  await page.getByRole('button', {name: /^Posteingang/}).click();
  const inbox = page.getByRole('dialog');
  const row = inbox.getByRole('button', {name: /5 neue Kommentare/});
  await want('one row for a thread, in German', row.getByText('\u2068דנה כהן\u2069 hat Sie erwähnt'));
  await want('its document and text', row.getByText('„המחיר החדש.“'));
  if ((await inbox.locator('.item', {hasText: 'דנה'}).count()) !== 2) problems.add('the inbox has not a row for each thread');
  const turned = {'.headline': 'ltr', '.where bdi:last-child': 'rtl', '.text': 'rtl'};
  for (const [name, direction] of Object.entries(turned)) {
    const got = await row.locator(name).evaluate((e) => getComputedStyle(e).direction);
    if (got !== direction) problems.add(`${name} of the inbox is ${got}`);
  }
  await check(page, 'inbox-de', {whole: false});
  await row.click();
  const thread = page.locator('collab-thread[open]');
  await thread.getByText('תשובה 3.').waitFor();
  for (const name of ['.quote', '.name', '.text', 'article']) {
    const got = await thread.locator(name).first().evaluate((e) => getComputedStyle(e).direction);
    if (got !== (name === 'article' ? 'ltr' : 'rtl')) problems.add(`${name} of a thread is ${got}`);
  }
  const html = page.locator('collab-thread').filter({hasText: 'שלום'}).locator('.text');
  if ((await html.evaluate((e) => getComputedStyle(e).direction)) !== 'rtl') problems.add('HTML in Hebrew is not from right to left');
  await until(async () => (await told({unreadOnly: true})) === 1);
  await call('/v2/commentannotations/delete', {annotationIds: ['hebrew', 'html']});
  await context.close();
}

// notifying has Bob follow the document, and Ann share a thread with Cleo. Each is notified of that, and of no edit.
async function notifying(browser) {
  const from = {userId: 'ann', name: 'Ann Archer'};
  const say = (annotationId, more) => ({annotationId, commentData: [{commentText: 'For followers', from, triggerNotification: true, ...more}]});
  const headlines = async (userId, annotationId) => (await call('/v2/notifications/get', {userId}))
    .filter((n) => n.annotationId === annotationId).map((n) => n.displayHeadlineMessage).join(', ');
  const context = await contextOf(browser);
  const bob = await open(context, '/demo?as=bob');
  const choose = async (choice, level) => {
    await look.watch(bob, 'Inbox', choice);
    await until(async () => (await call('/v2/notifications/config/get', {userId: 'bob', documentIds: ['launch-plan'], documentId: undefined}))[0].level === level);
  };
  await choose('All activity', 'all');
  await check(bob, 'follow', {whole: false});
  await call('/v2/commentannotations/add', {commentAnnotations: [say('followed')]});
  await until(async () => (await headlines('bob', 'followed')) === 'Ann Archer added a comment');

  const ann = await open(context, '/demo?as=ann#collab-thread=followed');
  const thread = ann.locator('collab-thread[open]');
  for (let i = 1; i <= 5; i++) {
    await look.act(thread, 'Edit');
    await thread.getByRole('textbox', {name: /^Edit/}).fill(`For followers, ${i}`);
    await thread.getByRole('button', {name: 'Save'}).click();
    await thread.getByText(`For followers, ${i}`, {exact: true}).waitFor();
  }
  await call('/v2/commentannotations/comments/add', say('followed', {commentText: 'A reply'}));
  await until(async () => (await headlines('bob', 'followed')).includes(','));
  const got = await headlines('bob', 'followed');
  if (got !== 'Ann Archer replied, Ann Archer added a comment') problems.add(`after five edits and a reply Bob was notified: ${got}`);

  await choose('Replies and mentions', undefined);
  await call('/v2/commentannotations/add', {commentAnnotations: [say('unfollowed'), say('shared')]});
  const visibility = {type: 'restricted', userIds: ['ann', 'cleo']};
  await call('/v2/commentannotations/update', {annotationIds: ['shared'], updatedData: {visibility}, actionUser: from, triggerNotification: true});
  const cleo = await open(context, '/demo?as=cleo');
  await cleo.getByRole('button', {name: /^Inbox/}).click();
  await want("the share in Cleo's inbox", cleo.getByRole('dialog').getByText('Ann Archer shared a thread with you'));
  await check(cleo, 'shared', {whole: false});
  for (const id of ['unfollowed', 'shared']) {
    if (await headlines('bob', id)) problems.add(`Bob follows no more, and was notified of ${id}`);
  }
  await call('/v2/commentannotations/delete', {annotationIds: ['followed', 'unfollowed', 'shared']});
  await context.close();
}

// reading navigates long threads and lists, without images on a bad connection, and as a viewer.
async function reading(browser) {
  const from = {userId: 'bob', name: 'Bob Builder'};
  await call('/v2/commentannotations/add', {commentAnnotations: [{
    annotationId: 'long', commentData: Array.from({length: 60}, (_, i) => ({commentId: i + 1, commentText: `Remark ${i + 1} of many`, from})),
  }]});
  const context = await contextOf(browser);
  const page = await open(context, '/demo?as=ann#collab-thread=long&comment=5');
  const fifth = page.getByText('Remark 5 of many');
  await want('the comment of the address', fifth);
  await page.waitForFunction(() => document.querySelector('collab-threads').shadowRoot.querySelector('[open]').shadowRoot.querySelector('.sought').getBoundingClientRect().top < innerHeight);
  await page.getByRole('button', {name: '3 earlier'}).click();
  await want('the comments before it', page.getByText('Remark 2 of many'));
  await page.evaluate(() => (location.hash = ''));
  await page.keyboard.press('Escape');
  await page.getByRole('button', {name: 'Show 59 replies'}).click();
  await want('how many comments there are before', page.getByRole('button', {name: '39 earlier'}));
  if ((await fifth.count()) > 0) problems.add('a long thread shows all of its comments');
  await page.getByRole('button', {name: 'Jump to newest'}).click();
  await page.getByText('Remark 60 of many').waitFor();

  const height = await page.evaluate(() => {
    document.querySelector('aside').style.width = '340px';
    return document.querySelector('collab-threads').shadowRoot.querySelector('header > .main').offsetHeight;
  });
  if (height > 32) problems.add(`the button Comment is ${height} px high`);
  await page.getByRole('button', {name: /^Mine/}).click();
  await page.keyboard.press('Escape');
  await want('an own thread', page.getByText('Is this certain,'));
  await page.getByRole('button', {name: /^Show 59/}).waitFor({state: 'detached'}).catch(() => problems.add("somebody else's thread is among the reader's own"));

  // It opens at the first unread comment; a notification opens at its comment.
  await page.getByRole('button', {name: /^Open/}).click();
  const more = Array.from({length: 25}, (_, i) => ({commentText: `Remark ${i + 61} of many`, from}));
  await call('/v2/commentannotations/comments/add', {annotationId: 'long', commentData: more});
  await want('that the long thread is unread', page.getByRole('article', {name: 'Thread by Bob Builder'}).filter({hasText: 'Remark 1 of'}).getByText('Unread', {exact: true}));
  const sought = (text) => page.waitForFunction((text) => {
    const at = document.querySelector('collab-threads').shadowRoot.querySelector('[open]')?.shadowRoot.querySelector('.sought');
    return at?.textContent.includes(text) && at.getBoundingClientRect().top >= 0 && at.getBoundingClientRect().bottom <= innerHeight;
  }, text).catch(() => problems.add(`the thread is not open at ${text}`));
  await page.getByRole('button', {name: 'Show 84 replies'}).click();
  await sought('Remark 61 of many');
  const told = {commentText: 'Remark 86, {{ann}}', from, triggerNotification: true, taggedUserContacts: [{userId: 'ann', contact: {userId: 'ann', name: 'Ann Archer'}}]};
  const [id] = await call('/v2/commentannotations/comments/add', {annotationId: 'long', commentData: [told]});
  await page.route('**/v2/notifications/get', async (route) => {
    const response = await route.fetch();
    const {result} = await response.json();
    return route.fulfill({response, json: {result: {...result, unreadCount: {count: 99, more: true}}}});
  });
  await page.getByRole('button', {name: /^Inbox/}).click();
  const notice = page.getByRole('dialog').getByRole('button', {name: /Remark 86/});
  await notice.waitFor();
  const uncounted = page.getByRole('button', {name: 'Inbox, 99+ unread'});
  await want('that more than 99 are unread', uncounted);
  await page.evaluate(() => document.querySelector('collab-threads').remove());
  await notice.click();
  if ((await uncounted.count()) === 0) problems.add('one that is read is taken from more than 99');
  await page.unroute('**/v2/notifications/get');
  await page.waitForURL((to) => to.hash === `#collab-thread=long&comment=${id}`).catch(() => problems.add(`a notification leads to ${page.url()}`));
  await page.reload();
  await sought('Remark 86');
  await page.evaluate(() => (location.hash = ''));

  // Pasting drops a picture and keeps its text.
  await page.getByRole('button', {name: 'Comment', exact: true}).click();
  const box = page.getByRole('textbox');
  const paste = (file) => box.evaluate((area, file) => {
    const data = new DataTransfer();
    data.items.add(new File(['x'], file, {type: 'image/png'}));
    return area.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));
  }, file);
  if (await paste('plan.png')) problems.add('a picture is pasted');
  await want('what to do with a picture', page.getByText('You cannot add files here'));

  page.expected = true;
  await context.setOffline(true);
  await box.fill('Written in a tunnel');
  await page.getByRole('button', {name: 'Send'}).click();
  const alert = page.getByRole('alert').getByText('You are offline.');
  await want('that the page is offline', alert);
  await context.setOffline(false);
  await alert.waitFor({state: 'detached'}).catch(() => problems.add('the page stays offline'));
  const opened = page.locator('collab-thread[open]');
  await want('what was written offline', opened.getByRole('button', {name: 'Resolve'}));
  page.expected = false;

  // If the page accepts uploads, pictures can be pasted and show by their address.
  await page.evaluate(async () => (await import('/pages/elements.min.js')).setUploads(async (file) => `${location.origin}/pages/icon.svg?${file.name}`));
  if (await paste('plan.png')) problems.add('a picture is pasted as a text');
  await want('the picture to send', page.getByRole('button', {name: 'Remove plan.png'}));
  await opened.getByRole('button', {name: 'Send'}).click();
  const picture = opened.getByRole('img', {name: 'plan.png'});
  await want('the picture', picture);
  await opened.getByText('Sending').waitFor({state: 'detached'});
  const how = await picture.evaluate((img) => `${img.loading} ${img.referrerPolicy} ${img.src === img.closest('a').href}`);
  if (how !== 'lazy no-referrer true') problems.add(`the picture is shown ${how}`);

  // Viewers see no controls for writing.
  await page.evaluate(() => (document.querySelector('collab-threads').token += '?as=viewer'));
  await page.getByRole('button', {name: 'Comment', exact: true}).waitFor({state: 'detached'});
  await page.getByRole('button', {name: /^Unread/}).click();
  await page.keyboard.press('Escape');
  const many = page.getByRole('button', {name: /^Show 85/});
  await many.waitFor({state: 'detached'}).catch(() => problems.add('what was read is unread'));
  await page.getByRole('button', {name: /^Open/}).click();
  await many.click();
  const writes = page.locator('collab-threads').getByText(/Select text|Reply|Write|Resolve$|Edit|Delete/);
  if ((await writes.count()) + (await page.getByRole('textbox').count()) > 0) problems.add(`who may only read is told ${await writes.allTextContents()}`);
  await context.close();
}

// resending leaves the page after a write that failed, or with a lost response. The draft is sent
// again and written once.
async function resending(browser) {
  const context = await contextOf(browser);
  const page = await open(context, '/demo?as=cleo');
  page.expected = true;
  const keys = [];
  page.on('request', (r) => /annotations\/(comments\/)?add$/.test(r.url()) && keys.push(r.headers()['idempotency-key']));
  await page.getByRole('button', {name: 'Comment on the table'}).click();
  await page.getByRole('textbox', {name: /^Write a comment/}).fill('Its answer is lost');
  await page.route('**/commentannotations/add', async (route) => {
    await route.fetch();
    await route.abort();
  });
  await page.keyboard.press('Control+Enter');
  await want('that the answer is lost', page.getByRole('alert').getByText('was not sent'));
  await page.unroute('**/commentannotations/add');
  await page.reload();
  await page.getByRole('button', {name: /^Continue.*Its answer/}).click();
  await page.keyboard.press('Control+Enter');
  const thread = page.locator('collab-thread[open]');
  await thread.getByRole('button', {name: 'Resolve'}).waitFor();

  await thread.getByRole('textbox').fill('Written offline');
  await context.setOffline(true);
  await page.keyboard.press('Control+Enter');
  await thread.getByRole('alert').getByText('You are offline.').waitFor();
  await page.goto('about:blank');
  await context.setOffline(false);
  await page.goto(`${url}/demo?as=cleo`);
  const own = page.locator('collab-thread', {hasText: 'Its answer is lost'});
  await own.getByRole('button', {name: 'Reply'}).click();
  await page.keyboard.press('Control+Enter');
  await own.getByText('Sending').waitFor({state: 'detached'});
  await want('what was written offline', own.getByRole('button', {name: /^More actions for/}));
  if (keys.length !== 4 || keys[0] !== keys[1] || keys[2] !== keys[3]) problems.add(`what is sent again has other keys: ${keys}`);
  if ((await own.count()) + (await own.getByText('Written offline').count()) !== 2) problems.add('what is sent again is written twice');
  await context.close();
}

// failing checks the messages for refused, deleted or unreachable things, and the recovery.
async function failing(browser) {
  const context = await contextOf(browser);
  const page = await open(context, '/demo?as=cleo');
  page.expected = true;
  await page.getByRole('article').first().waitFor();
  const refuse = (status, code, message, headers = {}) => (route) => route.fulfill({status, headers, json: {error: {status: code, message}}});

  await page.evaluate(() => (location.hash = 'collab-thread=gone'));
  await want('that a thread is gone', page.getByRole('alert').getByText('This thread no longer exists.'));
  await check(page, 'gone');

  let refusals = 0;
  await page.route('**/commentannotations/add', (route) => (refusals++ ? route.continue() : refuse(429, 'RESOURCE_EXHAUSTED', 'later', {'Retry-After': '1'})(route)));
  await page.getByRole('button', {name: 'Comment on the table'}).click();
  await page.keyboard.type('One too many');
  await page.keyboard.press('Control+Enter');
  await want('the thread that was sent later', page.locator('collab-thread[open]').getByRole('button', {name: 'Resolve'}));
  if ((await page.getByText('was not sent').count()) > 0 || refusals !== 2) problems.add(`what is to be sent later is sent ${refusals} times`);

  const list = page.locator('collab-threads');
  for (const [name, answer, says] of [
    ['denied', refuse(403, 'PERMISSION_DENIED', 'no'), 'You do not have permission'],
    ['disabled', refuse(400, 'FAILED_PRECONDITION', 'document "launch-plan" is disabled'), 'This is not possible here at the moment.'],
    ['busy', refuse(429, 'RESOURCE_EXHAUSTED', 'later', {'Retry-After': '600'}), 'Try again in 10 minutes'],
    ['down', (route) => route.abort(), 'The server is not responding.'],
  ]) {
    await page.route('**/v2/{commentannotations,notifications}/get', answer);
    await page.reload();
    await want(`that it is ${name}`, list.getByRole('alert').getByText(says));
    if ((await list.getByText(/^No (open )?threads/).count()) + (await list.getByRole('button', {name: /^Open/}).count()) > 0) problems.add(`${name}: it says that there are no threads`);
    if (name === 'disabled') {
      await page.getByRole('button', {name: /^Inbox/}).click();
      await check(page, name);
    }
    await page.unroute('**/v2/{commentannotations,notifications}/get');
  }
  await page.evaluate(() => dispatchEvent(new Event('online')));
  await want('the threads, once the server is back', page.getByText('Is this with VAT?'));
  await context.close();
}

// Two pages stay open while their document is deleted and added again. They say that it is not
// available and ask no more, until they are loaded again.
async function readded(browser) {
  const documents = (operation, data) => look.call(`/v2/organizations/documents/${operation}`, {organizationId: 'demo', ...data});
  const pages = await Promise.all(['ann', 'bob'].map(async (person) => open(await contextOf(browser), `/demo?as=${person}`)));
  const requests = new Map(pages.map((page) => [page, []]));
  for (const page of pages) {
    await want('a thread', page.locator('collab-thread').first());
    page.expected = true; // the document is missing
    page.on('request', (r) => {
      const {documentId} = r.postDataJSON()?.data ?? r.postDataJSON() ?? {};
      if (documentId) requests.get(page).push(new URL(r.url()).pathname);
    });
  }
  await documents('delete', {documentIds: ['launch-plan']});
  for (const page of pages) {
    await want('that the document is not available', page.locator('collab-threads').getByText('This document is not available.'));
    if (await page.locator('collab-thread').count()) problems.add('a deleted document is seen');
    const tokens = requests.get(page).filter((path) => path.endsWith('token')).length;
    if (tokens !== 1) problems.add(`a page asks for ${tokens} tokens for a deleted document`);
    requests.get(page).length = 0;
    await page.evaluate(() => dispatchEvent(new Event('online')));
  }
  // after some seconds
  await until(async () => (await documents('add', {documents: [{documentId: 'launch-plan'}]}).catch(() => ({})))['launch-plan']?.success);
  await call('/v2/commentannotations/add', {commentAnnotations: [{commentData: [{commentText: 'After all', from: {userId: 'cleo', name: 'Cleo Clark'}}]}]});
  for (const page of pages) {
    if (requests.get(page).length) problems.add(`a page asks further about a deleted document: ${requests.get(page)}`);
    await page.reload();
    await want('what was added after the document', page.locator('collab-thread').getByText('After all'));
    page.expected = false;
    await page.context().close();
  }
}

// signing has Ann leave and Cleo come without a reload, by one address of tokens. Nobody sees or writes as the other.
async function signing(browser) {
  const context = await contextOf(browser);
  let who = 'ann';
  await context.route('**/demo/ann/collab-token', async (route) => (who
    ? route.fulfill({response: await route.fetch({url: `${url}/demo/${who}/collab-token`})})
    : route.fulfill({status: 401})));
  const only = (userId, commentText) => ({visibility: {type: 'restricted', userIds: [userId]}, commentData: [{commentText, from: {userId}}]});
  await call('/v2/commentannotations/add', {commentAnnotations: [only('ann', 'For Ann alone'), only('cleo', 'For Cleo alone')]});
  const [page, tab] = [await open(context, '/demo?as=ann'), await open(context, '/demo?as=ann')];
  page.expected = tab.expected = true; // requests without a token
  const [secret, hers] = [(page) => page.getByText('For Ann alone'), (page) => page.getByText('For Cleo alone')];
  await want("Ann's thread", secret(page));
  await tab.getByRole('button', {name: 'Comment', exact: true}).click();
  await tab.keyboard.type('A draft of Ann');

  who = 'cleo';
  await page.evaluate(async () => {
    const elements = [...document.querySelectorAll('collab-inbox, collab-threads')];
    const places = elements.map((e) => [e.cloneNode(), e.parentNode, e.nextSibling]);
    for (const e of elements) e.remove();
    await new Promise((done) => setTimeout(done));
    for (const [e, parent, next] of places) parent.insertBefore(e, next);
  });
  await want("Cleo's thread", hers(page));
  if ((await secret(page).count()) > 0) problems.add('Cleo sees the thread of Ann, who left before');
  await page.getByRole('button', {name: 'Comment', exact: true}).click();
  await page.keyboard.type('Who wrote this?');
  await page.keyboard.press('Control+Enter');
  const written = async () => (await call('/v2/commentannotations/get', {})).find((a) => a.comments[0]?.commentText === 'Who wrote this?');
  await until(written);
  if ((await written())?.comments[0].from.userId !== 'cleo') problems.add('Cleo wrote as another person');

  who = '';
  await page.evaluate(async () => (await import('/pages/elements.min.js')).signOut());
  for (const p of [page, tab]) {
    await want('that nobody is signed in', p.locator('collab-threads').getByText('You are not signed in.'));
    if ((await secret(p).count()) + (await hers(p).count()) > 0) problems.add('a thread of a person is seen after the sign-out');
    await p.evaluate(() => dispatchEvent(new Event('pagehide')));
    const kept = await p.evaluate(() => JSON.stringify(sessionStorage));
    if (kept.includes('draft of Ann')) problems.add(`a draft outlives the sign-out: ${kept}`);
  }
  who = 'bob';
  await page.evaluate(() => dispatchEvent(new Event('online')));
  await page.locator('collab-thread').first().waitFor();
  if ((await secret(page).count()) + (await hers(page).count()) > 0) problems.add('Bob sees a thread of another person');
  await context.close();
}

// attack shows each vector in every text of the elements, in a browser without a content security
// policy.
async function attack(browser) {
  const third = Math.ceil(vectors.length / 3);
  await call('/v2/commentannotations/add', {
    commentAnnotations: vectors.map((v, i) => {
      const from = {userId: `u${i}`, name: v};
      const taggedUserContacts = [{userId: 'x', contact: {userId: 'x', name: v}}];
      const attachments = [{attachmentId: 1, name: v, url: v}, {attachmentId: 2, name: v, mimeType: 'image/svg+xml', url: `${url}/pages/icon.svg?${v}`}];
      return {
        annotationId: `vector-${i}`, ...(i % 2 && {type: 'suggestion', suggestion: {oldValue: v, newValue: v, summary: v, status: 'rejected', rejectReason: v, resolvedBy: from}}), targetElement: {elementId: i % 2 ? 'intro' : v.slice(0, 100), targetText: v},
        commentData: [{commentText: `vector ${i}: {{x}} ${v}`, from, taggedUserContacts, attachments}, {commentHtml: `${v} {{x}}`, from, agent: {agentName: v}, taggedUserContacts}],
      };
    }),
  });
  for (let i = 0; i < third; i++) {
    await call('/v2/notifications/add', {
      actionUser: {userId: `n${i}`, name: vectors[i]}, displayHeadlineMessageTemplate: `headline ${i}: {actionUser} ${vectors[(i + third) % vectors.length]}`,
      displayHeadlineMessageTemplateData: {actionUser: {userId: `n${i}`, name: vectors[i]}},
      displayBodyMessage: vectors[(i + 2 * third) % vectors.length], notifyAll: false, notifyUsers: [{userId: 'ann'}],
    });
  }

  // Deliveries are separate: open the inbox after the last.
  await until(async () => (await call('/v2/notifications/get', {userId: 'ann'})).filter((n) => n.displayHeadlineMessage.startsWith('headline')).length >= third);

  const context = await contextOf(browser, {bypassCSP: true});
  await context.exposeFunction('ran', (what) => void problems.add(`a vector ran: ${what}`));
  await context.addInitScript(() => {
    for (const name of ['alert', 'confirm', 'prompt', 'print', 'msgbox']) window[name] = (...args) => window.ran(`${name}(${args})`);
  });
  const page = await context.newPage();
  page.on('pageerror', (e) => problems.add(`attacked: ${e}`));
  page.on('popup', (p) => problems.add(`a vector opened ${p.url()}`));
  page.on('frameattached', (f) => problems.add(`a vector made a frame: ${f.url()}`));
  await page.goto(`${url}/demo?as=ann`);
  await page.getByText('vector 0:').waitFor();
  const threads = page.locator('collab-thread');
  await page.waitForFunction((n) => document.querySelector('collab-threads').shadowRoot.querySelectorAll('collab-thread').length >= n, vectors.length);
  await threads.evaluateAll((list) => list.forEach((t) => (t.open = true))); // all at once
  await page.waitForFunction((n) => {
    const list = [...document.querySelector('collab-threads').shadowRoot.querySelectorAll('collab-thread')];
    return list.flatMap((t) => [...t.shadowRoot.querySelectorAll('.text.html')]).length >= n;
  }, vectors.length);
  // The inbox, to its end.
  await page.getByRole('button', {name: /^Inbox/}).click();
  const inbox = page.getByRole('dialog');
  while ((await inbox.getByText('headline 0:').count()) === 0) {
    const shown = await inbox.locator('li').count();
    await inbox.getByRole('button', {name: 'Show older'}).click();
    await inbox.locator('li').nth(shown).waitFor();
  }
  // Trigger handlers of pointer, keys and focus.
  await page.evaluate(() => {
    const all = (root) => [...root.querySelectorAll('*')].flatMap((e) => [e, ...(e.shadowRoot ? all(e.shadowRoot) : [])]);
    for (const e of all(document)) {
      const file = e.closest('.files');
      if (!file && !e.closest('.text, .name, .quote, .headline, .where')) continue;
      for (const type of ['mouseover', 'mouseenter', 'pointerover', 'focus', 'animationstart', 'toggle', 'error', 'load']) e.dispatchEvent(new Event(type));
      if (e.localName === 'a' && e.hasAttribute('href') && !/^(https?|mailto):/.test(e.href)) window.ran(`a link to ${e.href}`);
      if (/^(script|style|iframe|object|embed|form|input|svg|math|base|meta|link|template|video|audio|collab-.*)$/i.test(e.localName)) window.ran(`a ${e.localName}`);
      if (e.localName === 'img' && !(file && e.src.startsWith(`${location.origin}/pages/icon.svg?`))) window.ran(`a picture of ${e.src}`);
      for (const {name} of e.attributes) {
        if (file && ['src', 'alt', 'loading', 'decoding', 'referrerpolicy'].includes(name)) continue;
        if (!['href', 'title', 'class', 'part', 'target', 'rel', 'datetime', 'type', 'aria-label'].includes(name) && !(name === 'dir' && /^(auto|ltr)$/.test(e.dir))) window.ran(`an attribute ${name} of ${e.outerHTML}`);
        if (name === 'class' && !/^(mention( mine| )?|text( html)?|name|headline|where|soft|quote|row|files)$/.test(e.className.trim())) window.ran(`the class ${e.className}`);
      }
    }
  });
  await page.evaluate(() => new Promise((done) => requestIdleCallback(done)));
  if (page.url() !== `${url}/demo?as=ann`) problems.add(`a vector left for ${page.url()}`);
  await page.screenshot({path: path.join(screenshots, 'demo-attack.png')});
  await context.close();
}

look.run(main);
