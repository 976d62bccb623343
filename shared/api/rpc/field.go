package rpc

import (
	"reflect"
	"strings"

	"collabdata/shared/collab"
)

// Opt is a field that distinguishes absent, null and a value. Rules in its tag apply to the value.
type Opt[T any] struct {
	Value T           // zero if absent or null
	Raw   collab.JSON // the compact text; `null` for null; nil if absent
}

// Sent reports whether the field was sent, including null.
func (o Opt[T]) Sent() bool { return o.Raw != nil }

// Null reports whether the field was sent as null.
func (o Opt[T]) Null() bool { return string(o.Raw) == "null" }

func (Opt[T]) isOpt() {}

// One is a field sent as T, or as an array of exactly one T.
type One[T any] struct{ Value T }

func (One[T]) isOne() {}

// Distinct returns the values in order without duplicates; nil for nil.
func Distinct[T comparable](list []T) []T {
	return DistinctBy(list, func(v T) T { return v })
}

// DistinctBy is Distinct for values with equal keys; it keeps the first.
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

// MarshalJSON returns the text as sent.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if o.Raw == nil {
		return []byte("null"), nil
	}
	return o.Raw, nil
}

// MarshalJSON returns the value.
func (o One[T]) MarshalJSON() ([]byte, error) { return EncodeData(o.Value) }

func jsonName(tag reflect.StructTag) string {
	name, _, _ := strings.Cut(tag.Get("json"), ",")
	return name
}

// Open is embedded in a struct to keep members of any other name, in order. null is kept.
type Open struct {
	Further collab.Object `json:"-"`
}

const personTag = "person" // of a field: see Access

func tagged(tag reflect.StructTag, word string) bool {
	for value := range strings.SplitSeq(tag.Get(personTag), ",") {
		if value == word {
			return true
		}
	}
	return false
}
