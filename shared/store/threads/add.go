package threads

import (
	"context"
	"fmt"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// AddAnnotation adds an annotation with its comments to a document, and records the event, in one transaction: as a whole or not at all. The
// thread's comments have distinct ids. When the annotation is there and carries add.Mark, an earlier try of this request added it and the
// call succeeds. It fails with ALREADY_EXISTS when another annotation with this id is there; INVALID_ARGUMENT when the head or a comment is
// larger than collab.MaxItemBytes, or all together are than a transaction; and collab.ErrClaimRefused where add.Claim could not be made.
func (s *Store) AddAnnotation(ctx context.Context, doc collab.DocumentRef, t *collab.Thread, add collab.NewAnnotation) error {
	ctx, spread := s.watch(ctx, doc.OrganizationRef)
	defer spread()
	head := headItem(doc, &t.Annotation)
	head[table.AddedBy] = store.Text(add.Mark)
	if err := s.setTimeKey(ctx, head, doc, t.ID, t.Latest()); err != nil {
		return err
	}
	if err := store.CheckSize(head, add.Field); err != nil {
		return err
	}
	look := store.NewItem(table.AnnotationID(doc.Account, doc.Organization, t.ID, doc.Document))
	writes := []store.Write{s.Create(head), s.Replace(look)}
	comments, err := s.newComments(doc, t.ID, t.Comments, add.Mark, add.Field+".commentData")
	if err != nil {
		return err
	}
	if bytes(comments)+head.Size() > store.MaxWriteBytes {
		return tooMuch(add.Field)
	}
	for _, c := range comments {
		writes = append(writes, s.Create(c))
	}
	refused, known, err := s.commit(ctx, writes, add.Event, add.Claim)
	switch {
	case err != nil || refused == nil:
		return err
	case refused.Of[0].There.Text(table.AddedBy) == add.Mark:
		return nil
	case known:
		return collab.ErrClaimRefused
	}
	return collab.Errorf(collab.AlreadyExists, "annotation %q already exists in document %q", t.ID, doc.Document)
}

// AddAnnotations is AddAnnotation for several, side by side. The failures are in their order, nil for success.
func (s *Store) AddAnnotations(ctx context.Context, doc collab.DocumentRef, list []*collab.Thread, adds []collab.NewAnnotation) []error {
	errs := make([]error, len(list))
	store.All(len(list), func(i int) { errs[i] = s.AddAnnotation(ctx, doc, list[i], adds[i]) })
	return errs
}

// newComments returns the stored forms of comments that a request adds in a field.
func (s *Store) newComments(doc collab.DocumentRef, ann string, comments []collab.Comment, mark, field string) ([]store.Item, error) {
	items := make([]store.Item, len(comments))
	for i := range comments {
		var err error
		if items[i], err = commentItem(doc, ann, &comments[i], fmt.Sprintf("%s[%d]", field, i)); err != nil {
			return nil, err
		}
		items[i][table.AddedBy] = store.Text(mark)
	}
	return items, nil
}

func bytes(items []store.Item) (n int) {
	for _, it := range items {
		n += it.Size()
	}
	return n
}

// tooMuch is the failure of an add of what a field holds that no transaction takes.
func tooMuch(field string) error {
	return collab.FieldErrorf(field, "is too large: at most %d bytes stored in one call; send the rest by comments add", store.MaxWriteBytes)
}

// commit carries out the writes of an add with those that record its event and make the claim of its Idempotency-Key, nil for none: all or none.
// known says that the claim was refused, as the key is known.
func (s *Store) commit(ctx context.Context, writes []store.Write, ev *collab.Event, claim *collab.IdempotencyClaim) (refused *store.Refusal, known bool, err error) {
	outbox, err := s.Outbox.Record(ctx, ev)
	if err != nil {
		return nil, false, err
	}
	writes = append(writes, outbox...)
	if claim != nil {
		writes = append(writes, s.Directory.ClaimWrite(*claim))
	}
	refused, err = s.Write(ctx, writes...)
	return refused, claim != nil && refused != nil && refused.Of[len(writes)-1].Refused, err
}
