package threads

import (
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// RecentComments returns up to most of the comments of an annotation whose ids are less than before, the last of them, by id. An
// annotation that does not exist has none. The latest of them may be missing for a second.
func (s *Store) RecentComments(ctx context.Context, doc collab.DocumentRef, ann string, before int64, most int) ([]collab.Comment, error) {
	first := commentKey(doc, ann, 0)
	q := store.Scan{PK: first.PK, Newest: true, Keys: store.Span{From: first.SK, To: commentKey(doc, ann, before-1).SK}, Limit: most}
	var list []collab.Comment
	for it, err := range s.Items(ctx, q) {
		if err != nil {
			return nil, err
		}
		if _, _, err := table.ParseAnnotation(it.Text(table.SK)); err != nil {
			continue // of a later version
		}
		c, err := readComment(it)
		if err != nil {
			return nil, store.Fail(ctx, err)
		}
		if list = append(list, c); len(list) == most {
			break
		}
	}
	slices.Reverse(list)
	return list, nil
}
