package client

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// encoding writes requests, with times in milliseconds since epoch. It is deterministic.
var encoding = json.JoinOptions(
	json.Deterministic(true),
	json.WithMarshalers(json.MarshalToFunc(func(enc *jsontext.Encoder, t time.Time) error {
		return enc.WriteToken(jsontext.Int(t.UnixMilli()))
	})),
)

// decoding reads responses, with times as ISO 8601 or in milliseconds since epoch.
var decoding = json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, t *time.Time) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	var millis int64
	if err := json.UnmarshalDecode(dec, &millis); err != nil {
		return err
	}
	*t = time.UnixMilli(millis).UTC()
	return nil
}))

// Field is a field of an update: Set sets a value, Clear removes it, and the zero value keeps it.
type Field[T any] struct {
	value *T
	sent  bool
}

// Set returns a field that sets a value.
func Set[T any](value T) Field[T] { return Field[T]{&value, true} }

// Clear returns a field that removes the value.
func Clear[T any]() Field[T] { return Field[T]{sent: true} }

// IsZero reports whether the field keeps its value.
func (f Field[T]) IsZero() bool { return !f.sent }

// MarshalJSONTo writes the value, or null.
func (f Field[T]) MarshalJSONTo(enc *jsontext.Encoder) error { return json.MarshalEncode(enc, f.value) }

// Keyed is a response with an item per id, in order.
type Keyed[T any] []Member[T]

// Member is one item of a Keyed.
type Member[T any] struct {
	Key   string
	Value T
}

// Get returns the item of an id, and whether it exists.
func (k Keyed[T]) Get(id string) (item T, ok bool) {
	for _, m := range k {
		if m.Key == id {
			return m.Value, true
		}
	}
	return item, false
}

// UnmarshalJSONFrom reads an object with ordered members, or null.
func (k *Keyed[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*k = nil
	switch kind := dec.PeekKind(); kind {
	case 'n':
		return dec.SkipValue()
	case '{':
	default:
		return fmt.Errorf("%v is no object", kind)
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		var m Member[T]
		if err := json.UnmarshalDecode(dec, &m.Key); err != nil {
			return err
		}
		if err := json.UnmarshalDecode(dec, &m.Value); err != nil {
			return err
		}
		*k = append(*k, m)
	}
	_, err := dec.ReadToken()
	return err
}
