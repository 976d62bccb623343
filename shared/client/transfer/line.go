package transfer

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
)

// line is a line of a file.
type line struct {
	number int64 // from 1
	kind   Kind
	id     string // of the subject, within its document
	object        // fields, without the kind
	size   int    // bytes
}

// LineError is a malformed line.
type LineError struct {
	Line  int64  // from 1
	Field string // "" for the whole line
	Rule  string // that the field breaks
}

// Error returns the line, the field and the rule.
func (e *LineError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("line %d %s", e.Line, e.Rule)
	}
	return fmt.Sprintf("line %d: %s %s", e.Line, e.Field, e.Rule)
}

// parseLine parses a line. It returns a *LineError, and the number and kind of the line.
func parseLine(number int64, text []byte) (*line, error) {
	l := &line{number: number, size: len(text)}
	fail := func(field, format string, args ...any) (*line, error) {
		return l, &LineError{Line: number, Field: field, Rule: fmt.Sprintf(format, args...)}
	}
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		return fail("", "must be a JSON object: %v", err)
	}
	f, ok := forms[Kind(textOf(o, "kind"))]
	if !ok {
		return fail("kind", "must be one of %v", Kinds())
	}
	l.kind = Kind(textOf(o, "kind"))
	l.object = without(o, "kind")
	for _, m := range l.object {
		if f.fields[m.Key] == nil && !f.open {
			return fail(m.Key, "is no field of a line of kind %s", l.kind)
		}
	}
	for _, name := range f.ids {
		v, ok := l.Get(name)
		if !ok || v.Kind() == 'n' {
			return fail(name, "is required")
		}
		if l.id = v.String(); v.Kind() == '"' {
			l.id = textOf(l.object, name)
		}
	}
	if l.kind == Unsubscribed {
		l.id = cmp.Or(textOf(l.object, "userId"), textOf(l.object, "address"))
	}
	if f.open {
		for i, m := range l.object {
			if name, escaped := cutEscape(m.Key); escaped {
				l.object[i].Key = name
			}
		}
	}
	if l.kind == Annotation {
		l.object = plain(l.object)
	}
	return l, nil
}

// cutEscape is the inverse of escapeKind.
func cutEscape(name string) (string, bool) {
	if name != "" && name[0] == '_' && escapeKind(name) != name {
		return name[1:], true
	}
	return name, false
}

func (l *line) document() string { return textOf(l.object, "documentId") }

// rename replaces the document of the line.
func (l *line) rename(documents map[string]string) (old string) {
	name := "documentId"
	if l.kind == Grant && textOf(l.object, "type") == "document" {
		name = "id"
	}
	old = textOf(l.object, name)
	to, renamed := documents[old]
	if !renamed {
		return ""
	}
	for i := range l.object {
		if l.object[i].Key == name {
			l.object[i].Value = quoted(to)
		}
	}
	if l.kind == Document || l.kind == Grant {
		l.id = to
	}
	return old
}

// errTorn means that the last line is incomplete.
var errTorn = errors.New("ends in its middle: the export did not come to its end")

type lines struct {
	r      *bufio.Reader
	number int64 // of the last line, from 1
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, MaxLine)} }

// next returns the next line without its end. The text is valid until the next call. It returns
// io.EOF after the last line, and errTorn with the text if the last line has no end.
func (l *lines) next() (text []byte, err error) {
	text, err = l.r.ReadSlice('\n')
	if len(text) == 0 {
		return nil, err
	}
	l.number++
	switch err {
	case nil:
		return text[:len(text)-1], nil
	case io.EOF:
		return text, errTorn
	case bufio.ErrBufferFull:
		err = fmt.Errorf("has more than %d bytes", MaxLine)
		for more := bufio.ErrBufferFull; more == bufio.ErrBufferFull; {
			_, more = l.r.ReadSlice('\n')
		}
	}
	return nil, err
}
