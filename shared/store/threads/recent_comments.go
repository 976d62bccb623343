package store

import (
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/table"
)

// RecentComments returns up to most of the comments of an annotation whose ids are less than before, the last of them, by id. An
// annotation that does not exist has none. The latest of them may be missing for a second.
func (s *Store) RecentComments(ctx context.Context, doc collab.DocumentRef, ann string, before int64, most int) ([]collab.Comment, error) {
	headKey := table.Annotation(doc.Account, doc.Organization, doc.Document, ann)
	head, err := s.get(ctx, headKey)
	if err != nil || head == nil {
		return nil, err
	}
	comment := func(id int64) string { return table.Comment(doc.Account, doc.Organization, doc.Document, ann, id).SK }
	q := scan{pk: headKey.PK, newest: true, limit: most, keys: span{comment(0), comment(before - 1)}}
	var list []collab.Comment
	for more := true; more && len(list) < most; {
		var items []item
		if items, more, err = s.queryPage(ctx, q); err != nil {
			return nil, err
		}
		for _, it := range items {
			c, err := readComment(it)
			if err != nil {
				return nil, fail(ctx, err)
			}
			q.keys.to = comment(c.ID - 1)
			if visible(it, head) && len(list) < most { // it may belong to a batch that died
				list = append(list, c)
			}
		}
	}
	slices.Reverse(list)
	return list, nil
}
