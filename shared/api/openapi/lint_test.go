//go:build e2e

package openapi_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"collabdata/localstack"
	"collabdata/shared/testing/must"
)

// TestLint checks that Redocly and Spectral find no problems in the document. The document for
// clients is a part of it, except for the unreferenced event types.
func TestLint(t *testing.T) {
	ruleset := filepath.Join(t.TempDir(), "spectral.yaml")
	must.Do(t, os.WriteFile(ruleset, []byte("extends: [\"spectral:oas\"]\n"), 0o644))
	for name, args := range map[string][]string{
		"redocly":  {"lint", "--max-problems", "10", "../openapi.json"},
		"spectral": {"lint", "--fail-severity", "hint", "--ruleset", ruleset, "../openapi.json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, err := localstack.CheckTool(t.Context(), name, os.Stderr)
			must.Do(t, err)
			cmd := exec.CommandContext(t.Context(), path, args...)
			cmd.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
			out, err := cmd.CombinedOutput()
			if err != nil || strings.Contains(string(out), "\nYou have ") { // Redocly passes warnings
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
