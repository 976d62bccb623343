package inbox

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/google/go-cmp/cmp"
)

// prefer is a Directory with preferences by user, in which documents exist unless deleted.
type prefer struct {
	of      map[string]collab.Preferences
	deleted map[string]bool
}

func (p prefer) Current(_ context.Context, _ collab.OrganizationRef, documents []collab.DocumentRef) (map[collab.DocumentRef]bool, error) {
	current := map[collab.DocumentRef]bool{}
	for _, d := range documents {
		current[d] = !p.deleted[d.Document]
	}
	return current, nil
}

func (p prefer) Preferences(_ context.Context, _ collab.OrganizationRef, user string, documents []string) ([]collab.Preferences, error) {
	set, ok := p.of[user]
	if !ok {
		set = collab.DefaultPreferences
	}
	return slices.Repeat([]collab.Preferences{set}, len(documents)), nil
}

func preferences(s *Store) map[string]collab.Preferences { return s.directory.(prefer).of }

func deleted(s *Store) map[string]bool { return s.directory.(prefer).deleted }

func open(table *store.Table) *Store {
	return New(outbox.New(table), prefer{map[string]collab.Preferences{}, map[string]bool{}})
}

// inbox returns the ids of a user's inbox, read in pages of limit.
func (s *Store) inbox(t *testing.T, org collab.OrganizationRef, user string, limit int) []string {
	t.Helper()
	return storetest.WalkPages(t, limit, func(position string) (list []collab.InboxEntry, next string, err error) {
		return s.Notifications(t.Context(), org, ofUser(user), position, limit)
	}, func(e collab.InboxEntry) string { return e.ID })
}

func ofUser(user string) collab.NotificationQuery {
	return collab.NotificationQuery{NotificationFilter: collab.NotificationFilter{User: user}}
}

func notification(id, actor string, at int64) collab.Notification {
	return collab.Notification{ID: id, DocumentID: "doc", ActionUser: collab.User{UserID: actor}, Headline: "of " + id, CreatedAt: at}
}

func TestInbox(t *testing.T) { storetest.OnEach(t, open, testInbox) }

func testInbox(t *testing.T, s *Store) {
	ctx := t.Context()
	org := collab.OrganizationRef{Account: "acct", Organization: "org"}
	var both, own []string // of bob, newest first
	for i := range 30 {
		n := notification(fmt.Sprintf("n%02d", i), "ann", int64(1000+i/2)) // two at each time
		_, err := s.Derive(ctx, org, n, nil)
		must.Do(t, err)
		if i%3 == 0 {
			must.Do(t, s.AddToInboxOfAll(ctx, org, n))
		} else {
			must.Do(t, s.AddToInbox(ctx, org, n, storetest.Placed("bob", "cid")))
			must.Do(t, s.AddToInbox(ctx, org, n, storetest.Placed("bob")))
			own = append([]string{n.ID}, own...)
		}
		both = append([]string{n.ID}, both...)
	}
	// In both lists.
	must.Do(t, s.AddToInboxOfAll(ctx, org, collab.Notification{ID: "n01", CreatedAt: 1000}))
	for _, limit := range []int{1, 2, 3, 7, 100} {
		if diff := cmp.Diff(both, s.inbox(t, org, "bob", limit)); diff != "" {
			t.Errorf("pages of %d: %s", limit, diff)
		}
	}
	toAll := slices.DeleteFunc(slices.Clone(both), func(id string) bool { return id != "n01" && slices.Contains(own, id) })
	if diff := cmp.Diff(toAll, s.inbox(t, org, "dan", 4)); diff != "" {
		t.Errorf("of one who is in no list: %s", diff)
	}
	if got := s.inbox(t, org, "ann", 4); len(got) != 0 {
		t.Errorf("who sent them has %v", got)
	}
	other := collab.OrganizationRef{Account: "acct", Organization: "other"}
	if got := s.inbox(t, other, "bob", 4); len(got) != 0 {
		t.Errorf("in another organization: %v", got)
	}

	preferences(s)["bob"] = collab.Preferences{Inbox: collab.PreferMine}
	if diff := cmp.Diff(own, s.inbox(t, org, "bob", 3)); diff != "" {
		t.Errorf("prefers what concerns him: %s", diff)
	}
	preferences(s)["bob"] = collab.Preferences{Inbox: collab.PreferAll}
	if diff := cmp.Diff(both, s.inbox(t, org, "bob", 100)); diff != "" {
		t.Errorf("prefers everything of the document: %s", diff)
	}
	document := collab.NotificationQuery{Of: org.Document("doc")}
	slices.Reverse(both)
	for _, limit := range []int{1, 7, 100} {
		for _, q := range []collab.NotificationQuery{document, ofUser("bob")} {
			q.Earliest = true
			got := storetest.WalkPages(t, limit, func(position string) ([]collab.InboxEntry, string, error) {
				return s.Notifications(ctx, org, q, position, limit)
			}, func(e collab.InboxEntry) string { return e.ID })
			if diff := cmp.Diff(both, got); diff != "" {
				t.Errorf("earliest first, pages of %d: %s", limit, diff)
			}
			q.IDs = []string{"n07", "none", "n20", "n03"}
			got = storetest.WalkPages(t, limit, func(position string) ([]collab.InboxEntry, string, error) {
				return s.Notifications(ctx, org, q, position, limit)
			}, func(e collab.InboxEntry) string { return e.ID })
			if diff := cmp.Diff([]string{"n03", "n07", "n20"}, got); diff != "" {
				t.Errorf("by ids, pages of %d: %s", limit, diff)
			}
			q.After = 1_003 // the time of n07
			if list, _, err := s.Notifications(ctx, org, q, "", 3); err != nil || len(list) != 2 || list[0].ID != "n07" {
				t.Errorf("by ids, after a time: %v, %v", list, err)
			}
		}
	}
	document.Of = org.Document("other")
	if list, next, err := s.Notifications(ctx, org, document, "", 10); err != nil || len(list) > 0 || next != "" {
		t.Errorf("of another document: %v %q %v", list, next, err)
	}
	deleted(s)["doc"] = true
	if got := s.inbox(t, org, "bob", 7); len(got) != 0 {
		t.Errorf("of a deleted document: %v", got)
	}
	document.Of = org.Document("doc")
	if list, _, err := s.Notifications(ctx, org, document, "", 10); err != nil || len(list) > 0 {
		t.Errorf("of a deleted document: %v, %v", list, err)
	}
}

// TestShown checks that lists and counts leave out entries that are hidden, deleted, replaced or
// read, those of the user's own actions, and documents that do not count.
func TestShown(t *testing.T) {
	s := open(storetest.New(t))
	ctx, org, bob := t.Context(), collab.OrganizationRef{Account: "acct", Organization: "org"}, storetest.Placed("bob")
	add := func(id, actor string, at collab.Millis, toAll bool, to ...collab.Placement) collab.Notification {
		n := notification(id, actor, at)
		_, err := s.Derive(ctx, org, n, nil)
		must.Do(t, err)
		must.Do(t, s.AddToInbox(ctx, org, n, to))
		if toAll {
			must.Do(t, s.AddToInboxOfAll(ctx, org, n))
		}
		return n
	}
	hidden := collab.Placement{User: "bob", Hidden: true}
	add("hidden", "ann", 1_000, false, hidden)
	add("everyone's", "ann", 1_001, true, hidden)
	must.Do(t, s.Withdraw(ctx, org, add("replaced", "ann", 1_002, false, bob...)))
	add("replaced", "ann", 1_003, false)
	deleted := add("deleted", "ann", 1_004, true)
	must.Do(t, s.DeleteNotification(ctx, org, "bob", outbox.JobNotification{ID: "deleted", At: deleted.CreatedAt}))
	add("own", "bob", 1_005, true)
	add("first", "ann", 1_006, false, bob...)
	add("second", "ann", 1_007, false, bob...)

	counted := func(own, all bool) int {
		t.Helper()
		unread, _, err := s.Reader(org, "bob").Unread(ctx, "", func([]string) (map[string]bool, map[string]bool, error) {
			return map[string]bool{"doc": own}, map[string]bool{"doc": all}, nil
		})
		must.Do(t, err)
		return len(unread)
	}
	check := func(what string, count int, unread ...string) {
		t.Helper()
		if n := counted(true, true); n != count {
			t.Errorf("%s, counted are %d", what, n)
		}
		q := ofUser("bob")
		q.Unread = true
		for _, limit := range []int{1, 2, 10} {
			got := storetest.WalkPages(t, limit, func(position string) ([]collab.InboxEntry, string, error) {
				return s.Notifications(ctx, org, q, position, limit)
			}, func(e collab.InboxEntry) string { return e.ID })
			if diff := cmp.Diff(unread, got); diff != "" {
				t.Errorf("%s, unread in pages of %d: %s", what, limit, diff)
			}
		}
		if diff := cmp.Diff([]string{"second", "first", "everyone's"}, s.inbox(t, org, "bob", 2)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	check("at first", 4, "second", "first", "everyone's") // counts read only the lists, which keep the replaced one
	if got := []int{counted(false, true), counted(true, false)}; !slices.Equal(got, []int{1, 3}) {
		t.Errorf("counted are %v", got)
	}
	preferences(s)["bob"] = collab.Preferences{Inbox: collab.PreferMine}
	if n := counted(true, true); n != 3 {
		t.Errorf("of what concerns him, counted are %d", n)
	}
	delete(preferences(s), "bob")
	for _, id := range []string{"hidden", "deleted", "replaced", "own"} {
		change := collab.NotificationChange{ID: id, Read: []string{"bob"}}
		storetest.WantCode(t, id, s.ChangeNotification(ctx, storetest.Request(time.Now()), org, change), collab.NotFound)
	}
	must.Do(t, s.ReadUntil(ctx, org, "bob", 1_006))
	must.Do(t, s.ReadUntil(ctx, org, "bob", 1_000)) // it stays
	check("read until the first", 1, "second")
	for _, id := range []string{"everyone's", "first"} {
		change := collab.NotificationChange{ID: id, Of: collab.NotificationFilter{User: "bob"}, Unread: true}
		must.Do(t, s.ChangeNotification(ctx, storetest.Request(time.Now()), org, change))
	}
	check("marked as unread", 3, "second", "first", "everyone's")
}

func TestChangeNotification(t *testing.T) { storetest.OnEach(t, open, testChangeNotification) }

func testChangeNotification(t *testing.T, s *Store) {
	ctx := t.Context()
	org := collab.OrganizationRef{Account: "acct", Organization: "org"}
	one, all := notification("one", "ann", 1000), notification("all", "ann", 1001)
	for _, n := range []collab.Notification{one, all} {
		if _, err := s.Derive(ctx, org, n, nil); err != nil {
			t.Fatal(err)
		}
	}
	must.Do(t, s.AddToInbox(ctx, org, one, storetest.Placed("bob")))
	must.Do(t, s.AddToInboxOfAll(ctx, org, all))
	events := 0
	click := func(n collab.Notification, user string) *collab.Event {
		events++
		return &collab.Event{
			ID:             fmt.Sprint("click", events),
			Type:           collab.NotificationClicked,
			Account:        "acct",
			OrganizationID: "org",
			NotificationID: n.ID,
		}
	}
	did := func(user, id string, clicks bool) collab.NotificationChange {
		c := collab.NotificationChange{ID: id, Read: []string{user}, Click: click}
		if clicks {
			c.Clicked = []string{user}
		}
		return c
	}
	mark := func(user, id string, clicks bool) (entry collab.InboxEntry, clicked bool) {
		t.Helper()
		r := storetest.Request(time.Now())
		must.Do(t, s.ChangeNotification(ctx, r, org, did(user, id, clicks)))
		list, _, err := s.Notifications(ctx, org, ofUser(user), "", 10)
		i := slices.IndexFunc(list, func(e collab.InboxEntry) bool { return e.ID == id })
		if err != nil || i < 0 {
			t.Fatalf("%+v, %v", list, err)
		}
		return list[i], r.Events() > 0
	}
	for _, id := range []string{"one", "all"} {
		read, clicked := mark("bob", id, false)
		if read.ReadAt == 0 || read.ClickedAt != 0 || clicked {
			t.Errorf("%s read: %+v, %v", id, read, clicked)
		}
		if again, _ := mark("bob", id, false); again.ReadAt != read.ReadAt {
			t.Errorf("%s read again at %d, first at %d", id, again.ReadAt, read.ReadAt)
		}
		first, clicked := mark("bob", id, true)
		if first.ReadAt != read.ReadAt || first.ClickedAt == 0 || !clicked {
			t.Errorf("%s clicked: %+v, %v", id, first, clicked)
		}
		if again, clicked := mark("bob", id, true); clicked || again.ClickedAt != first.ClickedAt {
			t.Errorf("%s clicked again: %+v, %v", id, again, clicked)
		}
		if again, _ := mark("bob", id, false); again.ClickedAt != first.ClickedAt {
			t.Errorf("%s read after the click: %+v", id, again)
		}
	}
	if entry, clicked := mark("eve", "all", true); entry.ReadAt == 0 || !clicked {
		t.Errorf("clicked without being read before: %+v, %v", entry, clicked)
	}
	if work := storetest.Waiting(t, s.outbox.Waiting); events != 3 || len(work) != 3 {
		t.Errorf("%d events made, %d recorded", events, len(work))
	}
	if ev, err := s.outbox.Event(ctx, "acct", "click2"); err != nil || ev.NotificationID != "all" {
		t.Errorf("event %+v, %v", ev, err)
	}
	list, _, err := s.Notifications(ctx, org, ofUser("bob"), "", 10)
	if err != nil || len(list) != 2 || list[0].ClickedAt == 0 || list[1].ReadAt == 0 {
		t.Errorf("inbox %+v, %v", list, err)
	}
	for _, no := range []struct{ user, id string }{{"eve", "one"}, {"bob", "none"}, {"ann", "all"}} {
		if err := s.ChangeNotification(ctx, storetest.Request(time.Now()), org, did(no.user, no.id, true)); collab.CodeOf(
			err,
		) != collab.NotFound {
			t.Errorf("%s marks %s: %v", no.user, no.id, err)
		}
	}

	edit := did("bob", "one", true)
	edit.Edit = func(n *collab.Notification) { n.Headline = "changed" }
	for _, of := range []collab.NotificationFilter{{Document: "other"}, {Location: "here"}, {User: "eve"}} {
		if edit.Of = of; collab.CodeOf(s.ChangeNotification(ctx, storetest.Request(time.Now()), org, edit)) != collab.NotFound {
			t.Errorf("changed though it is not of %+v", of)
		}
	}
	edit.Of, edit.Read = collab.NotificationFilter{Document: "doc", User: "bob"}, []string{"bob", "eve"}
	if err := s.ChangeNotification(ctx, storetest.Request(time.Now()), org, edit); collab.CodeOf(err) != collab.NotFound {
		t.Errorf("changed though eve has it not: %v", err)
	}
	if n, err := s.Notification(ctx, org, "one"); err != nil || n.Headline != one.Headline {
		t.Errorf("what failed changed it: %+v, %v", n, err)
	}
	for range 2 {
		edit.Read = nil
		if err := s.ChangeNotification(ctx, storetest.Request(time.Now()), org, edit); err != nil {
			t.Error(err)
		}
		if n, err := s.Notification(ctx, org, "one"); err != nil || n.Headline != "changed" {
			t.Errorf("%+v, %v", n, err)
		}
	}
	edit.Edit = func(n *collab.Notification) { n.Body = strings.Repeat("x", collab.MaxItemBytes) }
	if err := s.ChangeNotification(ctx, storetest.Request(time.Now()), org, edit); collab.CodeOf(err) != collab.InvalidArgument {
		t.Errorf("too large: %v", err)
	}
	deleted(s)["doc"] = true
	if err := s.ChangeNotification(ctx, storetest.Request(time.Now()), org, did("bob", "one", false)); collab.CodeOf(err) != collab.NotFound {
		t.Errorf("of a deleted document: %v", err)
	}
}

// TestDuplicateNotification: adding a notification again leaves nothing behind.
func TestDuplicateNotification(t *testing.T) { storetest.OnEach(t, open, testDuplicateNotification) }

func testDuplicateNotification(t *testing.T, s *Store) {
	org := collab.OrganizationRef{Account: "acct", Organization: "org"}
	n := notification("invoice-7", "ann", 1)
	for i := range 3 {
		n.CreatedAt = 1_000 + int64(i)
		ev := &collab.Event{Account: "acct", ID: fmt.Sprint("event", i), OrganizationID: "org", NotificationID: n.ID}
		created, err := s.AddNotification(t.Context(), storetest.Request(time.Now()), org, n, []collab.User{{UserID: "bob"}}, ev)
		if err != nil || created != (i == 0) {
			t.Errorf("%d: created %v, %v", i, created, err)
		}
	}
	large := notification("large", "ann", 1_000)
	large.Body = strings.Repeat("x", collab.MaxItemBytes)
	_, err := s.AddNotification(t.Context(), storetest.Request(time.Now()), org, large, nil, &collab.Event{Account: "acct", ID: "large", OrganizationID: "org"})
	storetest.WantCode(t, "a large one", err, collab.InvalidArgument)
	for pk, n := range map[string]int{keys.DocumentNotification(n.Document(org), 0, "").PK: 1, keys.Notification(org, n.ID).PK: 2} {
		items, err := s.Query(t.Context(), store.Scan{PK: pk, Keys: store.Everything, Strong: true})
		if err != nil || len(items) != n || items[0].Number(keys.Expires) == 0 {
			t.Errorf("%s: %v, %v", pk, items, err)
		}
	}
}

// TestPageOfMany: a notification with a thousand recipients costs a page of an inbox no more than
// one with few.
func TestPageOfMany(t *testing.T) {
	s := New(outbox.New(storetest.New(t)), prefer{})
	org := collab.OrganizationRef{Account: "acct", Organization: "org"}
	units := map[int]float64{}
	for _, n := range []int{1, collab.MaxPeople} {
		note := notification(fmt.Sprint("n", n), "ann", 1000)
		ev := &collab.Event{Account: "acct", ID: fmt.Sprint("event", n), Type: collab.NotificationAdded, OrganizationID: "org", NotificationID: note.ID}
		var users []collab.User
		for i := range n {
			users = append(users, collab.User{UserID: fmt.Sprint("user", i), Email: new(strings.Repeat("x", 300) + "@example.com")})
		}
		if _, err := s.AddNotification(t.Context(), storetest.Request(time.Now()), org, note, users, ev); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Recipients(t.Context(), ev); err != nil || len(got) != n {
			t.Errorf("%d of %d users, %v", len(got), n, err)
		}
		must.Do(t, s.AddToInbox(t.Context(), org, note, storetest.Placed(fmt.Sprint("of ", n))))
		var usage collab.Usage
		if _, _, err := s.Notifications(collab.WithUsage(t.Context(), &usage), org, ofUser(fmt.Sprint("of ", n)), "", 10); err != nil {
			t.Fatal(err)
		}
		units[n], _, _ = usage.Total()
	}
	if units[1] != units[collab.MaxPeople] {
		t.Errorf("%v units", units)
	}
}

// TestDeletedForOne: deleting a notification from one inbox records the reason for no email. After
// deleting a comment's notification for everyone, it is not added again.
func TestDeletedForOne(t *testing.T) {
	ctx := t.Context()
	s := New(outbox.New(storetest.New(t)), prefer{})
	org := collab.OrganizationRef{Account: "acct", Organization: "org"}
	n := notification("event", "ann", 1000)
	add := func(want bool) {
		t.Helper()
		there, err := s.Derive(ctx, org, n, []string{"bob"})
		if err == nil && there {
			err = s.AddToInbox(ctx, org, n, storetest.Placed("bob"))
		}
		if err != nil || there != want {
			t.Fatal(there, err)
		}
	}
	add(true)
	of := outbox.JobNotification{ID: n.ID, At: n.CreatedAt}
	must.Do(t, s.DeleteNotification(ctx, org, "bob", of))
	if reached, err := s.Reached(ctx, org, n.CreatedAt, n.ID, []string{"bob"}); err != nil || reached["bob"].DeletedAt == 0 || reached["bob"].InInbox {
		t.Errorf("%+v, %v", reached, err)
	}
	must.Do(t, s.DeleteNotification(ctx, org, "", outbox.JobNotification{ID: n.ID, At: n.CreatedAt - 1})) // another one
	if _, err := s.Notification(ctx, org, n.ID); err != nil {
		t.Error(err)
	}
	must.Do(t, s.DeleteNotification(ctx, org, "", of))
	add(false)
	if got := s.inbox(t, org, "bob", 10); len(got) > 0 {
		t.Errorf("bob has %v", got)
	}
	n.CreatedAt++ // a later one with its id
	add(true)
}

// TestWithdraw: a withdrawn notification can be derived again at another time. A withdrawal leaves
// one that was deleted for everyone, and one that has replaced it.
func TestWithdraw(t *testing.T) {
	ctx := t.Context()
	s := New(outbox.New(storetest.New(t)), prefer{})
	org := collab.OrganizationRef{Account: "acct", Organization: "org"}
	first, second := notification("shared", "ann", 1000), notification("shared", "cat", 2000)
	derive := func(n collab.Notification, want bool) {
		t.Helper()
		if there, err := s.Derive(ctx, org, n, []string{"bob"}); err != nil || there != want {
			t.Fatalf("Derive = %v, %v; want %v", there, err, want)
		}
	}
	derive(first, true)
	must.Do(t, s.Withdraw(ctx, org, first))
	derive(second, true)
	must.Do(t, s.Withdraw(ctx, org, first)) // late
	if n, err := s.Notification(ctx, org, "shared"); err != nil || n.CreatedAt != second.CreatedAt {
		t.Errorf("after a late withdrawal: %+v, %v", n, err)
	}
	must.Do(t, s.DeleteNotification(ctx, org, "", outbox.JobNotification{ID: "shared", At: second.CreatedAt}))
	must.Do(t, s.Withdraw(ctx, org, second))
	derive(first, false)
}

// TestUnreadBound checks the limit of a count and of a page of unread notifications, after 1,000
// read ones.
func TestUnreadBound(t *testing.T) {
	s := New(outbox.New(storetest.New(t)), prefer{})
	org := collab.OrganizationRef{Account: "acct", Organization: "org"}
	const read = inboxExamined + 10
	must.Do(t, store.Each(t.Context(), read+1, func(ctx context.Context, i int) error {
		n := notification(fmt.Sprintf("n%04d", i), "ann", int64(1_000+i))
		if err := s.AddToInbox(ctx, org, n, storetest.Placed("bob")); err != nil || i == 0 {
			return err
		}
		return s.Put(ctx, store.ItemOf(keys.NotificationState(org, "bob", n.CreatedAt, n.ID), stateItem{ReadAt: 1}))
	}))
	_, err := s.Derive(t.Context(), org, notification("n0000", "ann", 1_000), nil)
	must.Do(t, err)
	look := func(name string, mostUnits float64, mostCalls int, f func(context.Context) (found int, next string, err error)) string {
		t.Helper()
		var usage collab.Usage
		found, next, err := f(collab.WithUsage(t.Context(), &usage))
		units, _, calls := usage.Total()
		t.Logf("%s: %.1f units, %d calls", name, units, calls)
		if err != nil || found != 0 || next == "" || units > mostUnits || calls > mostCalls {
			t.Errorf("%s: %d, %q, %v, by %.1f units, %d calls", name, found, next, err, units, calls)
		}
		return next
	}
	all := func([]string) (own, all map[string]bool, err error) {
		return map[string]bool{"doc": true}, map[string]bool{"doc": true}, nil
	}
	look("a count", 50, 13, func(ctx context.Context) (int, string, error) {
		unread, next, err := s.Reader(org, "bob").Unread(ctx, "", all)
		return len(unread), next, err
	})
	q := ofUser("bob")
	q.Unread = true
	next := look("a page", 50, 20, func(ctx context.Context) (int, string, error) {
		list, next, err := s.Notifications(ctx, org, q, "", 10)
		return len(list), next, err
	})
	if list, next, err := s.Notifications(t.Context(), org, q, next, 10); err != nil || len(list) != 1 || next != "" {
		t.Errorf("the next page has %v, and goes on at %q, %v", list, next, err)
	}
	must.Do(t, s.ReadUntil(t.Context(), org, "bob", 2_000+5))
	list, next, err := s.Notifications(t.Context(), org, q, "", 10)
	if unread, end, failed := s.Reader(org, "bob").Unread(t.Context(), "", all); err != nil || failed != nil || len(list)+len(unread) > 0 || next+end != "" {
		t.Errorf("everything but the newest was read: %v, %q, %v; %q, %q, %v", list, next, err, unread, end, failed)
	}

	// The oldest is marked as unread: it is found before the read-until time, until that is set
	// again.
	unread := collab.NotificationChange{ID: "n0000", Of: collab.NotificationFilter{User: "bob"}, Unread: true}
	for repeated := range 2 {
		var usage collab.Usage
		must.Do(t, s.ChangeNotification(collab.WithUsage(t.Context(), &usage), storetest.Request(time.Now()), org, unread))
		if _, written, _ := usage.Total(); (written == 0) != (repeated == 1) {
			t.Errorf("mark %d writes %.1f units", repeated, written)
		}
	}
	_, next, err = s.Notifications(t.Context(), org, q, "", 10)
	must.Do(t, err)
	if list, next, err := s.Notifications(t.Context(), org, q, next, 10); err != nil || len(list) != 1 || next != "" {
		t.Errorf("marked as unread: %v, %q, %v", list, next, err)
	}
	must.Do(t, s.ReadUntil(t.Context(), org, "bob", 2_000+5))
	if list, next, err := s.Notifications(t.Context(), org, q, "", 10); err != nil || len(list) > 0 || next != "" {
		t.Errorf("everything was read again: %v, %q, %v", list, next, err)
	}
}

// TestThreadReadsMarked: reading a thread again reads its notification that was marked as unread.
func TestThreadReadsMarked(t *testing.T) {
	s := New(outbox.New(storetest.New(t)), prefer{})
	org := collab.OrganizationRef{Account: "acct", Organization: "org"}
	n := notification("n", "ann", 1_000)
	n.AnnotationID = "thread"
	_, err := s.Derive(t.Context(), org, n, []string{"bob"})
	if err == nil {
		err = s.AddToInbox(t.Context(), org, n, storetest.Placed("bob"))
	}
	must.Do(t, err)
	check := func(want bool) {
		t.Helper()
		list, _, err := s.Notifications(t.Context(), org, ofUser("bob"), "", 10)
		if err != nil || len(list) != 1 || (list[0].ReadAt != 0) != want {
			t.Errorf("%+v, %v; want it read: %v", list, err, want)
		}
	}
	change := func(c collab.NotificationChange) {
		t.Helper()
		c.ID, c.Of.User = n.ID, "bob"
		must.Do(t, s.ChangeNotification(t.Context(), storetest.Request(time.Now()), org, c))
	}
	for _, test := range []struct {
		thread string
		until  collab.Millis
		want   bool
	}{{"thread", n.CreatedAt - 1, false}, {"other", n.CreatedAt, false}, {"thread", n.CreatedAt, true}} {
		read, err := s.ReadBy(t.Context(), org.Document("doc"), test.thread, "bob", test.until)
		must.Do(t, err)
		must.Do(t, read(t.Context()))
		check(test.want)
	}
	change(collab.NotificationChange{Unread: true})
	must.Do(t, s.ReadThreads(t.Context(), org.Document("doc"), "bob", []string{"thread"}, true))
	check(true)
	for _, read := range []func(){
		func() { must.Do(t, s.ReadThreads(t.Context(), org.Document("doc"), "bob", nil, true)) },
		func() { change(collab.NotificationChange{Read: []string{"bob"}}) },
		func() { must.Do(t, s.ReadUntil(t.Context(), org, "bob", 1_000)) },
		func() { must.Do(t, s.ReadUntil(t.Context(), org, "bob", 1_001)) },
	} {
		change(collab.NotificationChange{Unread: true})
		check(false)
		read()
		check(true)
	}
}

// TestMentionsStay checks that reading threads without mentions leaves mentions unread, and that
// only unread entries are notified.
func TestMentionsStay(t *testing.T) {
	s, org := open(storetest.New(t)), collab.OrganizationRef{Account: "acct", Organization: "org"}
	for i, mentioned := range []bool{false, true} {
		n := notification(fmt.Sprint("n", i), "ann", int64(1_000+i))
		n.AnnotationID = "thread"
		_, err := s.Derive(t.Context(), org, n, nil)
		must.Do(t, err)
		to := []collab.Placement{{User: "bob", Mentioned: mentioned, Notices: map[string]string{"email": "e"}}}
		must.Do(t, s.AddToInbox(t.Context(), org, n, to))
	}
	must.Do(t, s.ReadThreads(t.Context(), org.Document("doc"), "bob", nil, false))
	list, err := s.Reader(org, "bob").ToNotify(t.Context(), "", "email", "e")
	if err != nil || list.Left() != 1 || len(list.Ended[WhySeen]) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestTell checks that each channel gets an entry once: a second event about one of them is
// not recorded, and neither is one about a deleted entry.
func TestTell(t *testing.T) {
	s, org := open(storetest.New(t)), collab.OrganizationRef{Account: "acct", Organization: "org"}
	ctx := t.Context()
	n := collab.Notification{ID: "n1", DocumentID: "doc", CreatedAt: 1000}
	to := []collab.Placement{{User: "bob", Notices: map[string]string{"email": "e", "s.lack": "s"}}}
	must.Do(t, s.AddToInbox(ctx, org, n, to))
	again := []collab.Placement{{User: "bob", Notices: map[string]string{"email": "later"}}}
	must.Do(t, s.AddToInbox(ctx, org, n, again))
	if diff := cmp.Diff(to, again); diff != "" {
		t.Errorf("an existing entry waits for other notices:\n%s", diff)
	}
	for _, test := range []struct {
		channel, notice, position string
		want                      bool
	}{
		{"s.lack", "s", Position(n), true},
		{"s.lack", "s", Position(n), false},
		{"email", "e", Position(collab.Notification{ID: "n2", CreatedAt: 2000}), false},
		{"email", "e", Position(n), true},
		{"email", "e", Position(n), false},
	} {
		list, err := s.Reader(org, "bob").ToNotify(ctx, "", test.channel, test.notice)
		must.Do(t, err)
		ev := &collab.Event{ID: rand.Text(), Account: "acct"}
		told, err := list.Tell(ctx, ev, []string{test.position})
		if told != test.want || err != nil {
			t.Errorf("%+v: %v, %v", test, told, err)
		}
		if _, err := s.outbox.Event(ctx, "acct", ev.ID); (err == nil) != test.want {
			t.Errorf("%+v: the event is recorded: %v", test, err)
		}
	}
}

// TestPagesOfLarge checks that pages of large notifications use half of their read units, and that
// all pages together have every notification.
func TestPagesOfLarge(t *testing.T) {
	s, org := open(storetest.New(t)), collab.OrganizationRef{Account: "acct", Organization: "org"}
	var want []string
	for i := range 12 {
		n := notification(fmt.Sprint("n", i), "ann", int64(1_000+i))
		n.Body = strings.Repeat("x", 80_000)
		_, err := s.Derive(t.Context(), org, n, nil)
		must.Do(t, err)
		must.Do(t, s.AddToInbox(t.Context(), org, n, storetest.Placed("bob")))
		want = append([]string{n.ID}, want...)
	}
	const page = 100
	got := storetest.WalkPages(t, 100, func(position string) ([]collab.InboxEntry, string, error) {
		var usage collab.Usage
		usage.SetBound(&collab.Bound{Page: page})
		list, next, err := s.Notifications(collab.WithUsage(t.Context(), &usage), org, ofUser("bob"), position, 100)
		if read, _, _ := usage.Total(); read > page*3/4 {
			t.Errorf("%d notifications take %.1f units", len(list), read)
		}
		return list, next, err
	}, func(e collab.InboxEntry) string { return e.ID })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
