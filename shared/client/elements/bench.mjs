// Measures how long the marks of a long page take: node bench.mjs
import {performance} from 'node:perf_hooks';

import {build} from 'esbuild';

const {outputFiles} = await build({entryPoints: ['src/quote.ts'], bundle: true, format: 'esm', write: false});
const {find, Plain, targetOf} = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`);

const SIZE = 200_000; // characters
const MARKS = 500;
let seed = 1;
const random = (n) => (seed = (seed * 48_271) % 2_147_483_647) % n;
const vocabulary = Array.from({length: 3000}, () => Array.from({length: 2 + random(8)}, () => String.fromCharCode(97 + random(26))).join(''));
let page = '';
while (page.length < SIZE) page += `${vocabulary[Math.min(random(3000), random(3000))]}${random(12) ? ' ' : '.\n'}`;

/** The targets of marks, evenly over the page. */
const targets = (length) => {
  const whole = new Plain(page);
  return Array.from({length: MARKS}, (_, i) => {
    const from = Math.floor((i * (whole.text.length - 600)) / MARKS);
    return targetOf(whole, from, from + length);
  });
};
const measure = (name, list, text) => {
  const times = [];
  let there = 0;
  for (let run = 0; run < 7; run++) {
    const start = performance.now();
    const whole = new Plain(text);
    there = list.filter((t) => find(whole, t)).length;
    times.push(performance.now() - start);
  }
  console.log(`${name}: ${times.sort((a, b) => a - b)[3].toFixed(0)} ms, ${there} of ${list.length} found`);
};
const start = performance.now();
new Plain(page).at(0);
console.log(`the text alone: ${(performance.now() - start).toFixed(0)} ms`);
const [words, sentences] = [targets(8), targets(80)];
measure('words', words, page);
measure('sentences', sentences, page);
measure('sentences of a decomposed page', sentences, `${page}e\u0301`);
measure('sentences, each tenth changed', sentences.map((t, i) => (i % 10 ? t : {...t, targetText: t.targetText.replace(/(.{30})...../, '$1')})), page);
measure('sentences, all changed', sentences.map((t) => ({...t, targetText: t.targetText.replace(/(.{30})...../, '$1')})), page);
measure('sentences, all removed', sentences.map((t) => Object.fromEntries(Object.entries(t).map(([k, v]) => [k, typeof v === 'string' ? v.replace(/[a-z]/g, 'ж') : v]))), page);
