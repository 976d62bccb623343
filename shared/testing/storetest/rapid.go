package storetest

import (
	"flag"
	"strconv"
	"testing"
)

// FewChecks has rapid make n checks, unless the command line says how many: -rapid.checks.
func FewChecks(t *testing.T, n int) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	before := f.Value.String()
	if before != f.DefValue {
		return
	}
	if err := f.Value.Set(strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Value.Set(before); err != nil {
			t.Error(err)
		}
	})
}
