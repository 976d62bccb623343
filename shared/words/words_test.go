package words

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// TestCatalogs: each language has all texts, with the same placeholders, and all its plural forms
// of small numbers.
func TestCatalogs(t *testing.T) {
	usual := tables()[Default]
	placeholders := func(text string) []string {
		found := placeholder.FindAllString(text, -1)
		slices.Sort(found)
		return found
	}
	for _, l := range Languages() {
		for key, text := range tables()[l] {
			stem, form, counts := strings.Cut(key, ".")
			if in, ok := usual[key]; !ok || !slices.Equal(placeholders(in), placeholders(text)) {
				t.Errorf("%s: %s is %q, and in English %q", l, key, text, in)
			}
			if counts && form != "other" && tables()[l][stem+".other"] == "" {
				t.Errorf("%s: %s has no form other", l, stem)
			}
		}
		for key := range usual {
			_, form, _ := strings.Cut(key, ".")
			one := plural.Cardinal.MatchPlural(language.Make(l), 1, 0, 0, 0, 0) == plural.One
			if tables()[l][key] == "" && (form != "one" || one) {
				t.Errorf("%s lacks %s", l, key)
			}
		}
	}
}

func TestIn(t *testing.T) {
	own := collab.Texts{"de": {"replied": "{actionUser} schrieb", "moreComments.other": "+{count}"}}
	for locale, want := range map[string]string{
		"": "Ann replied", "de": "Ann schrieb", "de-AT": "Ann schrieb", "gsw": "Ann schrieb", "pt-PT": "Ann respondeu", "ja-JP": "Annさんが返信しました",
		"xh": "Ann replied", "no language": "Ann replied",
	} {
		if got := In(own, "", locale).Text("replied", "actionUser", "Ann"); got != want {
			t.Errorf("%q: %q, want %q", locale, got, want)
		}
	}
	for n, want := range map[int]string{1: "… und 1 weiterer Kommentar", 2: "+2"} {
		if got := In(own, "de").Count("moreComments", n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if got := In(nil, "fr").Count("digest", 0); got != "0 notification non lue" {
		t.Errorf("none in French: %q", got)
	}
	if got := In(nil).Text("replied", "actionUser", "{status}", "status", "no"); got != "{status} replied" {
		t.Errorf("a value was replaced: %q", got)
	}
}

func TestTime(t *testing.T) {
	at := time.Date(2026, 3, 29, 1, 30, 0, 0, time.UTC) // the clocks in Berlin went from 2 to 3
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for l, want := range map[string]string{
		"en": "29 Mar 2026, 03:30 CEST", "de": "29. März 2026, 03:30 CEST", "fr": "29 mars 2026 à 03:30 CEST", "es": "29 mar 2026, 03:30 CEST",
		"pt": "29 de mar. de 2026, 03:30 CEST", "ja": "2026年3月29日 03:30 CEST",
	} {
		w := In(nil, l)
		w.Zone = berlin
		if got := w.Time(at); got != want {
			t.Errorf("%s: %q, want %q", l, got, want)
		}
	}
	if got := In(nil).Time(at); got != "29 Mar 2026, 01:30 UTC" {
		t.Error(got)
	}
}

func TestCheck(t *testing.T) {
	long := map[string]string{}
	for key := range tables()[Default] {
		long[key] = strings.Repeat("x", MaxText)
	}
	delete(long, "months")
	for want, own := range map[string]collab.Texts{
		"":                          {"de": {"replied": "{actionUser}: neu", "months": "1|2|3|4|5|6|7|8|9|10|11|12"}, "ja": {"somebody": "人"}},
		"xx is not a language":      {"xx": {}},
		"de.reply is not the key":   {"de": {"reply": "x"}},
		"de.replied must be one":    {"de": {"replied": ""}},
		"en.replied must be one":    {"en": {"replied": strings.Repeat("x", MaxText+1)}},
		"en.somebody must be one":   {"en": {"somebody": "a\nb"}},
		"en.replied names {status}": {"en": {"replied": "{actionUser} {status}"}},
		"en.somebody names {x}":     {"en": {"somebody": "{x}"}},
		"fr.months must be twelve":  {"fr": {"months": "a|b"}},
		" must have at most 16000":  {"en": long},
	} {
		field, err := Check(own)
		if got := fmt.Sprint(field, " ", err); err != nil && !strings.HasPrefix(got, want) || (err == nil) != (want == "") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
