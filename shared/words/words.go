// Package words provides the service's texts for users in several languages: headlines, emails and
// the unsubscribe page. An account can replace texts.
//
// The catalogs are catalogs/<language>.json; the elements use the same files. A text has its values
// in single braces, such as {actionUser}. A key that ends in .one, .few, .many or .other is a
// plural form of CLDR.
package words

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"collabdata/shared/collab"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

const Default = "en"

//go:embed catalogs/*.json
var files embed.FS

var tables = sync.OnceValue(func() map[string]map[string]string {
	list, err := files.ReadDir("catalogs")
	if err != nil {
		panic(err) // they are embedded
	}
	all := map[string]map[string]string{}
	for _, f := range list {
		var c struct {
			Mail map[string]string `json:"mail"`
		}
		text, err := files.ReadFile("catalogs/" + f.Name())
		if err == nil {
			err = json.Unmarshal(text, &c)
		}
		if err != nil {
			panic(err)
		}
		all[strings.TrimSuffix(f.Name(), ".json")] = c.Mail
	}
	return all
})

// Languages returns the languages of the catalogs, such as de, the default first.
func Languages() []string {
	others := slices.Sorted(maps.Keys(tables()))
	others = slices.DeleteFunc(others, func(l string) bool { return l == Default })
	return append([]string{Default}, others...)
}

var matcher = sync.OnceValue(func() language.Matcher {
	var tags []language.Tag
	for _, l := range Languages() {
		tags = append(tags, language.Make(l))
	}
	return language.NewMatcher(tags)
})

// Limits of an account's own texts.
const (
	MaxText  = 500    // bytes of one
	MaxTexts = 16_000 // bytes of all, with their keys
)

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// Check returns the first rule that an account's own texts break, and the field, such as
// de.replied.
func Check(own collab.Texts) (field string, err error) {
	size := 0
	for _, l := range slices.Sorted(maps.Keys(own)) {
		catalog, ok := tables()[l]
		if !ok {
			return l, fmt.Errorf("is not a language of the service: they are %s", strings.Join(Languages(), ", "))
		}
		for _, key := range slices.Sorted(maps.Keys(own[l])) {
			text, field := own[l][key], l+"."+key
			usual, ok := catalog[key]
			size += len(l) + len(key) + len(text)
			switch {
			case !ok:
				return field, fmt.Errorf("is not the key of a text")
			case text == "" || len(text) > MaxText || strings.ContainsAny(text, "\r\n"):
				return field, fmt.Errorf("must be one line of 1 to %d bytes", MaxText)
			case key == "months" && strings.Count(text, "|") != 11:
				return field, fmt.Errorf("must be twelve names with | between them")
			}
			placeholders := placeholder.FindAllString(usual, -1)
			for _, name := range placeholder.FindAllString(text, -1) {
				if !slices.Contains(placeholders, name) {
					return field, fmt.Errorf("names %s, which is no value of this text: it has %s", name, cmp.Or(strings.Join(placeholders, ", "), "none"))
				}
			}
		}
	}
	if size > MaxTexts {
		return "", fmt.Errorf("must have at most %d bytes, not %d", MaxTexts, size)
	}
	return "", nil
}

// Words are the texts for one reader.
type Words struct {
	Language string         // of the texts: de
	Zone     *time.Location // of times; nil is UTC
	own      map[string]string
}

// In returns the texts in the language nearest to the first non-empty locale, with an account's own
// texts.
func In(own collab.Texts, locales ...string) Words {
	w := Words{Language: Default}
	if locale := cmp.Or(locales...); locale != "" {
		_, i, _ := matcher().Match(language.Make(locale))
		w.Language = Languages()[i]
	}
	w.own = own[w.Language]
	return w
}

// Accepted returns the first language of an Accept-Language header, or "".
func Accepted(header string) string {
	tags, _, err := language.ParseAcceptLanguage(header)
	if err != nil || len(tags) == 0 {
		return ""
	}
	return tags[0].String()
}

// Template returns a text with its placeholders. The zero Words are English.
func (w Words) Template(key string) string {
	return cmp.Or(w.own[key], tables()[w.Language][key], tables()[Default][key])
}

// Text returns a text with values for its placeholders, as pairs of name and value. Placeholders in
// values are not replaced.
func (w Words) Text(key string, values ...string) string { return fill(w.Template(key), values) }

func fill(template string, values []string) string {
	pairs := slices.Clone(values)
	for i := 0; i < len(pairs); i += 2 {
		pairs[i] = "{" + pairs[i] + "}"
	}
	return strings.NewReplacer(pairs...).Replace(template)
}

// Count returns a text in the plural form of n, which is its value {count}.
func (w Words) Count(key string, n int, values ...string) string {
	forms := map[plural.Form]string{plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many"}
	form := forms[plural.Cardinal.MatchPlural(language.Make(w.Language), n, 0, 0, 0, 0)]
	template := cmp.Or(w.Template(key+"."+form), w.Template(key+".other"))
	return fill(template, append(values, "count", strconv.Itoa(n)))
}

// Time returns a time in the reader's zone.
func (w Words) Time(t time.Time) string {
	if w.Zone != nil {
		t = t.In(w.Zone)
	} else {
		t = t.UTC()
	}
	month := strings.Split(w.Template("months"), "|")[t.Month()-1]
	return w.Text("date", "day", strconv.Itoa(t.Day()), "month", month, "year", strconv.Itoa(t.Year()), "time", t.Format("15:04 MST"))
}
