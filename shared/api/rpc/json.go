package rpc

import (
	"bytes"
	"reflect"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/collab"
)

// JSON encodes a value of the program's own types with collab.EncodeJSON. It panics on error, which
// no request can cause.
func JSON(v any) collab.JSON {
	text, err := collab.EncodeJSON(v)
	if err != nil {
		panic(err)
	}
	return text
}

// EncodeData encodes a request or a part of one. It omits zero values, because null is a violation
// in many fields. Use a pointer to send a zero value.
func EncodeData(v any) ([]byte, error) {
	return jsonv2.Marshal(v, jsonv2.OmitZeroStructFields(true))
}

// Stored is the stored text of a T in a response, written unchanged. A nil value is absent if its
// field has omitzero.
type Stored[T any] collab.JSON

// StoredType returns T.
func (Stored[T]) StoredType() reflect.Type { return reflect.TypeFor[T]() }

// MarshalJSONTo writes the text, or null for nil.
func (s Stored[T]) MarshalJSONTo(e *jsontext.Encoder) error {
	if s == nil {
		return e.WriteToken(jsontext.Null)
	}
	return e.WriteValue(jsontext.Value(s))
}

// Whole is the data of a response with Stored parts.
type Whole[T any] struct{ Data T }

// StoredType returns T.
func (Whole[T]) StoredType() reflect.Type { return reflect.TypeFor[T]() }

func (w Whole[T]) segments(s *segments) { *s = append(*s, EncodeStored(w.Data)) }

// EncodeStored encodes a value with Stored parts. It does not validate stored text again.
func EncodeStored(v any) collab.JSON {
	text, err := jsonv2.Marshal(v, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err)
	}
	return text
}

// Keyed is a JSON object with ordered members.
type Keyed[T any] []Member[T]

// Member is one member of a Keyed.
type Member[T any] struct {
	Key   string
	Value T
}

// MarshalJSON encodes the object. Keys must be distinct.
func (k Keyed[T]) MarshalJSON() ([]byte, error) {
	var s segments
	k.segments(&s)
	return bytes.Join(s, nil), nil
}

// ValueType returns T, for the description of responses.
func (Keyed[T]) ValueType() reflect.Type { return reflect.TypeFor[T]() }

// Get returns the value of a key. ok is false if there is none.
func (k Keyed[T]) Get(key string) (value T, ok bool) {
	for _, m := range k {
		if m.Key == key {
			return m.Value, true
		}
	}
	return value, false
}

// WithFurther returns an object with the further members that have other names than own ones.
func WithFurther(own Keyed[any], further collab.Object) collab.JSON {
	all := own
	for _, m := range further {
		if _, taken := own.Get(m.Name); !taken {
			all = append(all, Member[any]{Key: m.Name, Value: m.Value})
		}
	}
	return JSON(all)
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

// segments is a JSON text in pieces, so that a page is never copied as a whole.
type segments [][]byte

func (s *segments) add(text string) { *s = append(*s, []byte(text)) }

func (s segments) len() int {
	n := 0
	for _, piece := range s {
		n += len(piece)
	}
	return n
}

// value adds a value: JSON text unchanged, other values without HTML escaping, and a nil slice as
// [].
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

// quote adds a text as a JSON string, between before and after.
func (s *segments) quote(before, text, after string) {
	b := append(make([]byte, 0, len(before)+len(text)+len(after)+2), before...)
	b, _ = jsontext.AppendQuote(b, text) // the only error, invalid UTF-8, is replaced
	*s = append(*s, append(b, after...))
}

func (s *segments) json(text collab.JSON) {
	if text == nil {
		s.add("null")
		return
	}
	*s = append(*s, text)
}

// WrappedLen returns the length of a valid UTF-8 text as the content of a JSON string, without
// quotes. Lambda receives and returns bodies as such strings, and its limits apply to this form. It
// equals the output of encoding/json without HTML escaping.
func WrappedLen[T ~[]byte | ~string](text T) int {
	n := len(text)
	for i := range len(text) {
		c := text[i]
		n += int(escape[c])
		if c == 0xe2 && i+2 < len(text) && text[i+1] == 0x80 && text[i+2]|1 == 0xa9 {
			n += 3 // U+2028 and U+2029 become \u202X
		}
	}
	return n
}

// escape is the growth of a character: one for \" \\ \n and similar, five for other control
// characters.
var escape = [256]uint8{
	5, 5, 5, 5, 5, 5, 5, 5, 1, 1, 1, 5, 1, 1, 5, 5,
	5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5,
	'"': 1, '\\': 1,
}
