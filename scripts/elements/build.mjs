// Builds the package: dist/index.js for bundlers, which bring Lit and DOMPurify themselves, and dist/elements.min.js for a script tag, with both.
// What shows HTML is a file of its own beside each, loaded when it is needed.
import {readFile} from 'node:fs/promises';

import {build} from 'esbuild';

// squeeze takes the white space out of styles and templates.
const squeeze = {
  name: 'squeeze',
  setup({onLoad}) {
    onLoad({filter: /\/src\/\w+\.ts$/}, async ({path}) => {
      const text = await readFile(path, 'utf8');
      const contents = text
        .replace(/css`[^`]*`/g, (css) => css.replace(/\s+/g, ' ').replace(/ ?([{};,]) ?/g, '$1').replace(/: /g, ':'))
        .replace(/>\n\s*</g, '><')
        .replace(/>\n\s*(?=\$\{)/g, '>')
        .replace(/\}\n\s*(?=<\/?[a-z])/g, '}');
      return {contents, loader: 'ts'};
    });
  },
};
// apart leaves what shows HTML to a file of that name.
const apart = (path) => ({name: 'apart', setup: ({onResolve}) => onResolve({filter: /^\.\/html\.js$/}, () => ({path, external: true}))});

const both = {bundle: true, format: 'esm', target: 'es2022', legalComments: 'none', outdir: 'dist'};
for (const entry of ['index', 'html']) {
  await build({...both, entryPoints: [`src/${entry}.ts`], packages: 'external', plugins: [apart('./html.js')]});
}
await build({...both, entryPoints: {'elements.min': 'src/index.ts', 'html.min': 'src/html.ts'}, minify: true, plugins: [apart('./html.min.js'), squeeze]});
