package client_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"collabdata/shared/testing/must"
)

// runIn runs a command in a folder, and returns its output. The test fails if the command fails.
func runIn(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Fatalf("%s is missing: install Node.js 20 or newer with npm", name)
	}
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// testPackage builds and tests the npm package in a folder, and installs packages if the lock file
// is new.
func testPackage(t *testing.T, dir string) {
	t.Helper()
	lock, err := os.Stat(filepath.Join(dir, "package-lock.json"))
	must.Do(t, err)
	if installed, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json")); err != nil || installed.ModTime().Before(lock.ModTime()) {
		runIn(t, dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	}
	runIn(t, dir, "npm", "test", "--silent")
}

// pack packs the built npm package in a folder, and installs it into a new project, with links to
// some of its dependencies. It checks for a text in some files. It returns the project's folder,
// and the package's node_modules.
func pack(t *testing.T, dir, name string, files map[string]string, beside ...string) (project, modules string) {
	t.Helper()
	project = t.TempDir()
	packed := strings.TrimSpace(runIn(t, dir, "npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", project))
	modules, err := filepath.Abs(filepath.Join(dir, "node_modules"))
	must.Do(t, err)
	own := filepath.Join(project, "node_modules", name)
	must.Do(t, os.MkdirAll(own, 0o755))
	runIn(t, project, "tar", "-xzf", packed, "-C", own, "--strip-components", "1")
	for path, part := range files {
		text, err := os.ReadFile(filepath.Join(own, path))
		if err != nil || !strings.Contains(string(text), part) {
			t.Errorf("%s of the package has no %q (%v)", path, part, err)
		}
	}
	for _, other := range beside {
		must.Do(t, os.Symlink(filepath.Join(modules, other), filepath.Join(project, "node_modules", other)))
	}
	return project, modules
}

// TestTypeScript builds the TypeScript client, runs its tests, and uses the packed client and its
// types from another project, with each kind of import.
func TestTypeScript(t *testing.T) {
	t.Parallel()
	testPackage(t, "ts")

	project, modules := pack(t, "ts", "collabdata-client", map[string]string{"LICENSE": "Apache License"},
		"standardwebhooks", "@stablelib", "fast-sha256", "@types", "undici-types")
	write := func(name, text string) {
		t.Helper()
		must.Do(t, os.WriteFile(filepath.Join(project, name), []byte(text), 0o644))
	}
	const use = `import {Client, ServiceError} from 'collabdata-client';
const client = new Client({baseURL: 'http://127.0.0.1:1', apiKey: 'k', authToken: 't', attempts: 1});
// @ts-expect-error a misspelt field
void (() => client.call('/v2/organizations/get', {pagesize: 1}));
client.call('/v2/organizations/get', {pageSize: 1}).catch((e) => console.log((e as ServiceError).code));
`
	write("use.ts", use)
	for name, how := range map[string]struct{ kind, module, resolution string }{
		"modules":             {"module", "NodeNext", "NodeNext"},
		"require":             {"commonjs", "NodeNext", "NodeNext"},
		"require, as of old":  {"commonjs", "CommonJS", "Node10"},
		"a bundler's modules": {"module", "ESNext", "Bundler"},
	} {
		t.Run(name, func(t *testing.T) {
			write("package.json", fmt.Sprintf(`{"type": %q}`, how.kind))
			runIn(t, project, "node", filepath.Join(modules, "typescript", "bin", "tsc"), "--strict", "--skipLibCheck", "--target", "ES2022",
				"--types", "node", "--module", how.module, "--moduleResolution", how.resolution, "use.ts")
			if got := runIn(t, project, "node", "use.js"); got != "UNAVAILABLE\n" {
				t.Errorf("the packed client printed %q", got)
			}
		})
	}
}

// TestElements builds the elements, runs their tests, and checks their size and the local server's
// copy. It uses the packed elements and their types from another project.
func TestElements(t *testing.T) {
	t.Parallel()
	testPackage(t, "elements")
	for name, most := range map[string]int{"elements.min.js": 50_000, "html.min.js": 16_500, "late.min.js": 7_000, "de.js": 3_000, "ja.js": 3_100} {
		text, err := os.ReadFile(filepath.Join("elements", "dist", name))
		must.Do(t, err)
		if size := gzipped(t, filepath.Join("elements", "dist", name)); size > most {
			t.Errorf("%s is %d bytes gzipped, want %d at most", name, size, most)
		}
		served, err := os.ReadFile(filepath.Join("..", "..", "scripts", "local", "pages", name))
		if err != nil || !bytes.Equal(served, text) {
			t.Errorf("the local server has another %s (%v): run npm run serve", name, err)
		}
	}

	project, modules := pack(t, "elements", "collabdata-elements", map[string]string{
		"LICENSE": "Apache License", "dist/NOTICES.txt": "Google LLC", "dist/elements.min.js": "NOTICES.txt", "dist/html.min.js": "NOTICES.txt", "dist/fr.js": "Commentaires",
	}, "lit", "lit-html", "lit-element", "@lit", "@types", "csstype", "dompurify", "approx-string-match")
	for name, text := range map[string]string{
		"package.json": `{"type": "module"}`,
		"tsconfig.json": `{"compilerOptions": {"module": "ESNext", "moduleResolution": "Bundler", "target": "ES2022", "strict": true, "skipLibCheck": true,
			"types": [], "jsx": "react-jsx"}}`,
		"use.ts": `import {setTexts, setTokens, setUploads} from 'collabdata-elements';
setTexts({send: 'Post'});
const threads = document.querySelector('collab-threads')!;
threads.compose({elementId: 'chart'});
setTokens(async ({documentId}) => (await fetch('/token/' + documentId)).text());
setUploads(async (file) => '/files/' + file.name);
// @ts-expect-error a misspelt field
threads.compose({element: 'chart'});
`,
		"connect.ts": example(t, "ts\nimport {connect}") + `
const failing: Promise<void> = plan.read(annotationId);
// @ts-expect-error an unknown level
void plan.follow(annotationId, "some");
// @ts-expect-error the inbox has no threads
void inbox.threads;
export {failing};
`,
		"react.tsx": example(t, "tsx") + `
// @ts-expect-error a document is missing
export const without = <collab-threads api="/" />;
// @ts-expect-error a misspelt attribute
export const misspelt = <collab-inbox api="/" hrfe="/" />;
`,
	} {
		must.Do(t, os.WriteFile(filepath.Join(project, name), []byte(text), 0o644))
	}
	runIn(t, project, "node", filepath.Join(modules, "typescript", "bin", "tsc"))
	runIn(t, project, filepath.Join(modules, ".bin", "esbuild"), "use.js", "--bundle", "--format=esm", "--splitting", "--outdir=bundle")
	if bundle, err := os.ReadFile(filepath.Join(project, "bundle", "use.js")); err != nil || !bytes.Contains(bundle, []byte("collab-inbox")) {
		t.Errorf("a bundler made nothing of the package (%v)", err)
	}
}

// example returns the README's example that begins with a language and some code.
func example(t *testing.T, begin string) string {
	t.Helper()
	text, err := os.ReadFile("elements/README.md")
	must.Do(t, err)
	language, _, _ := strings.Cut(begin, "\n")
	_, after, found := strings.Cut(string(text), "```"+begin)
	code, _, closed := strings.Cut(after, "```")
	if !found || !closed {
		t.Fatalf("elements/README.md has no example in %s", begin)
	}
	return strings.TrimPrefix(begin, language) + code
}

// gzipped returns the size of a file as zlib compresses it, which servers and package registries
// use.
func gzipped(t *testing.T, file string) int {
	t.Helper()
	size, err := strconv.Atoi(strings.TrimSpace(runIn(t, ".", "node", "-p", "zlib.gzipSync(fs.readFileSync(process.argv[1]), {level: 9}).length", file)))
	must.Do(t, err)
	return size
}
