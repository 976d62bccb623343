package outbox

import (
	"cmp"
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// Pending work is stored while an event's delivery is not done.

// Stage is the part of an event's delivery that comes next.
type Stage string

// The stages of a delivery, in their order. Emails are work of their own: see Email.
const (
	StageNew        Stage = ""        // deliveries to webhook endpoints are added
	StageList       Stage = "list"    // a notification to everyone is put into the list for all
	StageRecipients Stage = "fan-out" // page by page recipients are decided, inboxes served, and mails added to
	StageEnd        Stage = "end"     // everything is done: the work is deleted
	StageDone       Stage = "done"    // there is no work any more
)

// Work is an entry of the pending work: an event and where its delivery stands, or a lane, whose ID is that of its webhook endpoint. A lane
// has neither Stage nor Cursor nor the fields after Next.
type Work struct {
	collab.EventRef `dynamodbav:"-"`
	Kind            collab.WorkKind `dynamodbav:"kind"`
	Stage           Stage           `dynamodbav:"stg"`
	Cursor          string          `dynamodbav:"cur"`            // of the page of recipients that comes next, "" for the first
	Since           collab.Millis   `dynamodbav:"at"`             // when it was first due
	Next            collab.Millis   `dynamodbav:"next"`           // when the relay sends it
	Postponed       int64           `dynamodbav:"try"`            // how often the relay has postponed Next
	Expires         int64           `dynamodbav:"ttl,omitempty"`  // in seconds since epoch
	Body            string          `dynamodbav:"body,omitempty"` // of an event: see Event
	Failure         string          `dynamodbav:"why,omitempty"`  // of FailedWork: the error
}

func workKey(w Work) keys.Key {
	return keys.Work(string(w.Kind), w.Account, w.ID)
}

func readWork(kind collab.WorkKind, it store.Item) (w Work, err error) {
	if err := it.Decode(&w); err != nil {
		return w, err
	}
	if w.Account, w.ID, err = keys.ParseWork(it.Text(keys.SK)); err != nil {
		return w, store.Unreadable(it.Key(), err)
	}
	w.Kind = kind
	w.Since = cmp.Or(w.Since, w.Next) // for a lane without a message
	return w, nil
}

// Work lists at most most entries of a kind in a shard (0 to keys.DueShards-1), by account and id, from a position ("" for the first). next
// is the position after them, "" at the end. Entries that can't be read go to skip. Eventually consistent.
func (s *Store) Work(
	ctx context.Context, kind collab.WorkKind, shard int, from string, most int, skip func(error),
) (list []Work, next string, err error) {
	itemKeys := store.Span{From: max(from, store.Everything.From)}
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

// Pending reads the work of an event; nil when its delivery is done, or the work is of another kind.
func (s *Store) Pending(ctx context.Context, ref collab.EventRef, kind collab.WorkKind) (*Work, error) {
	it, err := s.Get(ctx, workKey(Work{EventRef: ref, Kind: kind}))
	return pending(kind, it, err)
}

func pending(kind collab.WorkKind, it store.Item, err error) (*Work, error) {
	if it == nil || err != nil {
		return nil, err
	}
	w, err := readWork(kind, it)
	return &w, err
}

// MostPostponed is how often the relay sends work where it stands, over hours, before its delivery has failed.
const MostPostponed = 10

// isThere is the condition that an item exists.
var isThere = expression.AttributeExists(expression.Name(keys.PK))

// where returns the attributes of a work's item that say where its delivery stands.
func where(w Work) store.Item {
	it := store.NewItem(workKey(w))
	it[keys.Stage], it[keys.Cursor] = store.Text(string(w.Stage)), store.Text(w.Cursor)
	return it
}

// deleteWork deletes work whose delivery still stands there.
func deleteWork(w Work) store.Write { return store.DeleteRead(where(w), keys.Stage, keys.Cursor) }

// Advance stores where a delivery stands now. The relay sends it at Next, or firstDue from now where that is 0. It reports false and
// changes nothing when the delivery does not stand at from any more: another run has advanced or finished it.
func (s *Store) Advance(ctx context.Context, from, to Work) (bool, error) {
	to.Next, to.Postponed = cmp.Or(to.Next, s.Millis()+firstDue.Milliseconds()), 0
	it, mark := store.ItemOf(workKey(to), to), s.NewMark()
	writes := []store.Write{store.Change(where(from), it, mark, keys.Stage, keys.Cursor)}
	if to.Kind != from.Kind {
		it[keys.Writer] = store.Text(mark)
		writes = []store.Write{deleteWork(from), store.Put(it)}
	}
	refused, err := s.Write(ctx, writes...)
	return err == nil && (refused == nil || refused.By(mark)), err
}

// maxFailure is how much of an error is kept, in bytes.
const maxFailure = 500

// Fail parks the work of an event as FailedWork until an operator retries it, unless another run has advanced it.
func (s *Store) Fail(ctx context.Context, w Work, failure string) error {
	_, err := s.Write(ctx, deleteWork(w), store.Put(failed(w, s.Millis(), failure)))
	return err
}

func failed(w Work, now collab.Millis, failure string) store.Item {
	w.Kind, w.Since, w.Next, w.Failure = collab.FailedWork, now, now, collab.Cut(failure, maxFailure)
	return store.ItemOf(workKey(w), w)
}

// Retry moves the failed work of an event back to where its delivery stood; the relay sends it. NOT_FOUND when there is none.
func (s *Store) Retry(ctx context.Context, ref collab.EventRef) error {
	failed, err := s.Pending(ctx, ref, collab.FailedWork)
	if err == nil && failed == nil {
		err = collab.Errorf(collab.NotFound, "the delivery of event %q of account %q has not failed", ref.ID, ref.Account)
	}
	if err != nil {
		return err
	}
	w := *failed
	w.Kind, w.Since, w.Next, w.Postponed, w.Failure = collab.EventWork, s.Millis(), s.Millis(), 0, ""
	_, err = s.Write(ctx, deleteWork(*failed), store.Put(store.ItemOf(workKey(w), w)))
	return err
}

// Finish deletes the work of an event, unless another run has advanced it.
func (s *Store) Finish(ctx context.Context, w Work) error {
	_, err := s.Write(ctx, deleteWork(w))
	return err
}

// Beat writes the heartbeat.
func (s *Store) Beat(ctx context.Context) error {
	return s.Put(ctx, store.ItemOf(keys.HeartbeatKey(), heartbeatItem{s.Millis(), s.Now().Add(time.Hour).Unix()}))
}

// heartbeatItem is the item of the heartbeat: another with each write, as only a change is in the stream.
type heartbeatItem struct {
	At      collab.Millis `dynamodbav:"at"`
	Expires int64         `dynamodbav:"ttl"`
}

// Postpone sets when the relay sends work next. It reports false when another run of the relay has done so, or the work is done.
func (s *Store) Postpone(ctx context.Context, w Work, to collab.Millis) (bool, error) {
	moved, mark := w, s.NewMark()
	moved.Next, moved.Postponed = to, w.Postponed+1
	refused, err := s.Write(ctx, store.Change(store.ItemOf(workKey(w), w), store.ItemOf(workKey(w), moved), mark, keys.Next))
	return err == nil && (refused == nil || refused.By(mark)), err
}
