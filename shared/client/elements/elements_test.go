// Package elements builds and tests the web components.
package elements

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collabdata/shared/client/npmtest"
)

// TestElements builds the elements, runs their tests, holds that they are small and that the local server serves them, and uses the packed
// elements from another project, with their types.
func TestElements(t *testing.T) {
	npmtest.Install(t)
	npmtest.Run(t, ".", "npm", "test", "--silent")
	for name, most := range map[string]int{"elements.min.js": 29_500, "html.min.js": 12_500} {
		text, err := os.ReadFile(filepath.Join("dist", name))
		if err != nil {
			t.Fatal(err)
		}
		if size := gzipped(t, text); size > most {
			t.Errorf("%s is %d bytes gzipped, want %d at most", name, size, most)
		}
		served, err := os.ReadFile(filepath.Join("..", "..", "..", "scripts", "local", "pages", name))
		if err != nil || !bytes.Equal(served, text) {
			t.Errorf("the local server has another %s (%v): run npm run serve", name, err)
		}
	}

	project, modules := npmtest.Pack(t, "collabdata-elements", "lit", "lit-html", "lit-element", "@lit", "@types", "csstype", "dompurify")
	npmtest.WantFiles(t, project, "collabdata-elements", map[string]string{
		"LICENSE": "Apache License", "dist/NOTICES.txt": "Google LLC", "dist/elements.min.js": "NOTICES.txt", "dist/html.min.js": "NOTICES.txt",
	})
	for name, text := range map[string]string{
		"package.json": `{"type": "module"}`,
		"tsconfig.json": `{"compilerOptions": {"module": "ESNext", "moduleResolution": "Bundler", "target": "ES2022", "strict": true, "skipLibCheck": true,
			"types": [], "jsx": "react-jsx"}}`,
		"use.ts": `import {setTexts} from 'collabdata-elements';
setTexts({send: 'Senden'});
const threads = document.querySelector('collab-threads')!;
threads.compose({elementId: 'chart'});
// @ts-expect-error a misspelt field
threads.compose({element: 'chart'});
`,
		"react.tsx": example(t, "tsx") + `
// @ts-expect-error a document is missing
export const without = <collab-threads />;
// @ts-expect-error a misspelt attribute
export const misspelt = <collab-inbox hrfe="/" />;
`,
	} {
		if err := os.WriteFile(filepath.Join(project, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	npmtest.Run(t, project, "node", filepath.Join(modules, "typescript", "bin", "tsc"))
	npmtest.Run(t, project, filepath.Join(modules, ".bin", "esbuild"), "use.js", "--bundle", "--format=esm", "--splitting", "--outdir=bundle")
	if bundle, err := os.ReadFile(filepath.Join(project, "bundle", "use.js")); err != nil || !bytes.Contains(bundle, []byte("collab-inbox")) {
		t.Errorf("a bundler made nothing of the package (%v)", err)
	}
}

// example returns the README's example in a language.
func example(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "```"+language+"\n")
	code, _, closed := strings.Cut(after, "```")
	if !found || !closed {
		t.Fatalf("README.md has no example in %s", language)
	}
	return code
}

func gzipped(t *testing.T, text []byte) int {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(text)
	w.Close()
	return b.Len()
}
