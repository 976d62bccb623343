// Package golden compares texts with files. `go test -update` writes the files.
package golden

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/testing/must"
)

var update = flag.Bool("update", false, "write the golden files")

// Check fails if a file has another text, and prints the differing lines. With -update it writes
// the file.
func Check(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		must.Do(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	must.Do(t, err)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (- want, + got; go test -update writes it):\n%s", file, diff)
	}
}

// Updating reports whether -update is set.
func Updating() bool { return *update }
