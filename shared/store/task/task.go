// Package task stores background work. A task is one item, which leads to runs of its kind's
// handler until the work is done.
//
// A request puts a task, or touches it, and sends a message with its reference. The receiver claims
// the task, does a step, and settles it: the task is done, or due again. An index has the waiting
// tasks by time. The relay reads it, and sends the messages that were lost. An addition during a
// run changes the task's version, which the run finds when it settles. So messages may be lost,
// late, doubled and out of order, and a run may end at any point.
package task

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Store is the tasks in a table. It is safe for concurrent use.
type Store struct{ *store.Table }

// New returns the tasks in a table.
func New(t *store.Table) *Store { return &Store{t} }

const (
	// MaxAttempts is the number of attempts, over hours, before a task waits for the operator.
	MaxAttempts = 10

	// MessageWithin is the longest time until a task is due for which a message is sent ahead. The
	// relay sends the messages of later tasks.
	MessageWithin = 15 * time.Minute

	// from the time of a message to the relay's, in case the message is lost
	lossWait = time.Minute

	firstWait, lastWait = 2 * time.Minute, time.Hour // between attempts; the first doubles each time
	maxFailure          = 500
	endTime             = 9 * time.Second // to settle
)

// Task is background work.
type Task struct {
	collab.TaskRef `dynamodbav:"-"`
	Due            collab.Millis `dynamodbav:"at,omitempty"`   // when a run may start; 0 if nothing is left to do
	From           string        `dynamodbav:"from,omitempty"` // least position of its additions
	Body           string        `dynamodbav:"body,omitempty"` // subject; never changes
	State          string        `dynamodbav:"state,omitempty"`
	Attempts       int64         `dynamodbav:"try,omitempty"` // failed or lost, since the last step
	Failure        string        `dynamodbav:"why,omitempty"` // of the last attempt
	Expires        int64         `dynamodbav:"ttl,omitempty"` // Unix seconds; 0 for never

	// Key in index org of the task of a thread's event; it never changes.
	Org    string `dynamodbav:"org,omitempty"`
	OrgUpd string `dynamodbav:"orgu,omitempty"`

	Next   collab.Millis `dynamodbav:"-"` // when the relay sends a message
	Failed bool          `dynamodbav:"-"` // it waits for the operator

	Message collab.Millis `dynamodbav:"msg,omitempty"` // arrival of the last message that a run sent

	Version int64         `dynamodbav:"ver"`             // changes with additions and steps
	Claimed int64         `dynamodbav:"cv,omitempty"`    // version at the last claim
	Lease   collab.Millis `dynamodbav:"until,omitempty"` // end of the claim
	Holder  string        `dynamodbav:"by,omitempty"`    // mark of the claim

	position string // in the index
}

// Sees reports whether a run that starts later, without another touch, finds the additions before
// the task was read. The task must be of a kind that is claimed with a lease.
func (t *Task) Sees(now collab.Millis) bool {
	if t.Due == 0 || t.Failed {
		return false
	}
	if t.Lease != 0 { // its run may still settle after the lease
		return t.Version > t.Claimed
	}
	return t.Due <= now
}

func (t *Task) item() store.Item {
	it := store.ItemOf(keys.Task(t.TaskRef), *t)
	if t.Due != 0 {
		k := keys.DueTask(string(t.Kind), t.Next, t.TaskRef)
		it[keys.Due], it[keys.DueAt] = store.Text(k.PK), store.Text(k.SK)
	}
	return it
}

// read decodes a task, or its entry in the index.
func read(it store.Item) (*Task, error) {
	t := &Task{}
	if err := it.Decode(t); err != nil {
		return nil, err
	}
	var err error
	if t.TaskRef, err = keys.ParseTask(it.Key()); err != nil {
		return nil, store.Unreadable(it.Key(), err)
	}
	t.position = it.Text(keys.DueAt)
	if t.position == "" {
		return t, nil
	}
	if t.Next, t.Failed, err = keys.ParseDueTask(keys.Key{PK: it.Text(keys.Due), SK: t.position}); err != nil {
		return nil, store.Unreadable(it.Key(), err)
	}
	return t, nil
}

// soon reports whether a message is sent ahead for a time.
func (s *Store) soon(due collab.Millis) bool { return due-s.Millis() <= MessageWithin.Milliseconds() }

// next returns the time at which the relay sends the message of a task that is due at a time.
func (s *Store) next(due collab.Millis) collab.Millis {
	if !s.soon(due) {
		return due
	}
	return max(due, s.Millis()) + lossWait.Milliseconds()
}

// PutTask returns the write of a task, for a transaction. It replaces a task with the same
// reference, so that its runs settle nothing. It sets t.Next and t.Version.
func (s *Store) PutTask(t *Task) store.Write {
	if t.Due != 0 {
		t.Next = s.next(t.Due)
	}
	mark, err := hex.DecodeString(s.NewMark())
	if err != nil {
		panic(err) // marks are hexadecimal
	}
	t.Version = int64(binary.BigEndian.Uint64(mark) >> 2) // no run has claimed it
	return store.Put(t.item())
}

// set adds to an update the attributes of a task that is due at a time, and sent by the relay at
// another.
func set(u expression.UpdateBuilder, t collab.TaskRef, due, next collab.Millis) expression.UpdateBuilder {
	k := keys.DueTask(string(t.Kind), next, t)
	return u.Set(expression.Name(keys.StartedAt), expression.Value(due)).
		Set(expression.Name(keys.Due), expression.Value(k.PK)).
		Set(expression.Name(keys.DueAt), expression.Value(k.SK))
}

func newVersion() expression.UpdateBuilder {
	return expression.Add(expression.Name(keys.Version), expression.Value(1))
}

// Wake returns the write that makes a task due now, or adds it. If message is true, the caller
// sends a message, otherwise the relay.
func (s *Store) Wake(t collab.TaskRef, message bool) store.Write {
	due, next := s.Millis(), s.Millis()
	if message {
		next = s.next(due)
	}
	u := set(newVersion(), t, due, next).Remove(expression.Name(keys.Attempts)).Remove(expression.Name(keys.Failure))
	return store.Update(keys.Task(t), u)
}

// Addition is an addition to a task.
type Addition struct {
	Body string // of a new task
	From string // the least position stays
}

// Touch adds to a task, or adds the task. The earlier time wins, and a failed task still waits for
// the operator. It reports whether a message has to be sent for the time: the task is due soon, and
// was not due so early. A call may be repeated.
func (s *Store) Touch(ctx context.Context, t collab.TaskRef, due collab.Millis, a Addition, expires int64) (message bool, err error) {
	at, from, body := expression.Name(keys.StartedAt), expression.Name(keys.From), expression.Name(keys.Body)
	partition, position := expression.Name(keys.Due), expression.Name(keys.DueAt)
	k := keys.DueTask(string(t.Kind), s.next(due), t)
	update := newVersion().
		Set(at, expression.IfNotExists(at, expression.Value(due))).
		Set(from, expression.IfNotExists(from, expression.Value(a.From))).
		Set(body, expression.IfNotExists(body, expression.Value(a.Body))).
		Set(expression.Name(keys.Expires), expression.Value(expires)).
		Set(partition, expression.IfNotExists(partition, expression.Value(k.PK))).
		Set(position, expression.IfNotExists(position, expression.Value(k.SK)))
	it, _, err := s.WriteOne(ctx, store.Update(keys.Task(t), update), types.ReturnValueAllNew)
	if err != nil {
		return false, err
	}
	stored, err := read(it)
	if err != nil {
		return false, err
	}
	if stored.From > a.From {
		lower := store.Update(keys.Task(t), expression.Set(from, expression.Value(a.From)), from.GreaterThan(expression.Value(a.From)))
		if _, err := s.Write(ctx, lower); err != nil {
			return false, err
		}
		return s.Touch(ctx, t, due, a, expires) // a run may have claimed or ended the task before
	}
	if stored.Due > due && !stored.Failed {
		lower := store.Update(keys.Task(t), set(expression.UpdateBuilder{}, t, due, s.next(due)), at.GreaterThan(expression.Value(due)))
		if _, err := s.Write(ctx, lower); err != nil {
			return false, err
		}
		return s.soon(due), nil
	}
	return stored.Version == 1 && s.soon(due), nil
}

// Tasks returns tasks in the order of refs, with strong consistency; nil for one that does not
// exist.
func (s *Store) Tasks(ctx context.Context, refs ...collab.TaskRef) ([]*Task, error) {
	at := collab.Map(refs, keys.Task)
	found, err := s.GetAll(ctx, at, true)
	if err != nil {
		return nil, err
	}
	list := make([]*Task, len(refs))
	for i, k := range at {
		if found[k] != nil {
			if list[i], err = read(found[k]); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// Task returns a task with strong consistency, nil if it does not exist.
func (s *Store) Task(ctx context.Context, t collab.TaskRef) (*Task, error) {
	it, err := s.Get(ctx, keys.Task(t))
	if err != nil || it == nil {
		return nil, err
	}
	return read(it)
}

// Claim returns a task for a run, nil if the task is not due, has failed, or has another run. If
// lease is 0, runs of the task may be concurrent, and one of them settles it.
func (s *Store) Claim(ctx context.Context, t collab.TaskRef, lease time.Duration) (*Task, error) {
	now := s.Millis()
	if lease == 0 {
		stored, err := s.Task(ctx, t)
		if err != nil || stored == nil || stored.Due == 0 || stored.Due > now || stored.Failed {
			return nil, err
		}
		return stored, nil
	}
	until, mark := expression.Name(keys.Lease), s.NewMark()
	update := expression.Set(until, expression.Value(now+lease.Milliseconds())).
		Set(expression.Name(keys.Holder), expression.Value(mark)).
		Set(expression.Name(keys.Claimed), expression.Name(keys.Version))
	it, refused, err := s.WriteOne(ctx, store.Update(keys.Task(t), update,
		expression.Name(keys.StartedAt).LessThanEqual(expression.Value(now)),
		expression.Name(keys.Due).Equal(expression.Value(keys.DueTask(string(t.Kind), 0, t).PK)),
		expression.AttributeNotExists(until).Or(until.LessThanEqual(expression.Value(now))),
	), types.ReturnValueAllNew)
	if err != nil {
		return nil, err
	}
	if refused != nil {
		if it = refused.Of[0].There; it.Text(keys.Holder) != mark { // otherwise the answer was lost
			return nil, nil
		}
	}
	stored, err := read(it)
	if err == nil {
		stored.Version = stored.Claimed // without additions since a lost answer
	}
	return stored, err
}

// Outcome is the result of a run.
type Outcome struct {
	Due   collab.Millis // of the next step; 0 if the work is done
	Added collab.Millis // of the next step if something was added during the run; a task without additions has none
	State string        // progress

	Keep    bool  // done work stays until it expires
	Expires int64 // of done work, if not 0
}

// Settle ends a run. It returns the time of the next step, 0 for none or if another run has the
// task.
func (s *Store) Settle(ctx context.Context, t *Task, o Outcome) (due collab.Millis, err error) {
	mark := s.NewMark()
	refused, err := s.Write(ctx, s.settled(t, o, mark, keys.Version, keys.Holder))
	if err != nil || refused == nil || refused.By(mark) {
		return o.Due, err
	}
	if t.Holder == "" || refused.Of[0].There.Text(keys.Holder) != t.Holder {
		return 0, nil
	}
	o.Due = o.Added
	refused, err = s.Write(ctx, s.settled(t, o, mark, keys.Holder))
	if refused != nil && !refused.By(mark) {
		return 0, err
	}
	return o.Due, err
}

// settled returns the write of an outcome, if the attributes in same are those of the claim.
func (s *Store) settled(t *Task, o Outcome, mark string, same ...string) store.Write {
	if o.Due == 0 && !o.Keep {
		return store.DeleteRead(t.item(), same...)
	}
	u := s.free(newVersion(), mark).Remove(expression.Name(keys.Attempts)).Remove(expression.Name(keys.Failure))
	if o.Due != 0 {
		u = set(u, t.TaskRef, o.Due, s.next(o.Due)).Set(expression.Name(keys.Message), expression.Value(o.Due))
	} else {
		u = u.Remove(expression.Name(keys.StartedAt)).Remove(expression.Name(keys.Due)).Remove(expression.Name(keys.DueAt))
	}
	if o.State != t.State {
		u = u.Set(expression.Name(keys.State), expression.Value(o.State))
	}
	if o.Due == 0 && o.Expires != 0 {
		u = u.Set(expression.Name(keys.Expires), expression.Value(o.Expires))
	}
	return store.Update(keys.Task(t.TaskRef), u, claimed(t, same...))
}

// claimed returns the condition that attributes are those of the claim.
func claimed(t *Task, same ...string) expression.ConditionBuilder {
	it := t.item()
	condition := expression.AttributeExists(expression.Name(keys.PK))
	for _, name := range same {
		if n := expression.Name(name); it[name] == nil {
			condition = condition.And(expression.AttributeNotExists(n))
		} else {
			condition = condition.And(n.Equal(expression.Value(it[name])))
		}
	}
	return condition
}

// Advance stores the progress of a run, which goes on. It returns false, and changes nothing, if
// another run has the task.
func (s *Store) Advance(ctx context.Context, t *Task, state string) (bool, error) {
	mark := s.NewMark()
	u := newVersion().Set(expression.Name(keys.State), expression.Value(state)).Set(expression.Name(keys.Writer), expression.Value(mark))
	refused, err := s.Write(ctx, store.Update(keys.Task(t.TaskRef), u, claimed(t, keys.Version, keys.Holder)))
	if err != nil || refused != nil && !refused.By(mark) {
		return false, err
	}
	t.State = state
	t.Version++
	return true, nil
}

// Handler does a step of a task.
type Handler func(context.Context, *Task) (Outcome, error)

// Result is the result of Run.
type Result struct {
	Due     collab.Millis // of the next step; 0 for none
	Message bool          // a message has to be sent for then
	Failure error         // of the handler, stored in the task
	Failed  bool          // the task waits for the operator
}

// Run claims a task, and settles it with the outcome of a handler, or fails it with its error. It
// returns an error, and stores nothing, if the table fails or the context is canceled.
func (s *Store) Run(ctx context.Context, ref collab.TaskRef, lease time.Duration, handle Handler) (r Result, err error) {
	t, err := s.Claim(ctx, ref, lease)
	if err != nil || t == nil {
		return r, err
	}
	o, failure := handle(ctx, t)
	if errors.Is(ctx.Err(), context.Canceled) { // the process ends; another continues
		return r, cmp.Or(failure, ctx.Err())
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	if failure != nil {
		if r.Failed, err = s.Fail(ending, t, failure.Error()); err == nil {
			r.Failure = failure
		}
		return r, err
	}
	r.Due, err = s.Settle(ending, t, o)
	r.Message = r.Due != 0 && s.soon(r.Due) && (r.Due != t.Message || r.Due <= s.Millis())
	return r, err
}

// free adds to an update the end of a claim.
func (s *Store) free(u expression.UpdateBuilder, mark string) expression.UpdateBuilder {
	return u.Set(expression.Name(keys.Writer), expression.Value(mark)).
		Remove(expression.Name(keys.Lease)).Remove(expression.Name(keys.Holder)).Remove(expression.Name(keys.Claimed))
}

// Fail ends a run that failed. The relay sends the task again after a wait. After MaxAttempts, the
// task waits for the operator, and Fail returns true.
func (s *Store) Fail(ctx context.Context, t *Task, failure string) (failed bool, err error) {
	mark, n := s.NewMark(), max(t.Attempts, 1) // the relay counts the others
	same := keys.Version
	if t.Holder != "" {
		same = keys.Holder
	}
	failed = n >= MaxAttempts
	u := s.free(s.waiting(t, n, failed), mark).Set(expression.Name(keys.Failure), expression.Value(collab.Cut(failure, maxFailure)))
	refused, err := s.Write(ctx, store.Update(keys.Task(t.TaskRef), u, claimed(t, same)))
	return failed && err == nil && (refused == nil || refused.By(mark)), err
}

// waiting returns the update of a task that was attempted n times.
func (s *Store) waiting(t *Task, n int64, failed bool) expression.UpdateBuilder {
	k := keys.DueTask(string(t.Kind), s.Millis()+Wait(n).Milliseconds(), t.TaskRef)
	if failed {
		k = keys.DueTask(keys.FailedTasks, s.Millis(), t.TaskRef)
	}
	return expression.Set(expression.Name(keys.Attempts), expression.Value(n)).
		Set(expression.Name(keys.Due), expression.Value(k.PK)).
		Set(expression.Name(keys.DueAt), expression.Value(k.SK))
}

// Wait returns the time after n attempts, from 1, to the next.
func Wait(n int64) time.Duration {
	if n > 5 {
		return lastWait
	}
	return firstWait << (n - 1)
}

// Postpone counts an attempt for the message that the relay is about to send, and sets the time of
// its next one. It returns false if the task has changed since it was read.
func (s *Store) Postpone(ctx context.Context, t *Task) (postponed bool, err error) {
	mark := s.NewMark()
	u := s.waiting(t, t.Attempts+1, false).Set(expression.Name(keys.Writer), expression.Value(mark))
	refused, err := s.Write(ctx, store.Update(keys.Task(t.TaskRef), u, unmoved(t)))
	return err == nil && (refused == nil || refused.By(mark)), err
}

// Abandon makes a task wait for the operator if it has not changed since it was read.
func (s *Store) Abandon(ctx context.Context, t *Task, failure string) error {
	u := s.waiting(t, t.Attempts, true).Set(expression.Name(keys.Failure), expression.Value(failure))
	_, err := s.Write(ctx, store.Update(keys.Task(t.TaskRef), u, unmoved(t)))
	return err
}

func unmoved(t *Task) expression.ConditionBuilder {
	return expression.Name(keys.DueAt).Equal(expression.Value(t.position))
}

// Retry makes a failed task due now. The relay sends it. It returns NOT_FOUND if the task has not
// failed.
func (s *Store) Retry(ctx context.Context, t collab.TaskRef) error {
	u := set(newVersion(), t, s.Millis(), s.Millis()).Remove(expression.Name(keys.Attempts)).Remove(expression.Name(keys.Failure))
	failed := keys.DueTask(keys.FailedTasks, 0, t).PK
	refused, err := s.Write(ctx, store.Update(keys.Task(t), u, expression.Name(keys.Due).Equal(expression.Value(failed))))
	if err == nil && refused != nil && !refused.Lost {
		err = collab.Errorf(collab.NotFound, "the %s %q of account %q has not failed", t.Kind, t.ID, t.Account)
	}
	return err
}

// Waiting returns up to limit tasks of a kind, or of keys.FailedTasks, in a shard (0 to
// keys.DueShards-1), by the time of the relay's message, which is at most until. They have no Body
// and no State. It starts at a position; next is the position after the page, "" at the end. It
// passes errors of unreadable entries to skip, and reads with eventual consistency.
func (s *Store) Waiting(
	ctx context.Context, kind string, shard int, until collab.Millis, from string, limit int, skip func(error),
) (list []*Task, next string, err error) {
	items, more, err := s.QueryPage(ctx, store.Scan{
		Index: keys.IndexDue, PK: keys.DuePartition(kind, shard), Limit: limit,
		Keys: store.Span{From: max(from, store.Everything.From), To: keys.Time(until + 1)},
	})
	if err != nil {
		return nil, "", err
	}
	for _, it := range items {
		if t, err := read(it); err != nil {
			skip(err)
		} else {
			list = append(list, t)
		}
		next = it.Text(keys.DueAt) + "\x00"
	}
	if !more {
		next = ""
	}
	return list, next, nil
}
