// Builds the examples that have no package of their own: dist/main.js in the folder of each.
import {build} from 'esbuild';

for (const name of ['canvas', 'codemirror']) {
  await build({entryPoints: [`examples/${name}/main.ts`], outdir: `examples/${name}/dist`, bundle: true, splitting: true, format: 'esm', minify: true});
}
