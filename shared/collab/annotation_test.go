package collab

import (
	"fmt"
	"testing"
)

// TestCheckFollows adds a user to others with ids of some bytes.
func TestCheckFollows(t *testing.T) {
	for _, test := range []struct {
		name          string
		others, bytes int
		person        bool
		fails         bool
	}{
		{"the last of 10", 9, 64, true, false},
		{"an eleventh", 10, 1, true, true},
		{"an eleventh of a back end", 10, 1, false, true},
		{"long ids", 9, 65, true, true},
		{"few long ids", 2, 200, true, false},
		{"long ids of a back end", 9, 256, false, false},
	} {
		f := &Follows{}
		for i := range test.others {
			f.None = append(f.None, fmt.Sprintf("%0*d", test.bytes, i))
		}
		user := fmt.Sprintf("%0*d", test.bytes, test.others)
		if err := CheckFollows(f, f.Set(user, LevelAll), 10, test.person); (CodeOf(err) == ResourceExhausted) != test.fails {
			t.Errorf("%s: %v", test.name, err)
		}
		if err := CheckFollows(f, f.Set(f.None[0], LevelAll), 1, test.person); err != nil {
			t.Errorf("%s: another level of a user: %v", test.name, err)
		}
	}
}
