//go:build e2e

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collabdata/localstack"
)

// TestContributing adds the operation in CONTRIBUTING.md to a fresh clone, by its instructions.
func TestContributing(t *testing.T) {
	t.Parallel()
	local, err := localstack.Dir()
	if err != nil {
		t.Fatal(err)
	}
	n := &newcomer{dir: clone(t, filepath.Dir(local))}
	guide := filepath.Join(n.dir, "CONTRIBUTING.md")
	table := filepath.Join(n.dir, "shared", "api", "endpoints.go")
	rows, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	const after = "organizations.Get(),\n"
	scripts := filepath.Join(n.dir, "shared", "testing", "apitest", "scripts", "v2", "organizations", "name", "get")
	if err := os.MkdirAll(scripts, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		filepath.Join(n.dir, "shared", "api", "organizations", "name_get.go"): n.block(t, guide, "go"),
		filepath.Join(scripts, "name.txtar"):                                  n.block(t, guide, "txt"),
		table:                                                                 strings.Replace(string(rows), after, after+"organizations.NameGet(),\n", 1),
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	n.do(t, "", "sh", "-euc", n.block(t, guide, "sh"))
}
