package outbox

import (
	"context"
	"encoding/json"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// progressItem is how far the delivery of an event has come.
type progressItem struct {
	Stage  collab.Stage    `dynamodbav:"stg"`
	Cursor string          `dynamodbav:"cur"`
	Due    collab.Millis   `dynamodbav:"due"` // 0: where the event says
	Work   collab.WorkKind `dynamodbav:"kind"`
}

// Pending reads an event of the outbox and how far its delivery has come, in one call; NOT_FOUND when it is not there or no more. The progress
// is known of an event too that can't be read: collab.ErrUnreadable.
func (s *Store) Pending(ctx context.Context, ref collab.EventRef) (ev *collab.Event, p collab.Progress, err error) {
	k, mark := table.Event(ref.Account, ref.ID), table.EventMark(ref.Account, ref.ID, table.ProgressMark)
	items, err := s.Query(ctx, store.Scan{PK: k.PK, Keys: store.Span{From: k.SK, To: mark.SK}, Strong: true})
	if err != nil {
		return nil, p, err
	}
	var at progressItem
	if n := len(items) - 1; n >= 0 && items[n].Key() == mark {
		if err := items[n].Decode(&at); err != nil {
			return nil, p, err
		}
		items = items[:n]
	}
	p = collab.Progress{Stage: at.Stage, Cursor: at.Cursor, Due: at.Due, Work: at.Work}
	if p.Due == 0 && len(items) > 0 {
		p.Due = items[0].Number(table.DueAt)
	}
	ev, err = readEvent(k, items)
	return ev, p, err
}

// progress is the write of how far an event's delivery has come; condition nil is none.
func (s *Store) progress(ref collab.EventRef, u expression.UpdateBuilder, condition *expression.ConditionBuilder) (store.Write, error) {
	return s.update(table.EventMark(ref.Account, ref.ID, table.ProgressMark), s.keepUntilExpiry(u), condition)
}

// Advance moves the delivery of an event on from one stage to another, and its pending work when that is due at another time then. It
// reports false, and nothing has changed, when the delivery is at a third stage by now: another run has moved it on. Where it is at to
// already, it may have been this call, whose answer was lost; so that is success.
func (s *Store) Advance(ctx context.Context, ref collab.EventRef, from, to collab.Progress) (bool, error) {
	stage, cursor := expression.Name(table.Stage), expression.Name(table.Cursor)
	condition := expression.AttributeNotExists(stage)
	if from.Stage != collab.StageNew {
		condition = stage.Equal(expression.Value(string(from.Stage))).And(cursor.Equal(expression.Value(from.Cursor)))
	}
	var u expression.UpdateBuilder
	if to.Stage != collab.StageNew {
		u = u.Set(stage, expression.Value(string(to.Stage))).Set(cursor, expression.Value(to.Cursor))
	}
	moves := to.Due != from.Due || to.Work != from.Work
	if moves {
		u = u.Set(expression.Name(table.DueAt), expression.Value(to.Due)).Set(expression.Name(table.WorkKind), expression.Value(string(to.Work)))
	}
	place, err := s.progress(ref, u, &condition)
	if err != nil {
		return false, err
	}
	writes := []store.Write{place}
	if moves {
		work, err := s.encodeWork(pendingWork(ref, to))
		if err != nil {
			return false, err
		}
		writes = append(writes, s.Remove(workKey(pendingWork(ref, from))), s.Replace(work))
	}
	refused, err := s.Write(ctx, writes...)
	if err != nil || refused == nil {
		return err == nil, err
	}
	var at progressItem
	err = refused.Of[0].There.Decode(&at)
	return at.Stage == to.Stage && at.Cursor == to.Cursor, err
}

// Finish marks the delivery of an event as done and deletes its pending work.
func (s *Store) Finish(ctx context.Context, ref collab.EventRef, p collab.Progress) error {
	if p.Stage != collab.StageDone {
		done, err := s.progress(ref, expression.Set(expression.Name(table.Stage), expression.Value(string(collab.StageDone))), nil)
		if err != nil {
			return err
		}
		if _, err := s.Write(ctx, done); err != nil {
			return err
		}
	}
	return s.Delete(ctx, workKey(pendingWork(ref, p)))
}

// RecipientPage reads the page of an event's recipients that begins at a cursor; nil when it has not been worked out.
func (s *Store) RecipientPage(ctx context.Context, ref collab.EventRef, cursor string) (*collab.RecipientPage, error) {
	it, err := s.Get(ctx, table.EventMark(ref.Account, ref.ID, table.RecipientPageMark+cursor))
	if err != nil || it == nil {
		return nil, err
	}
	return readRecipientPage(it)
}

func readRecipientPage(it store.Item) (*collab.RecipientPage, error) {
	var c collab.RecipientPage
	if err := json.Unmarshal([]byte(it.Text(table.Body)), &c); err != nil {
		return nil, store.Unreadable(it.Key(), err)
	}
	return &c, nil
}

// KeepRecipientPage keeps a page of an event's recipients, unless it was kept before, and returns the one that is kept.
func (s *Store) KeepRecipientPage(ctx context.Context, ref collab.EventRef, cursor string, c *collab.RecipientPage) (*collab.RecipientPage, error) {
	body, err := collab.EncodeJSON(c)
	if err != nil {
		return nil, store.Fail(ctx, err)
	}
	it, err := store.Encode(table.EventMark(ref.Account, ref.ID, table.RecipientPageMark+cursor), eventItem{Body: body, Expires: expiry(s.Millis())})
	if err != nil {
		return nil, err
	}
	there, err := s.PutNew(ctx, it)
	if err != nil || there == nil {
		return c, err
	}
	return readRecipientPage(there)
}

// Backlog records whether a queue is long at the moment, and returns since when it has been without a break; 0 when it is not.
func (s *Store) Backlog(ctx context.Context, queue string, long bool) (collab.Millis, error) {
	k := table.Backlog(queue)
	if !long {
		return 0, s.Delete(ctx, k)
	}
	at := expression.Name(table.StartedAt)
	w, err := s.update(k, expression.Set(at, expression.IfNotExists(at, expression.Value(s.Millis()))), nil)
	if err != nil {
		return 0, err
	}
	it, _, err := s.WriteOne(ctx, w, types.ReturnValueAllNew)
	return it.Number(table.StartedAt), err
}
