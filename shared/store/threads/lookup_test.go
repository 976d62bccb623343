package threads

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/directory"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/google/go-cmp/cmp"
)

// TestLookUps walks ids that several documents have: one with many looks, one with few, and one
// without documents.
func TestLookUps(t *testing.T) {
	s := newStore(t)
	const n = 2*nextLookUp + firstLookUp + 3
	var documents []string
	for i := range n {
		documents = append(documents, fmt.Sprintf("d%03d", i))
	}
	org := s.mustOrganization(t, "org", documents...)
	if _, err := s.Directory.OpenFolder(t.Context(), storetest.Request(time.Now()), org, "f", true); err != nil {
		t.Fatal(err)
	}
	var many, few, odd []string
	for i, d := range documents {
		s.mustAdd(t, org.Document(d), storetest.Thread("many", "u", 1))
		many = append(many, d+"/many:1")
		if i < 3 {
			s.mustAdd(t, org.Document(d), storetest.Thread("few", "u", 1))
			few = append(few, d+"/few:1")
		}
		if i%2 == 1 {
			must.Do(t, storetest.ChangeDocument(t.Context(), s.Directory, org.Document(d), func(d *collab.Document) { d.Folder = "f" }))
			odd = append(odd, d+"/many:1")
		}
	}
	join := func(lists ...[]string) (all []string) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	ids := []string{"none", "many", "few", "many"}
	for _, tt := range []struct {
		name string
		q    collab.AnnotationQuery
		want []string
	}{
		{"all", collab.AnnotationQuery{IDs: ids}, join([]string{"-none"}, many, few, many)},
		{"in a folder", collab.AnnotationQuery{IDs: ids, Folder: "f"}, join([]string{"-none"}, odd, few[1:2], odd)},
		{"in documents", collab.AnnotationQuery{IDs: ids, Documents: []string{documents[n-1], documents[0], documents[70]}},
			[]string{"-none", many[0], many[70], many[n-1], few[0], many[0], many[70], many[n-1]}},
		{"in late documents", collab.AnnotationQuery{IDs: ids, Documents: documents[60:62]}, []string{"-none", many[60], many[61], "-few", many[60], many[61]}},
		{"in late documents and a folder", collab.AnnotationQuery{IDs: ids, Documents: documents[60:62], Folder: "f"}, []string{"-none", many[61], "-few", many[61]}},
		{"in an early document outside a folder", collab.AnnotationQuery{IDs: ids, Documents: documents[:1], Folder: "f"}, []string{"-none"}},
		{"in a late document outside a folder", collab.AnnotationQuery{IDs: ids, Documents: documents[60:61], Folder: "f"}, []string{"-none", "-few"}},
	} {
		for _, size := range []int{1, 7, 1_000} {
			if diff := cmp.Diff(tt.want, s.list(t, org, tt.q, size)); diff != "" {
				t.Errorf("%s, pages of %d:\n%s", tt.name, size, diff)
			}
		}
	}
}

// TestMissingAfterHidden continues a walk after the only document of an id, in which it was hidden.
func TestMissingAfterHidden(t *testing.T) {
	s := newStore(t)
	org := s.mustOrganization(t, "org", "d")
	s.mustAdd(t, org.Document("d"), storetest.Thread("a", "u", 1))
	from, err := json.Marshal(position{Value: 1, Key: keys.AnnotationID(org.Document("d"), "a").SK})
	must.Do(t, err)
	q := opened(t.Context(), s.Directory, org, collab.AnnotationQuery{IDs: []string{"a"}, Documents: []string{"d"}, Folder: collab.RootFolder})
	var missing []string
	next, err := s.Walk(t.Context(), org, q, from, 1, func(id string, _ *collab.Thread) bool { missing = append(missing, id); return true })
	must.Do(t, err)
	if diff := cmp.Diff([]string{"a"}, missing); diff != "" || next != nil {
		t.Errorf("next %q, missing (- want, + got):\n%s", next, diff)
	}
}

// TestLookUpsAreBounded walks ids that thousands of documents seem to have, with the longest keys:
// a page reads at most 400 units apart from the threads, and the walk continues.
func TestLookUpsAreBounded(t *testing.T) {
	s := newStore(t)
	s.mustOrganization(t, "org")
	org := collab.OrganizationRef{Account: "acct", Organization: "org"}
	const documents, many = 100, collab.MaxIDsPerFilter
	document := func(i int) string { return fmt.Sprintf("%03d", i) + strings.Repeat("#", collab.MaxDocumentID/3-1) }
	must.Do(t, collab.CheckID(document(0), collab.MaxDocumentID))
	var ids []string
	l := newLoader(t, s)
	for id := range many {
		ids = append(ids, fmt.Sprintf("%02d", id)+strings.Repeat("#", collab.MaxID/3-1))
		for d := range documents {
			l.items <- store.NewItem(keys.AnnotationID(org.Document(document(d)), ids[id]))
		}
	}
	for _, folder := range []string{"f", "empty"} {
		l.items <- store.NewItem(keys.Folder(org, folder))
	}
	for d := range documents {
		l.document(org.Document(document(d)), "f")
	}
	l.wait()
	for _, tt := range []struct {
		name string
		q    collab.AnnotationQuery
		ends bool // on the first page
	}{
		{"one", collab.AnnotationQuery{IDs: ids[:1]}, true},
		{"many", collab.AnnotationQuery{IDs: ids}, false},
		{"in a folder", collab.AnnotationQuery{IDs: ids, Folder: "f"}, false},
		{"in an empty folder", collab.AnnotationQuery{IDs: ids, Folder: "empty"}, false},
		{"in documents", collab.AnnotationQuery{IDs: ids, Documents: []string{document(7), document(90)}, Folder: "empty"}, true},
	} {
		var from []byte
		for range 3 {
			var next []byte
			taken := 0
			units, _ := spent(t, func(ctx context.Context) (err error) {
				s.Directory = directory.New(s.Table)
				next, err = s.Walk(ctx, org, opened(ctx, s.Directory, org, tt.q), from, 1, func(string, *collab.Thread) bool { taken++; return true })
				return err
			})
			t.Logf("%s: %d taken, %.1f units", tt.name, taken, units)
			if units-threadsAhead > 400 {
				t.Errorf("%s: a page of %d cost %.1f units", tt.name, taken, units)
			}
			if tt.ends != (next == nil) || next != nil && string(next) == string(from) {
				t.Errorf("%s: after %q comes %q", tt.name, from, next)
			}
			if from = next; from == nil {
				break
			}
		}
	}
}
