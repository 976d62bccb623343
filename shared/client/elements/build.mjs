// Builds the package: dist/index.js for bundlers, which provide Lit and DOMPurify, and
// dist/elements.min.js for script tags, with both and without connect. The code that shows HTML, and the code that is
// rarely needed, are separate files next to each, loaded on demand.
import {copyFile, readFile, readdir, writeFile} from 'node:fs/promises';

import {build} from 'esbuild';
import {minify} from 'terser';

// squeeze removes white space from styles and templates, and quotes of attributes.
const squeeze = {
  name: 'squeeze',
  setup({onLoad}) {
    onLoad({filter: /\/src\/\w+\.ts$/}, async ({path}) => {
      const text = await readFile(path, 'utf8');
      const contents = text
        .replace(/css`[^`]*`/g, (css) => css.replace(/\s+/g, ' ').replace(/ ?([{};,>]) ?/g, '$1').replace(/: /g, ':'))
        .replace(/>\n\s*</g, '><')
        .replace(/>\n\s*(?=\$\{)/g, '>')
        .replace(/\}\n\s*(?=<\/?[a-z]|\$\{)/g, '}')
        .replace(/html`\n\s*/g, 'html`')
        .replace(/\n\s*(?=[@.?]?[a-z-]+=["$])/g, ' ')
        .replace(/(?<= [a-z-]+)="([\w-]+)"(?=[ >])/g, '=$1');
      return {contents, loader: 'ts'};
    });
  },
};
// apart imports code from a separate file, with an ending of its name.
const apart = (ending) => ({name: 'apart', setup: ({onResolve}) => {
  onResolve({filter: /^\.\/(?:html|late)\.js$/}, ({kind, path}) => kind === 'dynamic-import' ? {path: path.replace('.js', ending), external: true} : undefined);
  onResolve({filter: /catalogs\/..\.json$/}, ({kind, path}) => kind === 'dynamic-import' ? {path: `./${path.slice(-7, -5)}.js`, external: true} : undefined);
}});

const both = {bundle: true, format: 'esm', target: 'es2022', charset: 'utf8', legalComments: 'none', outdir: 'dist'};
for (const entry of ['index', 'html', 'late']) {
  await build({...both, entryPoints: [`src/${entry}.ts`], packages: 'external', plugins: [apart('.js')]});
}
const banner = {js: '/*! See NOTICES.txt */'};
await build({...both, entryPoints: {'elements.min': 'src/page.ts', 'html.min': 'src/html.ts', 'late.min': 'src/late.ts'}, minify: true, plugins: [apart('.min.js'), squeeze], banner});
// terser saves a fortieth more, which loads with every page.
for (const name of ['elements', 'html', 'late']) {
  const file = `dist/${name}.min.js`;
  await writeFile(file, (await minify(await readFile(file, 'utf8'), {module: true, ecma: 2020, compress: {passes: 3}, format: {comments: /^!/}})).code);
}

// Catalogs of other languages, for both.
const catalogs = '../../words/catalogs';
for (const file of (await readdir(catalogs)).filter((f) => f !== 'en.json')) {
  const contents = `export {elements} from './${file}'`;
  await build({stdin: {contents, resolveDir: catalogs}, bundle: true, format: 'esm', charset: 'utf8', minify: true, outfile: `dist/${file}`.replace(/json$/, 'js')});
}
// Types must not refer to files outside the package.
const [types, english] = await Promise.all(['dist/src/texts.d.ts', `${catalogs}/en.json`].map((file) => readFile(file, 'utf8')));
await writeFile('dist/src/texts.d.ts', types.replace(/import .*en\.json';/, `declare const english: ${JSON.stringify(JSON.parse(english).elements)};`));

// Licenses of the package and of the bundled code.
const notice = async (name) => `${name}\n\n${await readFile(`node_modules/${name}/LICENSE`, 'utf8')}`;
const notices = await Promise.all(['lit', 'lit-html', 'lit-element', '@lit/reactive-element', 'dompurify', 'approx-string-match'].map(notice));
await writeFile('dist/NOTICES.txt', `elements.min.js and html.min.js have parts of these packages.\n\n${notices.join('\n\n')}`);
await copyFile('../../../LICENSE', 'LICENSE');
