package commentannotations

import (
	"cmp"
	"encoding/json"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// null clears a field.
const null = "null"

// merge sets the members of sent in stored, and removes null ones. Order and text of
// members are preserved. Either object may be nil.
func merge(stored, sent collab.JSON) collab.JSON {
	var object rpc.Keyed[collab.JSON]
	for name, value := range rpc.Members(stored) {
		object = append(object, rpc.Member[collab.JSON]{Key: name, Value: value})
	}
	for name, value := range rpc.Members(sent) {
		i := slices.IndexFunc(object, func(m rpc.Member[collab.JSON]) bool { return m.Key == name })
		switch cleared := string(value) == null; {
		case i < 0 && !cleared:
			object = append(object, rpc.Member[collab.JSON]{Key: name, Value: value})
		case i >= 0 && cleared:
			object = slices.Delete(object, i, i+1)
		case i >= 0:
			object[i].Value = value
		}
	}
	return rpc.JSON(object)
}

// change applies an update to the stored object of a field. A nil sent keeps the object, null
// clears it, an object with another id replaces it, and any other object is merged. id is the name
// of the id member, or "" if there is none. It returns INVALID_ARGUMENT if the result has no id.
func change(field string, stored, sent collab.JSON, id string) (collab.JSON, error) {
	switch given := textOf(sent, id); {
	case sent == nil:
		return stored, nil
	case string(sent) == null:
		return nil, nil
	case given != "" && given != textOf(stored, id):
		return merge(nil, sent), nil
	}
	merged := merge(stored, sent)
	switch missing := id != "" && textOf(merged, id) == ""; {
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

// member returns a member of a JSON object, or nil.
func member(object collab.JSON, name string) collab.JSON {
	for n, value := range rpc.Members(object) {
		if n == name {
			return value
		}
	}
	return nil
}

// textOf returns a string member of a JSON object, or "".
func textOf(object collab.JSON, name string) (text string) {
	_ = json.Unmarshal(member(object, name), &text)
	return text
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
