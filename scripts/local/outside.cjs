// Uses the page of the elements' README on a server of the README's, and prints what is wrong, one line each.
// Standard input: {"url", "browser" (path of the program)}.
const {readFileSync} = require('node:fs');
const {chromium} = require('playwright-core');

const {url, browser: program} = JSON.parse(readFileSync(0, 'utf8'));
const problems = [];
const text = `From outside, at ${url}`;

async function main() {
  const browser = await chromium.launch({executablePath: program, args: process.getuid?.() === 0 ? ['--no-sandbox'] : []});
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  page.on('pageerror', (e) => problems.push(`${e}`));
  page.on('response', (r) => r.status() >= 400 && r.status() !== 429 && !r.url().endsWith('/favicon.ico') && problems.push(`${r.url()} answered ${r.status()}`));
  const live = page.waitForEvent('websocket');
  live.catch(() => {}); // else it is told of below
  await page.goto(url);
  await page.getByRole('button', {name: 'Inbox'}).waitFor();
  await page.getByRole('button', {name: 'Comment', exact: true}).click();
  await page.getByRole('textbox').fill(text);
  await page.getByRole('button', {name: 'Send'}).click();
  const thread = page.locator('collab-thread[open]');
  await thread.getByText(text).waitFor();
  await live;
  await thread.getByRole('textbox').fill('An answer');
  await thread.getByRole('button', {name: 'Send'}).click();
  await thread.getByText('An answer').waitFor();
  await page.reload();
  await page.locator('collab-thread').getByText(text).waitFor(); // it is stored
  await browser.close();
}

const end = (lines) => process.stdout.write(lines.join('\n') + '\n', () => process.exit());
main().then(() => end(problems), (e) => end([...problems, e.stack.replaceAll('\n', ' ')]));
