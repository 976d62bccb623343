package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"collabdata/localstack"
	"collabdata/shared/api"
	"collabdata/shared/testing/must"
)

// cfn-lint checks the properties of resources.
func TestLint(t *testing.T) {
	lint, err := localstack.CheckTool(t.Context(), "cfn-lint", os.Stderr)
	must.Do(t, err)
	// W3005: the CDK repeats a function's implicit dependency on its role.
	args := []string{"--regions", "eu-west-1", "--include-experimental", "--ignore-checks", "W3005", "--"}
	dir := t.TempDir()
	for name, m := range map[string]made{"production": production(t), "everything": synthesize(t, allSettings(), api.Endpoints()[:1])} {
		args = append(args, filepath.Join(dir, name+".json"))
		must.Do(t, os.WriteFile(args[len(args)-1], m.text, 0o644))
	}
	cmd := exec.CommandContext(t.Context(), lint, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
