// Package request builds the data of an operation's request from texts: the arguments of a command
// line or the fields of a form.
package request

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// Kind is the textual form of a field.
type Kind int

// Kinds.
const (
	Text Kind = iota
	Number
	YesNo
	List // of texts
	Time // a date, a time, or a duration such as 90d before or after now
	JSON
)

// Field is a field of a request.
type Field struct {
	Name     string
	Help     string
	Required bool
	Kind     Kind
	Values   []string // allowed values; nil for any
	past     bool     // a duration counts back from now
}

// Fields returns the fields of an operation's request, required ones first.
func Fields(e rpc.Endpoint) []Field {
	var list []Field
	for _, f := range rpc.ShapeOf(reflect.StructOf([]reflect.StructField{{Name: "Data", Type: e.Operation.Request, Tag: `json:"data"`}})).Object.Fields[0].Shape.Object.Fields {
		s := f.Shape
		for s.Kind == rpc.KindPointer || s.Kind == rpc.KindOpt {
			s = s.Elem
		}
		field := Field{Name: f.Name, Help: f.Tag.Get("doc"), Required: f.Required, Kind: JSON, past: !strings.HasPrefix(f.Name, "expires")}
		switch {
		case s.Kind == rpc.KindString:
			field.Kind, field.Values = Text, s.Enum
		case s.Kind == rpc.KindInteger && s.Form == "time":
			field.Kind = Time
		case s.Kind == rpc.KindInteger:
			field.Kind = Number
		case s.Kind == rpc.KindBool:
			field.Kind = YesNo
		case s.Kind == rpc.KindArray && s.Elem.Kind == rpc.KindString:
			field.Kind, field.Values = List, s.Elem.Enum
		}
		if f.Name == "pageToken" {
			field.Help = "The nextPageToken of the page before"
		}
		list = append(list, field)
	}
	slices.SortStableFunc(list, func(a, b Field) int {
		rank := func(f Field) int {
			switch {
			case !f.Required:
				return 2
			case f.Kind == Text || f.Kind == Number:
				return 0
			}
			return 1
		}
		return rank(a) - rank(b)
	})
	return list
}

// Data returns the data of a request from texts by field. It omits empty fields. It returns
// INVALID_ARGUMENT if a text does not match its field's kind.
func Data(e rpc.Endpoint, values url.Values, now time.Time) (map[string]any, error) {
	data := map[string]any{}
	for _, f := range Fields(e) {
		texts := slices.DeleteFunc(slices.Clone(values[f.Name]), func(s string) bool { return s == "" })
		if len(texts) == 0 {
			continue
		}
		value, err := f.value(texts, now)
		if err != nil {
			return nil, collab.Errorf(collab.InvalidArgument, "%s %v", f.Name, err)
		}
		data[f.Name] = value
	}
	return data, nil
}

func (f Field) value(texts []string, now time.Time) (any, error) {
	text := texts[0]
	switch f.Kind {
	case Number:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("must be an integer, not %q", text)
		}
		return n, nil
	case YesNo:
		yes, err := strconv.ParseBool(text)
		if err != nil {
			return nil, fmt.Errorf("must be true or false, not %q", text)
		}
		return yes, nil
	case List:
		var list []string
		for _, t := range texts {
			list = append(list, strings.FieldsFunc(t, func(r rune) bool { return r == '\n' || r == '\r' })...)
		}
		return list, nil
	case Time:
		return f.moment(text, now)
	case JSON:
		if !json.Valid([]byte(text)) {
			return nil, fmt.Errorf("must be JSON, such as %s", `{"name": "value"}`)
		}
		return json.RawMessage(text), nil
	}
	return text, nil
}

// moment parses a time. It uses UTC if there is no zone.
func (f Field) moment(text string, now time.Time) (collab.Millis, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UnixMilli(), nil
		}
	}
	span, err := time.ParseDuration(text)
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		span = time.Duration(n) * 24 * time.Hour
	}
	if ms, isMillis := strconv.ParseInt(text, 10, 64); isMillis == nil {
		return ms, nil
	}
	if err != nil || span <= 0 {
		return 0, fmt.Errorf("must be a time: 2027-01-31, 2027-01-31T12:00:00Z, 90d or 12h, not %q", text)
	}
	if f.past {
		span = -span
	}
	return now.Add(span).UnixMilli(), nil
}
