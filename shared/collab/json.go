package collab

import (
	"bytes"
	"encoding/json"
)

// JSON is unchanged JSON text: numbers are not converted. nil means absent. It is stored as a
// string.
type JSON json.RawMessage

func (j JSON) MarshalJSON() ([]byte, error) { return json.RawMessage(j).MarshalJSON() }

func (j *JSON) UnmarshalJSON(text []byte) error { return (*json.RawMessage)(j).UnmarshalJSON(text) }

func (j JSON) MarshalText() ([]byte, error) { return j, nil }

func (j *JSON) UnmarshalText(text []byte) error { return j.UnmarshalJSON(text) }

// EncodeJSON returns v as JSON without escaping `<`, `>` and `&`. All stored and sent JSON comes
// from it, so its sizes count.
func EncodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
