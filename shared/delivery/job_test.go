package delivery_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/queue"
	"collabdata/shared/store/outbox"
	"collabdata/shared/testing/storetest"
)

// TestJobGoesOn: a job that a run has no time for goes on by a message of its own at once, behind a chain of them by the relay, and ends
// both.
func TestJobGoesOn(t *testing.T) {
	w := newWorld(t)
	job := outbox.Job{ID: "j", Account: "acct", In: collab.OrganizationRef{Account: "acct", Organization: "org"}, SweepAt: w.millis(), Things: []outbox.JobThing{
		{Kind: collab.ADocument, ID: "doc"},
	}}
	_, err := w.outbox.AddJob(t.Context(), job)
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
		if got, err := w.outbox.JobProgress(t.Context(), "acct", "j"); err != nil || got.State != want {
			t.Errorf("%+v, %v; want %s", got, err, want)
		}
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Second) // less than a run needs to begin a step
	defer cancel()
	last := first
	last.Hops = 12
	w.must(p.Event(short, last))
	if at, err := w.outbox.Pending(t.Context(), first.EventRef, collab.JobWork); err != nil || at == nil || at.Next != w.millis() {
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

// TestJobWaits: the job of a folder, which deletes what is in it at once and sweeps that an hour later, lies among what waits meanwhile;
// and nothing is lost where nobody carries jobs out for a month.
func TestJobWaits(t *testing.T) {
	w := newWorld(t)
	a := w.account()
	r := a.request()
	r.Account = a.id
	_, err := a.directory.OpenFolder(t.Context(), r, a.doc.OrganizationRef, "f", true)
	a.must(err)
	a.must(a.directory.MoveDocuments(t.Context(), r, a.doc.OrganizationRef, "f", []string{"doc"})[0])
	a.comment("thread")
	r = a.request()
	r.Account = a.id
	job, err := a.deletion.DeleteFolder(t.Context(), r, a.doc.OrganizationRef, "f")
	a.must(err)
	w.add(3 * time.Minute)
	ref := collab.EventRef{Account: a.id, ID: job}
	p := w.start()
	w.must(p.Event(t.Context(), queue.Event{EventRef: ref, Kind: collab.JobWork}))
	if at, err := w.outbox.Pending(t.Context(), ref, collab.JobWork); err != nil || at != nil {
		t.Errorf("pending each minute: %+v, %v", at, err)
	}
	if got, err := a.outbox.JobProgress(t.Context(), a.id, job); err != nil || got.State != collab.JobWaiting {
		t.Errorf("%+v, %v", got, err)
	}
	w.add(31 * 24 * time.Hour)
	for range 20 { // minutes: the relay looks at what waits in every tenth
		w.relay()
		w.drain(p)
		w.add(time.Minute)
	}
	if got, err := a.outbox.JobProgress(t.Context(), a.id, job); err != nil || got.State != collab.JobDone {
		t.Errorf("%+v, %v", got, err)
	}
	for _, it := range storetest.Scan(t, a.outbox.Table) {
		if strings.HasPrefix(it.Key().PK, keys.DocumentPartition(a.doc)) || strings.HasPrefix(it.Key().PK, "DUE#later") {
			t.Errorf("%s is stored", it.Key())
		}
	}
}
