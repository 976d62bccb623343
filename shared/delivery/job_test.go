package delivery_test

import (
	"context"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/queue"
	"collabdata/shared/quota"
	"collabdata/shared/store/outbox"
)

// TestJobGoesOn checks that an unfinished job continues immediately with a new message, and through
// the relay after a chain of messages, and that both finish.
func TestJobGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	job := outbox.Job{ID: "j", Account: "acct", In: collab.OrganizationRef{Account: "acct", Organization: "org"}, SweepAt: w.millis(), Things: []outbox.JobThing{
		{Kind: collab.ADocument, ID: "doc"},
	}}
	_, err := w.db.Outbox.AddJob(t.Context(), job)
	w.must(err)
	first := queue.Event{EventRef: collab.EventRef{Account: "acct", ID: "j"}, Kind: collab.JobWork}
	p := w.start()
	hops := []int{}
	p.taken = func(text string) {
		ev, err := queue.DecodeEvent(text)
		w.must(err)
		hops = append(hops, ev.Hops)
	}
	state := func(want collab.JobState) {
		t.Helper()
		if got, err := w.db.Outbox.JobProgress(t.Context(), "acct", "j"); err != nil || got.State != want {
			t.Errorf("%+v, %v; want %s", got, err, want)
		}
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Second) // too short for a step
	defer cancel()
	last := first
	last.Hops = 12
	w.must(p.Event(short, last))
	if at, err := w.db.Outbox.Pending(t.Context(), first.EventRef, collab.JobWork); err != nil || at == nil || at.Next != w.millis() {
		t.Errorf("pending %+v, %v", at, err)
	}
	if w.drain(p); len(hops) != 0 {
		t.Errorf("messages %v behind the longest chain", hops)
	}
	state(collab.JobWaiting)
	w.must(p.Event(short, first))
	if w.drain(p); len(hops) != 1 || hops[0] != 1 {
		t.Errorf("messages %v", hops)
	}
	state(collab.JobDone)
	w.must(p.Event(t.Context(), first)) // late
	if w.drain(p); len(hops) != 1 {
		t.Errorf("messages %v behind its end", hops)
	}
}

// TestJobIsPaid checks that the account pays for the table units of a job.
func TestJobIsPaid(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, func(s *collab.Settings) { s.WriteUnitsPerSecond = 1 })
	a.comment("thread")
	r := a.request()
	job, err := a.db.Deletion.DeleteDocuments(t.Context(), r, a.doc.OrganizationRef, []string{"doc"}, make([]error, 1))
	w.must(err)
	w.add(3 * time.Minute)
	before, err := a.db.Accounts.Paid(t.Context(), quota.Payer{Account: a.id})
	w.must(err)
	w.must(w.start().Event(t.Context(), queue.Event{EventRef: collab.EventRef{Account: a.id, ID: job}, Kind: collab.JobWork}))
	if paid, err := a.db.Accounts.Paid(t.Context(), quota.Payer{Account: a.id}); err != nil || paid[quota.Writes] <= before[quota.Writes] {
		t.Errorf("the account has paid %v, before %v, %v", paid, before, err)
	}
}
