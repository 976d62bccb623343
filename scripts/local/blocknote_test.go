//go:build e2e

package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

const elements, blockNote = "../../shared/client/elements", elements + "/examples/blocknote"

// npm runs npm's commands in a folder.
func npm(t *testing.T, folder string, commands ...[]string) {
	t.Helper()
	for _, args := range commands {
		cmd := exec.CommandContext(t.Context(), "npm", args...)
		cmd.Dir = folder
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("npm %q in %s: %v\n%s", args, folder, err, out)
		}
	}
}

// clean installs the packages of a folder, and script builds it.
var clean, script = []string{"ci", "--silent", "--no-audit", "--no-fund"}, []string{"run", "--silent", "build"}

var builtElements sync.Once

// buildElements builds the elements, and the examples in their package.
func buildElements(t *testing.T) {
	t.Helper()
	builtElements.Do(func() { npm(t, elements, clean, script, []string{"run", "--silent", "examples"}) })
}

// product serves a folder, and gets tokens of the demo's people from a server.
func product(s *server, folder string) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(folder)))
	mux.HandleFunc("POST /token/{person}", func(w http.ResponseWriter, r *http.Request) {
		res, err := http.Post(s.url+"/demo/"+r.PathValue("person")+"/collab-token", "application/json", r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer res.Body.Close()
		w.WriteHeader(res.StatusCode)
		_, _ = io.Copy(w, res.Body)
	})
	return mux
}

// browseProduct uses a product of a server as people of the demo.
func browseProduct(t *testing.T, s *server, product http.Handler, script string) {
	t.Helper()
	res, err := http.Get(s.url + "/demo") // prepares the demo
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	p := httptest.NewServer(product)
	t.Cleanup(p.Close)
	browse(t, &server{url: p.URL}, script, map[string]any{"service": s.url, "token": "/token/{user}"})
}

// TestExamples uses the examples of a canvas and of CodeMirror as two people.
func TestExamples(t *testing.T) {
	t.Parallel()
	buildElements(t)
	s := start(t, t.TempDir())
	if text, err := os.ReadFile(elements + "/examples/canvas/main.ts"); err != nil || bytes.Count(text, []byte("\n")) > 40 {
		t.Errorf("the example of a canvas has more than 40 lines (%v)", err)
	}
	browseProduct(t, s, product(s, elements+"/examples"), "examples.cjs")
}

// TestConnect uses connect of the package, bundled for a page, as two people.
func TestConnect(t *testing.T) {
	t.Parallel()
	buildElements(t)
	s := start(t, t.TempDir())
	folder := t.TempDir()
	npm(t, elements, []string{"exec", "--", "esbuild", "dist/index.js", "--bundle", "--splitting", "--format=esm", "--outdir=" + folder})
	if err := os.WriteFile(filepath.Join(folder, "index.html"), []byte("<!doctype html><html lang=de><title>connect</title>"), 0o600); err != nil {
		t.Fatal(err)
	}
	browseProduct(t, s, product(s, folder), "connect.cjs")
}

// TestBlockNote builds the examples, and uses that of BlockNote as two people. The server of the
// example keeps the text, and asks the demo for tokens.
func TestBlockNote(t *testing.T) {
	t.Parallel()
	buildElements(t)
	for _, folder := range []string{elements + "/examples/react", blockNote} {
		npm(t, folder, clean, script)
	}
	s := start(t, t.TempDir())
	var mu sync.Mutex
	var text []byte
	mux := product(s, blockNote+"/dist")
	mux.HandleFunc("GET /document", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = w.Write(text)
	})
	mux.HandleFunc("PUT /document", func(_ http.ResponseWriter, r *http.Request) {
		sent, err := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			text = sent
		}
	})
	browseProduct(t, s, mux, "blocknote.cjs")
}
