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
	const to = "github.com/you/data"
	for text, want := range map[string]string{
		"import \"old/shared/app\"":               "import \"github.com/you/data/shared/app\"",
		"module old\n\ngo 1.26\n":                 "module github.com/you/data\n\ngo 1.26\n",
		`"module old\n"`:                          `"module github.com/you/data\n"`,
		`const module = "old"`:                    `const module = "github.com/you/data"`,
		`"ok  \told/shared/app"`:                  `"ok  \tgithub.com/you/data/shared/app"`,
		`TrimPrefix(p, "old/")`:                   `TrimPrefix(p, "github.com/you/data/")`,
		"grep -v '^old/infra'":                    "grep -v '^github.com/you/data/infra'",
		"go get old/shared/client":                "go get github.com/you/data/shared/client",
		"-require old@v0.0.0 -replace old=../x":   "-require github.com/you/data@v0.0.0 -replace github.com/you/data=../x",
		"the stack old-prod, the command old/x":   "the stack old-prod, the command old/x",
		"github.com/other/old/shared, folder/old": "github.com/other/old/shared, folder/old",
		"threshold/shared, old/sharedness":        "threshold/shared, old/sharedness",
	} {
		if got := string(replacer("old", to, []string{"shared", "infra"})([]byte(text))); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestRename renames a copy of the module, twice: the copy compiles, its tests of its own paths pass, and nothing has the path before.
func TestRename(t *testing.T) {
	local, err := localstack.Dir()
	if err != nil {
		t.Fatal(err)
	}
	root, copied := filepath.Dir(local), filepath.Join(t.TempDir(), "copy")
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
	sh(root, `tar --exclude=./.git --exclude=./.local --exclude=node_modules --exclude=dist --exclude=cdk.out -cf - . | tar -xf - -C "$COPY"`)
	if err := run([]string{"no-address"}); err == nil || !strings.Contains(err.Error(), "github.com/you/collabdata") {
		t.Errorf("a path without an address: %v", err)
	}
	first, _, err := rename(copied, "example.com/first/collabdata")
	if err != nil {
		t.Fatal(err)
	}
	if old, _, err := rename(copied, "example.com/second/collabdata"); err != nil || old != "example.com/first/collabdata" {
		t.Fatalf("the second time it was %s: %v", old, err)
	}
	if left := sh(copied, `grep -rnE '(^|[^/[:alnum:]])`+first+`/(shared|functions|localstack|scripts|infra)/|example.com/first' --include='*' . | grep -v '^./scripts/rename/' || true`); left != "" {
		t.Errorf("there is left:\n%s", left)
	}
	sh(copied, `test -z "$(gofmt -l */)"`)
	sh(copied, "go vet ./shared/api/... ./shared/client/... ./scripts/... ./localstack/... ./functions")
	sh(
		copied,
		"go test -vet=off ./shared/importtest ./shared/api/openapi ./scripts/bench -run 'TestModule|TestRules|TestDocument|TestGoClient|TestReadme|TestParse|TestCompare'",
	)
}
