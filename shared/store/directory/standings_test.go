package directory

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/google/go-cmp/cmp"
)

var people = []string{"ann", "bob", "cid"}

// seeing returns the people with access to documents of acme, by document, and the read units.
func (s *Store) seeing(t *testing.T, docs ...string) (seen map[string][]string, units float64) {
	t.Helper()
	u := &collab.Usage{}
	refs := collab.Map(docs, acme.Document)
	of, err := s.Standings(collab.WithUsage(t.Context(), u), acme, collab.StandingQuery{Users: people, Documents: refs})
	must.Do(t, err)
	seen = map[string][]string{}
	for i, d := range docs {
		for _, v := range of.Documents[i] {
			if v.Viewer(s.Millis()).May {
				seen[d] = append(seen[d], v.User)
			}
		}
	}
	units, _, _ = u.Total()
	return seen, units
}

func (s *Store) setAccess(t *testing.T, doc string, a collab.Access) {
	t.Helper()
	must.Do(t, storetest.ChangeDocument(t.Context(), s, acme.Document(doc), func(d *collab.Document) { d.Access = a }))
}

func (s *Store) addMembers(t *testing.T, in collab.Resource, users ...string) {
	t.Helper()
	for _, err := range s.ChangeMembers(t.Context(), storetest.Request(s.Now()), in, users, true, func(int, *collab.Member) {}) {
		must.Do(t, err)
	}
}

func (s *Store) removeMembers(t *testing.T, in collab.Resource, users ...string) {
	t.Helper()
	for _, err := range s.DeleteMembers(t.Context(), storetest.Request(s.Now()), in, users) {
		must.Do(t, err)
	}
}

func (s *Store) grant(t *testing.T, user string, on collab.Resource, expires int64) {
	t.Helper()
	g := collab.Grant{Role: collab.RoleViewer, Expires: expires}
	must.Do(t, s.AddGrants(t.Context(), storetest.Request(s.Now()), user, []collab.Resource{on}, []collab.Grant{g}))
}

// Resources of acme.
var (
	inAcme = collab.Resource{OrganizationRef: acme}
	inPlan = collab.Resource{OrganizationRef: acme, Document: acme.Document("plan")}
)

// TestStandings adds restrictions step by step, and checks the cost: one unit for organization and
// document, one for each folder above, and at most two for each user. Without restrictions, users
// cost nothing.
func TestStandings(t *testing.T) {
	s := newStore(t)
	s.putOrganization(t, collab.Organization{ID: "org"})
	s.putFolder(t, "top", collab.RootFolder)
	s.putFolder(t, "in", "top")
	s.putDocument(t, "plan", "")
	s.putDocument(t, "deep", "in")
	top, err := s.findFolder(t.Context(), acme, "top")
	must.Do(t, err)
	inTop := collab.Resource{OrganizationRef: acme, Folder: top}
	all := slices.Clone(people)
	for _, step := range []struct {
		name string
		do   func()
		plan []string
		deep []string
		each float64 // units for each user
	}{
		{"nothing is set", func() {}, all, all, 0},
		{"public", func() { s.setAccess(t, "plan", collab.AccessPublic) }, all, all, 0},
		{"restricted", func() { s.setAccess(t, "plan", collab.AccessRestricted) }, nil, all, 0.5},
		{"a member", func() { s.addMembers(t, inAcme, "bob") }, nil, all, 0.5},
		{"organizationPrivate", func() { s.setAccess(t, "plan", collab.AccessOrganizationPrivate) }, []string{"bob"}, all, 1},
		{"a grant", func() { s.grant(t, "ann", inPlan, 0) }, []string{"ann", "bob"}, all, 1},
		{"a grant that has ended", func() { s.grant(t, "cid", inPlan, 1) }, []string{"ann", "bob"}, all, 1},
		{"a folder above is restricted", func() {
			must.Do(t, s.ChangeFolder(t.Context(), storetest.Request(s.Now()), acme, "top", func(f *collab.Folder) { f.Access = collab.AccessRestricted }))
		}, []string{"ann", "bob"}, nil, 2},
		{"a grant on it", func() { s.grant(t, "cid", inTop, 0) }, []string{"ann", "bob"}, []string{"cid"}, 2},
		{"the document is public", func() { s.setAccess(t, "deep", collab.AccessPublic) }, []string{"ann", "bob"}, all, 1},
		{"disabled", func() {
			must.Do(t, storetest.ChangeDocument(t.Context(), s, acme.Document("deep"), func(d *collab.Document) { d.Disabled = true }))
		}, []string{"ann", "bob"}, nil, 1},
	} {
		step.do()
		seen, _ := s.seeing(t, "plan", "deep", "none")
		if diff := cmp.Diff(map[string][]string{"plan": step.plan, "deep": step.deep}, seen, dropEmpty); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
		_, plan := s.seeing(t, "plan")
		_, deep := s.seeing(t, "deep")
		if most := 1 + 3*step.each; plan > most {
			t.Errorf("%s: %v units, at most %v wanted", step.name, plan, most)
		}
		if most := 3 + 3*step.each; deep > most {
			t.Errorf("%s: %v units in a folder, at most %v wanted", step.name, deep, most)
		}
	}
}

// dropEmpty treats a document without viewers as absent.
var dropEmpty = cmp.Transformer("dropEmpty", func(m map[string][]string) map[string]string {
	list := map[string]string{}
	for k, v := range m {
		if len(v) > 0 {
			list[k] = fmt.Sprint(v)
		}
	}
	return list
})

// TestRemoved removes users from the organization and a document, and restores them in every way.
func TestRemoved(t *testing.T) { storetest.OnEach(t, New, testRemoved) }

func testRemoved(t *testing.T, s *Store) {
	s.putOrganization(t, collab.Organization{ID: "org"})
	s.putFolder(t, "top", collab.RootFolder)
	s.putDocument(t, "plan", "top")
	s.putDocument(t, "other", "")
	top, err := s.findFolder(t.Context(), acme, "top")
	must.Do(t, err)
	inTop := collab.Resource{OrganizationRef: acme, Folder: top}
	inOther := collab.Resource{OrganizationRef: acme, Document: acme.Document("other")}
	both := []string{"ann", "cid"}
	wants := func(what string, plan, other []string) {
		t.Helper()
		seen, _ := s.seeing(t, "plan", "other")
		if diff := cmp.Diff(map[string][]string{"plan": plan, "other": other}, seen); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	adds := func(doc string) {
		t.Helper()
		ref, err := s.OpenDocument(t.Context(), "acct", "org", doc, collab.CreateFlags{})
		must.Do(t, err)
		now := s.Millis()
		before, _ := s.seeing(t, doc)
		must.Do(t, s.BringBack(t.Context(), ref, map[string]collab.Millis{"bob": now - 60_000, "ann": now + 60_000}))
		must.Do(t, s.WithDisabled().BringBack(t.Context(), ref, map[string]collab.Millis{"bob": now + 60_000}))
		if after, _ := s.seeing(t, doc); !slices.Equal(before[doc], after[doc]) {
			t.Errorf("an old or imported comment of theirs brings them back: %v, before %v", after, before)
		}
		must.Do(t, s.BringBack(t.Context(), ref, map[string]collab.Millis{"bob": now + 60_000}))
	}

	errs := s.DeleteMembers(t.Context(), storetest.Request(s.Now()), inAcme, []string{"bob"})
	storetest.WantCode(t, "who is not there", errs[0], collab.NotFound)
	wants("who was not there", people, people)

	for name, test := range map[string]struct {
		back        func()
		plan, other []string
	}{
		"users/add":                 {func() { s.addMembers(t, inAcme, "bob") }, people, people},
		"users/add at a document":   {func() { s.addMembers(t, inOther, "bob") }, both, people},
		"users/add at a folder":     {func() { s.addMembers(t, inTop, "bob") }, people, both},
		"a grant":                   {func() { s.grant(t, "bob", inAcme, 0) }, people, people},
		"a grant on a document":     {func() { s.grant(t, "bob", inOther, 0) }, both, people},
		"a grant on a folder":       {func() { s.grant(t, "bob", inTop, 0) }, people, both},
		"a comment of theirs":       {func() { adds("other") }, both, people},
		"users/add, and once again": {func() { s.addMembers(t, inAcme, "bob"); s.addMembers(t, inAcme, "bob") }, people, people},
	} {
		s.addMembers(t, inAcme, "bob")
		s.removeMembers(t, inAcme, "bob")
		wants("removed from the organization", both, both)
		s.grant(t, "bob", inPlan, 1)
		wants("a grant that has ended", both, both)
		test.back()
		wants("back by "+name, test.plan, test.other)
		s.removeMembers(t, inAcme, "bob")
		wants("removed again", both, both)
	}
	s.addMembers(t, inAcme, "bob")

	for name, back := range map[string]func(){
		"users/add":           func() { s.addMembers(t, inPlan, "bob") },
		"a grant":             func() { s.grant(t, "bob", inPlan, 0) },
		"a comment of theirs": func() { adds("plan") },
	} {
		s.grant(t, "bob", inPlan, 0)
		s.removeMembers(t, inPlan, "bob")
		wants("removed from the document", both, people)
		s.addMembers(t, inOther, "bob")
		adds("other")
		wants("back elsewhere alone", both, people)
		back()
		wants("back by "+name, people, people)
	}

	s.addMembers(t, inTop, "bob")
	s.removeMembers(t, inTop, "bob")
	wants("removed from a folder: its access type decides", people, people)
	s.addMembers(t, inPlan, "bob")
	must.Do(t, s.DeleteGrants(t.Context(), "bob", []collab.Resource{inAcme, inPlan}))
	wants("without grants: the access type decides", people, people)

	s.addMembers(t, inAcme, "bob")
	s.removeMembers(t, inAcme, "bob")
	adds("other")
	s.removeMembers(t, inOther, "bob")
	wants("removed from what a comment has opened", both, both)
	if list, err := s.RemovalsOf(t.Context(), inOther, []string{"bob"}); err != nil || len(list) != 1 || list[0].Opened {
		t.Errorf("the removals are %+v, %v", list, err)
	}
	s.addMembers(t, inOther, "bob")
	s.addMembers(t, inAcme, "bob")

	s.removeMembers(t, inAcme, "bob")
	ref, err := s.OpenDocument(t.Context(), "acct", "org", "plan", collab.CreateFlags{})
	must.Do(t, err)
	must.Do(t, s.EndAccess(t.Context(), acme, []string{"bob"}, s.Millis()-60_000))
	must.Do(t, s.BringBack(t.Context(), ref, map[string]collab.Millis{"bob": s.Millis() - 30_000}))
	wants("removed, and then erased by a job of before", both, both)
	if _, units := s.seeing(t, "plan"); units > 2+3+1.5 {
		t.Errorf("%v units for three people where some were removed", units)
	}
	s.addMembers(t, inAcme, "bob")
	must.Do(t, s.EndAccess(t.Context(), acme, []string{"bob"}, s.Millis()-60_000))
	wants("erased by a job of before the addition", people, people)
	s.removeMembers(t, inAcme, "bob")
	s.grant(t, "bob", inPlan, 0)
	must.Do(t, s.AddGroupUsers(t.Context(), storetest.Request(s.Now()), acme, "g", []string{"bob"})[0])
	must.Do(t, s.EndAccess(t.Context(), acme, []string{"bob"}, s.Millis()-60_000))
	wants("erased by a job of before the grant", people, both)
	if users, err := s.GroupUsers(t.Context(), acme, "g", "", 1); err != nil || len(users) != 1 {
		t.Errorf("the group has %v, %v", users, err)
	}
}

// TestBringBackCostsNothing: adds read nothing if nobody was removed.
func TestBringBackCostsNothing(t *testing.T) {
	s := newStore(t)
	s.putOrganization(t, collab.Organization{ID: "org"})
	s.putDocument(t, "plan", "")
	ref, err := s.OpenDocument(t.Context(), "acct", "org", "plan", collab.CreateFlags{})
	must.Do(t, err)
	if n := storetest.Calls(t, func(ctx context.Context) {
		must.Do(t, s.BringBack(ctx, ref, map[string]collab.Millis{"ann": s.Millis()}))
	}); n != 0 {
		t.Errorf("%d calls", n)
	}
}

// TestResting checks that a removal rests while a grant lasts, and hides again afterwards.
func TestResting(t *testing.T) {
	s := newStore(t)
	s.putOrganization(t, collab.Organization{ID: "org"})
	s.putDocument(t, "plan", "")
	later := New(s.Table.At(func() time.Time { return s.Now().Add(2 * time.Hour) }))
	for _, in := range []collab.Resource{inAcme, inPlan} {
		s.addMembers(t, in, "bob")
		s.removeMembers(t, in, "bob")
		s.grant(t, "bob", in, s.Millis()/1000+3600)
		now, _ := s.seeing(t, "plan")
		afterwards, _ := later.seeing(t, "plan")
		if diff := cmp.Diff([][]string{people, {"ann", "cid"}}, [][]string{now["plan"], afterwards["plan"]}); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", in, diff)
		}
		s.addMembers(t, in, "bob")
		s.grant(t, "bob", in, 0)
	}
}

// TestMayNameGroups checks that only present members may list groups.
func TestMayNameGroups(t *testing.T) {
	s := newStore(t)
	s.putOrganization(t, collab.Organization{ID: "org"})
	s.addMembers(t, inAcme, "ann")
	s.grant(t, "bob", inAcme, 1)
	for user, want := range map[string]bool{"ann": true, "bob": false, "cid": false} {
		if may, err := s.MayNameGroups(t.Context(), acme, user, s.Millis()); err != nil || may != want {
			t.Errorf("%s: %v, %v", user, may, err)
		}
	}
}

// TestIsRemoved checks that only a grant that holds opens something to a removed user.
func TestIsRemoved(t *testing.T) {
	s := newStore(t)
	s.putOrganization(t, collab.Organization{ID: "org"})
	s.putDocument(t, "plan", "")
	s.addMembers(t, inAcme, "bob")
	s.removeMembers(t, inAcme, "bob")
	for _, step := range []struct {
		do   func()
		want bool
	}{
		{func() {
			must.Do(t, s.AddGroupUsers(t.Context(), storetest.Request(s.Now()), acme, "g", []string{"bob"})[0])
		}, true},
		{func() { s.grant(t, "bob", inPlan, 1) }, true},
		{func() { s.grant(t, "bob", inPlan, 0) }, false},
	} {
		step.do()
		for _, process := range []*Store{s, New(s.Table)} {
			if removed, err := process.IsRemoved(t.Context(), acme, "bob"); err != nil || removed != step.want {
				t.Errorf("removed: %v, %v; want %v", removed, err, step.want)
			}
		}
	}
}
