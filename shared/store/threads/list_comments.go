package store

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/table"
)

// ListComments calls take with the comments of an annotation whose ids are greater than after, by id, until take answers false or most
// were taken. more reports that there are others behind the last one taken. Strongly consistent. It fails with NOT_FOUND when the
// annotation does not exist.
func (s *Store) ListComments(ctx context.Context, doc collab.DocumentRef, ann string, after int64, most int,
	take func(*collab.Comment) bool,
) (more bool, err error) {
	headKey := table.Annotation(doc.Account, doc.Organization, doc.Document, ann)
	head, err := s.get(ctx, headKey)
	if err != nil {
		return false, err
	}
	if head == nil {
		return false, annotationMissing(doc, ann)
	}
	keys := threadSpan(headKey.SK).after(table.Comment(doc.Account, doc.Organization, doc.Document, ann, after).SK)
	for taken := 0; ; {
		items, goesOn, err := s.queryPage(ctx, scan{pk: headKey.PK, keys: keys, limit: most - taken + 1, strong: true})
		if err != nil {
			return false, err
		}
		for _, it := range items {
			keys = keys.after(it.text(table.SK))
			if !visible(it, head) {
				continue
			}
			c, err := readComment(it)
			if err != nil {
				return false, fail(ctx, err)
			}
			if taken == most || !take(&c) {
				return true, nil
			}
			taken++
		}
		if !goesOn {
			return false, nil
		}
	}
}
