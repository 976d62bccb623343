package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
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

// DecodeOver sets the fields of over that the data of a valid call has. Other fields are unchanged.
func DecodeOver[Req any](c *Call, over *Req) {
	e := struct {
		Data Req `json:"data"`
	}{*over}
	v := reflect.ValueOf(&e).Elem()
	_ = newDecoder(c.body, "").value(ShapeOf(v.Type()), v) // the call has reported violations
	*over = e.Data
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
		raw := compact(bytes.TrimLeft(d.text[start:d.dec.InputOffset()], " \t\r\n:,"))
		if d.drop != nil {
			raw = p.Elem.known(raw)
		}
		v.Field(1).SetBytes(raw)
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

// known returns a valid value without unknown fields.
func (p *Shape) known(value collab.JSON) collab.JSON {
	switch {
	case p.Kind == KindStruct && value[0] == '{':
		fields := slices.DeleteFunc(value.Object(), func(m collab.ObjectMember) bool {
			_, found := p.Object.byName[m.Name]
			return !found && !p.Object.Open
		})
		for i, m := range fields {
			if field, found := p.Object.byName[m.Name]; found {
				fields[i].Value = p.Object.Fields[field].Shape.known(m.Value)
			}
		}
		return fields.JSON()
	case p.Kind == KindArray && value[0] == '[':
		var items []collab.JSON
		must(json.Unmarshal(value, &items))
		return JSON(collab.Map(items, p.Elem.known))
	case p.Kind != KindArray && p.Elem != nil:
		return p.Elem.known(value)
	}
	return value
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

// Decode decodes a free-form value into the struct that into points to, and reports whether it has
// no violation. field is as in Add.
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

func (d *decoder) array(p *Shape, v reflect.Value) error {
	n, err := d.elements(p.Elem, p.MaxLen, v)
	switch {
	case err != nil:
		return err
	case n == 0 && p.NonEmpty:
		d.add("must not be empty")
	case n == 0:
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	case p.MaxLen > 0 && n > p.MaxLen:
		further := ""
		if p.rest != "" {
			further = ": send the rest by " + p.rest
		}
		d.add("must have at most %d items, not %d%s", p.MaxLen, n, further)
	}
	return nil
}

// one reads an array of exactly one element into v.
func (d *decoder) one(p *Shape, v reflect.Value) error {
	list := reflect.New(reflect.SliceOf(v.Type())).Elem()
	n, err := d.elements(p, 1, list)
	if err == nil && n > 0 {
		v.Set(list.Index(0))
	}
	if err == nil && n != 1 {
		d.add("must be one value, or an array of exactly one value, not %d", n)
	}
	return err
}

// elements reads an array into the slice v, at most limit elements if limit is not 0. It returns
// the number of elements. Nothing of earlier elements stays: see DecodeOver.
func (d *decoder) elements(p *Shape, limit int, v reflect.Value) (n int, err error) {
	if _, err := d.dec.ReadToken(); err != nil {
		return 0, err
	}
	v.SetZero()
	for ; d.dec.PeekKind() != ']'; n++ {
		if limit > 0 && n >= limit {
			if err := d.dec.SkipValue(); err != nil {
				return n, err
			}
			continue
		}
		v.Grow(1)
		v.SetLen(n + 1)
		if err := d.value(p, v.Index(n)); err != nil {
			return n, err
		}
	}
	_, err = d.dec.ReadToken()
	return n, err
}

func (d *decoder) object(p *Shape, v reflect.Value) error {
	o := p.Object
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	var seen uint64
	further := false
	for d.dec.PeekKind() != '}' {
		name, err := d.dec.ReadValue()
		if err != nil {
			return err
		}
		i, found := o.lookup(name)
		if d.person != nil && (found && !o.Fields[i].In || !found && o.Open) {
			if err := d.dec.SkipValue(); err != nil {
				return err
			}
			d.add("must be absent: only a back end may set it")
			continue
		}
		if !found && o.Open {
			member := collab.ObjectMember{Name: unquote(name)}
			value, err := d.dec.ReadValue()
			if err != nil {
				return err
			}
			member.Value = compact(value)
			members := v.FieldByIndex(o.further).Addr().Interface().(*collab.Object)
			*members = append(*members, member)
			further = true
			continue
		}
		if !found {
			if err := d.unknown(unquote(name)); err != nil {
				return err
			}
			continue
		}
		seen |= 1 << i
		if err := d.field(&o.Fields[i], v); err != nil {
			return err
		}
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	for i := range o.Fields {
		if o.Fields[i].Required && seen&(1<<i) == 0 && (d.person == nil || o.Fields[i].In) {
			d.note(join(d.at(), o.Fields[i].Name), "is required")
		}
	}
	if p.NonEmpty && seen == 0 && !further {
		d.Add("", "must have at least one field")
	}
	if d.person != nil {
		o.forSelf(v, d.person)
		if filler, ok := v.Addr().Interface().(Filler); ok {
			filler.Fill(d.person, &d.Violations)
		}
	}
	if o.validates {
		v.Addr().Interface().(Validator).Validate(&d.Violations)
	}
	return nil
}

// lookup returns the field of a quoted name.
func (o *Object) lookup(quoted []byte) (i int, found bool) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		i, found = o.byName[string(quoted[1:len(quoted)-1])] // does not allocate
	} else {
		i, found = o.byName[unquote(quoted)]
	}
	return i, found
}

// unknown skips the value of an unknown field, and drops or rejects it.
func (d *decoder) unknown(name string) error {
	if err := d.dec.SkipValue(); err != nil {
		return err
	}
	if d.more {
		return errEnough
	}
	if d.drop != nil && mayDrop(d.dec.StackDepth(), name) {
		d.dropped()
		return nil
	}
	text := "is not a known field"
	if d.root == "" && d.dec.StackDepth() == 1 {
		text += ": the body has the single key data"
	}
	d.add("%s", text)
	return nil
}

// mayDrop reports whether an unknown field can be dropped without widening the request. data itself
// (depth 1) has selectors, filters and flags, and some names limit the audience of stored objects.
func mayDrop(depth int, name string) bool {
	return depth > 2 && !slices.ContainsFunc(limiting, func(limit string) bool { return strings.EqualFold(limit, name) })
}

var limiting = []string{"visibility", "visibilityConfig", "access", "accessFields", "accessRole", "accessType"}

func (d *decoder) field(f *Field, v reflect.Value) error {
	v = v.FieldByIndex(f.index)
	if f.Exact {
		defer func(drop *[]string) { d.drop = drop }(d.drop)
		d.drop = nil
	}
	if d.dec.PeekKind() != 'n' {
		return d.value(f.Shape, v)
	}
	if err := d.dec.SkipValue(); err != nil {
		return err
	}
	switch {
	case f.Required:
		d.add("is required and must not be null")
	case f.NotNull:
		d.add("must not be null")
	case f.Shape.Kind == KindOpt:
		v.Field(1).SetBytes([]byte("null"))
	}
	return nil
}

var indexes = regexp.MustCompile(`\[[0-9]+\]`)

// dropped adds the path of the last value to the header DroppedFields.
func (d *decoder) dropped() {
	if len(*d.drop) > maxDropped {
		return
	}
	path := strconv.QuoteToASCII(clip(indexes.ReplaceAllLiteralString(d.at(), "[]"), 200))
	if path = path[1 : len(path)-1]; len(*d.drop) == maxDropped {
		path = "..."
	}
	if !slices.Contains(*d.drop, path) {
		*d.drop = append(*d.drop, path)
	}
}
