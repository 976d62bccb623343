package erasure

// Bound limits the queries of a step, and the organizations in which a request ends access itself.
func (s *Store) Bound(queries, organizations int) { s.queries, s.inOne = queries, organizations }

// Look limits the items and bytes that one call of Collect looks at.
func (s *Store) Look(items, bytes int) { s.looked, s.lookedBytes = items, bytes }
