package threads

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// DocumentsWith returns up to limit documents of an organization with an annotation of an id, also
// if the annotation was deleted within LeftFor or with its document. It reads with strong
// consistency.
func (s *Store) DocumentsWith(ctx context.Context, org collab.OrganizationRef, ann string, limit int) ([]collab.DocumentRef, error) {
	items, _, err := s.QueryPage(ctx, store.Scan{PK: keys.AnnotationIDPartition(org, ann), Keys: store.Everything, Limit: limit, Strong: true})
	if err != nil {
		return nil, err
	}
	documents := make([]collab.DocumentRef, len(items))
	for i, it := range items {
		if documents[i], err = keys.ParseAnnotationID(org, it.Text(keys.SK)); err != nil {
			return nil, store.Unreadable(it.Key(), err)
		}
	}
	return documents, nil
}

// Head returns an annotation without its comments, with strong consistency. It returns NOT_FOUND if
// the annotation does not exist.
func (s *Store) Head(ctx context.Context, doc collab.DocumentRef, ann string) (a collab.Annotation, err error) {
	it, err := s.Get(ctx, headKey(doc, ann))
	if err == nil && it == nil {
		err = collab.NoAnnotation(doc, ann)
	}
	if err != nil {
		return a, err
	}
	return readHead(it)
}
