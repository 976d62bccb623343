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
		{"Anna-Maria Smith", "maria"}, {"Seán O’Brien", "o'b"}, {"Seán O’Brien", "brien"}, {"Seán O'Brien", "obrien"}, {"Luiz d'Ávila", "avila"}, {"Þór", "thor"},
		{"王小明", "小明"}, {"김민준", "민준"}, {"田中太郎", "太郎"}, {"Max Müller", "max m"}, {"J. R. Smith", "j. r"}, {"ann_lee", "lee"},
		{"김철수", "김철"}, {"\u1100\u1175\u11b7", "김"}, {"שָׁלוֹם", "שלום"}, {"مُحَمَّد", "محمد"}, {"कुमार", "कु"},
	} {
		if !HasWord(Fold(test.name), Fold(test.key)) {
			t.Errorf("%q (%q) does not find %q (%q)", test.key, Fold(test.key), test.name, Fold(test.name))
		}
	}
	for _, test := range []struct{ name, key string }{
		{"がく", "かく"}, {"김철수", "기"}, {"कमार", "कु"}, {"Garza", "garcia"}, {"Annemarie", "marie"}, {"สมชาย", "ชาย"}, {"Max Müller", "max x"}, {"7up", "up"},
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

// TestCut: a cut never divides a grapheme cluster, unless the first one exceeds the limit.
func TestCut(t *testing.T) {
	const family, flag = "👨‍👩‍👧‍👦", "🇩🇪"
	for _, test := range []struct {
		text  string
		limit int
		want  string
	}{
		{"abc", 3, "abc"},
		{"abc", 2, "ab"},
		{"abc", 0, ""},
		{"aä", 2, "a"},
		{"ab" + family + "c", 2 + len(family) - 1, "ab"},
		{"ab" + family + "c", 2 + len(family), "ab" + family},
		{flag + flag, 2*len(flag) - 4, flag},
		{"xe\u0301", 2, "x"},
		{"a\r\nb", 2, "a"},
		{strings.Repeat("x", 500) + family, 505, strings.Repeat("x", 500)},
		{strings.Repeat("日本", 100) + "e\u0301\u0301", 602, strings.Repeat("日本", 100)},
		{"e" + strings.Repeat("\u0301", 100_000), 100, "e" + strings.Repeat("\u0301", 49)},
		{"a\xff\xff", 2, "a\xff"},
	} {
		if got := Cut(test.text, test.limit); got != test.want {
			t.Errorf("%.20q to %d: %q, want %q", test.text, test.limit, got, test.want)
		}
	}
	for _, test := range []struct {
		text  string
		limit int
		want  string
	}{
		{"ab" + family, 9, "ab" + family},
		{"ab " + family, 9, "ab…"},
		{"äöü", 3, "äöü"},
		{"äöüß", 3, "äö…"},
	} {
		if got := Shorten(test.text, test.limit); got != test.want {
			t.Errorf("%q to %d: %q, want %q", test.text, test.limit, got, test.want)
		}
	}
	if got := cutEncoded(strings.Repeat("x", 10)+family, 20); got != strings.Repeat("x", 10) {
		t.Errorf("%q", got)
	}
}

// TestIsolate: an isolated text closes exactly the isolates that it opens.
func TestIsolate(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"Ann Müller 日本 👍 (1)":       "Ann Müller 日本 👍 (1)",
		"דנה":                       "\u2068דנה\u2069",
		"Ann \u202e":                "\u2068Ann \u202e\u2069",
		"a\u2069b\u202e":            "\u2068ab\u202e\u2069",
		"a\u2067b\u2066c":           "\u2068a\u2067b\u2066c\u2069\u2069\u2069",
		"\u2068דנה\u2069 replied":   "\u2068\u2068דנה\u2069 replied\u2069",
		"\u2069\u2067x\u2069\u2069": "\u2068\u2067x\u2069\u2069",
	} {
		if got := Isolate(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
