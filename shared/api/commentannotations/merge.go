package commentannotations

import (
	"cmp"
	"encoding/json"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// null clears a field.
const null = "null"

// change applies an update to the stored object of a field. A nil sent keeps the object, null
// clears it, an object with another id replaces it, and any other object is merged. id is the name
// of the id member, or "" if there is none. It returns INVALID_ARGUMENT if the result has no id.
func change(field string, stored, sent collab.JSON, id string) (collab.JSON, error) {
	switch given := sent.Text(id); {
	case sent == nil:
		return stored, nil
	case string(sent) == null:
		return nil, nil
	case given != "" && given != stored.Text(id):
		return collab.JSON(nil).Merge(sent), nil
	}
	merged := stored.Merge(sent)
	switch missing := id != "" && merged.Text(id) == ""; {
	case missing && stored == nil:
		return nil, collab.FieldErrorf("data.updatedData."+field+"."+id, "is required, as there is no %s yet", field)
	case missing:
		return nil, collab.FieldErrorf("data.updatedData."+field+"."+id, "must not be null")
	}
	return merged, nil
}

// changeValue is change for a value that is replaced as a whole.
func changeValue[T any](stored *T, sent rpc.Opt[T]) *T {
	switch {
	case sent.Null():
		return nil
	case sent.Sent():
		return &sent.Value
	}
	return stored
}

// changeJSON is changeValue for a value stored as JSON text.
func changeJSON[T any](stored collab.JSON, sent rpc.Opt[T]) collab.JSON {
	if sent.Sent() {
		return encode(sent.Value) // nil for null
	}
	return stored
}

// changeID returns the id of an object after an update. sent is the id in the request, or "".
func changeID[T any](stored string, object rpc.Opt[T], sent string) string {
	if object.Null() {
		return ""
	}
	return cmp.Or(sent, stored)
}

// encode is rpc.JSON, except that it returns nil for a nil pointer or slice.
func encode(v any) collab.JSON {
	if text := rpc.JSON(v); string(text) != null {
		return text
	}
	return nil
}

// decodeKept sets the kept fields of a response.
func decodeKept(stored collab.JSON, answer any) {
	if stored == nil {
		return
	}
	if err := json.Unmarshal(stored, answer); err != nil {
		panic(err) // it was encoded from these fields
	}
}
