package collab

import (
	"strings"
	"testing"
	"unicode/utf8"

	"collabdata/shared/testing/must"
)

func FuzzCutEncoded(f *testing.F) {
	for limit := range 70 { // more than all of it takes
		f.Add("a\"\\\b\f\n\r\t\x00\x1f\x7f<>&ä\u2028\u2029\xff\uFFFD\U0001F600", limit)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = max(0, limit%100)
		size := func(s string) int {
			text, err := EncodeJSON(s)
			must.Do(t, err)
			return len(text) - len(`""`)
		}
		got := cutEncoded(s, limit)
		if !strings.HasPrefix(s, got) || size(got) > limit {
			t.Errorf("%q cut to %d is %q of %d", s, limit, got, size(got))
		}
		if _, n := utf8.DecodeRuneInString(s[len(got):]); n > 0 && utf8.ValidString(s) && !strings.Contains(s, "\uFFFD") &&
			size(s[:len(got)+n]) <= limit {
			t.Errorf("%q cut to %d is %q, too short", s, limit, got)
		}
	})
}
