package outbox

import (
	"cmp"
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Pending work says how far the delivery of an event has come. Once that is done there is none.

// Stage is how far the delivery of an event has come.
type Stage string

// The stages of a delivery, in their order.
const (
	StageNew        Stage = ""        // deliveries to webhook endpoints are added
	StageList       Stage = "list"    // a notification to everyone is put into the list for all
	StageRecipients Stage = "fan-out" // page by page recipients are decided, and their inboxes served
	StageMail       Stage = "mail"    // page by page mails are sent, or wait for others on the same thread
	StageEnd        Stage = "end"     // everything is done: the work is deleted
	StageDone       Stage = "done"    // there is no work any more
)

// Work is an entry of the pending work: an event whose delivery is not done, with how far that has come, or a lane, whose ID is then its
// webhook endpoint's. A lane has neither Stage nor Cursor nor what follows Next.
type Work struct {
	collab.EventRef `dynamodbav:"-"`
	Kind            collab.WorkKind `dynamodbav:"kind"`
	Stage           Stage           `dynamodbav:"stg"`
	Cursor          string          `dynamodbav:"cur"`  // with which of the recipients the stage goes on; "" is the first
	Since           collab.Millis   `dynamodbav:"at"`   // when it was first to be done
	Next            collab.Millis   `dynamodbav:"next"` // when it is sent again
	Moves           int64           `dynamodbav:"try"`  // how often the relay has moved that on
	Deaths          int64           `dynamodbav:"dead"` // attempts that never reported an end
	Began           collab.Millis   `dynamodbav:"run"`  // when the last attempt that is counted began; 0 once it has reported its end
	Expires         int64           `dynamodbav:"ttl"`  // when it is pointless, in seconds since epoch
}

func workKey(w Work) keys.Key {
	if w.Kind == collab.LaterWork {
		return keys.LaterWork(string(w.Kind), w.Account, w.ID, w.Since)
	}
	return keys.Work(string(w.Kind), w.Account, w.ID)
}

func readWork(kind collab.WorkKind, it store.Item) (w Work, err error) {
	if err := it.Decode(&w); err != nil {
		return w, err
	}
	parse := keys.ParseWork
	if kind == collab.LaterWork {
		parse = keys.ParseLaterWork
	}
	if w.Account, w.ID, err = parse(it.Text(keys.SK)); err != nil {
		return w, store.Unreadable(it.Key(), err)
	}
	w.Kind = kind
	w.Since = cmp.Or(w.Since, w.Next) // a lane that nobody has woken is to be
	return w, nil
}

// Work returns up to most entries of a shard of the pending work of a kind, 0 to keys.DueShards-1, by account and id, from a position on,
// "" for the first; and the position behind them, "" for none. LaterWork comes by its time, and once that has come alone. Entries that
// can't be read are passed over, and told to skip. Eventually consistent.
func (s *Store) Work(
	ctx context.Context, kind collab.WorkKind, shard int, from string, most int, skip func(error),
) (list []Work, next string, err error) {
	itemKeys := store.Span{From: max(from, store.Everything.From)}
	if kind == collab.LaterWork {
		itemKeys.To = keys.Time(s.Millis() + 1)
	}
	items, more, err := s.QueryPage(ctx, store.Scan{PK: keys.WorkPartition(string(kind), shard), Keys: itemKeys, Limit: most})
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
		next = it.Text(keys.SK) + "\x00"
	}
	if !more {
		next = ""
	}
	return list, next, nil
}

// Pending reads the pending work of an event among a kind; nil when the delivery of the event is done, or its work is among another kind.
func (s *Store) Pending(ctx context.Context, ref collab.EventRef, kind collab.WorkKind) (*Work, error) {
	it, err := s.Get(ctx, workKey(Work{EventRef: ref, Kind: kind}))
	return pending(kind, it, err)
}

// RunTime is longer than a run of deliver: an attempt that began before, and has not reported its end, has none.
const RunTime = 100 * time.Second

// CountAttempt is Pending, and counts an attempt that has not reported an end: see Work. One that may be under way still is counted for the
// others that begin meanwhile.
func (s *Store) CountAttempt(ctx context.Context, ref collab.EventRef, kind collab.WorkKind) (*Work, error) {
	began, now := expression.Name(keys.Began), s.Millis()
	it, refused, err := s.WriteOne(ctx, store.Update(
		workKey(Work{EventRef: ref, Kind: kind}),
		expression.Add(expression.Name(keys.Deaths), expression.Value(1)).Set(began, expression.Value(now)), isThere,
		expression.AttributeNotExists(began).Or(began.LessThanEqual(expression.Value(now-RunTime.Milliseconds()))),
	), types.ReturnValueAllNew)
	if refused != nil {
		it = refused.Of[0].There
	}
	return pending(kind, it, err)
}

func pending(kind collab.WorkKind, it store.Item, err error) (*Work, error) {
	if it == nil || err != nil {
		return nil, err
	}
	w, err := readWork(kind, it)
	return &w, err
}

// isThere is the condition that an item is there.
var isThere = expression.AttributeExists(expression.Name(keys.PK))

// ReportEnd notes that an attempt at the delivery of an event has ended, whatever it led to, where that is pending still.
func (s *Store) ReportEnd(ctx context.Context, w Work) error {
	_, err := s.Write(ctx, store.Update(workKey(w),
		expression.Set(expression.Name(keys.Deaths), expression.Value(0)).Remove(expression.Name(keys.Began)), isThere))
	return err
}

// where is what an item of work says of how far the delivery has come.
func where(w Work) store.Item {
	it := store.NewItem(workKey(w))
	it[keys.Stage], it[keys.Cursor] = store.Text(string(w.Stage)), store.Text(w.Cursor)
	return it
}

// deleteWork deletes the work of a delivery that has come no further.
func deleteWork(w Work) store.Write { return store.DeleteRead(where(w), keys.Stage, keys.Cursor) }

// Advance moves the delivery of an event on; the relay sends it at Next, or where that is 0 in firstDue, as a message is sent for it now.
// It reports false, and nothing has changed, when the delivery is not where it was: another run has moved it on, or done it.
func (s *Store) Advance(ctx context.Context, from, to Work) (bool, error) {
	to.Next, to.Moves, to.Deaths = cmp.Or(to.Next, s.Millis()+firstDue.Milliseconds()), 0, 0
	it, mark := store.ItemOf(workKey(to), to), s.NewMark()
	writes := []store.Write{store.Change(where(from), it, mark, keys.Stage, keys.Cursor)}
	if to.Kind != from.Kind {
		it[keys.Writer] = store.Text(mark)
		writes = []store.Write{deleteWork(from), store.Put(it)}
	}
	refused, err := s.Write(ctx, writes...)
	return err == nil && (refused == nil || refused.By(mark)), err
}

// Finish ends the delivery of an event, unless another run has moved it on.
func (s *Store) Finish(ctx context.Context, w Work) error {
	_, err := s.Write(ctx, deleteWork(w))
	return err
}

// MoveWork has the relay send a pending event again at a later time. It reports false when another run of the relay has moved it, or it is
// done.
func (s *Store) MoveWork(ctx context.Context, w Work, to collab.Millis) (bool, error) {
	moved, mark := w, s.NewMark()
	moved.Next, moved.Moves = to, w.Moves+1
	refused, err := s.Write(ctx, store.Change(store.ItemOf(workKey(w), w), store.ItemOf(workKey(w), moved), mark, keys.Next))
	return err == nil && (refused == nil || refused.By(mark)), err
}
