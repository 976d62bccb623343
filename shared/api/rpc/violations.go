package rpc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/collab"
)

// MaxViolations is the maximum number of listed violations.
const MaxViolations = 100

// Violations collects the violations of a request.
type Violations struct {
	root  string            // path of the decoded value
	dec   *jsontext.Decoder // its last value is the one to check; nil for root
	found []collab.FieldError
	more  bool // there are more than MaxViolations
}

// Validator is a request type, or a struct in one, with rules beyond tags.
type Validator interface {
	// Validate adds the struct's violations. It is called after decoding, even with violations;
	// invalid fields have their zero value.
	Validate(m *Violations)
}

// Add adds a violation. field is relative to the validated struct, such as `pageSize` or
// `commentData[2].commentId`, or empty for the struct itself. The text is a predicate, such as
// `must not be empty`. A violation at or around a place with an earlier one is dropped, because it
// can be its consequence.
func (m *Violations) Add(field, format string, args ...any) {
	path := join(m.at(), field)
	for _, f := range m.found {
		if within(f.Field, path) || within(path, f.Field) {
			return
		}
	}
	m.note(path, fmt.Sprintf(format, args...))
}

// Unique adds a violation for each element that repeats an earlier id. It ignores elements without
// an id. path is that of the id, with %d for the index.
func Unique[T any, ID comparable](m *Violations, path string, list []T, id func(*T) *ID) {
	seen := make(map[ID]bool, len(list))
	for i := range list {
		switch id := id(&list[i]); {
		case id == nil:
		case seen[*id]:
			m.Add(fmt.Sprintf(path, i), "must not repeat an earlier one: %v", *id)
		default:
			seen[*id] = true
		}
	}
}

// SearchKey requires 2 to 100 characters, not only accents. A nil key is valid.
func (m *Violations) SearchKey(key *string) {
	switch n := utf8.RuneCountInString(collab.Deref(key)); {
	case key == nil:
	case n < 2 || n > 100:
		m.Add("searchKey", "must have 2 to 100 characters, not %d", n)
	case collab.Fold(*key) == "":
		m.Add("searchKey", "must have a character that is not an accent")
	}
}

// add adds a violation of the last value.
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

// err returns the violations as INVALID_ARGUMENT, or nil.
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

// at returns the path of the last value.
func (m *Violations) at() string {
	if m.dec == nil {
		return m.root
	}
	return pointerPath(m.root, m.dec.StackPointer())
}

// pointerPath returns the path of a JSON pointer relative to root. Numeric names look like indexes.
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

// join returns the path of a field, which can begin with an index.
func join(path, field string) string {
	if path == "" || field == "" || field[0] == '[' {
		return path + field
	}
	return path + "." + field
}

// PathOf returns the path of a member of a free-form field.
func PathOf(field, name string) string { return join(field, named(name)) }

// within reports whether path equals outer, or lies in it.
func within(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (rest == "" || outer == "" || rest[0] == '.' || rest[0] == '[')
}

// named returns a path element for a caller's name: quoted if it is no plain word, and clipped.
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

// syntaxError describes a syntax error to the caller.
func syntaxError(body []byte, err error) error {
	e := &collab.Error{Code: collab.InvalidArgument, Message: "the body is not valid JSON: it ends too early"}
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok && errors.Is(s.Err, jsontext.ErrDuplicateName) {
		e = collab.FieldErrorf(pointerPath("", s.JSONPointer), "must not be repeated")
	} else if ok && !errors.Is(err, io.ErrUnexpectedEOF) {
		line, column := position(body, s.ByteOffset)
		e.Message = fmt.Sprintf("the body is not valid JSON: %s at line %d, column %d", clip(s.Err.Error(), 200), line, column)
	}
	e.Err = err
	return e
}

// position returns the line and column of an offset, from 1. The column counts characters.
func position(text []byte, offset int64) (line, column int) {
	before := text[:min(offset, int64(len(text)))]
	line = bytes.Count(before, []byte("\n")) + 1
	column = utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return line, column
}
