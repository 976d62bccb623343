package operator

import (
	"encoding"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/credentials"
)

// The following are parameters of operations, by what they name.
type inAccount struct {
	Account id `arg:"" help:"Account."`
}

type inOrganization struct {
	inAccount
	Organization id `arg:"" help:"Organization."`
}

func (p *inOrganization) within() *inOrganization { return p }

type inFolder struct {
	inOrganization
	Folder id `arg:"" help:"Folder."`
}

type inDocument struct {
	inOrganization
	Document documentID `arg:"" help:"Document."`
}

type inThread struct {
	inDocument
	Annotation id `arg:"" help:"Thread: the annotation's id."`
}

type inEvent struct {
	inAccount
	Event id `arg:"" help:"Event."`
}

func (p *inEvent) ref() collab.EventRef {
	return collab.EventRef{Account: string(p.Account), ID: string(p.Event)}
}

type ofKey struct {
	Key apiKey `arg:"" help:"API key."`
}

// id is an identifier.
type id string

// Validate reports the rule that the id breaks.
func (i id) Validate() error { return collab.CheckID(string(i), collab.MaxID) }

// documentID is the identifier of a document.
type documentID string

// Validate reports the rule that the id breaks.
func (i documentID) Validate() error { return collab.CheckID(string(i), collab.MaxDocumentID) }

// newID is an identifier that is being given: one that stands in a shell, a URL and a log as it is. Those that are there may be any id.
type newID string

const wordCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// Validate reports the rule that the id breaks.
func (i newID) Validate() error {
	if i == "" || len(i) > 64 || strings.Trim(string(i), wordCharacters) != "" || i[0] == '-' {
		return errors.New("must be 1 to 64 letters, digits, _ and -, and not begin with -")
	}
	return nil
}

// displayName is a name for people to read; "" for none.
type displayName string

// Validate reports a name that is too long.
func (n displayName) Validate() error {
	const most = 680
	if len(n) > most {
		return fmt.Errorf("must be at most %d bytes", most)
	}
	return nil
}

// apiKey is an API key.
type apiKey string

// Validate reports a key that no header could carry.
func (k apiKey) Validate() error {
	if k == "" || len(k) > credentials.MaxCredential || strings.Trim(string(k), wordCharacters+".~") != "" {
		return fmt.Errorf("must be 1 to %d letters, digits, _ . ~ and -", credentials.MaxCredential)
	}
	return nil
}

// moment is a date, a time, or a span such as 90d or 12h, whose direction the operation knows; the zero value is none.
type moment struct {
	at   time.Time
	span time.Duration // instead of at, when not 0
}

// UnmarshalText reads a moment; a time without a zone, as browsers send it, is in UTC.
func (m *moment) UnmarshalText(b []byte) error {
	text := string(b)
	for _, layout := range []string{time.RFC3339, time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if at, err := time.Parse(layout, text); err == nil {
			m.at = at
			return nil
		}
	}
	days, isDays := strings.CutSuffix(text, "d")
	if n, err := strconv.ParseUint(days, 10, 16); isDays && err == nil && n > 0 {
		m.span = time.Duration(n) * 24 * time.Hour
		return nil
	}
	if span, err := time.ParseDuration(text); err == nil && span > 0 {
		m.span = span
		return nil
	}
	return fmt.Errorf("%q is no time: write 2027-01-31, 2027-01-31T12:00:00Z, 90d or 12h", text)
}

// after is the moment, a span counted from now on; 0 for none.
func (m moment) after(now time.Time) collab.Millis {
	switch {
	case m.span != 0:
		return now.Add(m.span).UnixMilli()
	case m.at.IsZero():
		return 0
	}
	return m.at.UnixMilli()
}

// before is the moment, a span counted back from now.
func (m moment) before(now time.Time) collab.Millis {
	if m.span != 0 {
		return now.Add(-m.span).UnixMilli()
	}
	return max(m.at.UnixMilli(), 0)
}

// field is a field of parameters.
type field struct {
	value reflect.Value
	tag   reflect.StructTag
}

// fields returns the fields of parameters by their names in addresses and forms.
func fields(params any) iter.Seq2[string, field] {
	v := reflect.ValueOf(params).Elem()
	return func(yield func(string, field) bool) {
		for _, f := range reflect.VisibleFields(v.Type()) {
			if !f.Anonymous && !yield(strings.ToLower(f.Name), field{v.FieldByIndex(f.Index), f.Tag}) {
				return
			}
		}
	}
}

// Bind sets parameters from the values of an address or a form. It fails with INVALID_ARGUMENT where one is missing or wrong.
func Bind(params any, values url.Values) error {
	for name, f := range fields(params) {
		text := values.Get(name)
		if text == "" {
			text = f.tag.Get("default")
		}
		if err := f.set(text); err != nil {
			return collab.Errorf(collab.InvalidArgument, "%s %v", name, err)
		}
	}
	return nil
}

// set sets the field from its text, "" where there is none.
func (f field) set(text string) error {
	_, isArg := f.tag.Lookup("arg")
	_, optional := f.tag.Lookup("optional")
	_, required := f.tag.Lookup("required")
	required = required || isArg && !optional
	if text == "" && required && f.value.Kind() != reflect.Slice { // which forms have as single values
		return errors.New("must not be empty")
	}
	if of := f.tag.Get("enum"); of != "" && !slices.Contains(strings.Split(of, ","), text) {
		return fmt.Errorf("must be one of %s, not %q", of, text)
	}
	var err error
	switch v := f.value.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		if text != "" {
			err = v.UnmarshalText([]byte(text))
		}
	case *time.Duration:
		*v, err = time.ParseDuration(text)
	case *int:
		*v, err = strconv.Atoi(text)
	case *[]byte:
		*v = []byte(text)
	default:
		if f.value.Kind() == reflect.String {
			f.value.SetString(text)
		}
	}
	if v, ok := f.value.Interface().(interface{ Validate() error }); ok && err == nil && (text != "" || required) {
		err = v.Validate()
	}
	return err
}

// word returns a text as one word of a shell's command line.
func word[T ~string](text T) string {
	s := string(text)
	if s != "" && strings.Trim(s, wordCharacters+".:/@") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
