// Uses connect of the elements' package as two people, in pages without elements. Standard input
// also has "token", the address of a person's tokens with {user} in it.
const look = require('./look.cjs');

const {given, open, contextOf, until, equal} = look;

const organizationId = 'demo';
const documentId = 'connected';

async function main() {
  await look.call('/v2/organizations/documents/add', {organizationId, documents: [{documentId}]});
  const old = Array.from({length: 260}, (_, i) => ({annotationId: `old${i}`, createdAt: Date.now() - 1e9 + i, lastUpdated: Date.now() - 1e9 + i, commentData: [{commentId: 1, commentText: `old ${i}`, from: {userId: 'cleo'}}]}));
  await look.call('/v2/commentannotations/add', {organizationId, documentId, commentAnnotations: old});
  const {browser, context} = await look.launch();
  await context.close();
  const enter = async (user) => {
    const page = await open(await contextOf(browser), '/');
    page.expected = true; // some requests are refused
    await page.evaluate(async ([api, token, documentId]) => {
      const {connect} = await import('/index.js');
      Object.assign(window, {plan: connect({api, token, documentId}), inbox: connect({api, token})});
    }, [given.service, given.token.replace('{user}', user), documentId]);
    await until(() => page.evaluate(() => plan.loaded && inbox.loaded && plan.threads.length >= 250));
    // A script is faster than the limit of a person's requests.
    await page.evaluate(() => {
      window.patiently = async (act) => {
        for (;;) {
          try {
            return await act();
          } catch (e) {
            if (e.status !== 'RESOURCE_EXHAUSTED') throw e;
          }
        }
      };
    });
    // Calls a method of the document or the inbox: its result, or the status of its failure.
    page.does = (of, name, ...given) => page.evaluate(([of, name, given]) => patiently(() => window[of][name](...given)).catch(({status}) => status), [of, name, given]);
    page.thread = (id) => page.evaluate((id) => plan.threads.find((t) => t.annotationId === id), id);
    return page;
  };
  const [ann, bob] = [await enter('ann'), await enter('bob')];
  const stored = async (id) => (await look.call('/v2/commentannotations/get', {organizationId, documentId, annotationIds: [id]}))[0];

  // A suggestion of Ann, which Bob decides about.
  const {annotationId} = await ann.does('plan', 'add', {
    text: '{{bob}}, later', tags: [{userId: 'bob'}], target: {elementId: 'a', targetText: 'May'}, threadContext: {x: 1}, suggestion: {oldValue: 'May', newValue: 'June'},
  });
  await until(async () => (await bob.thread(annotationId))?.suggestion?.newValue === 'June');
  equal('a decision', (await bob.does('plan', 'decide', annotationId, 'rejected', 'too late')).annotationId, annotationId);
  equal('a second decision', await bob.does('plan', 'decide', annotationId, 'accepted'), 'FAILED_PRECONDITION');
  await until(async () => (await ann.thread(annotationId))?.suggestion?.status === 'rejected');
  equal('the reason', (await stored(annotationId)).suggestion.rejectReason, 'too late');

  // Its place, data and readers change for both; others are refused.
  equal('an update', await ann.does('plan', 'update', annotationId, {target: {elementId: 'b'}, context: {x: 2}}), {annotationId, commentId: 0});
  await until(async () => (await bob.thread(annotationId))?.context.x === 2);
  equal('the new place', (await bob.thread(annotationId)).targetElement, {elementId: 'b'});
  equal('the update of another', await bob.does('plan', 'update', annotationId, {context: {x: 3}}), 'PERMISSION_DENIED');
  equal('what is refused is taken back', (await bob.thread(annotationId)).context, {x: 2});
  await ann.does('plan', 'update', annotationId, {only: [{userId: 'bob'}]});
  equal('the readers', (await stored(annotationId)).visibility.userIds?.includes('bob'), true);
  await ann.does('plan', 'update', annotationId, {only: null});
  equal('everyone', (await stored(annotationId)).visibility.type, 'public');

  // A comment that was changed meanwhile.
  const {commentId} = await bob.does('plan', 'reply', annotationId, {text: 'one'});
  const seen = (await stored(annotationId)).comments.at(-1).lastUpdated;
  await bob.does('plan', 'edit', annotationId, commentId, {text: 'two', seen});
  equal('an edit of an older state', await bob.does('plan', 'edit', annotationId, commentId, {text: 'three', seen}), 'FAILED_PRECONDITION');
  equal('the text', (await stored(annotationId)).comments.at(-1).commentText, 'two');

  // The inbox of Bob, its number, and reading. Its headlines are in the language of the page.
  const mentions = () => bob.evaluate(() => inbox.notifications.filter((n) => n.documentId === 'connected'));
  await until(async () => (await mentions()).length > 0);
  const before = await bob.evaluate(() => inbox.unread);
  const [first] = await mentions();
  equal('the language of a headline', /erwähnt|vorgeschlagen|kommentiert|geschlossen|geteilt|beantwortet|geantwortet/.test(first.displayHeadlineMessage) || first.displayHeadlineMessage, true);
  equal('reading', await bob.does('inbox', 'read', [first.notificationId], first.notificationId), undefined);
  equal('the number', await bob.evaluate(() => inbox.unread), before - (first.read ? 0 : 1));
  equal('an unknown notification', await bob.does('inbox', 'read', ['nobody knows']), 'NOT_FOUND');
  const all = (await bob.evaluate(() => inbox.notifications)).map((n) => n.notificationId); // later ones may come meanwhile
  await bob.does('inbox', 'readAll');
  await bob.reload();
  await bob.close();
  const again = await enter('bob');
  const [number, later] = await again.evaluate((all) => [inbox.unread, inbox.notifications.filter((n) => !n.read && !all.includes(n.notificationId)).length], all);
  equal('the number after a reload', number, later);

  // Marks, levels, preferences, times of emails.
  await again.does('plan', 'unread', annotationId);
  equal('unread', (await again.thread(annotationId)).unread, true);
  await again.does('plan', 'read', annotationId);
  equal('read', (await again.thread(annotationId)).unread, false);
  await again.does('plan', 'follow', annotationId, 'none');
  await until(async () => (await again.thread(annotationId)).level === 'none');
  equal('preferences', await again.evaluate(() => Promise.all([{inbox: 'NONE'}, {email: 'NONE'}].map((change) => patiently(() => plan.setPreferences(change)))).then(() => patiently(() => plan.preferences()))), {inbox: 'NONE', email: 'NONE'});
  const emails = await again.does('inbox', 'emails');
  await again.does('inbox', 'setEmails', {...emails, frequency: 'daily', hour: 9, timeZone: 'Europe/Berlin'});
  equal('the times of emails', await again.evaluate(() => patiently(() => inbox.emails()).then(({frequency, hour}) => [frequency, hour])), ['daily', 9]);

  // A thread that is not among the loaded ones, and one that does not exist.
  equal('whether it is loaded', await ann.thread('old0'), undefined);
  const acts = {reply: [{text: 'still true'}], resolve: [], react: [1, '👍'], follow: ['all'], read: [], unread: []};
  for (const [name, given] of Object.entries(acts)) {
    const page = await enter('ann');
    const done = await page.does('plan', name, 'old0', ...given);
    equal(name, done?.annotationId, /read/.test(name) ? undefined : 'old0');
    equal(`${name} of an unknown thread`, await page.does('plan', name, 'nobody knows', ...given), 'NOT_FOUND');
    await page.close();
  }
  const {comments, status} = await stored('old0');
  equal('what was done', [comments.map((c) => c.commentText), status.id, comments[0].reactions?.[0]?.emoji], [['old 0', 'still true'], 'RESOLVED', '👍']);
  await browser.close();
}

look.run(main);
