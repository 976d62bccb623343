package directory

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

var noon = time.UnixMilli(1_700_000_000_000)

var acme = collab.OrganizationRef{Account: "acct", Organization: "org"}

// onEach runs a test on a directory that is reached plainly, and on one behind the chaos transport.
func onEach(t *testing.T, test func(t *testing.T, s *Store)) {
	storetest.OnEach(t, func(t *testing.T, table *store.Table) { test(t, New(table)) })
}

func newStore(t *testing.T) *Store { return New(storetest.New(t)) }

// at returns the directory of a table on another clock.
func at(t *testing.T, table *store.Table, now func() time.Time) *Store {
	return New(store.New(storetest.Config(t), table.Name(), now, rand.Reader))
}

// putOrganization makes an organization, or changes one.
func (s *Store) putOrganization(t *testing.T, o collab.Organization) {
	t.Helper()
	err := storetest.ChangeOrganization(
		t.Context(),
		s,
		collab.OrganizationRef{Account: "acct", Organization: o.ID},
		func(there *collab.Organization) {
			*there = o
		},
	)
	must.Do(t, err)
}

// putDocument makes a document of acme in a folder, "" for none, or moves it.
func (s *Store) putDocument(t *testing.T, id, folder string) {
	t.Helper()
	err := storetest.ChangeDocument(t.Context(), s, acme.Document(id), func(d *collab.Document) {
		if folder != "" {
			d.Folder = folder
		}
	})
	must.Do(t, err)
}

// putFolder makes a folder of acme, or moves it.
func (s *Store) putFolder(t *testing.T, id, parent string) {
	t.Helper()
	err := s.AddFolders(t.Context(), storetest.Request(noon), acme, []collab.Folder{{ID: id, Parent: parent}})[0]
	if collab.CodeOf(err) == collab.AlreadyExists {
		err = s.ChangeFolder(t.Context(), storetest.Request(noon), acme, id, func(f *collab.Folder) { f.Parent = parent })
	}
	must.Do(t, err)
}

// calls returns how many calls to the table f makes.
func calls(t *testing.T, f func(ctx context.Context)) (n int) {
	t.Helper()
	u := &collab.Usage{}
	f(collab.WithUsage(t.Context(), u))
	_, _, n = u.Total()
	return n
}
