package commentannotations

import (
	"cmp"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// null is the text with which a request clears a field.
const null = "null"

// merge returns a stored object with the members of the sent one: those that are null are removed, the others set. Members keep their
// order and their text. Either may be nil.
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

// change returns what an update makes of the stored object of a field. The sent text is nil for a field left out, which keeps the object, or
// null, which clears it; any other object is merged into the stored one, and replaces it where it has another id. The id's name is "" for
// an object that has none: else it fails with INVALID_ARGUMENT where the object would be left without it.
func change(field string, stored, sent collab.JSON, id string) (collab.JSON, error) {
	switch given := textOf(sent, id); {
	case sent == nil:
		return stored, nil
	case string(sent) == null:
		return nil, nil
	case given != "" && given != textOf(stored, id):
		return merge(nil, sent), nil
	}
	made := merge(stored, sent)
	switch missing := id != "" && textOf(made, id) == ""; {
	case missing && stored == nil:
		return nil, collab.FieldErrorf("data.updatedData."+field+"."+id, "is required, as there is no %s yet", field)
	case missing:
		return nil, collab.FieldErrorf("data.updatedData."+field+"."+id, "must not be null")
	}
	return made, nil
}

// changeValue is change for a value that is replaced whole.
func changeValue[T any](stored *T, sent rpc.Opt[T]) *T {
	switch {
	case sent.Null():
		return nil
	case sent.Sent():
		return &sent.Value
	}
	return stored
}

// changeJSON is changeValue for what is stored as its text.
func changeJSON[T any](stored collab.JSON, sent rpc.Opt[T]) collab.JSON {
	if sent.Sent() {
		return encode(sent.Value) // nil for null
	}
	return stored
}

// changeID is the id of an object after a change: sent is the id that the request sends for it, "" for none.
func changeID[T any](stored string, object rpc.Opt[T], sent string) string {
	if object.Null() {
		return ""
	}
	return cmp.Or(sent, stored)
}
