package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"collabdata/localstack"
	"collabdata/shared/api"
)

// cfn-lint knows what CloudFormation takes of each resource.
func TestLint(t *testing.T) {
	lint, err := localstack.CheckTool(t.Context(), "cfn-lint", os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	everything := filepath.Join(t.TempDir(), "everything.json")
	if err := os.WriteFile(everything, synthesize(t, allSettings(), api.Endpoints()[:1]).text, 0o644); err != nil {
		t.Fatal(err)
	}
	// W3005: the CDK repeats a dependency of a function on its role that is there already.
	cmd := exec.CommandContext(
		t.Context(), lint, "--regions", "eu-west-1", "--include-experimental", "--ignore-checks", "W3005", "--", "testdata/template.json",
		everything,
	)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
