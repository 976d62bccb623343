package rpc

import (
	"bytes"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"collabdata/shared/collab"
)

// successResponse encodes `{"result": …}`.
func successResponse(call *Call, data any) response {
	if page, ok := data.(interface{ report() }); ok {
		page.report()
	}
	message := call.Message
	if message == "" {
		message = "done"
	}
	var s segments
	s.add(`{"result":{"status":"success","message":`)
	s.value(message)
	s.add(`,"data":`)
	s.value(data)
	if call.NextPageToken != "" {
		s.add(`,"nextPageToken":"` + call.NextPageToken + `"`) // base64url: see PageToken
	}
	s.add(`}}`)
	return response{http: http.StatusOK, body: s, secret: call.Secret, unfinished: call.unfinished, cause: call.cause}
}

// Count returns a number of things as a message tells it, such as "1 comment" or "2 deliveries". The noun is one with a regular plural.
func Count(n int, noun string) string {
	if n != 1 {
		if stem, ok := strings.CutSuffix(noun, "y"); ok {
			noun = stem + "ie"
		}
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
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

func (k Keyed[T]) segments(s *segments) {
	s.add("{")
	for i, m := range k {
		if i > 0 {
			s.add(",")
		}
		s.value(m.Key)
		s.add(":")
		s.value(m.Value)
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

func (s *segments) json(text collab.JSON) {
	if text == nil {
		s.add("null")
		return
	}
	*s = append(*s, text)
}
