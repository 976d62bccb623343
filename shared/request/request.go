// Package request is one request's unit of work: its ids and mark, its events, and the claim of its Idempotency-Key. Package rpc makes one
// for each request once its key is claimed. The operation hands it to the stores that write. At the end, rpc sends the recorded events,
// charges the quota and keeps the answer.
//
// Three rules hold for every operation. Each write carries the mark. A repeat finds by the mark what an earlier attempt made, and changes
// nothing of it. Writes that belong together are one transaction, with the events that they raise.
package request

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/quota"
)

// Request is the work of one request. Safe for concurrent use, except IDs.Next.
type Request struct {
	collab.Identity // whom the credentials speak for

	Now time.Time   // when this attempt at the request arrived
	IDs *collab.IDs // the same ids, and the same mark, at every attempt

	// Repeat says that there was an earlier attempt under the same Idempotency-Key, which may have done a part of the work, or all of it.
	Repeat bool

	Quota *quota.Account // nil admits everything

	mu       sync.Mutex
	recorded []collab.EventRef
	jobs     []collab.EventRef
}

// Mark is what every write of the request carries, whichever attempt makes it.
func (t *Request) Mark() string { return t.IDs.Mark() }

// JobID is the id of the job that the request leaves, the same at every attempt.
func (t *Request) JobID() string { return t.IDs.For(0, "job") }

// Millis is Now in milliseconds.
func (t *Request) Millis() collab.Millis { return t.Now.UnixMilli() }

// Raises says whether the request is to raise events. If so it fails with RESOURCE_EXHAUSTED where the account has used up its quota of
// them. It comes before anything is written.
func (t *Request) Raises(events bool) error {
	if !events {
		return nil
	}
	return t.Quota.Admit(quota.Events)
}

// Recorded notes events that are in the outbox now, by this attempt or an earlier one: they are sent once the operation has ended.
func (t *Request) Recorded(events ...*collab.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, ev := range events {
		if ev != nil {
			t.recorded = append(t.recorded, collab.EventRef{Account: ev.Account, ID: ev.ID})
		}
	}
}

// Events returns what Recorded has noted, in the order of their ids.
func (t *Request) Events() []collab.EventRef {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.SortFunc(t.recorded, func(a, b collab.EventRef) int { return cmp.Compare(a.ID, b.ID) })
	return slices.Clone(t.recorded)
}

// Leaves notes a job that goes on with the request at once: its message is sent when the operation has ended.
func (t *Request) Leaves(job string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.jobs = append(t.jobs, collab.EventRef{Account: t.Account, ID: job})
}

// Jobs returns what Leaves has noted.
func (t *Request) Jobs() []collab.EventRef {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.jobs)
}
