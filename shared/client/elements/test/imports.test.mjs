import assert from 'node:assert/strict';
import {readdir, readFile} from 'node:fs/promises';
import {test} from 'node:test';

test('imports go one way, also those of types', async () => {
  const files = await readdir('src');
  const imports = new Map(await Promise.all(files.map(async (file) => {
    const text = await readFile(`src/${file}`, 'utf8');
    return [file, Array.from(text.matchAll(/(?:from|import|import\() ?'\.\/(\w+)\.js'/g), (m) => `${m[1]}.ts`)];
  })));
  assert.ok(imports.get('threads.ts').length > 10);
  const done = new Set();
  const visit = (file, path) => {
    assert.ok(!path.includes(file), [...path, file].join(' imports '));
    if (done.has(file)) return;
    for (const next of imports.get(file)) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
});
