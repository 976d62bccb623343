// Uses the examples of a canvas and of CodeMirror as two people: see shared/client/elements/examples.
// Standard input also has "token", the address of a person's tokens with {user} in it.
const look = require('./look.cjs');

const {given, open, contextOf, until, equal, want, marked} = look;

const organizationId = 'demo';

async function main() {
  const {browser, context} = await look.launch();
  await context.close();
  const enter = async (example, user) => open(await contextOf(browser), `/${example}/?${new URLSearchParams({api: given.service, token: given.token.replace('{user}', user)})}`);
  await canvas(enter);
  await codeMirror(enter);
  await browser.close();
}

async function canvas(enter) {
  await look.call('/v2/organizations/documents/add', {organizationId, documents: [{documentId: 'canvas'}]});
  const [ann, bob] = [await enter('canvas', 'ann'), await enter('canvas', 'bob')];
  const pin = (page, text) => page.getByRole('button', {name: text});
  const answer = (page, text) => page.once('dialog', (d) => d.accept(text));
  const near = (got, place) => got.every((n, i) => Math.abs(n - place[i]) < 1.5);
  const placeOf = (page, text) => pin(page, text).evaluate((b) => [b.style.left, b.style.top].map((s) => parseFloat(s)));

  // Each places a thread, and moves it: the other sees both.
  const {x, y, width, height} = await ann.locator('canvas').boundingBox();
  const at = (place) => [x + place[0] / 100 * width, y + place[1] / 100 * height];
  const drag = async (page, text, to) => {
    const box = await pin(page, text).boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(...at([50, 50]));
    await page.mouse.move(...at(to));
    await page.mouse.up();
  };
  for (const [page, other, name, text, from, to] of [[ann, bob, 'Ann Archer', 'Wider here', [20, 30], [60, 70]], [bob, ann, 'Bob Builder', 'Blue there', [40, 20], [80, 25]]]) {
    answer(page, text);
    await page.mouse.dblclick(...at(from));
    await want(`the pin of ${name} for the other`, pin(other, `${name}: ${text}`));
    await until(async () => near(await placeOf(other, text), from));
    await drag(page, text, to);
    for (const shown of [page, other]) await until(async () => near(await placeOf(shown, text), to));
  }
  equal('no reply of a moved pin', await pin(ann, 'Wider here').textContent(), 'Ann Archer: Wider here');

  // Only the author moves a thread, and everybody replies.
  answer(bob, 'How much?');
  await pin(bob, 'Wider here').click();
  await want('the reply', pin(ann, 'Bob Builder: How much?'));
  await drag(bob, 'Wider here', [10, 10]);
  equal('the thread of another stays', near(await placeOf(bob, 'Wider here'), [60, 70]), true);
  await ann.reload();
  await want('the pin after a reload', pin(ann, 'Wider here'));
  equal('its place after a reload', near(await placeOf(ann, 'Wider here'), [60, 70]), true);
  const threads = await look.call('/v2/commentannotations/get', {organizationId, documentId: 'canvas'});
  equal('the threads', threads.map((t) => t.comments.length).sort(), [1, 2]);
}

async function codeMirror(enter) {
  await look.call('/v2/organizations/documents/add', {organizationId, documents: [{documentId: 'codemirror'}]});
  const [ann, bob] = [await enter('codemirror', 'ann'), await enter('codemirror', 'bob')];
  const line = (page, n) => page.locator('.cm-line', {hasText: `Line ${n}:`});
  const list = (page) => page.locator('collab-thread').evaluateAll((all) => all.map((t) => t.shown.comments[0].commentText));
  const scroll = async (page, n) => {
    await until(async () => {
      if (await line(page, n).count()) return true;
      await page.locator('.cm-scroller').evaluate((s, n) => s.scrollTo(0, s.scrollHeight * (n - 5) / 600), n);
    });
    await line(page, n).scrollIntoViewIfNeeded();
  };
  const comment = async (page, n, text) => {
    await scroll(page, n);
    await line(page, n).click({clickCount: 3});
    await look.comment(page, text);
    await page.keyboard.press('Escape');
  };
  const gone = (page) => page.locator('collab-threads').locator('[part=gone]').count();

  await comment(ann, 500, 'last');
  await comment(ann, 400, 'between');
  await comment(ann, 10, 'first');
  await scroll(ann, 300);
  await until(async () => !(await line(ann, 500).count()) && !(await line(ann, 400).count())); // that of the selection stays
  equal('the order where the lines are not in the page', await list(ann), ['first', 'between', 'last']);
  equal('removed text', await gone(ann), 0);

  // For Bob, the line is not in the page: a click on its thread shows it with its mark.
  await scroll(bob, 1);
  await until(async () => (await list(bob)).length === 3);
  equal('the lines in the page of Bob', await line(bob, 500).count(), 0);
  equal('the order for Bob', await list(bob), ['first', 'between', 'last']);
  equal('removed text for Bob', await gone(bob), 0);
  await bob.locator('collab-thread', {hasText: 'last'}).locator('.quote').click();
  await line(bob, 500).waitFor();
  await marked(bob, 'of line 500', 'is final.[Line 500: the date of part 500 is final.]Line 501:');
}

look.run(main);
