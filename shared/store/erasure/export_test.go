package erasure

// Bound makes small what a step reads, and in how many organizations a request itself ends the access.
func (s *Store) Bound(queries, organizations int) { s.most, s.inOne = queries, organizations }
