package delivery_test

import (
	"strings"
	"testing"

	"collabdata/shared/collab"
)

// TestPerson checks that emails reach a user who is stored at any one level, also as a follower of
// the document, in the language and with the names of today.
func TestPerson(t *testing.T) {
	for _, level := range []string{"organization", "folder", "document", "name at the organization, address at the document"} {
		for _, follows := range []bool{false, true} {
			t.Run(level, func(t *testing.T) {
				a, w := newAccount(t)
				p := w.start()
				folder, err := a.db.Directory.OpenFolder(a.Context(), a.request(), a.doc.OrganizationRef, "f", true)
				a.must(err)
				a.must(a.db.Directory.MoveDocuments(a.Context(), a.request(), a.doc.OrganizationRef, "f", []string{a.doc.Document})[0])
				org := collab.Resource{OrganizationRef: a.doc.OrganizationRef}
				at := map[string]collab.Resource{
					"organization": org, "folder": {OrganizationRef: a.doc.OrganizationRef, Folder: folder},
					"document": {OrganizationRef: a.doc.OrganizationRef, Document: a.doc},
				}
				store := func(in collab.Resource, user string, change func(m *collab.Member)) {
					a.must(a.db.Directory.ChangeMembers(a.Context(), a.request(), in, []string{user}, true, func(_ int, m *collab.Member) { change(m) })[0])
				}
				address := a.address("bob")
				if in, whole := at[level]; whole {
					store(in, "bob", func(m *collab.Member) { m.Name, m.Email, m.Locale = new("Bob Today"), &address, "de" })
				} else {
					store(org, "bob", func(m *collab.Member) { m.Name, m.Locale = new("Bob Today"), "de" })
					store(at["document"], "bob", func(m *collab.Member) { m.Email = &address })
				}
				store(at["folder"], "ann", func(m *collab.Member) { m.Name = new("Ann Today") })
				if follows {
					a.prefer("bob", collab.Preferences{Inbox: collab.PreferAll, Email: collab.PreferAll})
					_, err := a.db.Threads.Follow(a.Context(), a.request(), a.doc, []string{"bob"}, collab.LevelAll)
					a.must(err)
					w.send(a.says("thread", "Hi {{cid}}", collab.User{UserID: "cid"}))
				} else {
					w.send(a.says("thread", "Hi {{bob}}", collab.User{UserID: "bob", Name: new("Bob Old")}))
				}
				w.settle(p)
				sent := w.sentEmails()[address]
				if len(sent) != 1 {
					t.Fatalf("follows %v: bob has %d emails", follows, len(sent))
				}
				want := []string{"Ann Today", "geantwortet"}
				if !follows {
					want = []string{"Ann Today", "@Bob Today", "erwähnt"}
				}
				for _, text := range want {
					if !strings.Contains(sent[0].Text, text) {
						t.Errorf("follows %v: no %q in\n%s", follows, text, sent[0].Text)
					}
				}
			})
		}
	}
}

// TestEveryonesAddress checks that an email about a notification to everyone goes to the nearest
// address that a member has when it leaves.
func TestEveryonesAddress(t *testing.T) {
	for _, test := range []struct {
		name    string
		changes []string // addresses at the document, before the event and while the email waits; "" for none
		want    string
	}{
		{"organization", nil, "bob"},
		{"document", []string{"near"}, "near"},
		{"changed while it waits", []string{"near", "new"}, "new"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, w := newAccount(t, func(s *collab.Settings) { s.MailBatch = collab.BatchPerson })
			store := func(in collab.Resource, address string) {
				a.must(a.db.Directory.ChangeMembers(a.Context(), a.request(), in, []string{"bob"}, true, func(_ int, m *collab.Member) {
					m.Email = new(a.address(address))
				})[0])
			}
			store(collab.Resource{OrganizationRef: a.doc.OrganizationRef}, "bob")
			a.prefer("bob", collab.Preferences{Inbox: collab.PreferAll, Email: collab.PreferAll})
			p := w.start()
			if len(test.changes) > 0 {
				store(a.doc.Resource(), test.changes[0])
			}
			w.send(a.notification(func(ev *draft) { ev.NotifyAll = true }))
			w.drain(p)
			if len(test.changes) > 1 {
				store(a.doc.Resource(), test.changes[1])
			}
			w.settle(p)
			sent := w.sentEmails()
			if n := len(sent[a.address(test.want)]); n != 1 || len(sent) != 1 {
				t.Errorf("%d emails to %s, and to %d addresses in all", n, test.want, len(sent))
			}
		})
	}
}
