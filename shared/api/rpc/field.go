package rpc

import (
	"bytes"
	"iter"

	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/collab"
)

// Opt is a field of a request that tells absent, null and a value apart. Rules in its tag hold for the value.
type Opt[T any] struct {
	Value T           // zero when absent or null
	Raw   collab.JSON // the value's text as sent, compact; `null` for null; nil when absent
}

// Sent reports whether the field was in the request, be it as null.
func (o Opt[T]) Sent() bool { return o.Raw != nil }

// Null reports whether the field was sent as null.
func (o Opt[T]) Null() bool { return string(o.Raw) == "null" }

// Given reports whether the field was sent with a value.
func (o Opt[T]) Given() bool { return o.Sent() && !o.Null() }

func (Opt[T]) isOpt() {}

// One is a field of a request that may be sent as T or as an array of exactly one T.
type One[T any] struct{ Value T }

func (One[T]) isOne() {}

// Distinct returns the values of a field in their order, each once; nil for nil.
func Distinct[T comparable](list []T) []T {
	return DistinctBy(list, func(v T) T { return v })
}

// DistinctBy is Distinct for values that are the same where their keys are: the first of them is kept.
func DistinctBy[T any, Key comparable](list []T, key func(T) Key) []T {
	if list == nil {
		return nil
	}
	seen := make(map[Key]bool, len(list))
	once := make([]T, 0, len(list))
	for _, v := range list {
		if k := key(v); !seen[k] {
			seen[k] = true
			once = append(once, v)
		}
	}
	return once
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
