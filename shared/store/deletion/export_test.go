package deletion

// Bound makes small what a request and a step of a job do at most.
func (s *Store) Bound(deleted, together int) { s.bounds.deleted, s.bounds.together = deleted, together }
