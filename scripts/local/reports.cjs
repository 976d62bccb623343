// Repeats what people have reported about other products, in the demo: see look.cjs.
const look = require('./look.cjs');

const {url, problems, open, contextOf, until, select, want, equal, comment, marked} = look;

const call = (operation, data) => look.call(operation, {organizationId: 'demo', documentId: 'launch-plan', ...data});
const bob = {userId: 'bob', name: 'Bob Builder'};
const started = async (text) => (await call('/v2/commentannotations/get', {})).find((a) => a.comments[0].commentText.includes(text));

async function main() {
  const {browser, context} = await look.launch();
  await context.close();
  const parts = [typing, composing, acting, finding, pasting, losing, conflicting, preferring, quieting, moving, shading, routing, translating, fitting, holding, placing, tabbing, announcing, answering, printing];
  for (const part of parts) {
    const context = await contextOf(browser, [fitting, holding].includes(part) ? {viewport: {width: 390, height: 700}, hasTouch: true, isMobile: true} : {});
    await part(context).catch((e) => problems.add(`${part.name}: ${e.stack}`));
    await context.close();
  }
  await browser.close();
}

// typing sends paths, expressions and code, whose signs stay.
async function typing(context) {
  const page = await open(context, '/demo?as=ann');
  for (const text of ['see \\\\fileserver\\share\\_old', 'C:\\docs\\.git', 'regex \\d+\\.\\d+', 'def f(*args, **kw): g(*args)']) {
    await page.getByRole('button', {name: 'Comment', exact: true}).click();
    await page.keyboard.insertText(text);
    await page.keyboard.press('Control+Enter');
    await until(async () => (await started(text))?.comments[0].commentText === text);
    equal(`HTML of ${text}`, (await started(text)).comments[0].commentHtml, '');
  }
  await page.getByRole('button', {name: 'Comment', exact: true}).click();
  await page.keyboard.insertText('Code:\n```js\nlet a = *b*;\n  let c;\n```');
  await page.keyboard.press('Control+Enter');
  await until(async () => (await started('let a'))?.comments[0].commentHtml === '<p>Code:</p><pre><code class="language-js">let a = *b*;\n  let c;\n</code></pre>');
  equal('the text of code', (await started('let a')).comments[0].commentText, 'Code:\nlet a = *b*;\n  let c;');
  const thread = page.locator('collab-thread[open]');
  equal('the code', await thread.locator('pre').innerText(), 'let a = *b*;\n  let c;\n');
  await look.act(thread, 'Edit');
  equal('its source', await thread.getByRole('textbox', {name: /^Edit/}).inputValue(), 'Code:\n```js\nlet a = *b*;\n  let c;\n```');
}

// composing formats a text with the buttons below it, and looks at it before it is sent.
async function composing(context) {
  const page = await open(context, '/demo?as=ann');
  await page.evaluate(async () => (await import('/pages/elements.min.js')).setUploads(async (file) => `${location.origin}/pages/icon.svg?${file.name}`));
  await page.getByRole('button', {name: 'Comment', exact: true}).click();
  const composer = page.locator('collab-composer.new');
  const box = composer.getByRole('textbox');
  const tools = composer.getByRole('toolbar', {name: 'Formatting'});
  const tool = (name) => tools.getByRole('button', {name, exact: true});
  equal('the tools', await tools.getByRole('button').evaluateAll((list) => list.map((e) => e.ariaLabel)), ['Mention people', 'Emoji', 'Attach files', 'Bold', 'List', 'Code', 'Preview']);
  const mark = (from, to) => box.evaluate((e, [from, to]) => e.setSelectionRange(from, to), [from, to]);
  await box.fill('one two\nthree');
  for (const [name, from, to, text, selected] of [
    ['Bold', 4, 7, 'one **two**\nthree', 'two'], ['Bold', 6, 9, 'one two\nthree', 'two'], ['Code', 8, 13, 'one two\n`three`', 'three'], ['Code', 9, 14, 'one two\nthree', 'three'],
    ['List', 5, 10, '- one two\n- three', '- one two\n- three'], ['List', 0, 17, 'one two\nthree', 'one two\nthree'],
  ]) {
    await mark(from, to);
    await tool(name).click();
    await until(async () => (await box.inputValue()) === text);
    equal(`the selected text after ${name}`, await box.evaluate((e) => e.value.slice(e.selectionStart, e.selectionEnd)), selected);
    equal(`the focus after ${name}`, await look.focusedName(page), 'Write a comment. Type @ to mention people.');
  }
  await page.keyboard.press('Control+z');
  equal('what is undone', await box.inputValue(), '- one two\n- three');
  await box.fill('Hello');
  await tool('Mention people').click();
  await composer.getByRole('option', {name: 'Bob Builder'}).click();
  await tool('Emoji').click();
  const palette = page.getByRole('menu', {name: 'Emoji'});
  await palette.getByRole('menuitemcheckbox', {name: '🎉'}).click();
  equal('a mention and an emoji', await box.inputValue(), 'Hello @Bob Builder 🎉');
  // By keyboard: one stop for all tools.
  await page.keyboard.press('Tab');
  equal('the first tool', await look.focusedName(page), 'Mention people');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await palette.waitFor();
  await look.runAxe(page, 'emojis');
  await page.keyboard.press('Escape');
  await palette.waitFor({state: 'detached'});
  equal('the focus after the palette', await look.focusedName(page), 'Emoji');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  equal('the last tool', await look.focusedName(page), 'Preview');
  await box.fill('Hello **Bob**\n- one\n- two');
  await tool('Preview').click();
  const preview = composer.getByRole('region', {name: 'Preview'});
  equal('the preview', await preview.evaluate((e) => [e.querySelector('strong, b').textContent, e.querySelectorAll('li').length]), ['Bob', 2]);
  await look.runAxe(page, 'a preview');
  await tool('Preview').click();
  equal('the text after the preview', await box.inputValue(), 'Hello **Bob**\n- one\n- two');
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), tool('Attach files').click()]);
  await chooser.setFiles({name: 'plan.pdf', mimeType: 'application/pdf', buffer: Buffer.from('plan')});
  await want('the file', composer.getByRole('button', {name: 'Remove plan.pdf'}));
  await box.press('Control+Enter');
  await until(async () => (await started('Hello Bob'))?.comments[0].attachments?.[0].name === 'plan.pdf');
  // A reply is one line high until it is focused.
  const reply = page.locator('collab-thread[open] collab-composer');
  await page.locator('collab-thread[open]').evaluate((e) => e.focus());
  const height = () => reply.evaluate((e) => e.getBoundingClientRect().height);
  await until(async () => (await height()) < 50);
  await reply.getByRole('textbox').focus();
  await until(async () => (await height()) > 100);
}

// acting uses the menus of a thread, of which one has all that is done to it.
async function acting(context) {
  const ann = {userId: 'ann', name: 'Ann Archer', photoUrl: `${url}/pages/icon.svg`};
  await call('/v2/commentannotations/add', {commentAnnotations: [{annotationId: 'acted', commentData: [{commentId: 1, commentText: 'Act on me', from: ann}, {commentId: 2, commentText: 'A reply', from: bob}]}]});
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = await open(context, '/demo?as=ann');
  const closed = page.locator('collab-thread', {hasText: 'Act on me'});
  await closed.waitFor();
  const chrome = (e) => [...e.shadowRoot.querySelector('article').children].filter((child) => child.localName !== 'ol' && child.checkVisibility()).map((child) => child.getBoundingClientRect().height < 48);
  equal('the lines of chrome of a closed thread', await closed.evaluate(chrome), [true, true]);
  await page.evaluate(() => document.querySelector('collab-threads').open('acted'));
  const thread = page.locator('collab-thread[open]');
  await want('the reply', thread.getByText('A reply'));
  const button = thread.getByRole('button', {name: 'More actions', exact: true});
  const menu = thread.getByRole('menu', {name: 'More actions'});
  const state = () => button.evaluate((e) => [e.ariaHasPopup, e.ariaExpanded]);
  equal('the button of the menu', await state(), ['menu', 'false']);
  equal('the picture', await thread.locator('img').first().evaluate((e) => e.src), ann.photoUrl);
  equal('the time', await thread.locator('time').first().evaluate((e) => [e.innerText, e.title === new Date(e.dateTime).toLocaleString('en', {dateStyle: 'medium', timeStyle: 'short'})]), ['just now', true]);
  equal('the lines of chrome', await thread.evaluate(chrome), [true, true]);
  await button.press('Enter');
  await menu.waitFor();
  equal('the open button', await state(), ['menu', 'true']);
  equal('the choices', await menu.getByRole('menuitem').allInnerTexts(), ['Edit', 'Copy link', 'Mark as unread', 'Delete']);
  equal('the levels and readers', await menu.getByRole('menuitemradio').allInnerTexts(), ['Everyone', 'Only Bob Builder and you', 'As for the document', 'Follow', 'Only mentions', 'Mute']);
  const path = [await look.focusedName(page)];
  for (const key of ['ArrowDown', 'ArrowUp', 'ArrowUp', 'Home', 'End', 'm', 'm']) {
    await page.keyboard.press(key);
    path.push(await look.focusedName(page));
  }
  equal('the path of the keys', path, ['Edit', 'Copy link', 'Edit', 'Delete', 'Edit', 'Delete', 'Mark as unread', 'Mute']);
  await look.check(page, 'reports-menu', {whole: false});
  await page.keyboard.press('Escape');
  await menu.waitFor({state: 'detached'});
  equal('the focus after Escape', await look.focusedName(page), 'More actions');
  equal('the closed button', await state(), ['menu', 'false']);
  for (const count of [1, 0]) { // a second click closes it
    await button.click();
    await until(async () => (await menu.count()) === count);
  }
  await look.act(thread, 'Only Bob Builder and you');
  await want('its readers', thread.getByText('Only Bob Builder and you'));
  await until(async () => (await started('Act on me')).visibility.userIds?.join() === 'bob');
  await look.act(thread, 'Everyone');
  await until(async () => (await started('Act on me')).visibility.type === 'public');
  await look.act(thread, 'Copy link');
  equal('the copied link', await page.evaluate(() => navigator.clipboard.readText()), `${url}/demo?as=ann#collab-thread=acted&comment=1`);
  await look.act(thread, 'Edit');
  await thread.getByRole('textbox', {name: /^Edit/}).fill('Act on me, now');
  await thread.getByRole('button', {name: 'Save'}).click();
  await until(async () => (await started('Act on me, now')) !== undefined);
  await thread.getByRole('button', {name: 'Resolve', exact: true}).click();
  await until(async () => (await started('Act on me')).status.id === 'RESOLVED');
  // The menu of a reply by somebody else.
  await thread.getByRole('button', {name: /^More actions for the comment/}).click();
  await page.getByRole('menuitem').first().waitFor();
  equal('the choices for a reply', await page.getByRole('menuitem').allInnerTexts(), ['Copy link']);
}

// finding mentions people by any word of their names, and seeks threads by words in any order.
async function finding(context) {
  const people = [['am', 'Anna-Maria Smith'], ['ob', 'Seán O’Brien'], ['da', "Luiz d'Ávila"], ['xm', '王小明'], ['mj', '김민준'], ['m1', 'Max Müller'], ['m2', 'Max Meier']];
  await look.call('/v2/users/add', {organizationId: 'demo', users: people.map(([userId, name]) => ({userId, name}))});
  await call('/v2/commentannotations/add', {commentAnnotations: [{annotationId: 'words', commentData: [{commentText: 'It’s one line, then two', from: bob}]}]});
  const page = await open(context, '/demo?as=ann');
  await page.getByRole('button', {name: 'Comment', exact: true}).click();
  const composer = page.locator('collab-composer.new');
  const options = async (typed) => {
    await composer.locator('textarea').fill('');
    await composer.locator('textarea').pressSequentially(typed);
    await composer.getByRole('option').first().waitFor({timeout: 10_000}).catch(() => {});
    return composer.locator('li span[dir=auto]:not(.soft)').allInnerTexts();
  };
  for (const [typed, ...found] of [['@maria', 'Anna-Maria Smith'], ["@o'b", 'Seán O’Brien'], ['@obrien', 'Seán O’Brien'], ['@avila', "Luiz d'Ávila"], ['@小明', '王小明'], ['@민준', '김민준'], ['안녕@김', '김민준'], ['@Max M', 'Max Meier', 'Max Müller'], ['@max mü', 'Max Müller']]) {
    equal(`the people for ${typed}`, (await options(typed)).sort(), found);
  }
  await options('@bob and nobody');
  await composer.getByRole('option').first().waitFor({state: 'detached', timeout: 10_000}).catch(() => problems.add('the list stays open in a sentence'));
  equal('"No match" in a sentence', await composer.getByText('No match').count(), 0);
  await composer.locator('textarea').fill('');
  for (const [sought, count] of [["it's two", 1], ['line one', 1], ['line three', 0]]) {
    await page.getByRole('searchbox').fill(sought);
    await until(async () => (await page.locator('collab-thread', {hasText: 'one line'}).count()) === count);
  }
}

// pasting pastes formatted text of text processors.
async function pasting(context) {
  const page = await open(context, '/demo?as=ann');
  await page.getByRole('button', {name: 'Comment', exact: true}).click();
  const box = page.locator('collab-composer.new').getByRole('textbox');
  const paste = (html, text) => box.evaluate((e, [html, text]) => {
    const data = new DataTransfer();
    if (html) data.setData('text/html', html);
    data.setData('text/plain', text);
    return e.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));
  }, [html, text]);
  for (const [what, html, text, wanted] of [
    ['Google Docs', '<meta charset="utf-8"><b style="font-weight:normal;" id="docs-internal-guid-1"><p><span style="font-weight:400">See </span><a href="https://e.org/plan"><span style="font-weight:700;text-decoration:underline">the plan</span></a><span style="font-style:italic"> soon</span></p><ul><li><p><span>one</span></p></li><li><p><span style="font-weight:700">two</span></p></li></ul></b>',
      'See the plan soon', 'See [**the plan**](https://e.org/plan) *soon*\n- one\n- **two**'],
    ['Word', '<html><body><p class=MsoNormal>A <b>bold</b> and <i>slanted</i> <a href="https://e.org/w">word</a></p><p class=MsoListParagraph style="mso-list:l0 level1 lfo1"><![if !supportLists]><span style="mso-list:Ignore">·<span>&nbsp;&nbsp; </span></span><![endif]>first</p><p class=MsoListParagraph style="mso-list:l0 level1 lfo1"><span style="mso-list:Ignore">·</span>second</p></body></html>',
      'A bold', 'A **bold** and *slanted* [word](https://e.org/w)\n- first\n- second'],
    ['an editor', '<div style="font-family: Consolas, monospace; font-weight: normal"><div><span>if (a) {</span></div><div><span>  b();</span></div><div><span>}</span></div></div>', 'if (a) {\n  b();\n}', '```\nif (a) {\n  b();\n}\n```\n'],
    ['a page', '<p>plain <span style="font-weight:400">text</span> *kept*</p>', 'plain text *kept*', 'plain text *kept*'],
  ]) {
    await box.fill('');
    await paste(html, text);
    await until(async () => (await box.inputValue()) !== '');
    equal(`what is pasted from ${what}`, await box.inputValue(), wanted);
  }
  equal('that the browser pastes a table', await paste('<table><tr><td><b>a</b></td><td>b</td></tr></table>', 'a\tb'), true);
  await box.fill('');
}

// losing has somebody delete the thread of Ann's reply, and the comment that she edits.
async function losing(context) {
  await call('/v2/commentannotations/add', {commentAnnotations: [{annotationId: 'lost', targetElement: {elementId: 'risks', targetText: 'old one takes over', occurrence: 1}, commentData: [{commentText: 'To be lost', from: bob}]},
    {annotationId: 'kept', commentData: [{commentId: 1, commentText: 'Stays', from: bob}, {commentId: 2, commentText: 'Mine', from: {userId: 'ann', name: 'Ann Archer'}}]}]});
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = await open(context, '/demo?as=ann#collab-thread=lost');
  await page.locator('collab-thread[open]').getByRole('textbox').fill('My long reply');
  await call('/v2/commentannotations/delete', {annotationIds: ['lost']});
  const lost = page.getByRole('group', {name: 'The thread of your reply was deleted. Your text:'});
  await want('the text of a deleted thread', lost);
  equal('the text', await lost.getByRole('textbox').inputValue(), 'My long reply');
  await lost.getByRole('button', {name: 'Copy text'}).click();
  equal('the copied text', await page.evaluate(() => navigator.clipboard.readText()), 'My long reply');
  await page.reload();
  await want('the text after a reload', lost);
  await lost.getByRole('button', {name: 'Start a new thread'}).click();
  const box = page.locator('collab-composer.new').getByRole('textbox');
  equal('the text of the new thread', await box.inputValue(), 'My long reply');
  await box.press('Control+Enter');
  await until(async () => (await started('My long reply'))?.comments[0].from.userId === 'ann');
  await lost.waitFor({state: 'detached'}).catch(() => problems.add('a lost text stays'));

  await page.evaluate(() => document.querySelector('collab-threads').open('kept'));
  const thread = page.locator('collab-thread[open]', {hasText: 'Stays'});
  await look.act(thread, 'Edit', {n: 1});
  await thread.getByRole('textbox', {name: /^Edit/}).fill('Mine, and much more');
  await call('/v2/commentannotations/comments/delete', {annotationId: 'kept', commentIds: [2]});
  const edit = page.getByRole('group', {name: 'The comment that you edited was deleted. Your text:'});
  await want('the text of a deleted comment', edit);
  equal('the edited text', await edit.getByRole('textbox').inputValue(), 'Mine, and much more');
  await edit.getByRole('button', {name: 'Discard'}).click();
  await edit.waitFor({state: 'detached'}).catch(() => problems.add('a discarded text stays'));
}

// conflicting edits a comment in two tabs.
async function conflicting(context) {
  await call('/v2/commentannotations/add', {commentAnnotations: [{annotationId: 'twice', commentData: [{commentId: 1, commentText: 'First text', from: {userId: 'ann', name: 'Ann Archer'}}]}]});
  const tabs = [await open(context, '/demo?as=ann#collab-thread=twice'), await open(context, '/demo?as=ann#collab-thread=twice')];
  const threads = tabs.map((tab) => tab.locator('collab-thread[open]'));
  for (const thread of threads) await look.act(thread, 'Edit');
  const save = async (i, text) => {
    await threads[i].getByRole('textbox', {name: /^Edit/}).fill(text);
    await threads[i].getByRole('button', {name: 'Save'}).click();
  };
  await save(1, 'Text of the second tab');
  await until(async () => (await started('Text of the second tab')) !== undefined);
  tabs[0].expected = true;
  await save(0, 'Text of the first tab');
  const conflict = threads[0].getByRole('group', {name: 'This comment was changed meanwhile. Your text:'});
  await want('the conflict', conflict);
  await want('the text of the other tab', threads[0].getByText('Text of the second tab'));
  await want('the own text', conflict.getByText('Text of the first tab'));
  await tabs[0].bringToFront();
  await look.runAxe(tabs[0], 'a conflict');
  equal('what is stored', (await started('Text of')).comments[0].commentText, 'Text of the second tab');
  await conflict.getByRole('button', {name: 'Save my text'}).click();
  await until(async () => (await started('Text of')).comments[0].commentText === 'Text of the first tab');
  await conflict.waitFor({state: 'detached'}).catch(() => problems.add('a conflict stays'));
  // Reactions and replies are no conflicts, and neither is a repeated save.
  await look.act(threads[0], 'Edit');
  await call('/v2/commentannotations/comments/reactions/add', {annotationId: 'twice', commentId: 1, emoji: '👍', from: bob});
  await call('/v2/commentannotations/comments/add', {annotationId: 'twice', commentData: [{commentText: 'A reply', from: bob}]});
  await want('the reply', threads[0].getByText('A reply'));
  let lost = 0;
  await tabs[0].route('**/comments/update', async (route) => {
    if (lost++) return route.continue();
    await route.fetch();
    await route.abort();
  });
  await save(0, 'Saved twice');
  await threads[0].getByRole('button', {name: 'Try again'}).click();
  await until(async () => (await started('Saved twice')) !== undefined);
  await threads[0].getByRole('alert').waitFor({state: 'detached'}).catch(() => problems.add('a repeated save is a conflict'));
}

// preferring changes two preferences while the service is slow.
async function preferring(context) {
  const page = await open(context, '/demo?as=ann');
  const button = page.getByRole('button', {name: /: Notifications for this document$/});
  equal('the state', await button.innerText(), 'Watch');
  equal('its place', await button.evaluate((e) => !!e.getRootNode().host.closest('header')), true);
  await page.route('**/config/set', async (route) => {
    await new Promise((done) => setTimeout(done, 500));
    await route.continue();
  });
  await look.watch(page, 'Inbox', 'Nothing');
  await look.watch(page, 'Email', 'Nothing');
  await until(async () => {
    const [{config}] = await call('/v2/notifications/config/get', {documentIds: ['launch-plan'], userId: 'ann', documentId: undefined});
    return config.inbox === 'NONE' && config.email === 'NONE';
  });
  equal('the shown choices', await look.watched(page), ['Nothing', 'Nothing']);
  equal('the state of a muted document', await button.innerText(), 'Muted');
  await look.watch(page, 'Inbox', 'All activity');
  await until(async () => (await call('/v2/notifications/config/get', {documentIds: ['launch-plan'], userId: 'ann', documentId: undefined}))[0].level === 'all');
  await page.reload();
  await want('the state after a reload', page.getByRole('button', {name: 'Watching: Notifications for this document'}));
}

// quieting chooses weekly emails and quiet hours, in a zone that is shown.
async function quieting(context) {
  const page = await open(context, '/demo?as=ann');
  await page.getByRole('button', {name: /^Inbox/}).click();
  const inbox = page.getByRole('dialog', {name: 'Inbox'});
  await inbox.getByText('Emails', {exact: true}).click();
  await inbox.getByRole('combobox', {name: 'Emails', exact: true}).selectOption('weekly');
  await inbox.getByRole('combobox', {name: 'Day of the weekly email'}).selectOption('friday');
  await inbox.getByRole('checkbox', {name: 'Quiet hours'}).check();
  await inbox.getByLabel('Quiet from').fill('21:30');
  await inbox.getByRole('button', {name: 'Sunday', exact: true}).click();
  const zone = await page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone);
  const stored = async () => {
    const [{mailFrequency, mailDay, mailHour, quietHours, timeZone}] = await look.call('/v2/notifications/config/get', {organizationId: 'demo', userId: 'ann', getOrganizationConfig: true});
    return JSON.stringify([mailFrequency, mailDay, mailHour, quietHours, timeZone]);
  };
  const wanted = JSON.stringify(['weekly', 'friday', 8, {from: '21:30', to: '08:00', days: ['sunday']}, zone]);
  for (const end = Date.now() + 10_000; (await stored()) !== wanted && Date.now() < end; );
  equal('the times of emails', await stored(), wanted);
  await want('the zone', inbox.getByText(`Times in ${zone}`));
  await look.runAxe(page, 'quiet hours');
  await page.reload();
  await page.getByRole('button', {name: /^Inbox/}).click();
  await inbox.getByText('Emails', {exact: true}).click();
  await until(async () => (await inbox.getByLabel('Quiet from').inputValue().catch(() => '')) === '21:30');
  await inbox.getByRole('checkbox', {name: 'Quiet hours'}).uncheck();
  await until(async () => (await stored()) === JSON.stringify(['weekly', 'friday', 8, undefined, zone]));
}

// moving moves, renames and splits the place of a quote: its mark follows, and a word alone does
// not mark another sentence.
async function moving(context) {
  const page = await open(context, '/demo?as=ann');
  const quote = 'Support answers within an hour. Nobody';
  await page.evaluate(() => (document.getElementById('goals').innerHTML = document.getElementById('goals').textContent.replace(/\s+/g, ' ')));
  await select(page, 'goals', quote);
  await comment(page, 'Follows');
  const mark = (what, before, after) => marked(page, what, `${before}[${quote}]${after}`);
  await mark('at first', ' second. ', ' has to m');
  await page.evaluate(() => (document.getElementById('goals').id = 'goals-2'));
  await mark('in a renamed element', ' second. ', ' has to m');
  await page.evaluate(() => {
    const goals = document.getElementById('goals-2');
    const text = goals.textContent;
    goals.textContent = text.replace(' Support answers within an hour. Nobody', '');
    document.getElementById('intro').append(' Support answers within an hour. Nobody.');
  });
  await mark('in another element', ' Friday. ', '.');
  await page.evaluate(() => {
    const intro = document.getElementById('intro');
    const [before] = intro.textContent.split(' hour. Nobody');
    intro.textContent = `${before} hour.`;
    const rest = document.createElement('p');
    rest.textContent = 'Nobody.';
    intro.after(rest);
  });
  await page.waitForFunction((wanted) => [...CSS.highlights.get('collab-thread-active') ?? []].map((r) => `${r}`.replace(/\s+/g, ' ')).join() === wanted.replace(' Nobody', 'Nobody') || [...CSS.highlights.get('collab-thread-active') ?? []].map((r) => `${r}`.replace(/\s+/g, ' ')).join() === wanted, quote).catch(() => problems.add('the mark does not cover both halves'));
  await select(page, 'pricing', 'month');
  await comment(page, 'A word alone');
  await page.evaluate(() => document.getElementById('pricing').remove());
  await want('that the word is removed', page.getByText(/on removed text/));
  await marked(page, 'of a word alone', '');
}

// shading comments on text in an open shadow tree.
async function shading(context) {
  const page = await open(context, '/demo?as=ann');
  await page.evaluate(() => {
    const host = document.createElement('div');
    host.id = 'shaded';
    host.attachShadow({mode: 'open'}).innerHTML = '<p>Text in the shade is text, too.</p>';
    document.getElementById('risks').after(host);
  });
  const p = page.locator('#shaded p');
  await p.dblclick({position: {x: 20, y: 8}});
  await page.getByRole('button', {name: 'Comment on the selected text'}).waitFor();
  await comment(page, 'In the shade');
  const {targetElement} = await started('In the shade');
  equal('the element', targetElement.elementId, 'shaded');
  await page.waitForFunction((text) => [...CSS.highlights.get('collab-thread-active') ?? []].map(String).join() === text, targetElement.targetText).catch(() => problems.add('no mark in the shade'));
}

// routing opens threads as routers change the address.
async function routing(context) {
  await call('/v2/commentannotations/add', {commentAnnotations: ['one', 'two'].map((annotationId) => ({annotationId: `routed-${annotationId}`, commentData: [{commentText: `Routed ${annotationId}`, from: bob}]}))});
  const page = await open(context, '/demo?as=ann');
  await want('a thread', page.getByText('Routed one'));
  const go = (id) => page.evaluate((id) => history.pushState({}, '', `/demo?as=ann#collab-thread=routed-${id}`), id);
  const opened = (text) => want(`${text} open`, page.locator('collab-thread[open]', {hasText: text}));
  await go('one');
  await opened('Routed one');
  await go('two');
  await opened('Routed two');
  await page.goBack();
  await opened('Routed one');
  // A router that handles the inbox's event sets the address, then scrolls to the start.
  await call('/v2/commentannotations/add', {commentAnnotations: [{annotationId: 'routed-down', targetElement: {elementId: 'risks', targetText: 'new storage', occurrence: 1}, commentData: [{commentText: 'Routed down', from: bob}]}]});
  await page.setViewportSize({width: 1000, height: 300});
  await want('a thread below', page.getByText('Routed down'));
  const active = await page.evaluate(async () => {
    const active = [];
    const {promise: routed, resolve: route} = Promise.withResolvers();
    document.addEventListener('collab-active', (e) => active.push(e.detail.annotationId));
    const inbox = document.querySelector('collab-inbox');
    inbox.addEventListener('collab-open', (e) => {
      e.preventDefault();
      history.pushState({}, '', '/demo?as=ann#collab-thread=routed-down');
      setTimeout(() => route(scrollTo(0, 0))); // after its own rendering
    }, {once: true});
    inbox.dispatchEvent(new CustomEvent('collab-open', {bubbles: true, composed: true, cancelable: true, detail: {documentId: 'launch-plan', annotationId: 'routed-two'}}));
    for (const end = Date.now() + 20_000; !active.includes('routed-down') && Date.now() < end;) await new Promise(requestAnimationFrame);
    await routed;
    return active;
  });
  equal('the threads that a router opened', active, ['routed-down']);
  await until(() => page.evaluate(() => { const {top, bottom} = document.getElementById('risks').getBoundingClientRect(); return top >= 0 && bottom <= innerHeight; }));
  await page.setViewportSize({width: 1280, height: 800});
  // A router sets the address first, then the document.
  await look.call('/v2/commentannotations/add', {organizationId: 'demo', documentId: 'other-plan', createDocument: true, commentAnnotations: [{annotationId: 'there', commentData: [{commentText: 'In another document', from: bob}]}]});
  await page.evaluate(() => {
    history.pushState({}, '', '/demo?as=ann#collab-thread=there');
    const threads = document.querySelector('collab-threads');
    setTimeout(() => Object.assign(threads, {token: '', document: 'other-plan'}), 300);
  });
  page.expected = true; // the demo has tokens for its own document alone
  await until(() => page.evaluate(() => document.querySelector('collab-threads').document === 'other-plan'));
  equal('that a thread is missing', await page.getByText('This thread no longer exists').count(), 0);
}

// translating has a language come late.
async function translating(context) {
  await context.route('**/pages/de.js', async (route) => {
    await new Promise((done) => setTimeout(done, 2_000));
    await route.continue();
  });
  const page = await open(context, '/demo?as=ann&lang=de');
  await page.evaluate(() => document.querySelectorAll('[lang=en]').forEach((e) => (e.lang = 'de')));
  await page.evaluate(() => document.querySelectorAll('collab-threads, collab-inbox').forEach((e) => e.requestUpdate()));
  await want('German threads', page.getByRole('button', {name: 'Kommentieren', exact: true}));
  await want('a German inbox', page.getByRole('button', {name: /^Posteingang/}));
  await want('German preferences', page.getByRole('button', {name: /: Benachrichtigungen zu diesem Dokument$/}));
}

// fitting uses a phone: fields do not zoom, and the panel of the inbox is in the window.
async function fitting(context) {
  const page = await open(context, '/demo?as=ann');
  await page.getByRole('button', {name: 'Comment', exact: true}).click();
  equal('the size of the field', await page.locator('collab-composer.new textarea').evaluate((e) => getComputedStyle(e).fontSize), '16px');
  await page.keyboard.press('Escape');
  const inbox = page.locator('collab-inbox');
  const panel = inbox.locator('.panel');
  await inbox.locator('collab-emails').waitFor({state: 'attached'}); // it is loaded
  const inside = () => panel.evaluate((e) => {
    const {top, bottom, left, right} = e.getBoundingClientRect();
    return bottom - top > 40 && top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth;
  });
  for (const place of [{bottom: '0', left: '0'}, {top: '0', right: '0'}, {top: '45%', left: '45%'}, {top: '-20px', left: '0'}, {bottom: '-20px', right: '0'}]) {
    await inbox.evaluate((e, place) => (e.style.cssText = Object.entries({position: 'fixed', ...place}).map(([k, v]) => `${k}: ${v}`).join(';')), place);
    for (const size of [{width: 390, height: 700}, {width: 640, height: 320}]) {
      await page.setViewportSize(size);
      await inbox.locator('.bell').evaluate((e) => e.click());
      await panel.waitFor();
      equal(`whether the panel is in a window of ${size.width} with the bell at ${JSON.stringify(place)}`, await inside(), true);
      await page.keyboard.press('Escape');
      await panel.waitFor({state: 'hidden'});
    }
  }
}

// holding uses the composer and a thread on a phone: they are sheets at the bottom of the window, and
// a finger hits all that they have.
async function holding(context) {
  await call('/v2/commentannotations/add', {commentAnnotations: [{annotationId: 'held', targetElement: {elementId: 'risks', targetText: 'six weeks only', occurrence: 1}, commentData: [
    {commentId: 1, commentText: 'Hold me', from: bob}, ...Array.from({length: 12}, (_, i) => ({commentId: i + 2, commentText: `Reply ${i}`, from: {userId: 'ann', name: 'Ann Archer'}})),
  ]}]});
  await call('/v2/commentannotations/comments/reactions/add', {annotationId: 'held', commentId: 1, emoji: '👍', from: bob});
  const page = await open(context, '/demo?as=ann');
  const thread = page.locator('collab-thread[open]');
  const small = (what) => page.evaluate(() => {
    const all = (root) => [...root.querySelectorAll('*')].flatMap((e) => [e, ...(e.shadowRoot ? all(e.shadowRoot) : [])]);
    return ['collab-threads', 'collab-inbox'].flatMap((name) => all(document.querySelector(name).shadowRoot)).filter((e) => e.matches('button, input, select, textarea, summary, label, [role^=menuitem], [role=option]') && e.checkVisibility({contentVisibilityAuto: true}))
      .map((e) => [e.closest('label') ?? e, e]).filter(([e]) => Math.min(e.getBoundingClientRect().width, e.getBoundingClientRect().height) < 24).map(([, e]) => e.outerHTML.slice(0, 80));
  }).then((list) => equal(`targets of less than 24 px ${what}`, list, []));
  const fields = (what) => page.evaluate(() => {
    const all = (root) => [...root.querySelectorAll('*')].flatMap((e) => [e, ...(e.shadowRoot ? all(e.shadowRoot) : [])]);
    return all(document).filter((e) => e.getRootNode() !== document && e.matches('input:not([type=checkbox]), select, textarea') && e.checkVisibility() && parseFloat(getComputedStyle(e).fontSize) < 16).map((e) => e.outerHTML.slice(0, 80));
  }).then((list) => equal(`fields of less than 16 px ${what}`, list, []));
  const below = (e) => {
    const {top, bottom, left, right} = e.getBoundingClientRect();
    return top > 100 && Math.abs(bottom - innerHeight) < 1 && left === 0 && right === innerWidth;
  };
  await page.getByText('Hold me').waitFor();
  await small('in a list');
  await select(page, 'goals', 'half of them');
  await page.getByRole('button', {name: 'Comment on the selected text'}).tap();
  const draft = page.locator('collab-threads .draft');
  await draft.waitFor();
  equal('whether the composer is a sheet', await draft.evaluate(below), true);
  equal('the focus', await look.focusedName(page), 'Write a comment. Type @ to mention people.');
  await draft.getByRole('textbox').fill('@');
  await draft.getByRole('option').first().waitFor();
  await small('in the composer');
  await fields('in the composer');
  await look.runAxe(page, 'a sheet of the composer');
  await draft.getByRole('textbox').fill('');
  await draft.getByRole('button', {name: 'Cancel'}).tap();

  await page.evaluate(() => document.querySelector('collab-threads').open('held'));
  await thread.waitFor();
  equal('whether the thread is a sheet', await thread.evaluate(below), true);
  equal('whether its text is seen above it', await page.evaluate(() => {
    const [mark] = CSS.highlights.get('collab-thread-active');
    const {top, bottom} = mark.getBoundingClientRect();
    return top >= 0 && bottom <= document.querySelector('collab-threads').shadowRoot.querySelector('collab-thread[open]').getBoundingClientRect().top;
  }), true);
  const seen = (locator) => locator.evaluate((e) => {
    const {top, bottom} = e.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight + 1;
  });
  equal('whether one can reply without scrolling', await seen(thread.locator('collab-composer')), true);
  await small('in a thread');
  await thread.getByRole('button', {name: 'More actions', exact: true}).tap();
  await page.getByRole('menu').waitFor();
  await small('in a menu');
  await page.keyboard.press('Escape');
  await thread.getByRole('textbox').tap();
  await small('in a reply');
  await fields('in a reply');
  await look.runAxe(page, 'a sheet of a thread');
  await thread.getByRole('button', {name: 'Close'}).tap();
  await thread.waitFor({state: 'detached'});
  await page.getByRole('button', {name: /^Inbox/}).tap();
  await page.getByText('Emails', {exact: true}).tap();
  await page.getByRole('combobox', {name: 'Emails', exact: true}).selectOption('weekly');
  await page.getByRole('checkbox', {name: 'Quiet hours'}).check();
  await page.getByLabel('Quiet from').waitFor();
  await small('in the inbox');
  await fields('in the inbox');
}

// placing shows threads at the height of their marks, without overlap.
async function placing(context) {
  const at = (elementId, targetText) => ({targetElement: {elementId, targetText, occurrence: 1}});
  const thread = (annotationId, place, text = annotationId) => ({annotationId, ...place, commentData: [{commentText: text, from: bob}]});
  await call('/v2/commentannotations/add', {commentAnnotations: [
    thread('placed-1', at('intro', 'first of October')), thread('placed-2', at('intro', 'largest change')), thread('placed-3', at('goals', 'Ten thousand')), thread('placed-4', at('goals', 'half of them')),
    thread('placed-5', at('risks', 'six weeks only')), thread('placed-whole'),
  ]});
  const page = await open(context, '/demo?as=ann&placement=margin');
  await want('a thread', page.getByText('placed-5'));
  await page.getByRole('searchbox').fill('placed');
  await page.evaluate(() => document.querySelectorAll('main p').forEach((p) => (p.style.marginBottom = '700px')));
  // places returns where threads and their marks are, from top to bottom.
  const places = () => page.evaluate(() => {
    const items = [...document.querySelector('collab-threads').shadowRoot.querySelectorAll('[part=list] > li')];
    const range = (text) => {
      for (const walk = document.createTreeWalker(document.getElementById('text'), NodeFilter.SHOW_TEXT); walk.nextNode(); ) {
        const at = walk.currentNode.data.indexOf(text);
        if (at < 0) continue;
        const found = document.createRange();
        found.setStart(walk.currentNode, at);
        found.setEnd(walk.currentNode, at + text.length);
        return found.getBoundingClientRect().top;
      }
    };
    return items.map((li) => {
      const quote = li.querySelector('collab-thread')?.shadowRoot.querySelector('.quote')?.textContent ?? li.querySelector('.draft p')?.textContent;
      const {top, bottom} = li.getBoundingClientRect();
      return {quote, top, bottom, mark: quote && range(quote)};
    }).sort((a, b) => a.top - b.top);
  });
  const apart = async (what) => {
    let list;
    for (const end = Date.now() + 5_000; Date.now() < end; ) {
      list = await places();
      if (list.every((p, i) => !i || p.top >= list[i - 1].bottom)) break;
    }
    list.forEach((p, i) => i && p.top < list[i - 1].bottom && problems.add(`${what}: ${p.quote} overlaps ${list[i - 1].quote}`));
    return list;
  };
  const level = (wanted) => until(async () => (await places()).some(({quote, top, mark}) => quote === wanted && Math.abs(top - mark) <= 2));
  await level('six weeks only');
  const list = await apart('at first');
  equal('a thread that makes room', list.some(({quote, top, mark}) => quote === 'largest change' && top > mark + 50), true);
  await page.evaluate(() => document.querySelector('collab-threads').open('placed-4'));
  await level('half of them');
  await apart('with an open thread');
  // A draft is at its mark, too, and a text that grows moves the threads.
  await page.locator('#pricing').scrollIntoViewIfNeeded(); // the button is hidden while the text is out of view
  await select(page, 'pricing', 'Schools pay nothing');
  await page.getByRole('button', {name: 'Comment on the selected text'}).click();
  await level('Schools pay nothing');
  await apart('with a draft');
  await page.keyboard.press('Escape');
  await page.evaluate(() => (document.getElementById('intro').style.paddingBottom = '600px'));
  await level('six weeks only');
  await look.runAxe(page, 'the margin');
  await page.setViewportSize({width: 800, height: 800});
  await until(() => page.evaluate(() => [...document.querySelector('collab-threads').shadowRoot.querySelectorAll('[part=list] > li')].every((li) => getComputedStyle(li).position === 'static')));
}

// tabbing comments on a text that the keyboard selected, and measures the colors of the marks.
async function tabbing(context) {
  await call('/v2/commentannotations/add', {commentAnnotations: ['six weeks', 'five minutes'].map((targetText, i) => ({annotationId: `lit-${i}`, targetElement: {elementId: 'risks', targetText, occurrence: 1}, commentData: [{commentText: 'Lit', from: bob}]}))});
  const page = await open(context, '/demo?as=ann');
  await page.getByRole('article').first().waitFor();
  await select(page, 'pricing', 'Schools pay nothing');
  await page.getByRole('button', {name: 'Comment on the selected text'}).waitFor();
  for (const name of ['Comment on the selected text', 'Comment on the table']) {
    await page.keyboard.press('Tab');
    await until(async () => (await look.focusedName(page)) === name);
  }
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.keyboard.type('By Tab');
  await page.keyboard.press('Control+Enter');
  await until(async () => (await started('By Tab'))?.targetElement?.targetText === 'Schools pay nothing');
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({colorScheme});
    const contrasts = await page.evaluate(() => {
      const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
      const painted = (...colors) => {
        canvas.clearRect(0, 0, 1, 1);
        for (const color of colors) Object.assign(canvas, {fillStyle: color}).fillRect(0, 0, 1, 1);
        const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const text = document.getElementById('risks');
      const {color} = getComputedStyle(text);
      const paper = getComputedStyle(document.documentElement).backgroundColor;
      const page = [getComputedStyle(document.body).backgroundColor, paper].find((c) => c !== 'rgba(0, 0, 0, 0)');
      return ['collab-thread', 'collab-thread-active'].map((name) => {
        const mark = painted(page, getComputedStyle(text, `::highlight(${name})`).backgroundColor);
        const [low, high] = [mark, painted(color)].sort((a, b) => a - b);
        return {name, contrast: (high + 0.05) / (low + 0.05), differs: Math.abs(mark - painted(page)) > 0.01};
      });
    });
    for (const {name, contrast, differs} of contrasts) if (contrast < 4.5 || !differs) problems.add(`${name}, ${colorScheme}: the contrast is ${contrast}, and that it differs from the page is ${differs}`);
  }
}

// announcing listens to live regions.
async function announcing(context) {
  const page = await open(context, '/demo?as=ann');
  const said = (text) => want(`"${text}" said`, page.locator('collab-threads .said[role=status]', {hasText: text}));
  await select(page, 'risks', 'six weeks');
  const thread = await comment(page, 'To be announced');
  await said('Your comment was sent.');
  await thread.getByRole('button', {name: 'Resolve'}).click();
  await said('The thread is resolved.');
  await thread.getByRole('button', {name: 'Reopen', exact: true}).click();
  await said('The thread is open again.');
  await page.emulateMedia({forcedColors: 'active'});
  await call('/v2/commentannotations/add', {commentAnnotations: [{annotationId: 'dotted', commentData: [{commentText: 'A dot', from: bob}]}]});
  const dot = page.locator('collab-thread', {hasText: 'A dot'}).locator('.dot');
  await dot.waitFor();
  const colors = await dot.evaluate((e) => [getComputedStyle(e).backgroundColor, getComputedStyle(e.closest('article')).backgroundColor]);
  if (colors[0] === colors[1] || colors[0] === 'rgba(0, 0, 0, 0)') problems.add(`the dot has no color of its own in forced colors: ${colors}`);
}

// answering reads a thread without its first comment, answers a resolved one, and comments by keys.
async function answering(context) {
  const ann = {userId: 'ann', name: 'Ann Archer'};
  await call('/v2/commentannotations/add', {commentAnnotations: [
    {annotationId: 'beheaded', commentData: [{commentId: 1, commentText: 'A question', from: ann}]},
    {annotationId: 'answered', status: {id: 'RESOLVED'}, commentData: [{commentText: 'Solved', from: bob}]},
    {annotationId: 'whole', commentData: [{commentText: 'By another', from: bob}]},
  ]});
  await new Promise((done) => setTimeout(done, 1_200));
  await call('/v2/commentannotations/comments/add', {annotationId: 'beheaded', commentData: [{commentText: 'The answer', from: bob}]});
  await call('/v2/commentannotations/comments/delete', {annotationId: 'beheaded', commentIds: [1]});
  const page = await open(context, '/demo?as=ann');
  const note = page.getByText('deleted the first comment.');
  await want('who deleted the first comment', page.locator('collab-thread', {hasText: 'The answer'}).getByText('Ann Archer deleted the first comment.'));
  equal('the threads without their first comment', await note.count(), 1);
  await page.evaluate(() => document.querySelector('collab-threads').open('answered'));
  const solved = page.locator('collab-thread[open]', {hasText: 'Solved'});
  await solved.getByRole('textbox').fill('Not quite');
  await solved.getByRole('button', {name: 'Reply and reopen'}).click();
  await until(async () => {
    const {status, comments} = await started('Solved');
    return status.id === 'OPEN' && comments.length === 2;
  });
  await select(page, 'risks', 'six weeks');
  await page.getByRole('button', {name: 'Comment on the selected text'}).waitFor();
  await page.keyboard.press('Control+Alt+m');
  await page.keyboard.type('By keys');
  await page.keyboard.press('Control+Enter');
  await until(async () => (await started('By keys'))?.targetElement?.targetText === 'six weeks');
}

// printing prints all comments, and no buttons.
async function printing(context) {
  await call('/v2/commentannotations/add', {commentAnnotations: [{annotationId: 'printed', commentData: [{commentText: 'line\n'.repeat(40), from: bob}, {commentText: 'A printed reply', from: bob}]}]});
  const page = await open(context, '/demo?as=ann');
  const thread = page.locator('collab-thread', {hasText: 'line'}).first();
  await thread.waitFor();
  await page.emulateMedia({media: 'print'});
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  await want('the reply on paper', page.getByText('A printed reply'));
  equal('visible buttons on paper', await page.locator('collab-threads').evaluate((e) => {
    const all = (root) => [...root.querySelectorAll('*')].flatMap((n) => [n, ...(n.shadowRoot ? all(n.shadowRoot) : [])]);
    return all(e.shadowRoot).filter((n) => n.localName === 'button' && n.checkVisibility() && !n.matches('.quote')).length;
  }), 0);
  equal('a folded comment on paper', await thread.locator('.fold').first().evaluate((e) => e.scrollHeight <= e.clientHeight + 1), true);
}

look.run(main);
