package rpc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/collab"
)

// MaxViolations is how many violations of one request are listed.
const MaxViolations = 100

// Violations collects what is wrong with a request.
type Violations struct {
	root  string            // path of what is decoded
	dec   *jsontext.Decoder // the value that it read last is the one that is checked; nil for that at root
	found []collab.FieldError
	more  bool // there are violations beyond MaxViolations
}

// Validator is a request type, or a struct within one, with rules that tags cannot say.
type Validator interface {
	// Validate adds the struct's violations. It is called once the struct is decoded, whatever was wrong in it: fields that broke a rule
	// hold their zero value.
	Validate(m *Violations)
}

// Add notes a violation. The field is relative to the struct that is validated, such as `pageSize` or `commentData[2].commentId`; empty
// means the struct itself. The text is a predicate: `must not be empty`. A violation at or around a place that has one already is
// dropped, as it may only be its consequence.
func (m *Violations) Add(field, format string, args ...any) {
	path := join(m.at(), field)
	for _, f := range m.found {
		if within(f.Field, path) || within(path, f.Field) {
			return
		}
	}
	m.note(path, fmt.Sprintf(format, args...))
}

// Unique notes the elements of an array whose id an earlier one has; elements without an id may be many. The path is that of the ids, with
// %d for the index.
func Unique[T any, ID comparable](m *Violations, path string, list []T, id func(*T) *ID) {
	seen := make(map[ID]bool, len(list))
	for i := range list {
		switch id := id(&list[i]); {
		case id == nil:
		case seen[*id]:
			m.Add(fmt.Sprintf(path, i), "must not be the same as an earlier one: %v", *id)
		default:
			seen[*id] = true
		}
	}
}

// Decode decodes a value of a free-form field into the struct that into points at, by its tags, and reports whether that went without
// a violation. The field is as in Add.
func (m *Violations) Decode(field string, value collab.JSON, into any) bool {
	v := reflect.ValueOf(into).Elem()
	d := newDecoder(value, join(m.at(), field))
	if err := d.value(ShapeOf(v.Type()), v); err != nil && err != errEnough {
		d.add("is not valid JSON")
	}
	for _, f := range d.found {
		m.note(f.Field, f.Message)
	}
	return len(d.found) == 0
}

// SearchKey refuses a key to find names by that has not 2 to 100 characters, or none but accents.
// Nil is none.
func (m *Violations) SearchKey(key *string) {
	switch n := utf8.RuneCountInString(collab.Deref(key)); {
	case key == nil:
	case n < 2 || n > 100:
		m.Add("searchKey", "must have 2 to 100 characters, not %d", n)
	case collab.Fold(*key) == "":
		m.Add("searchKey", "must have a character that is no accent")
	}
}

// add notes a violation of the value that was read last.
func (m *Violations) add(format string, args ...any) { m.note(m.at(), fmt.Sprintf(format, args...)) }

func (m *Violations) note(path, message string) {
	if len(m.found) == MaxViolations {
		m.more = true
		return
	}
	if path == "" {
		path = "body"
	}
	m.found = append(m.found, collab.FieldError{Field: path, Message: message})
}

// err returns the violations as an INVALID_ARGUMENT, or nil.
func (m *Violations) err() error {
	if len(m.found) == 0 {
		return nil
	}
	first := m.found[0]
	text := first.Field + " " + first.Message
	switch n := len(m.found) - 1; {
	case m.more:
		text += fmt.Sprintf(" (and more than %d other mistakes)", n)
	case n == 1:
		text += " (and 1 other mistake)"
	case n > 1:
		text += fmt.Sprintf(" (and %d other mistakes)", n)
	}
	return &collab.Error{Code: collab.InvalidArgument, Message: text, Details: m.found}
}

// at returns the path of the value that was read last.
func (m *Violations) at() string {
	if m.dec == nil {
		return m.root
	}
	return pointerPath(m.root, m.dec.StackPointer())
}

// pointerPath returns the path of what a JSON pointer leads to from root. Names that are numbers look like indexes.
func pointerPath(root string, p jsontext.Pointer) string {
	for token := range p.Tokens() {
		if isIndex(token) {
			root += "[" + token + "]"
		} else {
			root = PathOf(root, token)
		}
	}
	return root
}

func isIndex(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != "" && len(s) < 8
}

// join returns the path of a field, which may begin with an index, of the value at path.
func join(path, field string) string {
	if path == "" || field == "" || field[0] == '[' {
		return path + field
	}
	return path + "." + field
}

// PathOf returns the path of a member of a free-form field, by the name that the caller gave it.
func PathOf(field, name string) string { return join(field, named(name)) }

// within reports whether path is outer, or lies in it.
func within(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (rest == "" || outer == "" || rest[0] == '.' || rest[0] == '[')
}

// named returns the path step of a name that the caller chose: quoted where it is not a plain word, and never long.
func named(name string) string {
	plain := name != ""
	for i := range len(name) {
		c := name[i]
		plain = plain && ('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '$')
	}
	if plain {
		return clip(name, 100)
	}
	return "[" + strconv.Quote(clip(name, 100)) + "]"
}

// clip cuts a text to about limit bytes, between characters.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// syntaxError words an error of the JSON reader for the caller.
func syntaxError(body []byte, err error) error {
	e := &collab.Error{Code: collab.InvalidArgument, Message: "the body is not valid JSON: it ends too early"}
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok && errors.Is(s.Err, jsontext.ErrDuplicateName) {
		e = collab.FieldErrorf(pointerPath("", s.JSONPointer), "must not be given twice")
	} else if ok && !errors.Is(err, io.ErrUnexpectedEOF) {
		line, column := position(body, s.ByteOffset)
		e.Message = fmt.Sprintf("the body is not valid JSON: %s at line %d, column %d", clip(s.Err.Error(), 200), line, column)
	}
	e.Err = err
	return e
}

// position returns the line and the column, in characters, of an offset; both count from 1.
func position(text []byte, offset int64) (line, column int) {
	before := text[:min(offset, int64(len(text)))]
	line = bytes.Count(before, []byte("\n")) + 1
	column = utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return line, column
}
