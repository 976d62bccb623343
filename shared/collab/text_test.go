package collab

import (
	"strings"
	"testing"
)

func TestLegible(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"{\"error\": \"größer\"}\r\n\tdone", "{\"error\": \"größer\"}\n\tdone"},
		{"a\x00\x1b[31mb\x7f\u0085c", "a\uFFFD\uFFFD[31mb\uFFFD\uFFFDc"},
		{"a\xff\xc3b\xe2\x82", "a\uFFFD\uFFFDb\uFFFD\uFFFD"},
		{"txt\u202egnp.exe\u2066", "txt\uFFFDgnp.exe\uFFFD"},
		{"family 👩‍👧", "family 👩‍👧"},
		{strings.Repeat("ü", 50), strings.Repeat("ü", 20)},
		{strings.Repeat("\x80", 50), strings.Repeat("\uFFFD", 13)},
		{strings.Repeat("x", 41), strings.Repeat("x", 40)},
	} {
		if got := Legible([]byte(test.text), 40); got != test.want {
			t.Errorf("%q is %q, want %q", test.text, got, test.want)
		}
	}
}
