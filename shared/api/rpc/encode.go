package rpc

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"

	"collabdata/shared/collab"
)

// JSON returns the text of a value of the program's own types, as collab.EncodeJSON writes it. It panics where there is none, which no request
// brings about.
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

// Some returns a field that is sent with a value.
func Some[T any](value T) Opt[T] {
	raw, err := EncodeData(value)
	if err != nil {
		panic(err) // fields of requests always marshal
	}
	return Opt[T]{Value: value, Raw: raw}
}

// Clear returns a field that is sent as null.
func Clear[T any]() Opt[T] { return Opt[T]{Raw: collab.JSON("null")} }

// MarshalJSON returns the field as it was sent, or is to be: see Some and Clear.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if o.Raw == nil {
		return []byte("null"), nil
	}
	return o.Raw, nil
}

// MarshalJSON returns the value.
func (o One[T]) MarshalJSON() ([]byte, error) { return EncodeData(o.Value) }

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

// Get returns the value of a key, and whether it is there.
func (k Keyed[T]) Get(key string) (value T, ok bool) {
	for _, m := range k {
		if m.Key == key {
			return m.Value, true
		}
	}
	return value, false
}
