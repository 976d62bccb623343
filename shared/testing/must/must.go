// Package must ends tests if their preparation fails.
package must

// Do ends the test if err is not nil. The test is a testing.TB or a rapid.T, which is not a
// testing.TB.
func Do(t interface {
	Helper()
	Fatal(args ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
