package env

import (
	"errors"
	"testing"
)

func TestReader(t *testing.T) {
	values := map[string]string{"A": "a", "EMPTY": ""}
	r := Reader{Lookup: func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}}
	r.Note("A", nil)
	if a, empty := r.Required("A"), r.Optional("EMPTY"); a != "a" || empty != "" || r.Optional("NONE") != "" || r.Err() != nil {
		t.Errorf("%q, %q, %v", a, empty, r.Err())
	}
	r.Required("EMPTY")
	r.Required("NONE")
	r.Note("A", errors.New("is wrong"))
	const want = "the environment variable EMPTY is missing\nthe environment variable NONE is missing\nthe environment variable A: is wrong"
	if err := r.Err(); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}
