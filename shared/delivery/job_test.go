package delivery_test

import (
	"context"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/quota"
	"collabdata/shared/store/outbox"
)

// TestJobGoesOn checks that an unfinished job continues immediately with a new message.
func TestJobGoesOn(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	job := outbox.Job{ID: "j", Account: a.id, In: collab.OrganizationRef{Account: a.id, Organization: "org"}, SweepAt: w.millis(), Things: []outbox.JobThing{
		{Kind: collab.ADocument, ID: "gone"},
	}}
	_, _, err := w.db.Outbox.AddJob(t.Context(), job)
	w.must(err)
	first := outbox.JobTask(a.id, "j")
	p := w.start()
	messages := 0
	p.taken = func(string) { messages++ }
	short, cancel := context.WithTimeout(t.Context(), 15*time.Second) // too short for a step
	defer cancel()
	w.must(p.take(short, first))
	if got, err := w.db.Outbox.JobProgress(t.Context(), a.id, "j"); err != nil || got.State != collab.JobWaiting {
		t.Errorf("%+v, %v", got, err)
	}
	if w.drain(p); messages != 1 {
		t.Errorf("%d messages", messages)
	}
	if got, err := w.db.Outbox.JobProgress(t.Context(), a.id, "j"); err != nil || got.State != collab.JobDone {
		t.Errorf("%+v, %v", got, err)
	}
	w.must(p.take(t.Context(), first)) // late
	if w.drain(p); messages != 1 {
		t.Errorf("%d messages behind its end", messages)
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
	w.must(w.start().take(t.Context(), outbox.JobTask(a.id, job)))
	if paid, err := a.db.Accounts.Paid(t.Context(), quota.Payer{Account: a.id}); err != nil || paid[quota.Writes] <= before[quota.Writes] {
		t.Errorf("the account has paid %v, before %v, %v", paid, before, err)
	}
}
