package deletion

// Bound limits a request and a step of a job.
func (s *Store) Bound(deleted, together int) { s.bounds.deleted, s.bounds.together = deleted, together }
