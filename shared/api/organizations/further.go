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
func checkFurther(m *rpc.Violations, further rpc.Keyed[collab.JSON], reserved ...string) {
	for _, f := range further {
		if slices.Contains(reserved, f.Key) {
			m.Add(rpc.PathOf("", f.Key), "must not be sent: the name is reserved")
		}
	}
	if n := len(rpc.JSON(further)); n > maxFurther {
		m.Add("", "must have further fields of at most %d bytes, not %d", maxFurther, n)
	}
}

// merged merges further fields of a request into the stored object, which can be nil.
func merged(stored collab.JSON, further rpc.Keyed[collab.JSON]) (collab.JSON, error) {
	var all rpc.Keyed[collab.JSON]
	for name, value := range rpc.Members(stored) {
		if _, replaced := further.Get(name); !replaced {
			all = append(all, rpc.Member[collab.JSON]{Key: name, Value: value})
		}
	}
	for _, f := range further {
		if string(f.Value) != "null" {
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	object := rpc.JSON(all)
	if len(object) > maxFurther {
		return nil, collab.Errorf(collab.InvalidArgument, "its further fields would take %d bytes: at most %d", len(object), maxFurther)
	}
	return object, nil
}

// withFurther adds stored further fields with other names to own.
func withFurther(own rpc.Keyed[any], stored collab.JSON) collab.JSON {
	for name, value := range rpc.Members(stored) {
		if _, taken := own.Get(name); !taken {
			own = append(own, rpc.Member[any]{Key: name, Value: value})
		}
	}
	return rpc.JSON(own)
}
