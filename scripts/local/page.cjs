// Uses the elements in documents and comments of every script, and in pages with their own styles:
// see look.cjs.
const look = require('./look.cjs');

const {url, problems, open, contextOf, until, select, want, equal, comment, marked} = look;

const call = (operation, data) => look.call(operation, {organizationId: 'demo', documentId: 'launch-plan', ...data});

// edit replaces a text of an element.
const edit = (page, id, text, by) => page.evaluate(([id, text, by]) => {
  for (const walk = document.createTreeWalker(document.getElementById(id), NodeFilter.SHOW_TEXT); walk.nextNode(); ) {
    walk.currentNode.data = walk.currentNode.data.replace(/\s+/g, ' ').replace(text, () => by);
  }
}, [id, text, by]);

async function main() {
  const {browser, context} = await look.launch();
  await context.close();
  for (const part of [anchoring, cutting, mentioning, turning, linking, styling, resolving, folding, restoring, reacting, suggesting, formatting, seeking, copying, unreading]) {
    const context = await contextOf(browser);
    await part(context).catch((e) => problems.add(`${part.name}: ${e.stack}`));
    await context.close();
  }
  await browser.close();
}

// anchoring changes the text around and in a quote: the mark stays on its sentence, or there is
// none.
async function anchoring(context) {
  const page = await open(context, '/demo?as=ann');
  await select(page, 'risks', 'five minutes', 2);
  const thread = await comment(page, 'Why so long?');
  const sentence = 'the last [five minutes] of typin';
  await marked(page, 'at first', sentence);
  const [{targetElement}] = (await call('/v2/commentannotations/get', {})).filter((a) => a.comments[0].commentText === 'Why so long?');
  equal('the target', targetElement, {
    elementId: 'risks', targetText: 'five minutes', occurrence: 2, prefix: 'thin five minutes, and the last ', suffix: ' of typing stay in the browser u',
  });
  await edit(page, 'risks', 'The new', 'In five minutes, or five minutes later, the new');
  await marked(page, 'after others before it', sentence);
  await edit(page, 'risks', 'In five minutes, or five minutes later, the new storage has run for six weeks only. If it fails, the old one takes over within five minutes', 'So');
  await marked(page, 'after the others are removed', sentence);
  await page.evaluate(() => {
    const risks = document.getElementById('risks');
    risks.innerHTML = risks.textContent.replace('five minutes', '<b>fi&shy;ve</b>  <i>minu&#x200b;tes</i>');
  });
  await marked(page, 'in formatting', 'the last [fi\u00adve minu\u200btes] of typin');
  const changed = thread.getByText('The text was changed after this quote.');
  equal('a text that is the same is changed', await changed.count(), 0);
  await page.evaluate(() => (document.getElementById('risks').textContent = 'So, and the last nine minutes of typing stay in the browser until they are saved.'));
  await want('that the text is changed', changed);
  await marked(page, 'on a changed text', 'the last [nine minutes] of typin');
  await edit(page, 'risks', 'and the last nine minutes of typing stay', 'nothing stays');
  await want('that the text is removed', page.getByText('2 threads on removed text'));
  await marked(page, 'on a removed text', '');

  // Words that only white space divides, composed letters, and blocks.
  await page.evaluate(() => {
    document.getElementById('goals').innerHTML = '<span>There is nowhere to go.</span><p>Jose\u0301</p><p>kommt spa\u0308ter no where.</p>';
    getSelection().setBaseAndExtent(document.querySelectorAll('#goals p')[0].firstChild, 0, document.querySelectorAll('#goals p')[1].firstChild, 13);
  });
  await comment(page, 'In two blocks');
  await page.evaluate(() => (document.getElementById('goals').innerHTML = '<div>There is nowhere to go.</div><div>Jos\u00e9</div>\n<div>kommt sp\u00e4ter.</div>'));
  await marked(page, 'across blocks', 're to go.[Jos\u00e9 kommt sp\u00e4ter].');
  await call('/v2/commentannotations/add', {commentAnnotations: [{annotationId: 'nowhere', targetElement: {elementId: 'goals', targetText: 'no where', occurrence: 1}, commentData: [{commentText: 'Not there', from: {userId: 'bob'}}]}]});
  await page.getByText('Not there').click();
  await want('that the words are changed', page.locator('collab-thread[open]').getByText('The text was changed after this quote.'));
}

// cutting comments on more than 500 characters, of which an emoji is the 500th, and has the service
// refuse a comment.
async function cutting(context) {
  const page = await open(context, '/demo?as=ann');
  const start = `${'word '.repeat(99)}four`;
  await page.evaluate((text) => {
    const goals = document.getElementById('goals');
    goals.textContent = text;
    getSelection().selectAllChildren(goals);
  }, `${start}${'👩‍👩‍👧'.repeat(3)} and more words than fit`);
  const thread = await comment(page, 'A long quote');
  const added = async (text) => (await call('/v2/commentannotations/get', {})).find((a) => a.comments[0].commentText === text);
  equal('a long quote', (await added('A long quote')).targetElement.targetText, start);
  equal('what is said of it', await thread.getByRole('alert').count(), 0);

  await thread.getByRole('textbox').fill('Half a character \ud83d, and a whole one 😀');
  await page.keyboard.press('Control+Enter');
  await want('the comment without the half', thread.getByRole('button', {name: /^More actions for/}));
  equal('the comment', (await added('A long quote')).comments[1]?.commentText, 'Half a character \ufffd, and a whole one 😀');

  page.expected = true;
  const logged = [];
  page.on('console', (m) => logged.push(m.text()));
  const error = {status: 'INVALID_ARGUMENT', message: 'The body is not valid', details: [{field: 'data.commentAnnotations[0]', message: 'is odd'}]};
  await page.route('**/comments/add', (route) => route.fulfill({status: 400, json: {error}}));
  await thread.getByRole('textbox').fill('Refused');
  await page.keyboard.press('Control+Enter');
  await want('that it could not be saved', thread.getByRole('alert').getByText('Your reply was not sent. It could not be saved.'));
  equal('the text of the service', await page.getByText('not valid').count(), 0);
  if (!logged.some((text) => text.includes('The body is not valid') && text.includes('is odd'))) problems.add(`the console has no details: ${logged}`);
}

const PEOPLE = [{userId: 'tanaka', name: '田中 太郎'}, {userId: 'jose', name: 'José García'}, {userId: 'muller', name: 'Mu\u0308ller'}, {userId: 'strasse', name: 'Eva Straße'}, {userId: 'som', name: 'สมชาย'}];

// mentioning types names in several scripts: the list of people opens where a name can start.
async function mentioning(context) {
  await call('/v2/users/add', {documentId: undefined, users: PEOPLE});
  const page = await open(context, '/demo?as=ann');
  await page.getByRole('button', {name: 'Comment', exact: true}).click();
  const box = page.getByRole('textbox');
  const option = page.getByRole('option');
  for (const [typed, name] of [
    ['こんにちは@田', '田中 太郎'], ['こんにちは＠田', '田中 太郎'], ['「@田', '田中 太郎'], ['Hi,@田', '田中 太郎'], ['(@太', '田中 太郎'], ['สวัสดี@สม', 'สมชาย'],
    ['@jose', 'José García'], ['@GARCÍA', 'José García'], ['@muller', 'Mu\u0308ller'], ['@Mü', 'Mu\u0308ller'], ['@strasse', 'Eva Straße'],
  ]) {
    await box.fill(typed);
    await want(`${name} after ${typed}`, option.getByText(name));
    if ((await option.count()) !== 1) problems.add(`${typed} offers ${await option.allTextContents()}`);
    await box.fill('');
    await option.first().waitFor({state: 'detached'});
  }
  // Whoever fits no longer is not chosen.
  const none = page.getByText('No match', {exact: true});
  await box.fill('a@bo');
  await box.fill('Hello @bo');
  await option.getByText('Bob Builder').waitFor();
  await page.keyboard.type('x');
  await page.keyboard.press('Enter');
  await page.keyboard.type('@nobody');
  await want('that nobody fits', none.first());
  await look.check(page, 'page-none', {whole: false});
  await page.keyboard.press('Enter');
  equal('a text without a match', await box.inputValue(), 'Hello @box\n@nobody\n');
  await box.fill('ann@bo');
  await box.fill('こんにちは＠田');
  await option.waitFor();
  await page.keyboard.press('Enter');
  equal('a mention', await box.inputValue(), 'こんにちは@田中 太郎 ');
  await page.keyboard.press('Backspace');
  await page.keyboard.type('さん');
  await page.keyboard.press('Control+Enter');
  await want('the mention', page.locator('.mention', {hasText: '@田中 太郎'}));
}

// turning shows Hebrew texts, quotes and names from right to left, between others.
async function turning(context) {
  const page = await open(context, '/demo?as=ann');
  const of = (locator) => locator.evaluate((e) => getComputedStyle(e).direction);
  await page.evaluate(() => (document.getElementById('goals').textContent = 'המחיר החדש. עוד משפט.'));
  await select(page, 'goals', 'המחיר החדש.');
  await page.getByRole('button', {name: 'Comment on the selected text'}).click();
  equal('the quote of a draft', await of(page.locator('.draft p')), 'rtl');
  await page.keyboard.type('האם זה כולל מע"מ?');
  await page.keyboard.press('Escape');
  await want('the draft', page.getByRole('button', {name: 'Continue: “\u2068האם זה כולל מע"מ?\u2069”'}));
  await page.getByRole('button', {name: /^Continue/}).click();
  await page.keyboard.press('Control+Enter');
  const thread = page.locator('collab-thread[open]');
  await thread.getByRole('button', {name: 'Resolve'}).waitFor();
  for (const [name, direction] of [['.quote', 'rtl'], ['.text', 'rtl'], ['.name', 'ltr'], ['article', 'ltr']]) equal(name, await of(thread.locator(name).first()), direction);
  await call('/v2/users/add', {documentId: undefined, users: [{userId: 'dana', name: 'דנה כהן'}]});
  await page.reload();
  await page.getByRole('button', {name: 'Comment', exact: true}).click();
  await look.restrict(page);
  const readers = page.getByRole('combobox', {name: 'Add a person'});
  await readers.pressSequentially('דנה');
  equal('the field for readers', await of(readers), 'rtl');
  await page.getByRole('option').waitFor();
  await page.keyboard.press('Enter');
  equal('a reader', await of(page.getByRole('button', {name: 'Remove דנה כהן'})), 'rtl');
  await page.getByRole('button', {name: 'Cancel'}).click();
}

// linking shows links that end where their text does.
async function linking(context) {
  const from = {userId: 'bob', name: 'Bob Builder'};
  await call('/v2/commentannotations/add', {commentAnnotations: [{annotationId: 'links', commentData: [{from, commentText: 'See https://example.com/Blur_(band), (https://example.com/a). https://example.com/b、続き https://', taggedUserContacts: []}]}]});
  const page = await open(context, '/demo?as=ann#collab-thread=links');
  const links = page.locator('collab-thread[open] .text a');
  await links.first().waitFor();
  equal('links', await links.allTextContents(), ['https://example.com/Blur_(band)', 'https://example.com/a', 'https://example.com/b']);
}

const TYPOGRAPHY = {
  'text-align': 'center', 'letter-spacing': '3px', 'text-transform': 'uppercase', 'line-height': '60px', direction: 'rtl', 'font-style': 'italic', 'text-indent': '20px', 'word-spacing': '5px',
  'white-space': 'nowrap', 'font-size': '30px', 'font-variant-caps': 'small-caps', 'text-shadow': 'red 1px 1px 0px', color: 'rgb(255, 0, 0)', cursor: 'wait', 'list-style-type': 'square',
};

// styling gives the page a typography of its own: the elements keep theirs, and follow the
// documented custom properties.
async function styling(context) {
  const page = await open(context, '/demo?as=ann');
  await page.getByRole('article').first().waitFor();
  await page.getByRole('button', {name: 'Comment', exact: true}).click();
  const looks = (names) => page.evaluate((names) => {
    const [threads, inbox] = ['collab-threads', 'collab-inbox'].map((name) => document.querySelector(name).shadowRoot);
    const inner = (e, selector) => e.shadowRoot.querySelector(selector);
    const thread = threads.querySelector('collab-thread');
    const all = {
      title: threads.querySelector('h2'), filter: threads.querySelector('[aria-pressed]'), text: inner(thread, '.text'), time: inner(thread, 'time'), composer: inner(threads.querySelector('collab-composer'), 'textarea'),
      preferences: inner(threads.querySelector('collab-preferences'), 'button'), panel: inbox.querySelector('.panel'), emails: inbox.querySelector('h2'),
    };
    return Object.fromEntries(Object.entries(all).map(([what, e]) => [what, names.map((name) => `${name} ${getComputedStyle(e).getPropertyValue(name)}`)]));
  }, names);
  const names = Object.keys(TYPOGRAPHY);
  const before = await looks(names);
  const style = (text) => page.evaluate((text) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  }, text);
  await style(`body, aside, .product { ${Object.entries(TYPOGRAPHY).map(([k, v]) => `${k}: ${v}`).join(';')} }`);
  equal('the typography of the page', await page.locator('aside').evaluate((e) => getComputedStyle(e).letterSpacing), '3px');
  const after = await looks(names);
  for (const what of Object.keys(before)) equal(`${what} in another typography`, after[what].filter((value) => !before[what].includes(value)), []);
  await style('aside { --collab-ink: rgb(0, 0, 255); --collab-font: 20px/2 serif; visibility: hidden; }');
  equal('a title by custom properties', (await looks(['color', 'font-size', 'line-height', 'font-family', 'visibility'])).title, ['color rgb(0, 0, 255)', 'font-size 22px', 'line-height 44px', 'font-family serif', 'visibility hidden']);
  await style('aside { visibility: visible; color-scheme: dark; }');
  equal('a filter in a dark page', (await page.locator('collab-threads').evaluate((e) => getComputedStyle(e).colorScheme)), 'dark');

  // The frame follows the direction of its texts, here of the product's own ones.
  await page.evaluate(async () => {
    (await import('/pages/elements.min.js')).setTexts({comments: 'תגובות'});
    for (const e of document.querySelectorAll('collab-threads, collab-inbox')) e.requestUpdate();
  });
  await want('the frame from right to left', page.locator('collab-threads h2', {hasText: 'תגובות'}));
  equal('directions in Hebrew', [...new Set(Object.values(await looks(['direction'])).flat())].sort(), ['direction ltr', 'direction rtl']);
  equal('the title in Hebrew', (await looks(['direction'])).title, ['direction rtl']);
}

// resolving has somebody else resolve the open thread: its mark and the badge disappear.
async function resolving(context) {
  await call('/v2/users/add', {documentId: undefined, users: [{userId: 'rita', name: 'Rita Resolver'}]});
  const page = await open(context, '/demo?as=ann');
  const opened = [];
  await page.exposeFunction('opened', (id) => void opened.push(id ?? ''));
  await page.evaluate(() => document.addEventListener('collab-active', (e) => window.opened(e.detail.annotationId)));
  await select(page, 'intro', 'largest change');
  const thread = await comment(page, 'Will be resolved');
  const {annotationId} = (await call('/v2/commentannotations/get', {})).find((a) => a.comments[0].commentText === 'Will be resolved');
  await until(() => opened.length > 0);
  equal('the events of a new thread', opened, [annotationId]);
  const place = 't is the [largest change] since th';
  await marked(page, 'of an open thread', place);
  const inbox = page.getByRole('button', {name: /^Inbox/});
  const unread = async () => Number(/\d+/.exec(await inbox.getAttribute('aria-label')) ?? 0);
  const before = await unread();
  const rita = {userId: 'rita', name: 'Rita Resolver'};
  await call('/v2/commentannotations/update', {annotationIds: [annotationId], updatedData: {status: {id: 'RESOLVED', type: 'terminal'}, resolvedByUserId: 'rita'}, actionUser: rita, triggerNotification: true});
  await want('the name of somebody who never commented', thread.getByText('✓ Resolved by Rita Resolver'));
  await marked(page, 'of a thread that was resolved', '');
  const told = async () => (await call('/v2/notifications/get', {userId: 'ann'})).filter((n) => n.annotationId === annotationId);
  await until(async () => (await told()).length === 1);
  await until(async () => (await told())[0].read);
  await until(async () => (await unread()) === before);
  await thread.getByRole('button', {name: /^Go to the text/}).click();
  await marked(page, 'that the reader asks for', place);
  await page.keyboard.press('Escape');
  await until(() => opened.length > 1);
  equal('the events', opened, [annotationId, '']);
}

// folding shows the beginning of a long comment until the reader wants more.
async function folding(context) {
  const from = {userId: 'bob', name: 'Bob Builder'};
  const lines = (n) => Array.from({length: n}, (_, i) => `Line ${i + 1}`);
  await call('/v2/commentannotations/add', {commentAnnotations: [{annotationId: 'lines', commentData: [
    {commentText: lines(12).join('\n'), from}, {commentText: `${lines(30).join('\n')} https://example.com/last`, from}, {commentHtml: lines(30).map((l) => `<p>${l}</p>`).join(''), from},
  ]}]});
  const page = await open(context, '/demo?as=ann#collab-thread=lines');
  const thread = page.locator('collab-thread[open]');
  const more = thread.getByRole('button', {name: 'Show more'});
  await until(async () => (await more.count()) === 2);
  const heights = () => thread.locator('.text').evaluateAll((list) => list.map((e) => Math.round(e.parentElement.clientHeight / parseFloat(getComputedStyle(e).lineHeight))));
  equal('the lines that are shown', await heights(), [12, 12, 12]);
  await look.check(page, 'page-folded', {whole: false});
  equal('the state of the button', await more.first().getAttribute('aria-expanded'), 'false');
  await more.first().focus();
  await page.keyboard.press('Enter');
  const less = thread.getByRole('button', {name: 'Show less'});
  await less.waitFor();
  equal('the lines after the button', (await heights()).slice(0, 2), [12, 30]);
  equal('the button keeps the focus', await less.evaluate((e) => e === e.getRootNode().activeElement), true);
  await page.keyboard.press('Enter');
  await until(async () => (await heights())[1] === 12);
  await thread.getByRole('link', {name: 'https://example.com/last'}).focus();
  await until(async () => (await heights())[1] === 30);
}

// restoring shows a page of the back/forward cache after the person has signed out elsewhere.
async function restoring(context) {
  let signedIn = true;
  await context.route('**/demo/ann/collab-token', (route) => (signedIn ? route.continue() : route.fulfill({status: 401})));
  const page = await open(context, '/demo?as=ann');
  await page.getByRole('article').first().waitFor();
  page.expected = true;
  const restore = (persisted) => page.evaluate((persisted) => dispatchEvent(new PageTransitionEvent('pageshow', {persisted})), persisted);
  await restore(true);
  await want('the threads of the same person', page.getByRole('article').first());
  signedIn = false;
  await restore(true);
  await want('that nobody is signed in', page.locator('collab-threads').getByText('You are not signed in.'));
  equal('threads after the sign-out', await page.getByRole('article').count(), 0);
}

// another opens the page as a further person.
async function another(context, at) {
  const own = await contextOf(context.browser());
  return open(own, at);
}

// reacting has Ann and Bob react to a comment, by keyboard and with failures.
async function reacting(context) {
  await call('/v2/users/add', {documentId: undefined, users: [{userId: 'zoe', name: 'Zoe Zimmer'}]});
  await call('/v2/commentannotations/add', {commentAnnotations: [{annotationId: 'liked', commentData: [{commentId: 1, commentText: 'Who likes this?', from: {userId: 'bob', name: 'Bob Builder'}}]}]});
  const [ann, bob] = [await open(context, '/demo?as=ann#collab-thread=liked'), await another(context, '/demo?as=bob#collab-thread=liked')];
  const of = (page) => page.locator('collab-thread[open]').getByRole('group', {name: 'Reactions'});
  const chip = (page, name) => of(page).getByRole('button', {name, exact: true});
  const focused = () => ann.evaluate(() => {
    let at = document.activeElement;
    while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    return at.ariaLabel ?? at.textContent;
  });
  const stored = async () => (await call('/v2/commentannotations/get', {annotationIds: ['liked']}))[0];
  const before = (await stored()).lastUpdated;

  // The palette, by keyboard.
  const add = ann.locator('collab-thread[open]').getByRole('button', {name: 'Add reaction'});
  const palette = ann.getByRole('menu', {name: 'Add reaction'});
  await add.focus();
  await ann.keyboard.press('Enter');
  await palette.waitFor();
  equal('the buttons of the palette', await palette.getByRole('menuitemcheckbox').count(), 64);
  const path = [];
  for (const key of ['ArrowRight', 'ArrowDown', 'Home', 'ArrowLeft', 'ArrowRight', 'ArrowUp', 'End']) {
    await ann.keyboard.press(key);
    path.push(await focused());
  }
  equal('the path in the palette', path, ['❤️', '👎', '👍', '☕', '👍', '➕', '☕']);
  await look.check(ann, 'page-palette', {whole: false});
  await ann.keyboard.press('Escape');
  await palette.waitFor({state: 'hidden'});
  equal('the focus after Escape', await focused(), 'Add reaction');
  equal('the thread after Escape', await ann.locator('collab-thread[open]').count(), 1);
  await ann.keyboard.press('Enter');
  await palette.waitFor();
  await ann.keyboard.press('Enter');
  await want("Ann's reaction", chip(ann, '👍 1: you'));
  equal('the focus after a reaction', await focused(), 'Add reaction');
  equal('the state of the chip', await chip(ann, '👍 1: you').getAttribute('aria-pressed'), 'true');

  // The other person sees it, is notified, and joins.
  await want("Ann's reaction in Bob's page", chip(bob, '👍 1: Ann Archer'));
  equal("the state of Bob's chip", await chip(bob, '👍 1: Ann Archer').getAttribute('aria-pressed'), 'false');
  await chip(bob, '👍 1: Ann Archer').click();
  await want("Bob's reaction", chip(bob, '👍 2: Ann Archer and you'));
  await want("Bob's reaction in Ann's page", chip(ann, '👍 2: Bob Builder and you'));
  equal('the time of the thread', (await stored()).lastUpdated, before);
  await bob.getByRole('button', {name: /^Inbox/}).click();
  await want('the notification', bob.getByRole('dialog').getByRole('button', {name: /Ann Archer reacted with 👍/}));
  await bob.keyboard.press('Escape');

  // Names of users who never commented; emojis with and without a variation selector.
  await call('/v2/commentannotations/comments/reactions/add', {annotationId: 'liked', commentId: 1, emoji: '❤', from: {userId: 'zoe'}});
  await want('a reaction of a further user', chip(ann, '❤ 1: Zoe Zimmer'));
  await add.click();
  await palette.getByRole('menuitemcheckbox', {name: '❤️'}).click();
  await want('the joined reaction', chip(ann, '❤ 2: Zoe Zimmer and you'));

  // A failure shows the previous state, and can be retried.
  await until(async () => (await stored()).comments[0].reactions[1]?.count === 2);
  ann.expected = true;
  await ann.route('**/reactions/delete', (route) => route.abort());
  await chip(ann, '👍 2: Bob Builder and you').click();
  const thread = ann.locator('collab-thread[open]');
  await want('that it was not saved', thread.getByRole('alert').getByText('Your reaction was not saved.'));
  await want('the state before', chip(ann, '👍 2: Bob Builder and you'));
  await ann.unroute('**/reactions/delete');
  await thread.getByRole('button', {name: 'Try again'}).click();
  await want('the state after another try', chip(ann, '👍 1: Bob Builder'));
  await want('the reaction that is gone', chip(bob, '👍 1: you'));
  await chip(bob, '👍 1: you').click();
  await chip(ann, '👍 1: Bob Builder').waitFor({state: 'detached'}).catch(() => problems.add('a deleted reaction is seen'));
  await bob.context().close();

  // A reader has no buttons.
  await context.route('**/demo/ann/collab-token', (route) => route.continue({url: `${url}/demo/ann/collab-token?as=viewer`}));
  const viewer = await open(context, '/demo?as=ann#collab-thread=liked');
  await want('the reactions for a reader', of(viewer).getByRole('img', {name: '❤ 2: Zoe Zimmer and you'}));
  equal('buttons of a reader', await of(viewer).getByRole('button').count(), 0);
  await look.runAxe(viewer, 'page-reactions');
}

// decisions records the decisions that a page reports, with the name of the element.
async function decisions(page) {
  const list = [];
  await page.exposeFunction('decided', (what) => void list.push(what));
  await page.evaluate(() => document.addEventListener('collab-suggestion', (e) => window.decided([e.target.localName, e.detail.annotationId, e.detail.documentId, e.detail.status, e.detail.suggestion.newValue])));
  return list;
}

// suggesting has Ann suggest a change and Bob accept it, and Ann reject that of an agent.
async function suggesting(context) {
  const [ann, bob] = [await open(context, '/demo?as=ann'), await another(context, '/demo?as=bob')];
  const [byAnn, byBob] = [await decisions(ann), await decisions(bob)];
  const of = (page, text) => page.locator('collab-thread', {hasText: text});
  const suggested = (page, text) => of(page, text).getByRole('group', {name: 'Suggested change'});

  await select(ann, 'pricing', 'gets two months');
  await ann.getByRole('button', {name: 'Comment on the selected text'}).click();
  const suggest = ann.getByRole('button', {name: 'Suggest a change'});
  equal('the state of the button', await suggest.getAttribute('aria-expanded'), 'false');
  await suggest.focus();
  await ann.keyboard.press('Enter');
  const field = ann.getByRole('textbox', {name: 'New text'});
  equal('the new text at first', await field.inputValue(), 'gets two months');
  await look.check(ann, 'page-suggest', {whole: false});
  const send = ann.locator('.draft').getByRole('button', {name: 'Send'});
  equal('that an equal text can be sent', await send.isEnabled(), false);
  await ann.keyboard.type('get three months');
  await ann.keyboard.press('Escape');
  await ann.getByRole('button', {name: 'Continue: “get three months”'}).click();
  equal('the draft of the new text', await field.inputValue(), 'get three months');
  await field.focus();
  await ann.keyboard.press('Control+Enter');
  const texts = (group) => Promise.all(['deletion', 'insertion'].map((role) => group.getByRole(role).innerText()));
  await want('that Ann may decide', suggested(ann, 'get three months').getByRole('button', {name: 'Accept'}));
  equal('the texts', await texts(suggested(ann, 'get three months')), ['gets two months', 'get three months']);
  const read = await suggested(ann, 'get three months').evaluate((e) => e.textContent);
  equal('the text for screen readers', ['Old text: gets two months', 'New text: get three months'].filter((text) => !read.includes(text)), []);
  const stored = async (id) => (await call('/v2/commentannotations/get', {annotationIds: [id]}))[0];
  const {annotationId, ...thread} = (await call('/v2/commentannotations/get', {})).find((a) => a.suggestion);
  equal('the suggestion', [thread.type, thread.suggestion, thread.targetElement.targetText, thread.comments[0].commentText],
    ['suggestion', {oldValue: 'gets two months', newValue: 'get three months', status: 'pending', summary: null, driftDetected: false, rejectReason: null, resolvedBy: null, resolvedAt: null}, 'gets two months', '“gets two months” → “get three months”']);

  // Bob accepts it, in a thread that is closed.
  await suggested(bob, 'get three months').getByRole('button', {name: 'Accept'}).click();
  for (const page of [bob, ann]) await want('the decision', suggested(page, 'get three months').getByText('Accepted by Bob Builder'));
  equal('buttons after the decision', await suggested(bob, 'get three months').getByRole('button').count(), 0);
  equal('the focus after the decision', await suggested(bob, 'get three months').getByText('Accepted').evaluate((e) => e === e.getRootNode().activeElement), true);
  await until(() => byBob.length > 0);
  equal('the stored decision', (await stored(annotationId)).suggestion.status, 'accepted');

  // Ann rejects that of an agent, with a reason, and a request that fails at first.
  const agent = {agentName: 'Proofreader', avatar: `${url}/pages/icon.svg`};
  const add = (annotationId, newValue) => call('/v2/commentannotations/add', {commentAnnotations: [{
    annotationId, type: 'suggestion', suggestion: {oldValue: 'המחיר', newValue, summary: 'A shorter text'}, commentData: [{commentText: `Why not ${newValue}?`, from: {userId: 'bot'}, agent}],
  }]});
  await add('agent', 'מחיר');
  const other = suggested(ann, 'Why not מחיר');
  await want('the summary', other.getByText('A shorter text'));
  equal('the direction of the new text', await other.getByRole('insertion').evaluate((e) => getComputedStyle(e).direction), 'rtl');
  await want('the mark of an agent', of(ann, 'Why not מחיר').getByRole('img', {name: 'Written by an AI agent'}));
  await want('the name of the agent', ann.getByRole('article', {name: 'Thread by Proofreader'}));
  await other.getByRole('button', {name: 'Reject'}).focus();
  await ann.keyboard.press('Enter');
  const reason = other.getByRole('textbox', {name: 'Reason (optional)'});
  await reason.waitFor();
  await look.check(ann, 'page-reject', {whole: false});
  await ann.keyboard.press('Escape');
  await reason.waitFor({state: 'detached'});
  await ann.keyboard.press('Enter');
  await reason.waitFor();
  await ann.keyboard.type('Too short');
  ann.expected = true;
  await ann.route('**/commentannotations/update', (route) => route.abort());
  await ann.keyboard.press('Control+Enter');
  await want('that it was not saved', of(ann, 'Why not מחיר').getByRole('alert').getByText('Your decision was not saved.'));
  await ann.unroute('**/commentannotations/update');
  equal('the events of a decision that failed', byAnn, []);
  await of(ann, 'Why not מחיר').getByRole('button', {name: 'Try again'}).click();
  await want('the decision with its author', other.getByText('Rejected by Ann Archer'));
  await until(() => byAnn.length > 0);
  await bob.getByRole('button', {name: /^Resolved/}).click();
  await want("the decision in Bob's page", suggested(bob, 'Why not מחיר').getByText('Rejected by Ann Archer'));
  await want('the reason', suggested(bob, 'Why not מחיר').getByText('Too short'));

  // The event comes from the list if the thread has left it before the answer.
  await add('late', 'late');
  let answer;
  await ann.route('**/commentannotations/update', (route) => (answer = () => route.continue()));
  await suggested(ann, 'Why not late').getByRole('button', {name: 'Accept'}).click();
  await until(() => answer);
  await ann.keyboard.press('Escape');
  await of(ann, 'Why not late').waitFor({state: 'detached'});
  answer();
  await until(() => byAnn.length > 1);
  equal("Ann's events", byAnn, [['collab-threads', 'agent', 'launch-plan', 'rejected', 'מחיר'], ['collab-threads', 'late', 'launch-plan', 'accepted', 'late']]);
  equal("Bob's events", byBob, [['collab-threads', annotationId, 'launch-plan', 'accepted', 'get three months']]);
  await bob.context().close();

  // A reader decides nothing.
  await add('open', 'open');
  await context.route('**/demo/ann/collab-token', (route) => route.continue({url: `${url}/demo/ann/collab-token?as=viewer`}));
  const viewer = await open(context, '/demo?as=ann');
  await want('the suggestion for a reader', suggested(viewer, 'Why not open'));
  equal('buttons of a reader', await suggested(viewer, 'Why not open').getByRole('button').count(), 0);
}

// formatting has Ann write with formatting, by keyboard and as Markdown, and edit it.
async function formatting(context) {
  const [ann, bob] = [await open(context, '/demo?as=ann'), await another(context, '/demo?as=bob')];
  const requests = [];
  ann.on('request', (r) => r.url().endsWith('/comments/update') && requests.push(r.postDataJSON().data.updatedData));
  await ann.getByRole('button', {name: 'Comment', exact: true}).click();
  const box = ann.getByRole('textbox');
  const typed = async (what, ...keys) => {
    for (const key of keys) await ann.keyboard.press(key);
    equal(what, await box.inputValue(), what);
  };
  const back = (n) => Array(n).fill('Shift+ArrowLeft');
  await ann.keyboard.type('a word');
  await typed('a **word**', ...back(4), 'Control+b');
  await typed('a word', 'Control+b');
  await typed('a *word*', 'Control+i');
  await typed('a ***word***', 'Control+b');
  await typed('a *word*', 'Control+z');
  await typed('a `x`', 'Control+a', 'Backspace', 'a', 'Space', 'Control+e', 'x');
  await typed('a `x` [](https://)', 'End', 'Space', 'Control+k');
  await typed('a `x` [y](https://)', 'y');
  await typed('[a](b)', 'Control+a', 'a', 'Shift+ArrowLeft', 'Control+k', 'b');
  await box.fill('');

  // Markup, a mention, and HTML that is text.
  await ann.keyboard.type('**Important** for @bo');
  await ann.getByRole('option').waitFor();
  await ann.keyboard.press('Enter');
  await ann.keyboard.insertText('and *a_b*:\n- see [the plan](https://example.com/plan)\n- <img src=x onerror=alert(1)> `<b>`\n> quoted');
  await ann.keyboard.press('Control+Enter');
  const [mine, hers] = [ann.locator('collab-thread[open]'), bob.locator('collab-thread', {hasText: 'Important for'})];
  await mine.getByRole('button', {name: 'Resolve'}).waitFor();
  const stored = async () => (await call('/v2/commentannotations/get', {})).find((a) => a.comments[0].commentText.startsWith('Important for'));
  const {annotationId, comments: [{commentText, commentHtml}]} = await stored();
  equal('the plain text', commentText, 'Important for {{bob}} and a_b:\n- see the plan\n- <img src=x onerror=alert(1)> <b>\n> quoted');
  equal('the HTML', commentHtml, '<p><strong>Important</strong> for {{bob}} and <em>a_b</em>:</p><ul><li>see <a href="https://example.com/plan">the plan</a></li>'
    + '<li>&#60;img src=x onerror=alert(1)&#62; <code>&#60;b&#62;</code></li></ul><blockquote>quoted</blockquote>');
  for (const thread of [mine, hers]) {
    await want('bold', thread.locator('strong', {hasText: 'Important'}));
    await want('the mention', thread.locator('.mention', {hasText: '@Bob Builder'}));
    await want('the link', thread.getByRole('link', {name: 'the plan'}));
    equal('the items', await thread.locator('.text li').allInnerTexts(), ['see the plan', '<img src=x onerror=alert(1)> <b>']);
    equal('the quote', await thread.locator('blockquote').allInnerTexts(), ['quoted']);
  }
  equal('the mark of an item', await mine.locator('.text ul').evaluate((e) => getComputedStyle(e).listStyleType), 'disc');
  await look.check(ann, 'page-formatted', {whole: false});

  // Editing brings the Markdown back. Without a change, nothing is sent.
  const markdown = '**Important** for @Bob Builder and *a_b*:\n- see [the plan](https://example.com/plan)\n- <img src=x onerror=alert(1)> `<b>`\n> quoted';
  const edit = async () => {
    await look.act(mine, 'Edit');
    return mine.getByRole('textbox', {name: /^Edit/});
  };
  equal('the source', await (await edit()).inputValue(), markdown);
  await mine.getByRole('button', {name: 'Save'}).click();
  await (await edit()).fill('**Important** for *@Bob Builder*');
  await mine.getByRole('button', {name: 'Save'}).click();
  await want('the edited mention', mine.locator('em .mention'));
  await until(async () => (await stored()).comments[0].commentHtml === '<p><strong>Important</strong> for <em>{{bob}}</em></p>');
  await want("the edit in Bob's page", hers.locator('em .mention'));
  await (await edit()).fill('Important for \\*everyone\\*, 2*3*4');
  await mine.getByRole('button', {name: 'Save'}).click();
  await want('the text without markup', mine.getByText('Important for \\*everyone\\*, 2*3*4'));
  await until(async () => !(await stored()).comments[0].commentHtml);
  equal('the text that is stored', (await stored()).comments[0].commentText, 'Important for \\*everyone\\*, 2*3*4');
  equal('the source of a text without markup', await (await edit()).inputValue(), 'Important for \\*everyone\\*, 2*3*4');
  await ann.keyboard.press('Escape');
  equal('the edits that are sent', requests.map((r) => r.commentHtml), ['<p><strong>Important</strong> for <em>{{bob}}</em></p>', null]);

  // A failed comment is a draft in Markdown.
  ann.expected = true;
  await ann.route('**/comments/add', (route) => route.abort());
  await mine.getByRole('textbox').fill('A **late** reply');
  await ann.keyboard.press('Control+Enter');
  await want('that it was not sent', mine.getByRole('alert'));
  await want('bold that was not sent', mine.locator('strong', {hasText: 'late'}));
  await ann.evaluate(() => dispatchEvent(new Event('pagehide')));
  await ann.unroute('**/comments/add');
  await ann.goto('about:blank');
  await ann.goto(`${url}/demo?as=ann#collab-thread=${annotationId}`);
  await until(async () => (await ann.locator('collab-thread[open]').getByRole('textbox').inputValue().catch(() => '')) === 'A **late** reply');
  await bob.context().close();
}

// seeking filters the threads by text, in other forms of its letters.
async function seeking(context) {
  const from = {userId: 'bob', name: 'Bob Builder'};
  const add = (annotationId, commentText, more) => ({annotationId, commentData: [{commentText, from, taggedUserContacts: [{userId: 'ann', contact: {userId: 'ann', name: 'Ann Archer'}}]}], ...more});
  await call('/v2/commentannotations/add', {commentAnnotations: [
    add('street', 'Die Straße nach Łódź, {{ann}}?'), add('other', 'Another street'), add('done', 'Łódź is done', {status: {id: 'RESOLVED'}}), add('quoted', 'No comment', {targetElement: {elementId: 'risks', targetText: 'old one takes over', occurrence: 1}}),
  ]});
  const page = await open(context, '/demo?as=ann');
  const box = page.getByRole('searchbox', {name: 'Search comments'});
  const articles = () => page.getByRole('article').count();
  const status = page.locator('.found');
  await want('a thread', page.getByText('Another street'));
  const before = await articles();
  for (const [typed, said, count] of [['LODZ', '1 thread found', 1], ['strasse', '1 thread found', 1], ['street', '1 thread found', 1], ['@ann archer?', '1 thread found', 1], ['TAKES over', '1 thread found', 1], ['lodz nowhere', 'No match', 0]]) {
    await box.fill(typed);
    await want(`"${said}" for ${typed}`, status.getByText(said, {exact: true}));
    equal(`the threads for ${typed}`, await articles(), count);
  }
  await look.check(page, 'page-search', {whole: false});
  await box.fill('lodz');
  await page.getByRole('button', {name: 'Resolved 1', exact: true}).click();
  await want('the resolved thread', page.getByText('Łódź is done'));
  await page.getByRole('button', {name: 'Open 1', exact: true}).click();
  await box.focus();
  await page.keyboard.press('Escape');
  await until(async () => (await articles()) === before);
  equal('the text after Escape', await box.inputValue(), '');
  equal('the count after Escape', await status.innerText(), '');
  equal('the focus after Escape', await box.evaluate((e) => e === e.getRootNode().activeElement), true);

  // An open thread stays, and a link shows a thread that does not match.
  await box.fill('street');
  await page.evaluate(() => document.querySelector('collab-threads').open('quoted'));
  await want('the thread of a link', page.locator('collab-thread[open]', {hasText: 'No comment'}));
  await want('the count without it', status.getByText('1 thread found', {exact: true}));
}

// copying copies the address of a comment, which opens it for another person.
async function copying(context) {
  const from = {userId: 'bob', name: 'Bob Builder'};
  await call('/v2/commentannotations/add', {commentAnnotations: [{annotationId: 'a link', commentData: [{commentId: 1, commentText: 'Linked', from}, {commentId: 2, commentText: 'The second', from}]}]});
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = await open(context, '/demo?as=ann#collab-thread=a%20link');
  const thread = page.locator('collab-thread[open]');
  const copy = async () => {
    await look.act(thread, 'Copy link', {n: 1, keys: true});
    await want('that it is copied', thread.getByRole('status').getByText('Link copied'));
    return page.evaluate(() => navigator.clipboard.readText());
  };
  const link = await copy();
  equal('the link', link, `${url}/demo?as=ann#collab-thread=a%20link&comment=2`);
  const bob = await another(context, link.slice(url.length).replace('ann', 'bob'));
  await want('the comment of the link', bob.locator('collab-thread[open] .sought', {hasText: 'The second'}));
  await bob.context().close();
  await page.evaluate(() => document.querySelector('collab-threads').setAttribute('href', '/docs/{documentId}?thread={annotationId}#{commentId}'));
  await until(async () => (await copy()) === `${url}/docs/launch-plan?thread=a%20link#2`);
}

// unreading has Ann mark a thread as unread, for herself.
async function unreading(context) {
  const from = {userId: 'bob', name: 'Bob Builder'};
  await call('/v2/commentannotations/add', {commentAnnotations: [{annotationId: 'later', commentData: [{commentText: 'For later', from}]}]});
  const page = await open(context, '/demo?as=ann');
  const thread = page.locator('collab-thread', {hasText: 'For later'});
  const dot = thread.getByText('Unread', {exact: true});
  const unread = async (userId) => (await call('/v2/commentannotations/get', {annotationIds: ['later'], unreadFor: userId}))[0].unread;
  await want('the dot of a new thread', dot);
  await thread.getByRole('button', {name: 'Reply'}).click();
  await until(async () => (await unread('ann')) === false);
  equal('the dot of an open thread', await dot.count(), 0);
  await look.act(thread, 'Mark as unread', {keys: true});
  await want('the dot', dot);
  equal('that it is closed', await thread.getAttribute('open'), null);
  equal('the focus', await thread.getByRole('button', {name: 'Reply'}).evaluate((e) => e === e.getRootNode().activeElement), true);
  await until(async () => (await unread('ann')) === true);
  await page.reload();
  await want('the dot after a reload', dot);

  // A failure shows it as read again.
  await thread.getByRole('button', {name: 'Reply'}).click();
  await until(async () => (await unread('ann')) === false);
  page.expected = true;
  await page.route('**/read/set', (route) => route.abort());
  await look.act(thread, 'Mark as unread');
  await dot.waitFor({state: 'detached'}).catch(() => problems.add('a mark that failed is shown'));
  equal('the thread after a failure', await thread.getAttribute('open'), null);
  await thread.getByRole('button', {name: 'Reply'}).click();
  const own = page.locator('collab-thread', {hasText: 'My own'});
  await page.unroute('**/read/set');
  await page.getByRole('button', {name: 'Comment', exact: true}).click();
  await page.keyboard.type('My own');
  await page.keyboard.press('Control+Enter');
  await own.getByRole('button', {name: 'Resolve'}).waitFor();
  await own.getByRole('button', {name: 'More actions', exact: true}).click();
  await own.getByRole('menuitem', {name: 'Edit'}).waitFor();
  equal('the mark for own comments', await own.getByRole('menuitem', {name: 'Mark as unread'}).count(), 0);
}

look.run(main);
