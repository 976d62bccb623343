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

// Pending work is stored until an event's delivery is done.

// Stage is the next stage of an event's delivery.
type Stage string

// The stages of a delivery, in order. Emails are separate work: see Email.
const (
	StageNew        Stage = ""        // deliveries to webhook endpoints are added
	StageList       Stage = "list"    // a notification to everyone joins the list for all
	StageRecipients Stage = "fan-out" // recipients are decided page by page
	StageEnd        Stage = "end"     // the work is deleted
	StageDone       Stage = "done"    // no work remains
)

// Work is an entry of pending work: an event with the progress of its delivery, or a lane, with the
// ID of its webhook endpoint. A lane has no Stage, no Cursor, and no fields after Next.
type Work struct {
	collab.EventRef `dynamodbav:"-"`
	Kind            collab.WorkKind `dynamodbav:"kind"`
	Stage           Stage           `dynamodbav:"stg"`
	// Next page of recipients, or "" for the first.
	Cursor string        `dynamodbav:"cur"`
	Since  collab.Millis `dynamodbav:"at"`   // when it was first due
	Next   collab.Millis `dynamodbav:"next"` // when the relay sends it
	// Number of times the relay postponed Next.
	Postponed int64  `dynamodbav:"try"`
	Expires   int64  `dynamodbav:"ttl,omitempty"`  // Unix seconds
	Body      string `dynamodbav:"body,omitempty"` // of an event: see Event
	Failure   string `dynamodbav:"why,omitempty"`  // of FailedWork: the error
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

// Work returns up to limit entries of a kind in a shard (0 to keys.DueShards-1), by account and id.
// It starts at a position; next is the position after the page, "" at the end. It passes errors of
// unreadable entries to skip, and reads with eventual consistency.
func (s *Store) Work(
	ctx context.Context, kind collab.WorkKind, shard int, from string, limit int, skip func(error),
) (list []Work, next string, err error) {
	itemKeys := store.Span{From: max(from, store.Everything.From)}
	items, more, err := s.QueryPage(ctx, store.Scan{PK: keys.WorkPartition(string(kind), shard), Keys: itemKeys, Limit: limit})
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

// Pending returns the work of an event, nil if its delivery is done or the work is of another kind.
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

// MostPostponed is the number of times, over hours, that the relay sends work in one stage before
// its delivery fails.
const MostPostponed = 10

var isThere = expression.AttributeExists(expression.Name(keys.PK))

// where returns the attributes that identify the stage of work.
func where(w Work) store.Item {
	it := store.NewItem(workKey(w))
	it[keys.Stage], it[keys.Cursor] = store.Text(string(w.Stage)), store.Text(w.Cursor)
	return it
}

func deleteWork(w Work) store.Write { return store.DeleteRead(where(w), keys.Stage, keys.Cursor) }

// Advance stores the progress of a delivery. The relay sends it at Next, or firstDue from now if
// Next is 0. It returns false, and changes nothing, if another run has advanced or finished the
// delivery.
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

const maxFailure = 500

// Fail stores the work of an event as FailedWork until an operator retries it, unless another run
// has advanced it.
func (s *Store) Fail(ctx context.Context, w Work, failure string) error {
	_, err := s.Write(ctx, deleteWork(w), store.Put(failed(w, s.Millis(), failure)))
	return err
}

func failed(w Work, now collab.Millis, failure string) store.Item {
	w.Kind, w.Since, w.Next, w.Failure = collab.FailedWork, now, now, collab.Cut(failure, maxFailure)
	return store.ItemOf(workKey(w), w)
}

// Retry moves the failed work of an event back to its stage. The relay sends it. It returns
// NOT_FOUND if there is no failed work.
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

func (s *Store) Beat(ctx context.Context) error {
	return s.Put(ctx, store.ItemOf(keys.HeartbeatKey(), heartbeatItem{s.Millis(), s.Now().Add(time.Hour).Unix()}))
}

// heartbeatItem differs with each write, because only a change appears in the stream.
type heartbeatItem struct {
	At      collab.Millis `dynamodbav:"at"`
	Expires int64         `dynamodbav:"ttl"`
}

// Postpone sets the time at which the relay next sends work. It returns false if another run of the
// relay has done so, or if the work is done.
func (s *Store) Postpone(ctx context.Context, w Work, to collab.Millis) (bool, error) {
	moved, mark := w, s.NewMark()
	moved.Next, moved.Postponed = to, w.Postponed+1
	refused, err := s.Write(ctx, store.Change(store.ItemOf(workKey(w), w), store.ItemOf(workKey(w), moved), mark, keys.Next))
	return err == nil && (refused == nil || refused.By(mark)), err
}
