package store

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"collabdata/shared/collab"

	"github.com/google/go-cmp/cmp"
)

// TestCheckDocument checks what is there, what is not, and what is made by the flags.
func TestCheckDocument(t *testing.T) { onEach(t, testCheckDocument) }

func testCheckDocument(t *testing.T, s *Store) {
	ref := collab.OrganizationRef{Account: "acct", Organization: "org"}
	check := func(document string, flags collab.CreateFlags) collab.Code {
		return collab.CodeOf(s.CheckDocument(t.Context(), ref.Document(document), flags))
	}
	steps := []struct {
		document string
		flags    collab.CreateFlags
		want     collab.Code
	}{
		{"d", collab.CreateFlags{}, collab.NotFound},
		{"d", collab.CreateFlags{Document: true}, collab.NotFound},
		{"d", collab.CreateFlags{Organization: true}, collab.NotFound}, // the organization is made, and stays
		{"d", collab.CreateFlags{}, collab.NotFound},
		{"d", collab.CreateFlags{Document: true}, ""},
		{"d", collab.CreateFlags{}, ""},
		{"e", collab.CreateFlags{Organization: true, Document: true}, ""},
	}
	for i, step := range steps {
		if got := check(step.document, step.flags); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
	orgs, err := s.Organizations(t.Context(), "acct", []string{"none", "org", "org"})
	if err != nil || len(orgs) != 1 || orgs[0].Name != "org" || orgs[0].CreatedAt == 0 {
		t.Errorf("%+v, %v", orgs, err)
	}
	d, err := s.Document(t.Context(), ref.Document("e"))
	if err != nil || d.Folder != collab.RootFolder {
		t.Errorf("%+v, %v", d, err)
	}
	if err := s.PutOrganization(t.Context(), "acct", collab.Organization{ID: "off", Disabled: true}); err != nil {
		t.Fatal(err)
	}
	ref.Organization = "off"
	if got := check("d", collab.CreateFlags{Organization: true, Document: true}); got != collab.FailedPrecondition {
		t.Errorf("a disabled organization: %q", got)
	}
	ref.Account = "other"
	if got := check("d", collab.CreateFlags{}); got != collab.NotFound {
		t.Errorf("another account's organization: %q", got)
	}
	ref.Organization = "twins"
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got := check("d", collab.CreateFlags{Organization: true, Document: true}); got != "" {
				t.Errorf("made by several at once: %q", got)
			}
		})
	}
	wg.Wait()
}

// TestKnown holds how long the store believes what it read, on a clock of the test.
func TestKnown(t *testing.T) {
	s := newStore(t)
	org := s.mustOrganization(t, "org")
	now := time.Now()
	s.now = func() time.Time { return now }
	clear(s.known.until)
	calls := func() (n int, code collab.Code) {
		u := &collab.Usage{}
		err := s.CheckDocument(collab.WithUsage(t.Context(), u), org.Document("doc"), collab.CreateFlags{})
		_, _, n = u.Total()
		return n, collab.CodeOf(err)
	}
	type outcome struct {
		after time.Duration
		calls int
		code  collab.Code
	}
	var got []outcome
	start := now
	step := func(after time.Duration) {
		now = start.Add(after)
		n, code := calls()
		got = append(got, outcome{after, n, code})
	}
	step(0)
	step(disabledFor - 1)
	if err := s.PutOrganization(t.Context(), org.Account, collab.Organization{ID: "org", Disabled: true}); err != nil {
		t.Fatal(err)
	}
	step(disabledFor - 1)
	step(disabledFor)
	if err := s.PutOrganization(t.Context(), org.Account, collab.Organization{ID: "org"}); err != nil {
		t.Fatal(err)
	}
	step(disabledFor)
	step(2 * disabledFor)
	want := []outcome{
		{0, 1, ""}, {disabledFor - 1, 0, ""}, {disabledFor - 1, 0, ""}, {disabledFor, 1, collab.FailedPrecondition},
		{disabledFor, 1, ""}, {2 * disabledFor, 1, ""},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
		t.Error(diff)
	}
	for i := range mostKnown + 10 {
		s.knowDocument(organizationItem("acct", collab.Organization{ID: fmt.Sprint(i)}).key())
	}
	if n := len(s.known.until); n > mostKnown {
		t.Errorf("%d are remembered", n)
	}
}

// TestListings pages through organizations and folders, whose ids are escaped.
func TestListings(t *testing.T) { onEach(t, testListings) }

func testListings(t *testing.T, s *Store) {
	ctx := t.Context()
	want := []string{"a", "a b", "a#b", "a%b", "a0", "ab", "é"} // in the order of their keys
	for _, id := range want {
		o := collab.Organization{ID: id, Name: "n", Metadata: collab.JSON(`{"x":1.0}`), CreatedAt: 1, LastUpdated: 2}
		if err := s.PutOrganization(ctx, "acct", o); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PutAccount(ctx, collab.Account{ID: "acct"}); err != nil { // beside its organizations
		t.Fatal(err)
	}
	for size := 1; size <= len(want)+1; size++ {
		var got []string
		pages := 0
		for after, more := "", true; more; pages++ {
			var err error
			if more, err = s.ListOrganizations(ctx, "acct", after, size, func(o collab.Organization) bool {
				got, after = append(got, o.ID), o.ID
				return true
			}); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || pages != (len(want)+size-1)/size {
			t.Errorf("%d pages of %d: %s", pages, size, diff)
		}
	}
	var taken int
	more, err := s.ListOrganizations(ctx, "acct", "", 5, func(collab.Organization) bool { taken++; return taken < 3 })
	if err != nil || !more || taken != 3 {
		t.Errorf("more %v, %d taken, %v", more, taken, err)
	}

	org := collab.OrganizationRef{Account: "acct", Organization: "a"}
	for _, f := range []collab.Folder{{ID: "f#1"}, {ID: "f"}, {ID: "sub", Parent: "f"}, {ID: "s b", Parent: "f"}, {ID: "subsub", Parent: "sub"}} {
		if err := s.PutFolder(ctx, org, f); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PutDocument(ctx, org, collab.Document{ID: "d", Folder: "f"}); err != nil {
		t.Fatal(err)
	}
	all, err := s.Folders(ctx, org)
	if diff := cmp.Diff([]string{"f", "f#1", "s b", "sub", "subsub"}, folderIDs(all)); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	f, subs, err := s.Folder(ctx, org, "f")
	if diff := cmp.Diff([]string{"s b", "sub"}, folderIDs(subs)); err != nil || diff != "" || f.ID != "f" || f.Parent != collab.RootFolder {
		t.Errorf("%+v, %v %s", f, err, diff)
	}
	_, _, err = s.Folder(ctx, org, "none")
	mustCode(t, "unknown folder", err, collab.NotFound)
	_, err = s.Folders(ctx, collab.OrganizationRef{Account: "acct", Organization: "none"})
	mustCode(t, "unknown organization", err, collab.NotFound)
	if err := s.PutFolder(ctx, org, collab.Folder{ID: "sub", Parent: "f#1"}); err != nil { // moved
		t.Fatal(err)
	}
	if _, subs, err = s.Folder(ctx, org, "f"); err != nil || fmt.Sprint(folderIDs(subs)) != "[s b]" {
		t.Errorf("%+v, %v", subs, err)
	}
}

func folderIDs(list []collab.Folder) []string {
	ids := make([]string, len(list))
	for i, f := range list {
		ids[i] = f.ID
	}
	return ids
}

// TestAddNotification adds a notification with its event, once.
func TestAddNotification(t *testing.T) { onEach(t, testAddNotification) }

func testAddNotification(t *testing.T, s *Store) {
	org := s.mustOrganization(t, "org")
	n := collab.Notification{ID: "n", DocumentID: "d", ActionUser: collab.User{UserID: "u"}, Headline: "h", SourceData: collab.JSON(`{"a":1.50}`), CreatedAt: 5}
	add := func(n collab.Notification, event string) (bool, error) {
		return s.AddNotification(t.Context(), org, n, &collab.Event{ID: event, Account: "acct", OrganizationID: "org", Type: collab.NotificationAdded})
	}
	if created, err := add(n, "e1"); err != nil || !created {
		t.Fatal(created, err)
	}
	other := n
	other.Headline = "other"
	if created, err := add(other, "e2"); err != nil || created {
		t.Fatal(created, err)
	}
	got, err := s.Notification(t.Context(), org, "n")
	if diff := cmp.Diff(n, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	_, err = s.Event(t.Context(), "acct", "e1")
	mustCode(t, "event", err, "")
	_, err = s.Event(t.Context(), "acct", "e2")
	mustCode(t, "event of a notification that was not added", err, collab.NotFound)
	_, err = s.Notification(t.Context(), org, "none")
	mustCode(t, "unknown notification", err, collab.NotFound)
	n.ID, n.Body = "large", string(make([]byte, collab.MaxItemBytes))
	_, err = add(n, "e3")
	mustCode(t, "too large", err, collab.InvalidArgument)

	want := []collab.Preferences{collab.DefaultPreferences, collab.DefaultPreferences, collab.DefaultPreferences}
	docs := []string{"d#1", "d2", "d3"}
	for _, set := range []struct {
		document string
		p        collab.Preferences
		want     []collab.Preferences
	}{
		{"d#1", collab.Preferences{Inbox: collab.PreferNone}, []collab.Preferences{{Inbox: "NONE", Email: "MINE"}, want[1], want[2]}},
		{"", collab.Preferences{Email: collab.PreferAll}, []collab.Preferences{{Inbox: "NONE", Email: "ALL"}, {Inbox: "ALL", Email: "ALL"}, {Inbox: "ALL", Email: "ALL"}}},
		{"d2", collab.Preferences{Email: collab.PreferNone}, []collab.Preferences{{Inbox: "NONE", Email: "ALL"}, {Inbox: "ALL", Email: "NONE"}, {Inbox: "ALL", Email: "ALL"}}},
	} {
		if err := s.SetPreferences(t.Context(), org, "u", set.document, set.p); err != nil {
			t.Fatal(err)
		}
		got, err := s.Preferences(context.WithoutCancel(t.Context()), org, "u", docs)
		if diff := cmp.Diff(set.want, got); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	}
}

// TestSelectAnnotations selects in a document of threads of very different lengths: what is read of long ones is bounded.
func TestSelectAnnotations(t *testing.T) { onEach(t, testSelectAnnotations) }

func testSelectAnnotations(t *testing.T, s *Store) {
	doc := s.mustOrganization(t, "org").Document("doc")
	var want []string
	for i := range 40 {
		n := 1
		if i%10 == 0 {
			n = 200
		}
		th := newThread(fmt.Sprintf("a%02d", i), fmt.Sprint("u", i%4), n, 10)
		th.LocationID = fmt.Sprint("l", i%3)
		s.mustAdd(t, doc, th)
		want = append(want, th.ID)
	}
	units, _ := spent(t, func(ctx context.Context) error {
		got, missing, err := s.SelectAnnotations(ctx, doc, collab.Selector{}, 40)
		if diff := cmp.Diff(want, got); diff != "" || missing != nil {
			t.Error(diff, missing)
		}
		return err
	})
	if units > 60 {
		t.Errorf("%v units", units)
	}
	for _, sel := range []collab.Selector{{}, {Creators: []string{"u0", "u1", "u2", "u3"}}, {IDs: want}} {
		_, _, err := s.SelectAnnotations(t.Context(), doc, sel, 39)
		mustCode(t, "more than it may select", err, collab.ResourceExhausted)
	}
	got, _, err := s.SelectAnnotations(t.Context(), doc, collab.Selector{Creators: []string{"u3", "u1"}, Locations: []string{"l1"}}, 100)
	if diff := cmp.Diff([]string{"a01", "a07", "a13", "a19", "a25", "a31", "a37"}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}
