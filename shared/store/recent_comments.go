package store

import (
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/table"
)

// RecentComments returns up to most of the comments of an annotation whose ids are less than before, the last of them, by id. An
// annotation that does not exist has none. Eventually consistent.
func (s *Store) RecentComments(ctx context.Context, doc collab.DocumentRef, ann string, before int64, most int) ([]collab.Comment, error) {
	headKey := table.Annotation(doc.Account, doc.Organization, doc.Document, ann)
	head, err := s.get(ctx, headKey)
	if err != nil || head == nil {
		return nil, err
	}
	items, _, err := s.queryPage(ctx, scan{
		pk: headKey.PK, newest: true, limit: 2 * most, // some may belong to a batch that died
		keys: span{headKey.SK + "#", table.Comment(doc.Account, doc.Organization, doc.Document, ann, before-1).SK},
	})
	if err != nil {
		return nil, err
	}
	var list []collab.Comment
	for _, it := range items {
		if len(list) == most || !visible(it, head) {
			continue
		}
		c, err := readComment(it)
		if err != nil {
			return nil, fail(ctx, err)
		}
		list = append(list, c)
	}
	slices.Reverse(list)
	return list, nil
}
