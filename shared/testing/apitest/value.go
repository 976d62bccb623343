package apitest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// value is a JSON value that keeps the order of members and the notation of numbers.
type value struct {
	kind  jsontext.Kind // first character: n, t, f, ", 0, { or [
	text  string        // of a string; of a number as written
	keys  []string      // of an object
	items []value       // of an array, or of the members of an object
}

func textValue(s string) value { return value{kind: '"', text: s} }

// parseJSON parses one value and nothing after it.
func parseJSON(text []byte) (value, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	v, err := readValue(dec)
	if err != nil {
		return value{}, err
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return value{}, errors.New("something follows the value")
	}
	return v, nil
}

func readValue(dec *jsontext.Decoder) (value, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return value{}, err
	}
	v := value{kind: token.Kind()}
	switch v.kind {
	case '"', '0':
		v.text = token.String()
	case '{', '[':
		for dec.PeekKind() != '}' && dec.PeekKind() != ']' {
			if v.kind == '{' {
				key, err := dec.ReadToken()
				if err != nil {
					return value{}, err
				}
				v.keys = append(v.keys, key.String())
			}
			item, err := readValue(dec)
			if err != nil {
				return value{}, err
			}
			v.items = append(v.items, item)
		}
		_, err = dec.ReadToken()
	}
	return v, err
}

// String returns the value as JSON.
func (v value) String() string {
	switch v.kind {
	case 'n':
		return "null"
	case 't':
		return "true"
	case 'f':
		return "false"
	case '"':
		return compact(v.text)
	case '0':
		return v.text
	}
	items := make([]string, len(v.items))
	for i, item := range v.items {
		items[i] = item.String()
		if v.kind == '{' {
			items[i] = compact(v.keys[i]) + ":" + items[i]
		}
	}
	if v.kind == '{' {
		return "{" + strings.Join(items, ",") + "}"
	}
	return "[" + strings.Join(items, ",") + "]"
}

// member returns a member of an object, or the zero value.
func (v value) member(key string) value {
	if i := slices.Index(v.keys, key); i >= 0 {
		return v.items[i]
	}
	return value{}
}

// names reports whether the value or a value within has a member with a key.
func (v value) names(key string) bool {
	return slices.Contains(v.keys, key) || slices.ContainsFunc(v.items, func(item value) bool { return item.names(key) })
}

// without returns the value without the members, of all values within, that have a key and a value.
func (v value) without(key, text string) value {
	rest := value{kind: v.kind, text: v.text}
	for i, item := range v.items {
		if v.keys != nil {
			if v.keys[i] == key && item.String() == text {
				continue
			}
			rest.keys = append(rest.keys, v.keys[i])
		}
		rest.items = append(rest.items, item.without(key, text))
	}
	return rest
}

// variables are a script's variables by name.
type variables map[string]value

// place is a placeholder: a name, a kind, or both.
var place = regexp.MustCompile(`\$\{([A-Za-z0-9]*)(?::([a-z]+))?\}`)

// kinds are the patterns of placeholder kinds.
var kinds = map[string]string{
	"id":      `[0-9a-hjkmnp-tv-z]{26}`,
	"text":    `(?s:.+)`,
	"integer": `-?[0-9]+`,
	"time":    `[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z`,
	"any":     ``,
}

// expand replaces the variables in a text.
func (vars variables) expand(text string) (string, error) {
	return vars.replace(text, func(v value) string { return v.text })
}

// wholePlace is a placeholder that is a whole JSON string. It includes the colon after a key.
var wholePlace = regexp.MustCompile(`"(\$\{[A-Za-z0-9]+\})"(\s*:)?`)

// expandJSON replaces the variables in a text that may be malformed JSON.
func (vars variables) expandJSON(text string) (string, error) {
	text = wholePlace.ReplaceAllStringFunc(text, func(whole string) string {
		m := wholePlace.FindStringSubmatch(whole)
		v, ok := vars[place.FindStringSubmatch(m[1])[1]]
		if !ok || m[2] != "" {
			return whole
		}
		return v.String()
	})
	return vars.replace(text, func(v value) string {
		quoted := compact(v.text)
		return quoted[1 : len(quoted)-1]
	})
}

func (vars variables) replace(text string, with func(value) string) (string, error) {
	var err error
	text = place.ReplaceAllStringFunc(text, func(p string) string {
		m := place.FindStringSubmatch(p)
		v, ok := vars[m[1]]
		if !ok || m[2] != "" {
			err = fmt.Errorf("%s is not a variable", p)
		}
		return with(v)
	})
	return text, err
}

// checkPlaces returns an error if an expected response has an invalid placeholder.
func checkPlaces(v value) error {
	texts := v.keys
	if v.kind == '"' {
		texts = []string{v.text}
	}
	for _, text := range texts {
		for _, p := range place.FindAllStringSubmatch(text, -1) {
			_, exists := kinds[p[2]]
			switch {
			case p[2] == "" && p[1] == "", p[2] != "" && !exists:
				return fmt.Errorf("%s names no kind", p[0])
			case p[2] == "any" && (p[0] != text || v.kind == '{'):
				return fmt.Errorf("%s must be a whole value", p[0])
			}
		}
	}
	for _, item := range v.items {
		if err := checkPlaces(item); err != nil {
			return err
		}
	}
	return nil
}

// match compares a response with an expected one, sets the variables of placeholders with a kind,
// and returns the differences. path is the position of the value in the response.
func (vars variables) match(path string, want, got value) []string {
	differ := func() []string { return []string{fmt.Sprintf("%s is %s, want %s", where(path), got, want)} }
	if want.kind == '"' {
		if !vars.matchText(want.text, got, true) {
			return differ()
		}
		return nil
	}
	if want.kind != got.kind || want.text != got.text {
		return differ()
	}
	switch want.kind {
	case '{':
		return vars.matchMembers(path, want, got)
	case '[':
		var diffs []string
		for i := range min(len(want.items), len(got.items)) {
			diffs = append(diffs, vars.match(path+"["+strconv.Itoa(i)+"]", want.items[i], got.items[i])...)
		}
		if len(want.items) != len(got.items) {
			diffs = append(diffs, fmt.Sprintf("%s has %d items, want %d", where(path), len(got.items), len(want.items)))
		}
		return diffs
	}
	return nil
}

// matchMembers pairs members by key, then those with a kind in the expected key in order, and
// compares the pairs.
func (vars variables) matchMembers(path string, want, got value) []string {
	rest := slices.Clone(got.keys)
	for _, key := range want.keys {
		if name, err := vars.expand(key); err == nil {
			rest = slices.DeleteFunc(rest, func(k string) bool { return k == name })
		}
	}
	var diffs []string
	for i, key := range want.keys {
		name, err := vars.expand(key)
		if err != nil && len(rest) > 0 && vars.matchText(key, textValue(rest[0]), false) {
			name, rest = rest[0], rest[1:]
		}
		at := path + "." + name
		j := slices.Index(got.keys, name)
		if j < 0 {
			diffs = append(diffs, where(path+"."+key)+" is missing")
			continue
		}
		diffs = append(diffs, vars.match(at, want.items[i], got.items[j])...)
	}
	for _, name := range rest {
		diffs = append(diffs, where(path+"."+name)+" is not expected")
	}
	return diffs
}

// matchText compares a value with an expected string and sets variables of placeholders with a
// kind. If the whole string is a placeholder for any value, the value need not be a string.
func (vars variables) matchText(want string, got value, whole bool) bool {
	places := place.FindAllStringSubmatch(want, -1)
	if whole && len(places) == 1 && places[0][0] == want {
		return vars.matchValue(places[0][1], places[0][2], got)
	}
	if got.kind != '"' {
		return false
	}
	pattern := `^`
	for i, literal := range place.Split(want, -1) {
		pattern += regexp.QuoteMeta(literal)
		if i == len(places) {
			break
		}
		if name, kind := places[i][1], places[i][2]; kind != "" {
			pattern += "(" + kinds[kind] + ")"
		} else if v, ok := vars[name]; ok {
			pattern += "(" + regexp.QuoteMeta(v.text) + ")"
		} else {
			return false
		}
	}
	m := regexp.MustCompile(pattern + `$`).FindStringSubmatch(got.text)
	if m == nil {
		return false
	}
	for i, p := range places {
		vars.set(p[1], p[2], textValue(m[i+1]))
	}
	return true
}

// matchValue compares a value with one placeholder.
func (vars variables) matchValue(name, kind string, got value) bool {
	switch kind {
	case "":
		v, ok := vars[name]
		return ok && v.String() == got.String()
	case "any":
	case "integer":
		if got.kind != '0' || !isOf(kind, got.text) {
			return false
		}
	default:
		if got.kind != '"' || !isOf(kind, got.text) {
			return false
		}
	}
	vars.set(name, kind, got)
	return true
}

func isOf(kind, text string) bool {
	return regexp.MustCompile(`^` + kinds[kind] + `$`).MatchString(text)
}

func (vars variables) set(name, kind string, v value) {
	if name != "" && kind != "" {
		vars[name] = v
	}
}

func where(path string) string {
	if path == "" {
		return "the answer"
	}
	return strings.TrimPrefix(path, ".")
}
