package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A batch is what does not fit into one transaction: its comments are put singly, each with the batch's mark, and are shown once the
// head lists the mark, which the last transaction sees to. What a batch that died left behind is never shown, and is cleared away
// when a later write meets it.

// What one transaction takes of comments, beside their head and its events.
const (
	transactComments = 90
	transactBytes    = 3_500_000
)

// batchLife is the time after which a comment of a batch that is not shown never will be: far longer than any request may take.
const batchLife = 15 * time.Minute

// newComments returns the stored forms of comments that a request adds, and whether they fit into one transaction.
func newComments(doc collab.DocumentRef, ann string, comments []collab.Comment, mark string) (items []item, inOne bool, err error) {
	bytes := 0
	items = make([]item, len(comments))
	for i := range comments {
		comments[i].Rev = 1
		items[i] = commentItem(doc, ann, &comments[i])
		items[i][table.AddedBy] = str(mark)
		if err := checkSize(items[i], fmt.Sprintf("commentData[%d]", i)); err != nil {
			return nil, false, err
		}
		bytes += items[i].size()
	}
	return items, len(items) <= transactComments && bytes <= transactBytes, nil
}

// putBatch puts the comments of a batch; head is the annotation's as last seen, nil for none. When there are others in the way, but for what
// a dead batch or an earlier try of the request left, it returns some of them, and an error for anything else; then it has taken back what
// it put, as far as that was possible.
func (s *Store) putBatch(ctx context.Context, head item, comments []item, mark string) (blocking []item, err error) {
	var mu sync.Mutex
	blocked := func(other item) bool {
		mu.Lock()
		defer mu.Unlock()
		if other != nil {
			blocking = append(blocking, other)
		}
		return blocking != nil
	}
	err = each(ctx, len(comments), func(ctx context.Context, i int) error {
		if blocked(nil) {
			return nil
		}
		comments[i][table.Batch] = str(mark)
		comments[i].setNum(table.BatchedAt, s.millis())
		other, err := s.putOfBatch(ctx, comments[i])
		ours := other.text(table.AddedBy) == comments[i].text(table.AddedBy) && !visible(other, head) // of an earlier try of the request
		if err == nil && other != nil && (ours || s.abandoned(other, head)) {
			if err = s.deleteOfBatch(ctx, other); err == nil {
				other, err = s.putOfBatch(ctx, comments[i])
			}
		}
		blocked(other)
		return err
	})
	if err != nil || blocking != nil {
		s.dropBatch(ctx, comments)
	}
	return blocking, err
}

// putOfBatch puts a comment of a batch unless there is another one with its key, which it then returns. What an earlier try of the same
// batch has put is put again: it is as young as this try.
func (s *Store) putOfBatch(ctx context.Context, comment item) (other item, err error) {
	e := newExpression()
	ours := e.name(table.Batch) + " = " + e.value(comment[table.Batch])
	condition := "attribute_not_exists(" + e.name(table.PK) + ") OR " + ours + " AND " + e.name(table.Rev) + " = " + e.value(comment[table.Rev])
	_, err = s.db.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.table, Item: comment, ConditionExpression: &condition,
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
	if !ok {
		return nil, fail(ctx, err)
	}
	if item(refused.Item).text(table.Batch) == comment.text(table.Batch) {
		return nil, nil // an earlier try came to its end, and the comment was changed since
	}
	return refused.Item, nil
}

// dropBatch deletes what a batch that failed for sure has put, as far as that is possible: what stays is never shown.
func (s *Store) dropBatch(ctx context.Context, comments []item) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reserve)
	defer cancel()
	_ = each(ctx, len(comments), func(ctx context.Context, i int) error {
		_ = s.deleteOfBatch(ctx, comments[i])
		return nil
	})
}

// deleteOfBatch deletes a comment of a batch if it is as it was put.
func (s *Store) deleteOfBatch(ctx context.Context, comment item) error {
	if comment[table.BatchedAt] == nil {
		return nil // it was not put
	}
	e := newExpression()
	condition := e.name(table.Batch) + " = " + e.value(comment[table.Batch]) +
		" AND " + e.name(table.BatchedAt) + " = " + e.value(comment[table.BatchedAt])
	_, err := s.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &s.table, Key: keyOf(comment.key()), ConditionExpression: &condition,
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
	})
	if isConditionFailed(err) {
		return nil
	}
	return fail(ctx, err)
}

// clearAbandoned deletes comments that stand in the way of a write and belong to batches that died. It fails with ALREADY_EXISTS when
// one of them is shown, and ABORTED when one is of a batch that may still be under way.
func (s *Store) clearAbandoned(ctx context.Context, head table.Key, blocking []item) error {
	h, err := s.get(ctx, head)
	if err != nil {
		return err
	}
	for _, c := range blocking {
		if visible(c, h) {
			ann, id, err := table.ParseAnnotation(c.text(table.SK))
			if err != nil {
				return fail(ctx, err)
			}
			return collab.Errorf(collab.AlreadyExists, "comment %d already exists in annotation %q", id, ann)
		}
		if !s.abandoned(c, h) {
			return unfinished()
		}
		if err := s.deleteOfBatch(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// abandoned reports whether a comment is of a batch that died, and will never be shown.
func (s *Store) abandoned(comment, head item) bool {
	return !visible(comment, head) && s.now().Sub(time.UnixMilli(comment.num(table.BatchedAt))) >= batchLife
}

// unfinished is the failure of a write that meets what a batch under way, or one that died lately, has put.
func unfinished() error {
	return &collab.Error{
		Code: collab.Aborted, Message: "another request is adding the same comments: try again", RetryAfter: time.Minute,
	}
}
