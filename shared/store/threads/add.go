package threads

import (
	"context"
	"fmt"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// AddAnnotation adds an annotation with its comments to a document, and records the event, in one transaction: as a whole or not at all. The
// thread's comments have distinct ids. When the annotation is there and carries add.Mark, an earlier try of this request added it and the
// call succeeds. It fails with ALREADY_EXISTS when another annotation with this id is there; INVALID_ARGUMENT when the head or a comment is
// larger than collab.MaxItemBytes, or all together are than a transaction; and collab.ErrClaimRefused where add.Claim could not be made.
func (s *Store) AddAnnotation(ctx context.Context, doc collab.DocumentRef, t *collab.Thread, add collab.NewAnnotation) error {
	head := headItem(doc, &t.Annotation)
	head[table.AddedBy] = store.Text(add.Mark)
	setTimeKey(head, doc, t.ID, t.Latest())
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

// AddComments adds comments to an annotation, and records the event if there is one, as a whole or not at all. It returns their ids in the
// order given. The annotation's lastUpdated moves to the latest of theirs and never back; the author of the first comment of an annotation
// without a creator becomes its creator. When the comments are there and carry the mark of add.IDs, an earlier try of this request added
// them and the call succeeds. It fails with NOT_FOUND when the annotation does not exist, ALREADY_EXISTS when it has a comment with a given
// id, INVALID_ARGUMENT when a comment is larger than collab.MaxItemBytes or all are than a transaction, and collab.ErrClaimRefused where
// add.Claim could not be made.
//
// The head is touched first, then the comments are put: see the package. A given id is looked for before, so that a call that is refused
// leaves the thread as it is.
func (s *Store) AddComments(ctx context.Context, doc collab.DocumentRef, ann string, add collab.NewComments) ([]int64, error) {
	a := &adding{s: s, doc: doc, ann: ann, add: add, mark: add.IDs.Mark()}
	if err := a.number(0); err != nil {
		return nil, err
	}
	if done, err := a.lookForGiven(ctx); done || err != nil {
		return a.ids(), err
	}
	latest := slices.MaxFunc(a.comments, func(x, y collab.Comment) int { return int(x.LastUpdated - y.LastUpdated) })
	before, err := s.touch(ctx, doc, ann, latest.LastUpdated, &a.comments[0])
	if err != nil {
		return nil, err
	}
	for range tries {
		done, err := a.put(ctx, before)
		if done || err != nil {
			return a.ids(), err
		}
	}
	return nil, store.ErrAborted(nameOf(ann))
}

// tries is how often generated ids are drawn anew because others took them.
const tries = 20

// adding is one AddComments under way.
type adding struct {
	s        *Store
	doc      collab.DocumentRef
	ann      string
	add      collab.NewComments
	mark     string
	comments []collab.Comment // with ids
	items    []store.Item
}

func (a *adding) ids() []int64 {
	ids := make([]int64, len(a.comments))
	for i, c := range a.comments {
		ids[i] = c.ID
	}
	return ids
}

func (a *adding) given(i int) bool { return a.add.Comments[i].ID != 0 }

// number gives the comments their ids; so many of those that would be generated first are taken.
func (a *adding) number(taken int64) (err error) {
	a.comments = slices.Clone(a.add.Comments)
	a.add.IDs.NumberComments(a.comments, taken)
	a.items, err = a.s.newComments(a.doc, a.ann, a.comments, a.mark, a.add.Field)
	if err == nil && bytes(a.items) > store.MaxWriteBytes {
		err = tooMuch(a.add.Field)
	}
	return err
}

// lookForGiven looks for comments with the ids that are given. done reports that an earlier try of the request has added all.
func (a *adding) lookForGiven(ctx context.Context) (done bool, err error) {
	var keys []table.Key
	for i := range a.comments {
		if a.given(i) {
			keys = append(keys, a.items[i].Key())
		}
	}
	found, err := a.s.GetAll(ctx, keys, true)
	if err != nil {
		return false, err
	}
	for i, c := range a.comments {
		if there := found[a.items[i].Key()]; there != nil {
			if there.Text(table.AddedBy) == a.mark {
				return true, a.recall(ctx)
			}
			return false, a.exists(c.ID)
		}
	}
	return false, nil
}

func (a *adding) exists(id int64) error {
	return collab.Errorf(collab.AlreadyExists, "comment %d already exists in annotation %q", id, a.ann)
}

// put puts the comments, with the event that their annotation as it was before makes of them. done is false when others took generated
// ids; then the comments have the next ones.
func (a *adding) put(ctx context.Context, before store.Item) (done bool, err error) {
	writes := make([]store.Write, len(a.items))
	for i, it := range a.items {
		writes[i] = a.s.Create(it)
	}
	var ev *collab.Event
	if a.add.Event != nil {
		head, err := readHead(before)
		if err != nil {
			return false, err
		}
		ev = a.add.Event(&head, a.comments)
	}
	refused, known, err := a.s.commit(ctx, writes, ev, a.add.Claim)
	if err != nil || refused == nil {
		return err == nil, err
	}
	next := int64(0)
	first := a.add.IDs.FirstCommentID(a.add.Comments)
	for i, c := range a.comments {
		switch there := refused.Of[i].There; {
		case there.Text(table.AddedBy) == a.mark:
			return true, a.recall(ctx)
		case refused.Of[i].Refused && a.given(i):
			return false, a.exists(c.ID)
		case refused.Of[i].Refused:
			next = max(next, c.ID-first+1)
		}
	}
	if known {
		return false, collab.ErrClaimRefused
	}
	return false, a.number(next)
}

// recall gives the comments the ids with which an earlier try of the request added them.
func (a *adding) recall(ctx context.Context) error {
	var generated []*int64
	for i := range a.comments {
		if !a.given(i) {
			generated = append(generated, &a.comments[i].ID)
		}
	}
	if len(a.comments) == 1 || generated == nil {
		return nil // they have the ids that were found
	}
	k := headKey(a.doc, a.ann)
	q := store.Scan{PK: k.PK, Keys: threadSpan(k.SK), Limit: 2 * len(a.comments), Strong: true, Project: []string{table.PK, table.SK, table.AddedBy}}
	q.Keys.From = commentKey(a.doc, a.ann, a.add.IDs.FirstCommentID(a.add.Comments)).SK
	for it, err := range a.s.Items(ctx, q) {
		if err != nil {
			return err
		}
		_, id, err := table.ParseAnnotation(it.Text(table.SK))
		if err != nil || it.Text(table.AddedBy) != a.mark || slices.ContainsFunc(a.add.Comments, func(c collab.Comment) bool { return c.ID == id }) {
			continue
		}
		*generated[0] = id
		if generated = generated[1:]; len(generated) == 0 {
			break
		}
	}
	return nil
}
