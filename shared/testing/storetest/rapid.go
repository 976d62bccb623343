package storetest

import (
	"flag"
	"strconv"
	"testing"

	"collabdata/shared/testing/must"
)

// FewChecks sets the number of rapid's checks to n, unless -rapid.checks is set.
func FewChecks(t *testing.T, n int) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	before := f.Value.String()
	if before != f.DefValue {
		return
	}
	must.Do(t, f.Value.Set(strconv.Itoa(n)))
	t.Cleanup(func() {
		if err := f.Value.Set(before); err != nil {
			t.Error(err)
		}
	})
}
