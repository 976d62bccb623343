package threads

import (
	"context"
	"fmt"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store/directory"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

func newStore(t testing.TB) *Store { return on(storetest.New(t)) }

func (s *Store) mustOrganization(t testing.TB, org string, documents ...string) collab.OrganizationRef {
	t.Helper()
	ref := collab.OrganizationRef{Account: "acct", Organization: org}
	must.Do(t, storetest.AddDocuments(t.Context(), s.Directory, ref, append(documents, "doc")...))
	return ref
}

func (s *Store) mustFolder(t testing.TB, org collab.OrganizationRef, folder string, documents ...string) {
	t.Helper()
	if _, err := s.Directory.OpenFolder(t.Context(), storetest.Request(time.Now()), org, folder, true); err != nil {
		t.Fatal(err)
	}
	for _, d := range documents {
		must.Do(t, storetest.ChangeDocument(t.Context(), s.Directory, org.Document(d), func(d *collab.Document) {
			d.Folder = folder
		}))
	}
}

func (s *Store) mustAdd(t testing.TB, doc collab.DocumentRef, th *collab.Thread) {
	t.Helper()
	must.Do(t, s.AddAnnotation(t.Context(), newRequest(0), doc, th, collab.NewAnnotation{}))
}

// list walks the whole list in pages of size, and returns doc/id:number of comments.
func (s *Store) list(t testing.TB, org collab.OrganizationRef, q collab.AnnotationQuery, size int) []string {
	t.Helper()
	got := []string{}
	for from := []byte(nil); ; {
		next, err := s.Walk(t.Context(), org, opened(t.Context(), s.Directory, org, q), from, size, func(id string, th *collab.Thread) bool {
			if th == nil {
				got = append(got, "-"+id)
			} else {
				got = append(got, fmt.Sprintf("%s/%s:%d", th.Document, th.ID, len(th.Comments)))
			}
			return true
		})
		must.Do(t, err)
		if next == nil {
			return got
		}
		from = next
	}
}

func spent(t testing.TB, f func(ctx context.Context) error) (units float64, calls int) {
	t.Helper()
	u := &collab.Usage{}
	must.Do(t, f(collab.WithUsage(t.Context(), u)))
	read, write, calls := u.Total()
	return read + write, calls
}

// opened returns a query with opened documents.
func opened(ctx context.Context, d *directory.Store, org collab.OrganizationRef, q collab.AnnotationQuery) collab.AnnotationQuery {
	if q.Documents != nil {
		var err error
		if _, q.Found, err = d.Open(ctx, org.Account, org.Organization, q.Folder, q.Documents); err != nil {
			panic(err)
		}
	}
	return q
}
