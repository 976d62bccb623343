package outbox

import (
	"cmp"
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Pending work says how far the delivery of an event has come. Once that is done there is none.

// workItem is a pending event; its key says which. A lane has those of its attributes that are no part of a delivery.
type workItem struct {
	Stage   collab.Stage  `dynamodbav:"stg"`
	Cursor  string        `dynamodbav:"cur"`
	Since   collab.Millis `dynamodbav:"at"`
	Next    collab.Millis `dynamodbav:"next"`
	Moves   int64         `dynamodbav:"try"`
	Deaths  int64         `dynamodbav:"dead"`
	Expires int64         `dynamodbav:"ttl"`
}

func workKey(w collab.Work) table.Key { return table.Work(string(w.Kind), w.Account, w.ID) }

func encodeWork(w collab.Work) (store.Item, error) {
	return store.Encode(workKey(w), workItem{w.Stage, w.Cursor, w.Since, w.Next, w.Moves, w.Deaths, w.Expires / 1000})
}

func readWork(kind collab.WorkKind, it store.Item) (w collab.Work, err error) {
	acct, id, err := table.ParseWork(it.Text(table.SK))
	if err != nil {
		return w, store.Unreadable(it.Key(), err)
	}
	var stored workItem
	err = it.Decode(&stored)
	since := cmp.Or(stored.Since, stored.Next) // a lane that nobody has woken is to be
	return collab.Work{
		EventRef: collab.EventRef{Account: acct, ID: id}, Kind: kind, Stage: stored.Stage, Cursor: stored.Cursor,
		Since: since, Next: stored.Next, Moves: stored.Moves, Deaths: stored.Deaths, Expires: stored.Expires * 1000,
	}, err
}

// Work returns up to most entries of a shard of the pending work of a kind, 0 to table.DueShards-1, by account and id, from a position on, ""
// for the first; and the position behind them, "" for none. Entries that can't be read are passed over, and told to skip. Eventually
// consistent.
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

// Pending reads the pending work of an event among a kind; nil when the delivery of the event is done, or its work is among another kind.
func (s *Store) Pending(ctx context.Context, ref collab.EventRef, kind collab.WorkKind) (*collab.Work, error) {
	it, err := s.Get(ctx, workKey(collab.Work{EventRef: ref, Kind: kind}))
	return pending(kind, it, err)
}

// CountDeath is Pending, and notes that the handling of the event begins once more, of which it is not known whether it will end.
func (s *Store) CountDeath(ctx context.Context, ref collab.EventRef, kind collab.WorkKind) (*collab.Work, error) {
	w, err := s.ifPending(collab.Work{EventRef: ref, Kind: kind}, expression.Add(expression.Name(table.Deaths), expression.Value(1)))
	if err != nil {
		return nil, err
	}
	it, _, err := s.WriteOne(ctx, w, types.ReturnValueAllNew)
	return pending(kind, it, err)
}

func pending(kind collab.WorkKind, it store.Item, err error) (*collab.Work, error) {
	if it == nil || err != nil {
		return nil, err
	}
	w, err := readWork(kind, it)
	return &w, err
}

// ifPending is the write that updates pending work, on condition that it is there.
func (s *Store) ifPending(w collab.Work, u expression.UpdateBuilder) (store.Write, error) {
	there := expression.AttributeExists(expression.Name(table.PK))
	return s.update(workKey(w), u, &there)
}

// Survived notes that the handling of an event has ended in order, where it is pending still.
func (s *Store) Survived(ctx context.Context, w collab.Work) error {
	write, err := s.ifPending(w, expression.Set(expression.Name(table.Deaths), expression.Value(0)))
	if err != nil {
		return err
	}
	_, err = s.Write(ctx, write)
	return err
}

// where are the attributes that say how far a delivery has come.
func where(w collab.Work) store.Item {
	return store.Item{table.Stage: store.Text(string(w.Stage)), table.Cursor: store.Text(w.Cursor)}
}

// Advance moves the delivery of an event on. Work that is to be done since another time, or among another kind, is due then; else it is
// taken that a message is sent for it. It reports false, and nothing has changed, when the delivery is not where it was: another run has
// moved it on, or done it.
func (s *Store) Advance(ctx context.Context, from, to collab.Work) (bool, error) {
	to.Next, to.Moves, to.Deaths = s.Millis()+firstDue.Milliseconds(), 0, 0
	if to.Kind != from.Kind || to.Since != from.Since {
		to.Next = to.Since
	}
	it, err := encodeWork(to)
	if err != nil {
		return false, err
	}
	mark := s.NewMark()
	it[table.Writer] = store.Text(mark)
	writes := []store.Write{s.ReplaceIf(it, where(from))}
	if to.Kind != from.Kind {
		writes = []store.Write{s.RemoveIf(workKey(from), where(from)), s.Replace(it)}
	}
	refused, err := s.Write(ctx, writes...)
	return err == nil && (refused == nil || refused.By(mark)), err
}

// Finish ends the delivery of an event, unless another run has moved it on.
func (s *Store) Finish(ctx context.Context, w collab.Work) error {
	_, err := s.Write(ctx, s.RemoveIf(workKey(w), where(w)))
	return err
}

// MoveWork has the relay send a pending event again at a later time. It reports false when another run of the relay has moved it, or it is
// done.
func (s *Store) MoveWork(ctx context.Context, w collab.Work, to collab.Millis) (bool, error) {
	next, mark := expression.Name(table.Next), s.NewMark()
	same := next.Equal(expression.Value(w.Next))
	write, err := s.update(workKey(w), expression.Set(next, expression.Value(to)).
		Set(expression.Name(table.Writer), expression.Value(mark)).Add(expression.Name(table.Attempts), expression.Value(1)), &same)
	if err != nil {
		return false, err
	}
	refused, err := s.Write(ctx, write)
	return err == nil && (refused == nil || refused.By(mark)), err
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
