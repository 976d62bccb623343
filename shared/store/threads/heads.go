package threads

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// Heads returns up to limit annotations of a document without comments after a position, last
// updated first. next is the position to continue at, "" at the end. It reads an index, which may
// lag by a second.
func (s *Store) Heads(
	ctx context.Context, doc collab.DocumentRef, after string, limit int,
) (list []collab.Annotation, next string, err error) {
	read := limit
	if after != "" {
		read++ // the span ends with it
	}
	keysBefore := store.Span{From: store.Everything.From, To: after}
	items, more, err := s.QueryPage(ctx, store.Scan{
		Index: keys.IndexUpd, PK: keys.DocumentPartition(doc), Keys: keysBefore, Limit: read, Newest: true,
	})
	if err != nil {
		return nil, "", err
	}
	var itemKeys []keys.Key
	for _, it := range items {
		if next = it.Text(keys.Upd); next != after {
			itemKeys = append(itemKeys, it.Key())
		}
	}
	if !more {
		next = ""
	}
	found, err := s.GetAll(ctx, itemKeys, false)
	if err != nil {
		return nil, "", err
	}
	for _, k := range itemKeys {
		if found[k] == nil {
			continue // deleted meanwhile
		}
		a, err := readHead(found[k])
		if err != nil {
			return nil, "", err
		}
		list = append(list, a)
	}
	return list, next, nil
}

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
