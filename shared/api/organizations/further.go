package organizations

import (
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// maxFurther is the maximum size of the further fields of an organization or a document, in bytes
// as JSON.
const maxFurther = 100_000

// checkFurther rejects reserved names, and more than maxFurther bytes.
func checkFurther(m *rpc.Violations, further collab.Object, reserved ...string) {
	for _, f := range further {
		if slices.Contains(reserved, f.Name) {
			m.Add(rpc.PathOf("", f.Name), "must not be sent: the name is reserved")
		}
	}
	if n := len(further.JSON()); n > maxFurther {
		m.Add("", "must have further fields of at most %d bytes, not %d", maxFurther, n)
	}
}

// merged merges further fields of a request into the stored object, which can be nil.
func merged(stored collab.JSON, further collab.Object) (collab.JSON, error) {
	object := stored.Merge(further.JSON())
	if string(object) == "{}" {
		return nil, nil
	}
	if len(object) > maxFurther {
		return nil, collab.Errorf(collab.InvalidArgument, "its further fields would take %d bytes: at most %d", len(object), maxFurther)
	}
	return object, nil
}
