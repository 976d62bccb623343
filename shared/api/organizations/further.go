package organizations

import (
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// maxFurther bounds the further fields of an organization or a document, in bytes as JSON.
const maxFurther = 100_000

// checkFurther refuses names that the service uses itself in answers, and more than maxFurther bytes.
func checkFurther(m *rpc.Violations, further rpc.Keyed[collab.JSON], reserved ...string) {
	for _, f := range further {
		if slices.Contains(reserved, f.Key) {
			m.Add(rpc.PathOf("", f.Key), "must not be sent: the service uses the name itself")
		}
	}
	if n := len(rpc.JSON(further)); n > maxFurther {
		m.Add("", "must have further fields of at most %d bytes, not %d", maxFurther, n)
	}
}

// merged returns the further fields of something, stored as an object or nil, after those of a request.
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

// withFurther returns an object of fields and of further ones, stored as an object or nil, that have other names.
func withFurther(own rpc.Keyed[any], stored collab.JSON) collab.JSON {
	for name, value := range rpc.Members(stored) {
		if _, taken := own.Get(name); !taken {
			own = append(own, rpc.Member[any]{Key: name, Value: value})
		}
	}
	return rpc.JSON(own)
}
