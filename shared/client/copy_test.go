package client_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"collabdata/shared/testing/must"
)

// TestCopy copies the client into another module by the README's instructions, and builds it there.
func TestCopy(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	must.Do(t, err)
	block := regexp.MustCompile("(?s)```sh\n(cp -R .*?)go mod tidy\n```").FindSubmatch(readme)
	if block == nil {
		t.Fatal("the README does not say how to copy the client")
	}
	root, err := filepath.Abs("../..")
	must.Do(t, err)
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	must.Do(t, err)
	dir := t.TempDir()
	sh := exec.CommandContext(t.Context(), "sh", "-ec", strings.ReplaceAll(string(block[1]), "path/of/the/checkout", root))
	sh.Dir = dir
	if out, err := sh.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// go mod tidy would fetch versions from the network: use this module's.
	mod = regexp.MustCompile(`(?m)^module .*$`).ReplaceAll(mod, []byte("module example.com/yours"))
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	must.Do(t, err)
	for name, text := range map[string][]byte{"go.mod": mod, "go.sum": sum} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), text, 0o644))
	}
	build := exec.CommandContext(t.Context(), "go", "build", "./...")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0") // as in the Makefile
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
