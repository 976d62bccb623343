// Package must ends tests whose ground does not hold.
package must

// Do ends the test if err is not nil. The test is a testing.TB, or a rapid.T, which is none.
func Do(t interface {
	Helper()
	Fatal(args ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
