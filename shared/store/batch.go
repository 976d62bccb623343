package store

import (
	"context"
	"errors"
	"slices"
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

// batchLife is the time after which a batch that has not ended never will: far longer than any request may take.
const batchLife = 15 * time.Minute

// unfinished is the failure of a write that meets what a batch under way, or one that died lately, has put.
func unfinished() error {
	return &collab.Error{
		Code: collab.Aborted, Message: "another request is adding the same comments: try again", RetryAfter: time.Minute,
	}
}

// putBatch puts the comments of an annotation with the batch's mark. It fails with ALREADY_EXISTS when the thread has one of them,
// and takes back what it has put.
func (s *Store) putBatch(ctx context.Context, head table.Key, comments []item, mark string) error {
	err := each(ctx, len(comments), func(ctx context.Context, i int) error {
		comments[i][table.Batch] = str(mark)
		for n := 0; ; n++ {
			old, err := s.putComment(ctx, comments[i])
			if err != nil || old == nil || old.text(table.Batch) == mark {
				return err
			}
			if n == tries {
				return unfinished()
			}
			if err := s.clearAbandoned(ctx, head, []item{old}); err != nil {
				return err
			}
		}
	})
	if err != nil {
		s.dropBatch(ctx, comments, mark)
	}
	return err
}

// putComment puts a comment unless there is one with its key, which it then returns.
func (s *Store) putComment(ctx context.Context, comment item) (old item, err error) {
	put := putNew(s.table, comment).Put
	for n := 0; ; n++ {
		_, err := s.db.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: put.TableName, Item: put.Item, ConditionExpression: put.ConditionExpression,
			ReturnValuesOnConditionCheckFailure: put.ReturnValuesOnConditionCheckFailure,
		})
		if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
			return refused.Item, nil
		}
		if err == nil || !isConflict(err) || !s.backoff(ctx, n) {
			return nil, fail(ctx, err)
		}
	}
}

// dropBatch deletes what a failed batch has put, as far as that is possible: what stays is never shown.
func (s *Store) dropBatch(ctx context.Context, comments []item, mark string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reserve)
	defer cancel()
	var wg sync.WaitGroup
	slots := make(chan struct{}, concurrency)
	for _, c := range comments {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			_ = s.deleteOfBatch(ctx, c.key(), mark)
		})
	}
	wg.Wait()
}

func (s *Store) deleteOfBatch(ctx context.Context, k table.Key, mark string) error {
	condition := table.Batch + " = :mark"
	_, err := s.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &s.table, Key: keyOf(k), ConditionExpression: &condition,
		ExpressionAttributeValues: map[string]types.AttributeValue{":mark": str(mark)},
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
		ann, id, err := table.ParseAnnotation(c.text(table.SK))
		if err != nil {
			return fail(ctx, err)
		}
		mark := c.text(table.Batch)
		if mark == "" || slices.Contains(h.set(table.Batches), mark) {
			return collab.Errorf(collab.AlreadyExists, "comment %d already exists in annotation %q", id, ann)
		}
		if s.now().Sub(collab.MarkTime(mark)) < batchLife {
			return unfinished()
		}
		if err := s.deleteOfBatch(ctx, c.key(), mark); err != nil {
			return err
		}
	}
	return nil
}
