// Package request is one request's unit of work: its ids and mark, its events, and the claim of its
// Idempotency-Key. Package rpc creates one for each request after claiming its key. The operation
// passes it to the stores that write. At the end, rpc sends the recorded events, charges the quota
// and stores the answer.
//
// Three rules hold for every operation. Each write carries the mark. A retry finds the results of
// an earlier attempt by the mark, and leaves them unchanged. Writes that belong together are one
// transaction, with their events.
package request

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/quota"
)

// Request is the work of one request. It is safe for concurrent use, except IDs.Next.
type Request struct {
	collab.Identity // identity of the credentials

	Now time.Time   // arrival of this attempt
	IDs *collab.IDs // the same ids and mark in every attempt

	// Repeat reports that an earlier attempt with the same Idempotency-Key may have done some or
	// all of the work.
	Repeat bool

	Quota *quota.Account // nil admits everything

	mu    sync.Mutex
	tasks []collab.TaskRef // whose messages are sent at the end
}

// Mark returns the mark of the request's writes, the same in every attempt.
func (t *Request) Mark() string { return t.IDs.Mark() }

// JobID returns the id of the request's job, the same in every attempt.
func (t *Request) JobID() string { return t.IDs.For(0, "job") }

func (t *Request) Millis() collab.Millis { return t.Now.UnixMilli() }

// Raises declares whether the request raises events, before anything is written. It returns
// RESOURCE_EXHAUSTED if events is true and the account has used up its quota.
func (t *Request) Raises(events bool) error {
	if !events {
		return nil
	}
	return t.Quota.Admit(quota.Events)
}

// Recorded adds events that this or an earlier attempt has stored in the outbox. Their messages are
// sent at the end.
func (t *Request) Recorded(events ...*collab.Event) {
	for _, ev := range events {
		if ev != nil {
			t.leave(collab.TaskRef{Kind: collab.EventTask, Account: ev.Account, ID: ev.ID})
		}
	}
}

// Leaves adds a job to continue at once: its message is sent at the end.
func (t *Request) Leaves(job string) {
	t.leave(collab.TaskRef{Kind: collab.JobTask, Account: t.Account, ID: job})
}

func (t *Request) leave(task collab.TaskRef) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tasks = append(t.tasks, task)
}

// Events returns the number of events of Recorded.
func (t *Request) Events() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, task := range t.tasks {
		if task.Kind == collab.EventTask {
			n++
		}
	}
	return n
}

// Tasks returns the events of Recorded, in the order of their ids, and the jobs of Leaves.
func (t *Request) Tasks() []collab.TaskRef {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.SortStableFunc(t.tasks, func(a, b collab.TaskRef) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	return slices.Clone(t.tasks)
}
