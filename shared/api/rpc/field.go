package rpc

import "collabdata/shared/collab"

// Opt is a field of a request that tells absent, null and a value apart. Rules in its tag hold for the value.
type Opt[T any] struct {
	Value T           // zero when absent or null
	Raw   collab.JSON // the value's text as sent, compact; `null` for null; nil when absent
}

// Sent reports whether the field was in the request, be it as null.
func (o Opt[T]) Sent() bool { return o.Raw != nil }

// Null reports whether the field was sent as null.
func (o Opt[T]) Null() bool { return string(o.Raw) == "null" }

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

// MarshalJSON returns the field as it was sent.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if o.Raw == nil {
		return []byte("null"), nil
	}
	return o.Raw, nil
}

// MarshalJSON returns the value.
func (o One[T]) MarshalJSON() ([]byte, error) { return EncodeData(o.Value) }
