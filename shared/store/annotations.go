package store

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	"collabdata/shared/collab"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// tries is how often an update is computed anew because others wrote in between.
const tries = 5

// AddAnnotation adds an annotation with its comments to a document, and records the events, as a whole or not at all.
// The thread's comments have distinct ids. mark stands for the request: when the annotation is there and carries the same
// mark, an earlier try of this request added it and the call succeeds. It fails with ALREADY_EXISTS when an annotation with this id is
// there, INVALID_ARGUMENT when the head or a comment is larger than collab.MaxItemBytes, and ABORTED when another request is adding the
// same comments, or did so lately and died; then nothing has changed.
func (s *Store) AddAnnotation(ctx context.Context, doc collab.DocumentRef, t *collab.Thread, mark string, events ...*collab.Event) error {
	t.Rev = 1
	head := headItem(doc, &t.Annotation)
	head[table.AddedBy] = str(mark)
	comments, inOne, err := newComments(doc, t.ID, t.Comments, mark)
	if err != nil {
		return err
	}
	var batch []item
	if !inOne {
		batch, comments = comments, nil
		head[table.Batches] = &types.AttributeValueMemberSS{Value: []string{mark}}
	}
	if err := checkSize(head, "the annotation"); err != nil {
		return err
	}
	outbox, err := s.record(ctx, events)
	if err != nil {
		return err
	}
	look := newItem(table.AnnotationID(doc.Account, doc.Organization, t.ID, doc.Document))
	writes := []types.TransactWriteItem{putNew(s.table, head), {Put: &types.Put{TableName: &s.table, Item: look}}}
	for _, c := range comments {
		writes = append(writes, putNew(s.table, c))
	}
	writes = append(writes, outbox...)

	exists := collab.Errorf(collab.AlreadyExists, "annotation %q already exists in document %q", t.ID, doc.Document)
	if batch != nil {
		there, err := s.get(ctx, head.key())
		switch {
		case err != nil:
			return err
		case there.text(table.AddedBy) == mark:
			return nil
		case there != nil:
			return exists
		}
	}
	for n := 0; ; n++ {
		blocking, err := s.putBatch(ctx, nil, batch, mark)
		if err != nil {
			return err
		}
		if blocking == nil {
			refused, err := s.transact(ctx, writes)
			if err != nil || refused == nil {
				return err // on an error the batch stays: the head may have been written
			}
			if there := item(refused[0].Item); there != nil {
				if there.text(table.AddedBy) == mark {
					return nil
				}
				s.dropBatch(ctx, batch)
				return exists
			}
			blocking = olds(refused)
		}
		if n == tries {
			return unfinished()
		}
		if err := s.clearAbandoned(ctx, head.key(), blocking); err != nil {
			return err
		}
	}
}

// UpdateAnnotation reads an annotation strongly consistent, with its comments when asked, has change change it, and writes the
// attributes that differ, on condition that nobody wrote in between; else it starts anew, five times, then ABORTED. change may be
// called several times: it must depend on its argument alone. It returns the events to record; an error of its ends the
// update. Comments keep their ids and their number. mark stands for the request. It fails with NOT_FOUND when the annotation does not
// exist, and INVALID_ARGUMENT when the head or a comment would be too large.
//
// Up to transactComments changed comments are written with the head in one transaction. With more, comments go first in
// transactions of their own, the head last: a call that dies in between leaves comments that were changed already.
func (s *Store) UpdateAnnotation(ctx context.Context, doc collab.DocumentRef, id, mark string, withComments bool,
	change func(*collab.Thread) ([]*collab.Event, error),
) error {
	for n := 0; ; n++ {
		head, comments, err := s.readForUpdate(ctx, doc, id, withComments)
		if err != nil {
			return err
		}
		if head.writtenBy(mark) {
			return nil // an earlier try, whose answer was lost
		}
		done, err := s.tryUpdate(ctx, doc, head, comments, mark, change)
		if err != nil || done {
			return err
		}
		if n+1 == tries || !s.backoff(ctx, n) {
			return collab.Errorf(collab.Aborted, "others are writing annotation %q: try again", id)
		}
	}
}

// readForUpdate reads the head of an annotation, and its visible comments when asked.
func (s *Store) readForUpdate(ctx context.Context, doc collab.DocumentRef, id string, withComments bool) (head item, comments []item, err error) {
	k := table.Annotation(doc.Account, doc.Organization, doc.Document, id)
	if withComments {
		items, err := s.query(ctx, scan{pk: k.PK, keys: threadSpan(k.SK), strong: true})
		if err != nil {
			return nil, nil, err
		}
		if len(items) > 0 && items[0].key() == k {
			head = items[0]
			for _, it := range items[1:] {
				if visible(it, head) {
					comments = append(comments, it)
				}
			}
		}
	} else if head, err = s.get(ctx, k); err != nil {
		return nil, nil, err
	}
	if head == nil {
		return nil, nil, annotationMissing(doc, id)
	}
	return head, comments, nil
}

func annotationMissing(doc collab.DocumentRef, id string) error {
	return collab.Errorf(collab.NotFound, "annotation %q does not exist in document %q", id, doc.Document)
}

// tryUpdate is one try of UpdateAnnotation; done is false when others wrote in between.
func (s *Store) tryUpdate(ctx context.Context, doc collab.DocumentRef, head item, comments []item, mark string,
	change func(*collab.Thread) ([]*collab.Event, error),
) (done bool, err error) {
	t := collab.Thread{Document: doc.Document}
	if t.Annotation, err = readHead(head); err != nil {
		return false, fail(ctx, err)
	}
	for _, it := range comments {
		c, err := readComment(it)
		if err != nil {
			return false, fail(ctx, err)
		}
		t.Comments = append(t.Comments, c)
	}
	events, err := change(&t)
	if err != nil {
		return false, err
	}
	var changes []rewritten
	for i, before := range comments {
		if before.writtenBy(mark) {
			continue // by an earlier try
		}
		after := commentItem(doc, t.ID, &t.Comments[i]).keepOurs(before)
		if maps.EqualFunc(before, after, equal) {
			continue
		}
		after.setNum(table.Rev, before.num(table.Rev)+1)
		after.sign(mark)
		if err := checkSize(after, "comment "+strconv.FormatInt(t.Comments[i].ID, 10)); err != nil {
			return false, err
		}
		changes = append(changes, rewritten{before, after})
	}
	t.Rev++
	after := headItem(doc, &t.Annotation).keepOurs(head)
	after.sign(mark)
	if err := checkSize(after, "the annotation"); err != nil {
		return false, err
	}
	outbox, err := s.record(ctx, events)
	if err != nil {
		return false, err
	}
	for n := inOne(changes); n < len(changes); n = inOne(changes) {
		if refused, err := s.transact(ctx, s.onRev(changes[:n])); err != nil || refused != nil {
			return false, err
		}
		changes = changes[n:]
	}
	writes := append(s.onRev(append(changes, rewritten{head, after})), outbox...)
	if len(writes) > 1 {
		refused, err := s.transact(ctx, writes)
		return refused == nil && err == nil, err
	}
	u := writes[0].Update
	_, err = s.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: u.TableName, Key: u.Key, UpdateExpression: u.UpdateExpression, ConditionExpression: u.ConditionExpression,
		ExpressionAttributeNames: u.ExpressionAttributeNames, ExpressionAttributeValues: u.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: u.ReturnValuesOnConditionCheckFailure,
	})
	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return item(refused.Item).writtenBy(mark), nil // by an attempt whose answer was lost
	}
	return err == nil, fail(ctx, err)
}

// rewritten is a stored item and what an update makes of it.
type rewritten struct{ before, after item }

// inOne returns how many of the changed comments one transaction takes, from the first on.
func inOne(changes []rewritten) int {
	bytes := 0
	for i, c := range changes {
		bytes += max(c.before.size(), c.after.size())
		if i == transactComments || i > 0 && bytes > transactBytes {
			return i
		}
	}
	return len(changes)
}

// onRev returns the writes that make each item into what it shall be, on condition that its rev is as it was read.
func (s *Store) onRev(changes []rewritten) []types.TransactWriteItem {
	writes := make([]types.TransactWriteItem, len(changes))
	for i, c := range changes {
		e := newExpression()
		update := e.difference(c.before, c.after)
		condition := e.name(table.Rev) + " = " + e.value(c.before[table.Rev])
		writes[i].Update = &types.Update{
			TableName: &s.table, Key: keyOf(c.before.key()), UpdateExpression: &update, ConditionExpression: &condition,
			ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}
	}
	return writes
}

// threadSpan is the span of a head and its comments.
func threadSpan(headSK string) span { return span{headSK, headSK + table.AfterComments} }

// SelectAnnotations returns the ids of a document's annotations that a selector names: in the order asked when it names ids, else by
// id. missing holds those of the ids that do not exist. More than most is RESOURCE_EXHAUSTED.
//
// Without a location or creator it sees every acknowledged write. With one it reads an index, which may lag by a second, and the
// caller checks the selector once more on what it reads.
func (s *Store) SelectAnnotations(ctx context.Context, doc collab.DocumentRef, sel collab.Selector, most int) (ids, missing []string, err error) {
	switch {
	case sel.IDs != nil:
		ids, missing, err = s.selectIDs(ctx, doc, sel)
	case sel.Locations != nil || sel.Creators != nil:
		ids, err = s.selectIndexed(ctx, doc, sel, most)
	default:
		ids, err = s.selectAll(ctx, doc, most)
	}
	if err == nil && len(ids) > most {
		err = collab.Errorf(collab.FailedPrecondition,
			"the request selects more than %d annotations: narrow it, by annotationIds for example", most)
	}
	return ids, missing, err
}

func (s *Store) selectIDs(ctx context.Context, doc collab.DocumentRef, sel collab.Selector) (ids, missing []string, err error) {
	keys := make([]table.Key, len(sel.IDs))
	for i, id := range sel.IDs {
		keys[i] = table.Annotation(doc.Account, doc.Organization, doc.Document, id)
	}
	found, err := s.getAll(ctx, keys, true, table.PK, table.SK, table.Location, table.Creator)
	if err != nil {
		return nil, nil, err
	}
	for i, id := range sel.IDs {
		switch it := found[keys[i]]; {
		case it == nil:
			missing = append(missing, id)
		case (sel.Locations == nil || slices.Contains(sel.Locations, it.text(table.Location))) &&
			(sel.Creators == nil || slices.Contains(sel.Creators, it.text(table.Creator))):
			ids = append(ids, id)
		}
	}
	return ids, missing, nil
}

func (s *Store) selectIndexed(ctx context.Context, doc collab.DocumentRef, sel collab.Selector, most int) ([]string, error) {
	index, values, partition := table.IndexIn, sel.Locations, table.LocationPartition
	if values == nil {
		index, values, partition = table.IndexBy, sel.Creators, table.CreatorPartition
	}
	var ids []string
	for _, v := range values {
		q := scan{
			index: index, pk: partition(doc.Account, doc.Organization, v), keys: children(table.Escape(doc.Document) + "#"),
		}
		for more := true; more && len(ids) <= most; {
			var items []item
			var err error
			if items, more, err = s.queryPage(ctx, q); err != nil {
				return nil, err
			}
			for _, it := range items {
				q.keys = q.keys.after(it.text(table.DocAnn))
				if sel.Locations != nil && sel.Creators != nil && !slices.Contains(sel.Creators, it.text(table.Creator)) {
					continue
				}
				id, _, err := table.ParseAnnotation(it.text(table.SK))
				if err != nil {
					return nil, fail(ctx, err)
				}
				ids = append(ids, id)
			}
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(table.Escape(a), table.Escape(b)) })
	return slices.Compact(ids), nil // the index may show one that moves between two values under both
}

// selectAll lists the heads of a document from the table itself, and jumps over comments: what is read of a long thread is thrown away, so
// the reads grow while threads are short, and begin small again behind a long one.
func (s *Store) selectAll(ctx context.Context, doc collab.DocumentRef, most int) ([]string, error) {
	const (
		smallest = 25     // items of a read
		largest  = 10_000 // more than 1 MB holds
	)
	q := scan{
		pk:   table.DocumentPartition(doc.Account, doc.Organization, doc.Document),
		keys: children(table.Annotations), limit: smallest, strong: true, project: []string{table.SK},
	}
	var ids []string
	for more := true; more && len(ids) <= most; {
		var items []item
		var err error
		if items, more, err = s.queryPage(ctx, q); err != nil {
			return nil, err
		}
		heads := 0
		for _, it := range items {
			id, comment, err := table.ParseAnnotation(it.text(table.SK))
			if err != nil {
				return nil, fail(ctx, err)
			}
			if comment == 0 {
				ids = append(ids, id)
				heads++
			}
			q.keys = q.keys.after(threadSpan(table.Annotations + table.Escape(id)).to)
		}
		if q.limit = min(2*q.limit, largest); heads < len(items)/smallest {
			q.limit = smallest
		}
	}
	return ids, nil
}

func olds(reasons []types.CancellationReason) []item {
	var list []item
	for _, r := range reasons {
		if aws.ToString(r.Code) == "ConditionalCheckFailed" && r.Item != nil {
			list = append(list, r.Item)
		}
	}
	return list
}
