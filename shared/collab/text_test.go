package collab

import (
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
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

func TestFold(t *testing.T) {
	for _, test := range []struct{ name, key string }{
		{"Ana García", "garcia"}, {"Ana Garci\u0301a", "GARCÍA"}, {"Ana Garcia", "garcía"},
		{"Max Müller", "muller"}, {"Max Mu\u0308ller", "müller"}, {"Große Straße", "strasse"}, {"GROSSE STRASSE", "große straße"},
		{"Łukasz", "lukasz"}, {"Søren", "soren"}, {"Yıldız", "yildiz"}, {"İpek", "ipek"}, {"Đặng Văn", "van"}, {"Ævar", "aevar"}, {"ΣΊΣΥΦΟΣ", "σισυφος"},
		{"Алёна", "алена"}, {"Ｔｏｋｙｏ", "tokyo"}, {"ﬁnn", "fi"}, {"山田\u3000太郎", "太郎"}, {"山田太郎", "山田"}, {"がく", "がく"}, {"か\u3099く", "がく"}, {"ｶﾞｸ", "ガク"},
		{"김철수", "김철"}, {"\u1100\u1175\u11b7", "김"}, {"שָׁלוֹם", "שלום"}, {"مُحَمَّد", "محمد"}, {"कुमार", "कु"},
	} {
		if !HasWord(Fold(test.name), Fold(test.key)) {
			t.Errorf("%q (%q) does not find %q (%q)", test.key, Fold(test.key), test.name, Fold(test.name))
		}
	}
	for _, test := range []struct{ name, key string }{
		{"がく", "かく"}, {"김철수", "기"}, {"कमार", "कु"}, {"山田太郎", "太郎"}, {"Anne-Marie", "marie"}, {"Garza", "garcia"},
	} {
		if HasWord(Fold(test.name), Fold(test.key)) {
			t.Errorf("%q finds %q", test.key, test.name)
		}
	}
	if got := Fold("\u0301\u0308"); got != "" {
		t.Errorf("accents alone are %q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		folded := Fold(text)
		for form, other := range map[string]string{"itself": folded, "NFC": norm.NFC.String(text), "NFD": norm.NFD.String(text), "NFKC": norm.NFKC.String(text)} {
			if got := Fold(other); got != folded {
				t.Errorf("%q is %q, in the form of %s %q", text, folded, form, got)
			}
		}
	})
}
