package erasure

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"
)

// Bound makes small how often a step asks for what it looks at.
func (s *Store) Bound(queries int) { s.queries = queries }

// Steps reads what a pass of a job reads, and returns for each of its steps how large the items were, and where it would go on.
func (s *Store) Steps(ctx context.Context, acct string, e outbox.JobErasure) (sizes []int, positions []string, err error) {
	r := s.newRun(&outbox.Job{Account: acct, Erasure: &e}, nil)
	for left := []place{{Kind: anAccount}}; len(left) > 0; {
		var found []store.Item
		if found, left, err = r.read(ctx, left); err != nil {
			return nil, nil, err
		}
		size := 0
		for _, it := range found {
			size += it.Size()
		}
		position, err := collab.EncodeJSON(left)
		if err != nil {
			return nil, nil, err
		}
		sizes, positions = append(sizes, size), append(positions, string(position))
	}
	return sizes, positions, nil
}
