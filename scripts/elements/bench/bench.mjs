// Measures 300 threads in a browser: from the answer to the paint, and how long a key takes while threads change below; and how long the page's thread
// was busy by its own clock, which a busy machine does not stretch. It prints the figures, each with its unit, and judges none. BROWSER names the program
// where it is not chromium. A key of less than 16 ms counts as 0.
import {existsSync} from 'node:fs';
import {readFile} from 'node:fs/promises';
import {createRequire} from 'node:module';

const {chromium} = createRequire(new URL('../../../.local/tools/node/package.json', import.meta.url))('playwright-core');
const RUNS = 3;
const KEYS = 120; // at a time: it takes longer than the pause between two looks
const PARAGRAPHS = 100;
const time = (minutes) => new Date(Date.now() - minutes * 60_000).toISOString();
const words = 'the plan is good but we need more numbers before we can say when all of it is done and who pays'.split(' ');
const text = Array.from({length: 6000}, (_, i) => words[(i * 7) % words.length] + i);
const paragraph = (p) => text.slice(p * 60, p * 60 + 60).join(' ');
const thread = (i, more = 0) => ({
  annotationId: `t${i}`, targetElement: {elementId: `p${Math.floor(i / 3)}`, targetText: text.slice(i * 20, i * 20 + 3).join(' '), occurrence: 1},
  status: {id: 'OPEN', type: 'default'}, createdAt: time(300 - i), lastUpdated: time(-more),
  comments: Array.from({length: 3 + more}, (_, c) => ({
    commentId: c + 1, commentText: `Comment ${c} of {{bob}}: ${words.slice(c, c + 12).join(' ')}`, from: {userId: `u${(i + c) % 9}`, name: `Person ${(i + c) % 9}`},
    taggedUserContacts: [{userId: 'bob', contact: {userId: 'bob', name: 'Bob'}}], createdAt: time(300 - i), lastUpdated: time(300 - i),
  })),
});

const program = process.env.BROWSER ?? ['/usr/bin/chromium', '/usr/bin/google-chrome'].find((p) => existsSync(p));
const browser = await chromium.launch({...(program && {executablePath: program}), args: process.getuid?.() === 0 ? ['--no-sandbox'] : []});
const paints = [];
const keys = [];
const busy = {painting: [], typing: []};
for (let run = 0; run < RUNS; run++) {
  const page = await browser.newPage({viewport: {width: 1280, height: 900}});
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', {timeDomain: 'threadTicks'});
  const ticks = async () => (await session.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration').value * 1000;
  let looks = 0;
  await page.route('**/*', async (route) => {
    const {pathname} = new URL(route.request().url());
    if (pathname === '/') {
      return route.fulfill({contentType: 'text/html', body: `<!doctype html><html lang="en"><main id="text">
        ${Array.from({length: PARAGRAPHS}, (_, p) => `<p id="p${p}">${paragraph(p)}</p>`).join('')}</main>
        <collab-threads document="plan" for="text"></collab-threads><script type="module" src="/elements.min.js"></script>`});
    }
    if (pathname.endsWith('.js')) return route.fulfill({contentType: 'text/javascript', body: await readFile(new URL(`../dist${pathname}`, import.meta.url))});
    // Each later look brings 20 threads that have changed.
    const threads = looks === 0 ? Array.from({length: 300}, (_, i) => thread(i)) : Array.from({length: 20}, (_, i) => thread(i * 15, looks));
    looks++;
    return route.fulfill({json: {threads, nextPageToken: '', since: 1, user: {userId: 'ann', name: 'Ann'}, canWrite: true}});
  });
  await page.addInitScript(() => {
    const json = Response.prototype.json;
    Response.prototype.json = async function () {
      const value = await json.call(this);
      window.answered ??= performance.now();
      return value;
    };
    const watch = () => {
      const shown = document.querySelector('collab-threads')?.shadowRoot?.querySelectorAll('collab-thread').length ?? 0;
      if (shown < 300) return requestAnimationFrame(watch);
      requestAnimationFrame(() => setTimeout(() => (window.painted = performance.now()))); // behind the frame that shows them
    };
    requestAnimationFrame(watch);
    window.keys = [];
    new PerformanceObserver((list) => list.getEntries().forEach((e) => e.name === 'keydown' && window.keys.push(e.duration))).observe({type: 'event', durationThreshold: 16, buffered: true});
  });
  await page.goto('http://bench.test/');
  await page.waitForFunction(() => window.painted);
  busy.painting.push(await ticks());
  paints.push(await page.evaluate(() => window.painted - window.answered));
  await page.getByRole('button', {name: 'Comment', exact: true}).click();
  const area = page.getByRole('textbox');
  await area.focus();
  const before = await ticks();
  for (let i = 0; i < KEYS; i++) await page.keyboard.type(words.join(' ')[i % 90], {delay: 50});
  busy.typing.push(((await ticks()) - before) / KEYS);
  keys.push(...(await page.evaluate(() => window.keys)), ...Array(KEYS).fill(0).slice((await page.evaluate(() => window.keys)).length));
  if ((await area.inputValue()).length !== KEYS) throw new Error('keys were lost');
  await page.close();
}
await browser.close();
const at = (list, share) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * share))];
const figures = {
  'ms-paint': at(paints, 0.5), 'ms-paint-most': Math.max(...paints), 'ms-key-p50': at(keys, 0.5), 'ms-key-p99': at(keys, 0.99),
  'ms-busy-page': at(busy.painting, 0.5), 'ms-busy-key': at(busy.typing, 0.5),
};
for (const [unit, value] of Object.entries(figures)) console.log(`${value.toFixed(1)} ${unit}`);
