package directory

import (
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

var noon = time.UnixMilli(1_700_000_000_000)

var acme = collab.OrganizationRef{Account: "acct", Organization: "org"}

func newStore(t *testing.T) *Store { return New(storetest.New(t)) }

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

func (s *Store) putDocument(t *testing.T, id, folder string) {
	t.Helper()
	err := storetest.ChangeDocument(t.Context(), s, acme.Document(id), func(d *collab.Document) {
		if folder != "" {
			d.Folder = folder
		}
	})
	must.Do(t, err)
}

func (s *Store) putFolder(t *testing.T, id, parent string) {
	t.Helper()
	err := s.AddFolders(t.Context(), storetest.Request(noon), acme, []collab.Folder{{ID: id, Parent: parent}})[0]
	if collab.CodeOf(err) == collab.AlreadyExists {
		err = s.ChangeFolder(t.Context(), storetest.Request(noon), acme, id, func(f *collab.Folder) { f.Parent = parent })
	}
	must.Do(t, err)
}
