package outbox

import (
	"context"
	"errors"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// Kinds of pending work.
const (
	DueEvent    = "event" // an event whose delivery has not been marked as done
	DueDelivery = "hook"  // a delivery to a webhook endpoint
)

// DueShards is the number of parts that the pending work is spread over.
const DueShards = table.DueShards

// workItem is pending work; its key says what is to be done, and when.
type workItem struct {
	Moves   int64         `dynamodbav:"try"`
	Since   collab.Millis `dynamodbav:"at"`
	Expires int64         `dynamodbav:"ttl"`
}

// dueItem is pending work that was moved on so many times, which should have been done at since.
func dueItem(k table.Key, moves int64, since collab.Millis, expires int64) (store.Item, error) {
	return store.Encode(k, workItem{moves, since, expires})
}

func deliveryDue(ms collab.Millis, acct, hook, event string) table.Key {
	return table.Due(ms, DueDelivery, acct, table.Join(hook, event))
}

// Due returns up to most entries of a shard of the pending work, 0 to DueShards-1, that are due at the time until or before, earliest
// first. Eventually consistent.
func (s *Store) Due(ctx context.Context, shard int, until collab.Millis, most int) ([]collab.DueWork, error) {
	var list []collab.DueWork
	keys := store.Span{From: store.Everything.From, To: table.Time(until) + table.AfterChildren}
	for more := true; more && len(list) < most; {
		var page []store.Item
		var err error
		page, more, err = s.QueryPage(ctx, store.Scan{PK: table.DuePartition(shard), Keys: keys, Limit: most - len(list)})
		if err != nil {
			return nil, err
		}
		for _, it := range page {
			w, err := readWork(it)
			if err != nil {
				return nil, err
			}
			list = append(list, w)
			keys = keys.After(it.Text(table.SK))
		}
	}
	return list, nil
}

func readWork(it store.Item) (collab.DueWork, error) {
	ms, kind, acct, id, err := table.ParseDue(it.Text(table.SK))
	if err != nil {
		return collab.DueWork{}, store.Unreadable(it.Key(), err)
	}
	var stored workItem
	if err := it.Decode(&stored); err != nil {
		return collab.DueWork{}, err
	}
	w := collab.DueWork{
		EventRef: collab.EventRef{Account: acct, ID: id}, At: ms, Moves: stored.Moves, Since: stored.Since, Expires: stored.Expires * 1000,
	}
	if kind == DueDelivery {
		parts, err := table.Split(id)
		if err != nil || len(parts) != 2 {
			return w, store.Unreadable(it.Key(), errors.Join(err, errors.New("not the id of a delivery's pending work")))
		}
		w.WebhookID, w.ID = parts[0], parts[1]
	}
	return w, nil
}

func workKey(w collab.DueWork, at collab.Millis) table.Key {
	if w.WebhookID == "" {
		return table.Due(at, DueEvent, w.Account, w.ID)
	}
	return deliveryDue(at, w.Account, w.WebhookID, w.ID)
}

// MoveDue moves pending work on to a later time. It reports false when there is nothing to do at its time: another run of the relay has
// moved it, or it is done. Then nothing is left of it at that time.
func (s *Store) MoveDue(ctx context.Context, w collab.DueWork, to collab.Millis) (bool, error) {
	due := expression.Name(table.DueAt)
	u := expression.Set(due, expression.Value(to))
	place, err := s.progress(w.EventRef, u, nil) // where the work stands
	if w.WebhookID != "" {
		at := due.Equal(expression.Value(w.At))
		u = u.Add(expression.Name(table.Rev), expression.Value(1))
		place, err = s.update(table.Delivery(w.Account, w.WebhookID, w.ID), u, &at)
	}
	if err != nil {
		return false, err
	}
	work, err := dueItem(workKey(w, to), w.Moves+1, w.Since, w.Expires/1000)
	if err != nil {
		return false, err
	}
	old := workKey(w, w.At)
	refused, err := s.Write(ctx, s.RemoveExisting(old), s.Replace(work), place)
	if err != nil || refused == nil {
		return err == nil, err
	}
	return false, s.Delete(ctx, old)
}

// DropDue deletes pending work.
func (s *Store) DropDue(ctx context.Context, w collab.DueWork) error {
	return s.Delete(ctx, workKey(w, w.At))
}
