package threads

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// ListComments calls take with the comments of an annotation whose ids are greater than after, by id, until take answers false or most
// were taken. more reports that there are others behind the last one taken. Strongly consistent. It fails with NOT_FOUND when the
// annotation does not exist.
func (s *Store) ListComments(ctx context.Context, doc collab.DocumentRef, ann string, after int64, most int,
	take func(*collab.Comment) bool,
) (more bool, err error) {
	head := headKey(doc, ann)
	q := store.Scan{PK: head.PK, Keys: threadSpan(head.SK).After(commentKey(doc, ann, after).SK), Limit: most + 1, Strong: true}
	taken, seen := 0, false
	for it, err := range s.Items(ctx, q) {
		if err != nil {
			return false, err
		}
		if _, _, err := table.ParseAnnotation(it.Text(table.SK)); err != nil {
			continue // of a later version
		}
		c, err := readComment(it)
		if err != nil {
			return false, store.Fail(ctx, err)
		}
		seen = true
		if taken == most || !take(&c) {
			return true, nil
		}
		taken++
	}
	if !seen { // an annotation without comments, or none
		it, err := s.Get(ctx, head)
		if err == nil && it == nil {
			err = annotationMissing(doc, ann)
		}
		return false, err
	}
	return false, nil
}
