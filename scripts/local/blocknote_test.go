//go:build e2e

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"sync"
	"testing"
)

const elements, blockNote = "../../shared/client/elements", elements + "/examples/blocknote"

// TestBlockNote builds the examples, and uses that of BlockNote as two people. The server of the
// example keeps the text, and asks the demo for tokens.
func TestBlockNote(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{elements, elements + "/examples/react", blockNote} {
		for _, args := range [][]string{{"ci", "--silent", "--no-audit", "--no-fund"}, {"run", "--silent", "build"}} {
			cmd := exec.CommandContext(t.Context(), "npm", args...)
			cmd.Dir = folder
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("npm %q in %s: %v\n%s", args, folder, err, out)
			}
		}
	}
	s := start(t, t.TempDir())
	res, err := http.Get(s.url + "/demo") // prepares the demo
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	var mu sync.Mutex
	var text []byte
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(blockNote+"/dist")))
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
	product := httptest.NewServer(mux)
	t.Cleanup(product.Close)
	browse(t, &server{url: product.URL}, "blocknote.cjs", map[string]any{"service": s.url, "token": "/token/{user}"})
}
