package outbox

import (
	"cmp"
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// workItem is a pending event or mail; its key says which, and since when.
type workItem struct {
	Moves   int64         `dynamodbav:"try"`
	Next    collab.Millis `dynamodbav:"next"`
	Expires int64         `dynamodbav:"ttl"`
}

func workKey(kind collab.WorkKind, w collab.Work) table.Key {
	return table.Work(string(kind), w.Account, w.Since, w.ID)
}

func (s *Store) encodeWork(kind collab.WorkKind, w collab.Work) (store.Item, error) {
	return store.Encode(workKey(kind, w), workItem{w.Moves, w.Next, expiry(s.Millis())})
}

// pendingWork is the key of the pending work of an event, at any stage of its delivery.
func pendingWork(ref collab.EventRef, p collab.Progress) (collab.WorkKind, collab.Work) {
	return cmp.Or(p.Work, collab.EventWork), collab.Work{EventRef: ref, Since: p.Due, Next: p.Due}
}

// Work returns up to most entries of a shard of the pending work of a kind, 0 to table.DueShards-1, by account, in each the oldest first, from a
// position on, "" for the first; and the position behind them, "" for none. Entries that can't be read are passed over, and told to skip.
// Eventually consistent.
func (s *Store) Work(ctx context.Context, kind collab.WorkKind, shard int, from string, most int, skip func(error)) (list []collab.Work, next string, err error) {
	items, more, err := s.QueryPage(ctx, store.Scan{
		PK: table.WorkPartition(string(kind), shard), Keys: store.Span{From: max(from, store.Everything.From)}, Limit: most,
	})
	if err != nil {
		return nil, "", err
	}
	for _, it := range items {
		w, err := readWork(kind, it)
		if err != nil {
			skip(err)
		} else if w.Next != 0 {
			list = append(list, w)
		}
		next = it.Text(table.SK) + "\x00"
	}
	if !more {
		next = ""
	}
	return list, next, nil
}

func readWork(kind collab.WorkKind, it store.Item) (w collab.Work, err error) {
	if kind == collab.LaneWork {
		var l laneItem
		if w.Account, w.ID, err = table.ParseLane(it.Text(table.SK)); err == nil {
			err = it.Decode(&l)
		}
		w.Next, w.Since = l.Next, l.Next
		if l.Since != 0 {
			w.Since = l.Since
		}
	} else {
		var stored workItem
		if w.Account, w.Since, w.ID, err = table.ParseWork(it.Text(table.SK)); err == nil {
			err = it.Decode(&stored)
		}
		w.Moves, w.Next, w.Expires = stored.Moves, stored.Next, stored.Expires*1000
	}
	if err != nil {
		return w, store.Unreadable(it.Key(), err)
	}
	return w, nil
}

// MoveWork moves a pending event or mail on: it is sent again at a later time. It reports false when another run of the relay has moved it,
// or it is done.
func (s *Store) MoveWork(ctx context.Context, kind collab.WorkKind, w collab.Work, to collab.Millis) (bool, error) {
	next, mark := expression.Name(table.Next), s.NewMark()
	same := next.Equal(expression.Value(w.Next))
	write, err := s.update(workKey(kind, w), expression.Set(next, expression.Value(to)).
		Set(expression.Name(table.Writer), expression.Value(mark)).Add(expression.Name(table.Attempts), expression.Value(1)), &same)
	if err != nil {
		return false, err
	}
	refused, err := s.Write(ctx, write)
	return err == nil && (refused == nil || refused.By(mark)), err
}

// DropWork deletes a pending event or mail.
func (s *Store) DropWork(ctx context.Context, kind collab.WorkKind, w collab.Work) error {
	return s.Delete(ctx, workKey(kind, w))
}
