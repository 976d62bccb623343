package erasure_test

import (
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/store/outbox"
)

// TestNewStays: what is added under the id after the deletion was answered is there after the job.
func TestNewStays(t *testing.T) {
	w := begin(t)
	w.plant("acme")
	job := w.erase([]string{person})
	doc := w.document("acme", "plan")
	in := collab.Resource{OrganizationRef: doc.OrganizationRef}
	w.must(w.ChangeMembers(t.Context(), w.request(), in, []string{person}, true, func(_ int, m *collab.Member) { m.User = w.user(person) })[0])
	w.thread(doc, "new", nil, comment(1, person, "new words"))
	w.must(w.SetPreferences(t.Context(), doc.OrganizationRef, []string{person}, nil, collab.Preferences{Inbox: collab.PreferAll}))
	*w.now = w.now.Add(outbox.SweepAfter)
	w.run(job)
	th, err := w.threads.RecentComments(t.Context(), doc, "new", 2, 10)
	if err != nil || th == nil || th.CreatorID != person || len(th.Comments) != 1 || *th.Comments[0].Text != "new words" {
		t.Errorf("%+v, %v", th, err)
	}
	members, err := w.Members(t.Context(), doc.OrganizationRef, []string{person})
	if err != nil || len(members) != 1 {
		t.Errorf("members %v, %v", members, err)
	}
	p, err := w.OrganizationPreferences(t.Context(), doc.OrganizationRef, person)
	if err != nil || p.Inbox != collab.PreferAll {
		t.Errorf("preferences %+v, %v", p, err)
	}
}
