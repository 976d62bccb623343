package rpc

import (
	"bytes"
	"encoding/json"
	"iter"
	"reflect"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/collab"
)

// JSON returns the text of a value of the program's own types, as collab.EncodeJSON writes it. It panics where there is none, which no
// request brings about.
func JSON(v any) collab.JSON {
	text, err := collab.EncodeJSON(v)
	if err != nil {
		panic(err)
	}
	return text
}

// EncodeData returns the text of a request, or of a part of one, as a caller sends it: what holds its zero value is left out, as null
// is a violation in many fields. A pointer to a zero value is sent.
func EncodeData(v any) ([]byte, error) {
	return jsonv2.Marshal(v, jsonv2.OmitZeroStructFields(true))
}

// Stored is a T in an answer that is written as it was sent: the text of it. nil is absence: its field has the option omitzero.
type Stored[T any] collab.JSON

// StoredType returns T.
func (Stored[T]) StoredType() reflect.Type { return reflect.TypeFor[T]() }

// MarshalJSONTo writes the text, null for nil.
func (s Stored[T]) MarshalJSONTo(e *jsontext.Encoder) error {
	if s == nil {
		return e.WriteToken(jsontext.Null)
	}
	return e.WriteValue(jsontext.Value(s))
}

// Whole is an answer's data, a T that has Stored parts.
type Whole[T any] struct{ Data T }

// StoredType returns T.
func (Whole[T]) StoredType() reflect.Type { return reflect.TypeFor[T]() }

func (w Whole[T]) segments(s *segments) { *s = append(*s, EncodeStored(w.Data)) }

// EncodeStored returns the text of a value that has Stored parts. The sent text is valid and has each name once, so that is not checked
// again.
func EncodeStored(v any) collab.JSON {
	text, err := jsonv2.Marshal(v, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err)
	}
	return text
}

// Keyed is a JSON object whose members keep their order.
type Keyed[T any] []Member[T]

// Member is one member of a Keyed.
type Member[T any] struct {
	Key   string
	Value T
}

// MarshalJSON returns the object. Keys must differ.
func (k Keyed[T]) MarshalJSON() ([]byte, error) {
	var s segments
	k.segments(&s)
	return bytes.Join(s, nil), nil
}

// UnmarshalJSON reads an object, with its members in their order.
func (k *Keyed[T]) UnmarshalJSON(text []byte) error {
	*k = Keyed[T]{}
	for name, value := range Members(text) {
		m := Member[T]{Key: name}
		if err := json.Unmarshal(value, &m.Value); err != nil {
			return err
		}
		*k = append(*k, m)
	}
	return nil
}

// ValueType returns T, for who describes the answer.
func (Keyed[T]) ValueType() reflect.Type { return reflect.TypeFor[T]() }

// Get returns the value of a key, and whether it is there.
func (k Keyed[T]) Get(key string) (value T, ok bool) {
	for _, m := range k {
		if m.Key == key {
			return m.Value, true
		}
	}
	return value, false
}

// Members yields the names and the texts of the members of a JSON object, in their order; of anything else, nothing.
func Members(object collab.JSON) iter.Seq2[string, collab.JSON] {
	return func(yield func(string, collab.JSON) bool) {
		dec := jsontext.NewDecoder(bytes.NewBuffer(object))
		if token, err := dec.ReadToken(); err != nil || token.Kind() != '{' {
			return
		}
		for dec.PeekKind() == '"' {
			token, err := dec.ReadToken()
			if err != nil {
				return
			}
			name := token.String()
			value, err := dec.ReadValue()
			end := int(dec.InputOffset())
			if err != nil || !yield(name, object[end-len(value):end]) {
				return
			}
		}
	}
}

func (k Keyed[T]) segments(s *segments) {
	if len(k) == 0 {
		s.add("{")
	}
	before := "{"
	for _, m := range k {
		s.quote(before, m.Key, ":")
		s.value(m.Value)
		before = ","
	}
	s.add("}")
}

// segments is a JSON text in pieces. Texts of items are taken up as they stand, so that a page is never copied together.
type segments [][]byte

func (s *segments) add(text string) { *s = append(*s, []byte(text)) }

func (s segments) len() int {
	n := 0
	for _, piece := range s {
		n += len(piece)
	}
	return n
}

// value adds a value: JSON texts as they are, anything else as encoding/json writes it without HTML escaping; a nil slice as [].
func (s *segments) value(v any) {
	switch v := v.(type) {
	case collab.JSON:
		s.json(v)
	case []collab.JSON:
		s.add("[")
		comma := []byte(",")
		for i, item := range v {
			if i > 0 {
				*s = append(*s, comma)
			}
			s.json(item)
		}
		s.add("]")
	case string:
		s.quote("", v, "")
	case interface{ segments(*segments) }:
		v.segments(s)
	default:
		if r := reflect.ValueOf(v); r.Kind() == reflect.Slice && r.IsNil() {
			s.add("[]")
		} else {
			*s = append(*s, JSON(v))
		}
	}
}

// quote adds a text as a JSON string, between what stands before and after it.
func (s *segments) quote(before, text, after string) {
	b := append(make([]byte, 0, len(before)+len(text)+len(after)+2), before...)
	b, _ = jsontext.AppendQuote(b, text) // its error is of invalid UTF-8, which it replaces
	*s = append(*s, append(b, after...))
}

func (s *segments) json(text collab.JSON) {
	if text == nil {
		s.add("null")
		return
	}
	*s = append(*s, text)
}

// WrappedLen returns the length of a text as the content of a JSON string, the quotes not counted: what a Lambda gets and answers
// is sent as such a string, and the limits on bodies and answers count that form. It is what encoding/json writes without HTML escaping; the text must be
// valid UTF-8.
func WrappedLen[T ~[]byte | ~string](text T) int {
	n := len(text)
	for i := range len(text) {
		c := text[i]
		n += int(escape[c])
		if c == 0xe2 && i+2 < len(text) && text[i+1] == 0x80 && text[i+2]|1 == 0xa9 {
			n += 3 // U+2028 and U+2029 as \u202X
		}
	}
	return n
}

// escape is what a character grows by: \" \\ \n and the like by one, other control characters, as \u00XX, by five.
var escape = [256]uint8{
	5, 5, 5, 5, 5, 5, 5, 5, 1, 1, 1, 5, 1, 1, 5, 5,
	5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5,
	'"': 1, '\\': 1,
}
