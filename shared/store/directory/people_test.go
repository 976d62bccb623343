package directory

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
)

// TestFolderTree: concurrent additions and moves never create a cycle or more than ten levels.
func TestFolderTree(t *testing.T) { storetest.OnEach(t, New, testFolderTree) }

func testFolderTree(t *testing.T, s *Store) {
	const folders, writers, steps = 14, 8, 12
	name := func(i int) string { return fmt.Sprintf("f%02d", i) }
	for i := range folders { // a chain of ten, and others at the top
		parent := collab.RootFolder
		if i > 0 && i < collab.MaxFolderDepth {
			parent = name(i - 1)
		}
		s.putFolder(t, name(i), parent)
	}
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(7, uint64(w)))
			for i := range steps {
				request := storetest.Request(time.Now())
				id, parent := name(random.IntN(folders)), name(random.IntN(folders))
				var err error
				if random.IntN(4) == 0 {
					id = fmt.Sprintf("new-%d-%d", w, i)
					err = s.AddFolders(t.Context(), request, acme, []collab.Folder{{ID: id, Parent: parent}})[0]
				} else {
					err = s.ChangeFolder(t.Context(), request, acme, id, func(f *collab.Folder) { f.Parent = parent })
				}
				if code := collab.CodeOf(err); code != "" && code != collab.FailedPrecondition && code != collab.Aborted {
					t.Errorf("%s into %s: %v", id, parent, err)
				}
			}
		})
	}
	all.Wait()
	list, err := s.FoldersAfter(t.Context(), acme, "", 0)
	must.Do(t, err)
	tree := collab.Folders{}
	for _, f := range list {
		tree[f.ID] = f
	}
	for id := range tree {
		if up := tree.Up(id); len(up) > collab.MaxFolderDepth || tree[up[len(up)-1]].Parent != collab.RootFolder {
			t.Errorf("above %s are %v", id, up)
		}
	}
}

// TestAddFolders checks that a folder needs its parent and a place within ten levels, and that its
// parent lists it. It is not added while the contents of a deleted one are being deleted.
func TestAddFolders(t *testing.T) {
	s := newStore(t)
	s.putOrganization(t, collab.Organization{ID: "org"})
	parent := collab.RootFolder
	for i := range collab.MaxFolderDepth {
		s.putFolder(t, fmt.Sprint(i), parent)
		parent = fmt.Sprint(i)
	}
	s.putFolder(t, "deleted", collab.RootFolder)
	job := collab.TaskRef{Kind: collab.JobTask, Account: "acct", ID: "job"}
	must.Do(t, s.ChangeFolder(t.Context(), storetest.Request(noon), acme, "deleted", func(f *collab.Folder) { f.DeletedAt, f.Emptying = 1, job.ID }))
	for _, test := range []struct {
		id, parent string
		deleting   bool
		want       collab.Code
	}{
		{"a", "none", false, collab.NotFound},
		{"a", "deleted", false, collab.NotFound},
		{"a", parent, false, collab.FailedPrecondition},
		{"a", "8", false, ""},
		{"deleted", collab.RootFolder, true, collab.Unavailable},
		{"deleted", collab.RootFolder, false, ""},
	} {
		it := store.NewItem(keys.Task(job))
		it[keys.State] = store.Text(fmt.Sprintf(`{"deleting":%v}`, test.deleting))
		must.Do(t, s.Put(t.Context(), it))
		err := s.AddFolders(t.Context(), storetest.Request(noon), acme, []collab.Folder{{ID: test.id, Parent: test.parent}})[0]
		storetest.WantCode(t, test.id+" in "+test.parent, err, test.want)
	}
	err := s.ChangeFolder(t.Context(), storetest.Request(noon), acme, "0", func(f *collab.Folder) { f.Parent = "deleted" })
	storetest.WantCode(t, "ten levels in a folder", err, collab.FailedPrecondition)
	top := storetest.WalkPages(t, 1, func(after string) ([]collab.Folder, string, error) {
		return s.FoldersIn(t.Context(), acme, collab.RootFolder, after, 1)
	}, func(f collab.Folder) string { return f.ID })
	if diff := cmp.Diff([]string{"0", "deleted"}, top); diff != "" {
		t.Errorf("at the top: %s", diff)
	}
}

// TestUndeliverable checks that a mark says nothing about other addresses, gives way to a later
// report, and counts only while the user is stored with the address.
func TestUndeliverable(t *testing.T) {
	s := newStore(t)
	s.putOrganization(t, collab.Organization{ID: "org"})
	s.putDocument(t, "plan", "")
	for _, report := range []struct {
		email string
		at    collab.Millis
		want  bool
	}{{"a@example.com", 10, true}, {"a@example.com", 11, false}, {"b@example.com", 9, false}, {"b@example.com", 12, true}} {
		u := collab.Undeliverable{UserID: "u05", Email: report.email, Reason: collab.EmailBounced, Time: report.at}
		if marked, err := s.MarkUndeliverable(t.Context(), acme, u); err != nil || marked != report.want {
			t.Errorf("%+v: %v, %v", report, marked, err)
		}
	}
	users := []collab.User{{UserID: "u05", Email: new("b@example.com")}, {UserID: "u06", Email: new("b@example.com")}, {UserID: "u05", Email: new("a@example.com")}}
	for range fewMarks {
		users = append(users, collab.User{UserID: "u04", Email: new("a@example.com")})
	}
	for _, n := range []int{3, len(users)} {
		all, err := s.Undeliverable(t.Context(), acme, users[:n])
		if err != nil || len(all) != 1 || all["u05"].Email != "b@example.com" {
			t.Errorf("of %d: %+v, %v", n, all, err)
		}
		other, err := s.Undeliverable(t.Context(), acme, users[1:n])
		if err != nil || len(other) != 0 {
			t.Errorf("of %d others: %+v, %v", n-1, other, err)
		}
	}
	for _, step := range []struct {
		in    collab.Resource
		email string
		want  collab.EmailState
	}{{inAcme, "a@example.com", ""}, {inPlan, "b@example.com", collab.EmailBounced}} {
		must.Do(t, s.ChangeMembers(t.Context(), storetest.Request(noon), step.in, []string{"u05"}, true, func(_ int, m *collab.Member) { m.Email = &step.email })[0])
		if state, err := s.EmailState(t.Context(), acme, "u05"); err != nil || state != step.want {
			t.Errorf("with %s: %q, %v", step.email, state, err)
		}
	}
}

// TestFolderMeanwhile checks that the first move of folders, or a deletion, makes a concurrent move
// into it and an addition to it fail.
func TestFolderMeanwhile(t *testing.T) {
	s := newStore(t)
	s.putOrganization(t, collab.Organization{ID: "org"})
	for _, folder := range []string{"a", "b"} {
		s.putFolder(t, folder, collab.RootFolder)
	}
	change := func(s *Store, id string, change func(*collab.Folder)) error {
		return s.ChangeFolder(t.Context(), storetest.Request(noon), acme, id, change)
	}
	into := func(parent string) func(*collab.Folder) { return func(f *collab.Folder) { f.Parent = parent } }
	overtaken := func(meanwhile func()) *Store {
		return New(storetest.Watched(t, s.Table, func(operation, _ string) *http.Response {
			if f := meanwhile; f != nil && strings.HasSuffix(operation, "TransactWriteItems") {
				meanwhile = nil
				f()
			}
			return nil
		}))
	}
	slower := overtaken(func() { must.Do(t, change(s, "b", into("a"))) })
	storetest.WantCode(t, "a move into a folder that was moved into it", change(slower, "a", into("b")), collab.FailedPrecondition)
	slower = overtaken(func() { must.Do(t, change(s, "b", func(f *collab.Folder) { f.DeletedAt = 1 })) })
	err := slower.AddDocuments(t.Context(), storetest.Request(noon), acme, "b", []string{"d"}, func(int, *collab.Document) error { return nil })[0]
	storetest.WantCode(t, "an addition to a folder that was deleted", err, collab.NotFound)
}

// TestFindMembers finds the users of each level once and in order, in pages of any size.
func TestFindMembers(t *testing.T) { storetest.OnEach(t, New, testFindMembers) }

func testFindMembers(t *testing.T, s *Store) {
	ctx, request := t.Context(), storetest.Request(time.Now())
	s.putOrganization(t, collab.Organization{ID: "org"})
	s.putFolder(t, "f", collab.RootFolder)
	for _, id := range []string{"d", "d 2", "gone"} {
		s.putDocument(t, id, "")
	}
	in := func(folder, document string) collab.Resource {
		r := collab.Resource{OrganizationRef: acme}
		if folder != "" {
			r.Folder = collab.FolderRef{OrganizationRef: acme, Folder: folder}
		}
		if document != "" {
			r.Document = acme.Document(document)
		}
		return r
	}
	add := func(r collab.Resource, users ...string) {
		for _, err := range s.ChangeMembers(ctx, request, r, users, true, func(int, *collab.Member) {}) {
			must.Do(t, err)
		}
	}
	add(in("", ""), "a", "a#", "b", "c", "d", "é")
	add(in("f", ""), "b", "x")
	add(in("", "d"), "a", "a#", "y", "z")
	add(in("", "d 2"), "a#", "c", "y")
	add(in("", "gone"), "g")
	err := storetest.ChangeDocument(ctx, s, acme.Document("gone"), func(d *collab.Document) { d.DeletedAt = 1 })
	must.Do(t, err)
	for _, err := range s.ChangeGroups(ctx, request, acme, []string{"g1", "g2"}, func(int, *collab.UserGroup) {}) {
		must.Do(t, err)
	}
	for _, err := range slices.Concat(s.AddGroupUsers(ctx, request, acme, "g1", []string{"a#", "c", "stranger"}), s.AddGroupUsers(ctx, request, acme, "g2", []string{"a", "c", "y"})) {
		must.Do(t, err)
	}
	fresh := New(s.Table) // empty cache
	for name, test := range map[string]struct {
		q    collab.MemberQuery
		want []string
	}{
		"organization":                {collab.MemberQuery{In: in("", "")}, []string{"a", "a#", "b", "c", "d", "é"}},
		"folder":                      {collab.MemberQuery{In: in("f", "")}, []string{"b", "x"}},
		"document":                    {collab.MemberQuery{In: in("", "d")}, []string{"a", "a#", "y", "z"}},
		"named":                       {collab.MemberQuery{In: in("", "d"), Users: []string{"z", "b", "a"}}, []string{"z", "a"}},
		"groups":                      {collab.MemberQuery{In: in("", ""), Groups: []string{"g1", "none", "g2"}}, []string{"a#", "c", "a"}},
		"groups at a document":        {collab.MemberQuery{In: in("", "d"), Groups: []string{"g2", "g1"}}, []string{"a", "y", "a#"}},
		"named in groups":             {collab.MemberQuery{In: in("", ""), Groups: []string{"g1"}, Users: []string{"d", "c", "a#"}}, []string{"c", "a#"}},
		"all documents":               {collab.MemberQuery{In: in("", ""), AllDocuments: true}, []string{"a", "a#", "c", "y", "z"}},
		"each document":               {collab.MemberQuery{In: in("", ""), AllDocuments: true, EachDocument: true}, []string{"a d", "a# d", "a# d 2", "c d 2", "y d", "y d 2", "z d"}},
		"named at all documents":      {collab.MemberQuery{In: in("", ""), AllDocuments: true, Users: []string{"y", "g", "a#"}}, []string{"y", "a#"}},
		"named at each document":      {collab.MemberQuery{In: in("", ""), AllDocuments: true, EachDocument: true, Users: []string{"y", "a"}}, []string{"y d", "y d 2", "a d"}},
		"groups at each document":     {collab.MemberQuery{In: in("", ""), AllDocuments: true, EachDocument: true, Groups: []string{"g1", "g2"}}, []string{"a# d", "a# d 2", "c d 2", "a d", "y d", "y d 2"}},
		"groups at all the documents": {collab.MemberQuery{In: in("", ""), AllDocuments: true, Groups: []string{"g2"}}, []string{"a", "c", "y"}},
	} {
		// walk returns the results after a position, in pages of a size.
		walk := func(at collab.MemberPosition, size int) (found []string, positions []collab.MemberPosition) {
			for rounds := 0; ; rounds++ {
				list, next, err := fresh.FindMembers(ctx, test.q, at, size)
				must.Do(t, err)
				if len(list) > size || rounds > 60 {
					t.Fatalf("%s by %d: %d at once, in round %d", name, size, len(list), rounds)
				}
				for _, m := range list {
					text := m.UserID
					if test.q.EachDocument {
						text += " " + m.In.Document.Document
					}
					found, positions = append(found, text), append(positions, m.Position)
				}
				if next == nil {
					return found, positions
				}
				at = *next
			}
		}
		for size := 1; size < 9; size++ {
			got, positions := walk(collab.MemberPosition{}, size)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Fatalf("%s by %d: %s", name, size, diff)
			}
			for i, at := range positions { // a page may be full of bytes after each of them
				if rest, _ := walk(at, size); !slices.Equal(rest, test.want[i+1:]) {
					t.Errorf("%s by %d: behind %+v are %v", name, size, at, rest)
				}
			}
		}
	}
}

// TestDeleteMembers: a user removed from the organization has no items left and no access, even if
// the request is killed and repeated at any point.
func TestDeleteMembers(t *testing.T) {
	s := newStore(t)
	ctx := t.Context()
	s.putOrganization(t, collab.Organization{ID: "org"})
	s.putDocument(t, "d", "")
	for after := 0; ; after++ {
		setUp, request := storetest.Request(time.Now()), storetest.Request(time.Now())
		user := []string{fmt.Sprint("user", after)}
		resources := []collab.Resource{
			{
				OrganizationRef: acme,
			}, {OrganizationRef: acme, Folder: collab.FolderRef{OrganizationRef: acme, Folder: "f"}}, {OrganizationRef: acme, Document: acme.Document("d")},
		}
		for _, r := range resources {
			must.Do(t, s.ChangeMembers(ctx, setUp, r, user, true, func(int, *collab.Member) {})[0])
		}
		must.Do(t, s.AddGroupUsers(ctx, setUp, acme, "g", user)[0])
		killed := New(storetest.Killed(t, s.Table, after))
		err := killed.DeleteMembers(ctx, request, resources[0], user)[0]
		if err != nil {
			must.Do(t, s.DeleteMembers(ctx, storetest.Again(request), resources[0], user)[0])
		}
		for _, q := range []store.Scan{
			{PK: keys.GrantPartition(acme), Keys: store.Children(keys.GrantsOf(user[0]))},
			{PK: keys.GroupUser(acme, "g", "").PK, Keys: store.Everything},
			{PK: keys.OrganizationPartition(acme), Keys: store.Children(keys.Members)},
		} {
			if left, err := s.Query(ctx, q); err != nil || len(left) > 0 {
				t.Fatalf("killed behind %d requests, this is left: %v, %v", after, left, err)
			}
		}
		of, err2 := s.Standings(ctx, acme, collab.StandingQuery{Users: user, Documents: []collab.DocumentRef{acme.Document("d")}})
		if must.Do(t, err2); of.Documents[0][0].Viewer(s.Millis()).May {
			t.Errorf("killed after %d requests, they see the document", after)
		}
		if err == nil {
			break
		}
	}
	storetest.WantCode(
		t, "one who is not there",
		s.DeleteMembers(ctx, storetest.Request(time.Now()), collab.Resource{OrganizationRef: acme}, []string{"nobody"})[0], collab.NotFound,
	)
}

// TestDeletedIsGone: deleted data is not found, nobody has access to it, and its id can be added
// again.
func TestDeletedIsGone(t *testing.T) {
	now := noon
	s := New(storetest.New(t).At(func() time.Time { return now }))
	ctx := t.Context()
	s.putOrganization(t, collab.Organization{ID: "org"})
	s.putOrganization(t, collab.Organization{ID: "other"})
	s.putDocument(t, "d", "")
	doc := acme.Document("d")
	must.Do(t, s.AddGrants(ctx, storetest.Request(now), "ann", []collab.Resource{{OrganizationRef: acme, Document: doc}}, []collab.Grant{{}}))
	may := func(doc collab.DocumentRef) bool {
		t.Helper()
		of, err := s.Standings(ctx, acme, collab.StandingQuery{
			Users: []string{"ann"}, Documents: []collab.DocumentRef{doc}, Default: collab.AccessOrganizationPrivate,
		})
		must.Do(t, err)
		with := of.Documents[0][0]
		return with.There && with.Grant(now.UnixMilli()) != nil
	}
	add := func() error {
		return s.AddDocuments(ctx, storetest.Request(now), acme, collab.RootFolder, []string{"d"},
			func(_ int, d *collab.Document) error { d.Name = "new"; return nil })[0]
	}
	if !may(doc) {
		t.Error("a grant lets nobody see")
	}
	storetest.WantCode(t, "one that is there", add(), collab.AlreadyExists)
	err := storetest.ChangeDocument(ctx, s, doc, func(d *collab.Document) {
		d.Metadata, d.DeletedAt = collab.JSON(`{"a":1}`), now.UnixMilli()
	})
	must.Do(t, err)
	if found, err := s.DocumentsByID(ctx, acme, []string{"d"}); err != nil || len(found) > 0 || may(doc) {
		t.Errorf("%+v, %v", found, err)
	}
	storetest.WantCode(
		t, "a change of it",
		s.ChangeDocuments(ctx, storetest.Request(now), acme, []string{"d"}, func(int, *collab.Document) error { return nil })[0], collab.NotFound,
	)
	storetest.WantCode(t, "added at once", add(), collab.Unavailable)
	now = now.Add(CacheTTL + staleRead + store.ClockSkew - 1)
	storetest.WantCode(t, "added while processes may trust it", add(), collab.Unavailable)
	now = now.Add(1)
	must.Do(t, add())
	found, err := s.DocumentsByID(ctx, acme, []string{"d"})
	if err != nil || len(found) != 1 || found[0].Name != "new" || found[0].Metadata != nil || found[0].Incarnation != now.UnixMilli() {
		t.Fatalf("%+v, %v", found, err)
	}
	if may(doc) || may(found[0].Ref(acme)) {
		t.Error("a grant on what was deleted holds")
	}
	present, next, latest := found[0].Ref(acme), acme, acme.Document("d")
	next.Incarnation, latest.Incarnation = 9, collab.AnyIncarnation
	must.Do(t, s.CheckOrganization(ctx, acme))
	storetest.WantCode(t, "another incarnation of the organization", s.CheckOrganization(ctx, next), collab.NotFound)
	for _, test := range []struct {
		org    collab.OrganizationRef
		doc    collab.DocumentRef
		issued collab.Millis
		want   bool
	}{
		{acme, doc, now.UnixMilli(), false},
		{acme, present, now.UnixMilli(), true},
		{acme, latest, now.UnixMilli(), true},
		{next, next.Document("d"), now.UnixMilli(), false},
		{next, latest, now.UnixMilli(), false},
		{acme, present, now.UnixMilli() - 60_000, false},
	} {
		standings, err := s.Standings(ctx, test.org, collab.StandingQuery{
			Users: []string{"ann"}, Documents: []collab.DocumentRef{test.doc}, Person: &collab.Person{UserID: "ann", IssuedAt: test.issued},
		})
		if must.Do(t, err); standings.Documents[0][0].There != test.want {
			t.Errorf("%+v: %+v", test, standings.Documents[0][0])
		}
	}
	err = storetest.ChangeOrganization(ctx, s, acme, func(o *collab.Organization) { o.DeletedAt = now.UnixMilli() })
	must.Do(t, err)
	for o, err := range s.ListOrganizations(ctx, "acct", "", 10) {
		if err != nil || o.ID != "other" {
			t.Errorf("%+v, %v", o, err)
		}
	}
	if list, err := s.Organizations(ctx, "acct", []string{"org"}); err != nil || len(list) > 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestStandingsUnits checks the read units of the largest query, for users with no, some and very
// many grants on folders.
func TestStandingsUnits(t *testing.T) {
	s := New(storetest.New(t))
	s.putOrganization(t, collab.Organization{ID: "org"})
	const chains = 60
	folder := func(i, level int) string { return fmt.Sprintf("f%02d-%d", i, level) }
	var users, folders, documents []string
	store.All(chains*collab.MaxFolderDepth, func(i int) error {
		f := collab.Folder{ID: folder(i%chains, i/chains), Parent: collab.RootFolder}
		if level := i / chains; level > 0 {
			f.Parent = folder(i%chains, level-1)
		}
		must.Do(t, s.Put(t.Context(), store.ItemOf(keys.Folder(acme, f.ID), newFolderItem(acme, f))))
		return nil
	})
	for i := range chains / 2 {
		users, folders, documents = append(users, fmt.Sprint("u", i)), append(folders, folder(i, 9)), append(documents, fmt.Sprint("d", i))
		s.putDocument(t, documents[i], folder(chains/2+i, 9))
	}
	grant := func(user string, folders ...string) {
		store.All(len(folders), func(i int) error {
			in := collab.Resource{OrganizationRef: acme, Folder: collab.FolderRef{OrganizationRef: acme, Folder: folders[i]}}
			must.Do(t, s.ChangeMembers(t.Context(), storetest.Request(noon), in, []string{user}, true, func(int, *collab.Member) {})[0])
			return nil
		})
	}
	grant("u3", folder(0, 4), folder(59, 0))
	var others []string
	for i := range listedGrants + 1 {
		others = append(others, fmt.Sprintf("a%03d", i))
	}
	grant("u0", append(others, folder(1, 9))...)
	ask := func() (*collab.Standings, float64, error) {
		u := &collab.Usage{}
		of, err := s.Standings(collab.WithUsage(t.Context(), u), acme, collab.StandingQuery{
			Users: users, Folders: folders, Documents: collab.Map(documents, acme.Document), Default: collab.AccessOrganizationPrivate,
		})
		read, _, _ := u.Total()
		return of, read, err
	}
	of, read, err := ask()
	must.Do(t, err)
	if t.Logf("%.0f units", read); read > 2_500 {
		t.Errorf("%.0f read units", read)
	}
	for name, test := range map[string]struct {
		of   collab.Standing
		want bool
	}{
		"on the folder, of one who has many": {of.Folders[1][0], true},
		"on another":                         {of.Folders[2][0], false},
		"on a folder above":                  {of.Folders[0][3], true},
		"on a folder far above the document": {of.Documents[29][3], true},
		"on none above":                      {of.Documents[28][3], false},
		"of one who has nothing":             {of.Documents[29][4], false},
	} {
		if got := test.of.Grant(noon.UnixMilli()) != nil; got != test.want {
			t.Errorf("%s: a grant: %v, want %v", name, got, test.want)
		}
	}
	for _, u := range users[1:4] {
		grant(u, others...)
	}
	_, read, err = ask()
	if collab.CodeOf(err) != collab.FailedPrecondition || read > 2_500 {
		t.Errorf("of four who have very many: %v, %.0f read units", err, read)
	}
}

// TestFindMembersTogether: the grants of a group's users are read concurrently.
func TestFindMembersTogether(t *testing.T) {
	s := New(storetest.New(t))
	s.putOrganization(t, collab.Organization{ID: "org"})
	must.Do(t, s.AddGroupUsers(t.Context(), storetest.Request(noon), acme, "g", []string{"a"})[0])
	must.Do(t, s.AddGroupUsers(t.Context(), storetest.Request(noon), acme, "g", []string{"b"})[0])
	var reads atomic.Int64
	second := make(chan struct{})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	meeting := New(storetest.Watched(t, s.Table, func(_, body string) *http.Response {
		if strings.Contains(body, keys.GrantPartition(acme)) {
			if reads.Add(1) == 2 {
				close(second)
			}
			select {
			case <-second:
			case <-ctx.Done():
			}
		}
		return nil
	}))
	q := collab.MemberQuery{In: collab.Resource{OrganizationRef: acme}, Groups: []string{"g"}, AllDocuments: true}
	_, _, err := meeting.FindMembers(ctx, q, collab.MemberPosition{}, 100)
	must.Do(t, err)
}

// TestAddUnlessRemoved: a user who is removed while a token is made is not stored, at any level.
func TestAddUnlessRemoved(t *testing.T) {
	for _, level := range []string{"organization", "folder", "document"} {
		s := newStore(t)
		s.putOrganization(t, collab.Organization{ID: "org"})
		s.putFolder(t, "top", collab.RootFolder)
		s.putDocument(t, "plan", "top")
		top, err := s.findFolder(t.Context(), acme, "top")
		must.Do(t, err)
		on := map[string]collab.Resource{
			"organization": {OrganizationRef: acme}, "folder": {OrganizationRef: acme, Folder: top}, "document": {OrganizationRef: acme, Document: acme.Document("plan")},
		}
		s.addMembers(t, on[level], "eve")
		removed := false
		slower := New(storetest.Through(t, s.Table, func(next aws.HTTPClient) aws.HTTPClient {
			return storetest.Client(func(r *http.Request) (*http.Response, error) {
				if target := r.Header.Get("X-Amz-Target"); !removed && (strings.HasSuffix(target, "TransactWriteItems") || strings.HasSuffix(target, "UpdateItem")) {
					removed = true
					s.removeMembers(t, on[level], "eve")
				}
				return next.Do(r)
			})
		}))
		for range 2 {
			must.Do(t, slower.AddUnlessRemoved(t.Context(), storetest.Request(s.Now()), on["document"], "eve", func(m *collab.Member) { m.Name = new("Eve") }))
		}
		stored, err := s.MembersAt(t.Context(), on["document"], []string{"eve"})
		must.Do(t, err)
		if !removed || len(stored) > 0 {
			t.Errorf("removed from the %s meanwhile (%v), eve is stored: %+v", level, removed, stored)
		}
	}
}

// TestStillRemoved checks that neither an addition that was overtaken by a removal, nor an imported
// removal that took a grant later, ends a removal that hides a document.
func TestStillRemoved(t *testing.T) {
	s := newStore(t)
	s.putOrganization(t, collab.Organization{ID: "org"})
	s.putDocument(t, "plan", collab.RootFolder)
	in := collab.Resource{OrganizationRef: acme, Document: acme.Document("plan")}
	s.addMembers(t, in, "eve")
	s.removeMembers(t, in, "eve")
	must.Do(t, s.endRemovals(t.Context(), []string{"eve"}, []collab.Resource{in}))
	later := Removal{User: "eve", At: s.Millis() + 1000, GrantOnly: true}
	if added, err := s.RestoreRemoval(t.Context(), in, later); added || err != nil {
		t.Errorf("an imported removal: %v, %v", added, err)
	}
	list, err := s.RemovalsOf(t.Context(), in, []string{"eve"})
	if err != nil || len(list) != 1 || list[0].GrantOnly {
		t.Errorf("the removals are %+v, %v", list, err)
	}
	earlier := Removal{User: "eve", At: list[0].At - 1}
	if added, err := s.RestoreRemoval(t.Context(), in, earlier); added || err != nil {
		t.Errorf("an earlier imported removal: %v, %v", added, err)
	}
	s.addMembers(t, in, "eve")
	_, err = s.RestoreRemoval(t.Context(), in, later)
	storetest.WantCode(t, "an imported removal of one who is there", err, collab.AlreadyExists)
}

// TestGrantEndsRemoval checks that a grant ends the removal that the deletion of an earlier one has
// left, at each level.
func TestGrantEndsRemoval(t *testing.T) {
	s := newStore(t)
	s.putOrganization(t, collab.Organization{ID: "org"})
	s.putFolder(t, "top", collab.RootFolder)
	s.putDocument(t, "plan", "top")
	top, err := s.findFolder(t.Context(), acme, "top")
	must.Do(t, err)
	for _, in := range []collab.Resource{{OrganizationRef: acme}, {OrganizationRef: acme, Folder: top}, {OrganizationRef: acme, Document: acme.Document("plan")}} {
		add := func() {
			must.Do(t, s.AddGrants(t.Context(), storetest.Request(s.Now()), "eve", []collab.Resource{in}, []collab.Grant{{Role: collab.RoleEditor}}))
		}
		removals := func(want int) {
			t.Helper()
			list, err := s.RemovalsOf(t.Context(), in, []string{"eve"})
			if err != nil || len(list) != want {
				t.Errorf("%+v: the removals are %+v, %v; want %d", in, list, err, want)
			}
		}
		add()
		must.Do(t, s.DeleteGrants(t.Context(), "eve", []collab.Resource{in}))
		removals(1)
		add()
		removals(0)
	}
}

// TestPreferencesOfDeleted checks that a list has preferences of the organization and of documents,
// and that a document has none of a deleted one with its id.
func TestPreferencesOfDeleted(t *testing.T) {
	organization := collab.UserPreferences{User: "ann", Preferences: collab.Preferences{Inbox: collab.PreferMine}}
	further := collab.UserPreferences{
		User: "ann", Document: "plan", Preferences: collab.Preferences{Email: collab.PreferNone, Further: map[string]collab.Preference{"chat": collab.PreferAll}},
	}
	plain := further
	plain.Further = nil
	s := newStore(t)
	s.putOrganization(t, collab.Organization{ID: "org"})
	for i, step := range []struct {
		incarnation int64
		set         *collab.UserPreferences
		want        []collab.UserPreferences
	}{
		{1, &organization, []collab.UserPreferences{organization}},
		{1, &further, []collab.UserPreferences{organization, further}},
		{1, &plain, []collab.UserPreferences{organization, further}}, // further channels are kept
		{2, nil, []collab.UserPreferences{organization}},
		{2, &plain, []collab.UserPreferences{organization, plain}},
	} {
		must.Do(t, storetest.ChangeDocument(t.Context(), s, acme.Document("plan"), func(d *collab.Document) { d.Incarnation = step.incarnation }))
		s := New(s.Table) // empty cache
		if p := step.set; p != nil {
			var documents []string
			if p.Document != "" {
				documents = []string{p.Document}
			}
			must.Do(t, s.SetPreferences(t.Context(), acme, []string{"ann"}, documents, p.Preferences))
		}
		var list []collab.UserPreferences
		for at := new(collab.PreferencePosition); at != nil; {
			page, next, err := s.ListPreferences(t.Context(), acme, *at, 1)
			must.Do(t, err)
			list, at = append(list, page...), next
		}
		if diff := cmp.Diff(step.want, list); diff != "" {
			t.Errorf("step %d, listed (-want +got):\n%s", i, diff)
		}
		var want collab.Preferences
		if len(step.want) > 1 {
			want = step.want[1].Preferences
		}
		doc := acme.Document("plan")
		doc.Incarnation = step.incarnation
		got, err := s.UserPreferences(t.Context(), doc, []string{"ann"})
		if diff := cmp.Diff(want, got["ann"].Document); err != nil || diff != "" {
			t.Errorf("step %d: %v (-want +got):\n%s", i, err, diff)
		}
	}
}
