package collab

func Map[T, U any](list []T, f func(T) U) []U {
	mapped := make([]U, len(list))
	for i, v := range list {
		mapped[i] = f(v)
	}
	return mapped
}

// Where returns the elements for which keep is true, in order. It leaves list unchanged.
func Where[T any](list []T, keep func(T) bool) []T {
	var found []T
	for _, v := range list {
		if keep(v) {
			found = append(found, v)
		}
	}
	return found
}

// Deref returns the value at p, zero if p is nil.
func Deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func texts[T ~string](values ...T) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return list
}
