//go:build e2e

package main

import (
	"os"
	"strings"
	"testing"
)

// TestDemo uses the demo as two people, and shows every vector in it. Screenshots are in
// .local/screenshots.
func TestDemo(t *testing.T) {
	t.Parallel()
	browse(t, start(t, t.TempDir()), "demo.cjs", map[string]any{"vectors": vectors(t)})
}

// TestPage uses the elements in texts of every script, and in pages with their own styles.
func TestPage(t *testing.T) {
	t.Parallel()
	browse(t, start(t, t.TempDir()), "page.cjs", nil)
}

// TestTwoUsers uses the page of the README as two users.
func TestTwoUsers(t *testing.T) {
	t.Parallel()
	browse(t, start(t, t.TempDir()), "two.cjs", map[string]any{"page": "/page"})
}

// vectors returns texts that must not run as scripts.
func vectors(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../shared/client/elements/testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	// the first line describes them
	list := strings.Split(strings.TrimSpace(string(text)), "\n")[1:]
	for i, v := range list {
		list[i] = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\0`, "\x00").Replace(v)
	}
	return list
}

// TestReports repeats in the demo what people have reported about other products.
func TestReports(t *testing.T) {
	t.Parallel()
	browse(t, start(t, t.TempDir()), "reports.cjs", nil)
}
