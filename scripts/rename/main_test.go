//go:build e2e

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"collabdata/localstack"
)

// TestReplace holds what is the module's path, and what is the project's name.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	if err := run(dir, []string{"no-address"}); err == nil || !strings.Contains(err.Error(), "github.com/you/collabdata") {
		t.Errorf("a path without an address: %v", err)
	}
	for text, want := range map[string]string{
		`import "old/shared/app"`:                 `import "new.org/data/shared/app"`,
		"module old\n\ngo 1.26\n":                 "module new.org/data\n\ngo 1.26\n",
		`"ok  \told/shared/app"`:                  `"ok  \tnew.org/data/shared/app"`,
		"grep -v '^old/infra'":                    "grep -v '^new.org/data/infra'",
		"go get old/shared/client":                "go get new.org/data/shared/client",
		"the stack old-prod, the command old/x":   "the stack old-prod, the command old/x",
		"github.com/other/old/shared, folder/old": "github.com/other/old/shared, folder/old",
		"threshold/shared, old/sharedness":        "threshold/shared, old/sharedness",
	} {
		file := filepath.Join(dir, "file")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := rename(dir, "old", "new.org/data"); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%q becomes %q, want %q (%v)", text, got, want, err)
		}
	}
}

// TestRename renames a copy of the module, twice: the copy compiles, tests that go by its paths pass, and nothing has the path before.
func TestRename(t *testing.T) {
	local, err := localstack.Dir()
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.Mkdir(copied, 0o755); err != nil {
		t.Fatal(err)
	}
	sh := func(dir, command string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "COPY="+copied)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return string(out)
	}
	sh(filepath.Dir(local),
		`tar --exclude=./.git --exclude=./.local --exclude=node_modules --exclude=dist --exclude=cdk.out -cf - . | tar -xf - -C "$COPY"`)
	before := sh(copied, "go list -m")
	for _, to := range []string{"example.com/first/collabdata", "example.com/second/collabdata"} {
		if err := run(copied, []string{to}); err != nil {
			t.Fatal(err)
		}
	}
	left := `grep -rnE '(^|[^/[:alnum:]])` + strings.TrimSpace(before) + `/(shared|functions|localstack|scripts|infra)/|example.com/first' . |
		grep -v '^./scripts/rename/' || true`
	if left := sh(copied, left); left != "" {
		t.Errorf("there is left:\n%s", left)
	}
	sh(copied, `test -z "$(gofmt -l */)"`)
	sh(copied, "go vet ./shared/api/... ./shared/client/... ./scripts/... ./localstack/... ./functions")
	sh(copied, "go test -vet=off ./shared/importtest ./shared/api/openapi -run 'TestModule|TestRules|TestDocument|TestGoClient|TestReadme'")
}
