package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/collab"
)

var errEnough = errors.New("more than MaxViolations mistakes") // ends the decoding

// decode reads a whole body into v by its shape; for a person, by the rules of Access. If drop is
// not nil, it skips the unknown fields that mayDrop allows, and adds their paths to drop: see
// DroppedFields. It returns INVALID_ARGUMENT with the syntax error or all violations.
func decode(body []byte, p *Shape, v reflect.Value, person *collab.Person, drop *[]string) error {
	switch {
	case len(body) == 0:
		return collab.Errorf(collab.InvalidArgument, `the body is empty: it must be {"data": {…}}`)
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return collab.Errorf(collab.InvalidArgument, "the body must not begin with a byte order mark")
	case tooDeep(body):
		return collab.Errorf(collab.InvalidArgument, "the body must nest at most %d levels deep", MaxDepth)
	}
	d := newDecoder(body, "")
	d.person, d.drop = person, drop
	if err := d.value(p, v); err == errEnough {
		return d.err()
	} else if err != nil {
		return syntaxError(body, err)
	}
	if _, err := d.dec.ReadToken(); err != io.EOF {
		return collab.Errorf(collab.InvalidArgument, "the body must be one JSON object and nothing after it")
	}
	return d.err()
}

// decoder reads one JSON text. Its methods return only syntax errors and errEnough.
type decoder struct {
	Violations
	text   []byte
	person *collab.Person // see decode
	drop   *[]string      // see decode; nil within a field of rule exact
}

// newDecoder returns the decoder of a text at path root of the body.
func newDecoder(text []byte, root string) *decoder {
	return &decoder{Violations: Violations{root: root, dec: jsontext.NewDecoder(bytes.NewBuffer(text))}, text: text}
}

func (d *decoder) value(p *Shape, v reflect.Value) error {
	if d.more {
		return errEnough
	}
	got := d.dec.PeekKind()
	switch p.Kind {
	case KindPointer:
		target := reflect.New(v.Type().Elem())
		if err := d.value(p.Elem, target.Elem()); err != nil {
			return err
		}
		v.Set(target)
		return nil
	case KindOpt:
		start := d.dec.InputOffset()
		if err := d.value(p.Elem, v.Field(0)); err != nil {
			return err
		}
		raw := bytes.TrimLeft(d.text[start:d.dec.InputOffset()], " \t\r\n:,")
		v.Field(1).SetBytes(compact(raw))
		return nil
	case KindOne:
		if got == '[' {
			return d.one(p.Elem, v.Field(0))
		}
		return d.value(p.Elem, v.Field(0))
	case KindRaw:
		switch {
		case p.Only == "object" && got != '{':
			return d.wrong("an object", got)
		case p.Only == "number" && got != '0':
			return d.wrong("a number", got)
		}
		raw, err := d.dec.ReadValue()
		if err != nil {
			return err
		}
		if text := compact(raw); p.Type == reflect.TypeFor[collab.JSON]() {
			v.SetBytes(text) // UnmarshalJSON copies
		} else if err := v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(text); err != nil {
			d.add("%v", err)
		}
		return nil
	case KindString:
		if got != '"' {
			return d.wrong("a string", got)
		}
		return d.string(p, v)
	case KindBool:
		if got != 't' && got != 'f' {
			return d.wrong("a boolean", got)
		}
		if p.Only != "" && got == 'f' {
			if err := d.dec.SkipValue(); err != nil {
				return err
			}
			d.add("must be true or absent")
			return nil
		}
		v.SetBool(got == 't')
		return d.dec.SkipValue()
	case KindInteger:
		if got != '0' {
			return d.wrong(p.integerRule(), got)
		}
		return d.integer(p, v)
	case KindArray:
		if got != '[' {
			return d.wrong("an array", got)
		}
		return d.array(p, v)
	default:
		if got != '{' {
			return d.wrong("an object", got)
		}
		return d.object(p, v)
	}
}

// wrong skips a value of the wrong kind.
func (d *decoder) wrong(want string, got jsontext.Kind) error {
	if err := d.dec.SkipValue(); err != nil {
		return err
	}
	d.add("must be %s, not %s", want, kindName(got))
	return nil
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	default:
		return "an array"
	}
}

func (d *decoder) string(p *Shape, v reflect.Value) error {
	raw, err := d.dec.ReadValue()
	if err != nil {
		return err
	}
	s := unquote(raw)
	switch {
	case p.NonEmpty && s == "":
		err = errors.New("must not be empty")
	case p.MaxLen > 0 && len(s) > p.MaxLen:
		err = fmt.Errorf("must be at most %d bytes, not %d", p.MaxLen, len(s))
	case p.Enum != nil && !slices.Contains(p.Enum, s):
		err = fmt.Errorf("must be one of %s", strings.Join(p.Enum, ", "))
	case p.check != nil:
		err = p.check(s)
	}
	if err != nil {
		d.add("%s", err)
		return nil
	}
	v.SetString(s)
	return nil
}

// unquote returns the text of a valid JSON string.
func unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	s, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		panic(err)
	}
	return string(s)
}

func (d *decoder) integer(p *Shape, v reflect.Value) error {
	raw, err := d.dec.ReadValue()
	if err != nil {
		return err
	}
	n, ok := parseInteger(string(raw))
	if !ok || n < p.Min || n > p.Max {
		d.add("must be %s", p.integerRule())
		return nil
	}
	v.SetInt(n)
	return nil
}

func (p *Shape) integerRule() string {
	rule := fmt.Sprintf("an integer from %d to %d", p.Min, p.Max)
	if p.Form == "time" {
		return "a time in milliseconds since epoch, " + rule
	}
	return rule
}

// compact returns a copy of a valid JSON value without white space.
func compact(raw []byte) []byte {
	v := jsontext.Value(bytes.Clone(raw))
	if err := v.Compact(); err != nil {
		panic(err) // the text is valid
	}
	return v
}

// parseInteger returns the value of a JSON number in any notation. ok is false if it is no integer,
// or exceeds int64.
func parseInteger(number string) (int64, bool) {
	if value, err := strconv.ParseInt(number, 10, 64); err == nil {
		return value, true
	}
	digits, negative := strings.CutPrefix(number, "-")
	exponent := 0
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		e, _ := strconv.Atoi(digits[i+1:]) // an error means out of range, with the nearest int
		exponent = max(-maxExponent, min(e, maxExponent))
		digits = digits[:i]
	}
	if i := strings.IndexByte(digits, '.'); i >= 0 {
		exponent -= len(digits) - i - 1
		digits = digits[:i] + digits[i+1:]
	}
	digits = strings.TrimLeft(digits, "0")
	trimmed := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(trimmed)
	switch {
	case trimmed == "":
		return 0, true
	case exponent < 0, len(trimmed)+exponent > 19:
		return 0, false
	}
	text := trimmed + strings.Repeat("0", exponent)
	if negative {
		text = "-" + text
	}
	value, err := strconv.ParseInt(text, 10, 64)
	return value, err == nil
}

// maxExponent exceeds every exponent that the digits of a body can compensate.
const maxExponent = 2 * MaxBody

// tooDeep reports whether a text nests deeper than MaxDepth, up to the first syntax error.
func tooDeep(text []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			quoted = !quoted
		case '\\':
			i++
		case '{', '[':
			if !quoted {
				if depth++; depth > MaxDepth {
					return true
				}
			}
		case '}', ']':
			if !quoted {
				depth--
			}
		}
	}
	return false
}
