package directory

import (
	"fmt"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/testing/must"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestListOrganizations pages through organizations whose ids are escaped.
func TestListOrganizations(t *testing.T) { onEach(t, testListOrganizations) }

func testListOrganizations(t *testing.T, s *Store) {
	ctx := t.Context()
	want := []string{"a", "a b", "a#b", "a%b", "a0", "ab", "é"} // in the order of their keys
	for _, id := range want {
		s.putOrganization(t, collab.Organization{ID: id, Name: "n", Metadata: collab.JSON(`{"x":1.0}`), CreatedAt: 1, LastUpdated: 2})
	}
	for size := range len(want) + 2 {
		for i, after := range append([]string{""}, want...) {
			var got []string
			for o, err := range s.ListOrganizations(ctx, "acct", after, size) {
				must.Do(t, err)
				got = append(got, o.ID)
			}
			if diff := cmp.Diff(want[i:], got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("behind %q, by %d: %s", after, size, diff)
			}
		}
	}
}

// TestFolders lists folders and what is in one.
func TestFolders(t *testing.T) { onEach(t, testFolders) }

func testFolders(t *testing.T, s *Store) {
	ctx := t.Context()
	s.putOrganization(t, collab.Organization{ID: "org"})
	for _, f := range [][2]string{{"f#1", "root"}, {"f", "root"}, {"sub", "f"}, {"s b", "f"}, {"subsub", "sub"}} {
		s.putFolder(t, f[0], f[1])
	}
	s.putDocument(t, "d", "f")
	all, err := s.FoldersAfter(ctx, acme, "", 0)
	if diff := cmp.Diff([]string{"f", "f#1", "s b", "sub", "subsub"}, folderIDs(all)); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	within, err := s.FoldersWithin(ctx, acme, "f", 2)
	if diff := cmp.Diff([]string{"s b", "sub"}, folderIDs(within["f"])); err != nil || diff != "" ||
		fmt.Sprint(folderIDs(within["sub"])) != "[subsub]" {
		t.Errorf("%+v, %v %s", within, err, diff)
	}
	s.putFolder(t, "sub", "f#1")
	if within, err = s.FoldersWithin(ctx, acme, "f", 2); err != nil || fmt.Sprint(folderIDs(within["f"])) != "[s b]" || len(within) != 1 {
		t.Errorf("%+v, %v", within, err)
	}
	above, err := s.FoldersAbove(ctx, acme, []string{"subsub", "none"})
	if err != nil || fmt.Sprint(above.Up("subsub")) != "[subsub sub f#1]" || len(above) != 3 {
		t.Errorf("%+v, %v", above, err)
	}
	behind, err := s.FoldersAfter(ctx, acme, "f", 2)
	if err != nil || fmt.Sprint(folderIDs(behind)) != "[f#1 s b]" {
		t.Errorf("%+v, %v", behind, err)
	}
}

func folderIDs(list []collab.Folder) []string {
	ids := make([]string, len(list))
	for i, f := range list {
		ids[i] = f.ID
	}
	return ids
}

// TestListDocuments pages through the documents of the organization and of a folder.
func TestListDocuments(t *testing.T) { onEach(t, testListDocuments) }

func testListDocuments(t *testing.T, s *Store) {
	s.putOrganization(t, collab.Organization{ID: "org"})
	lists := map[string][]string{"": nil, "f": nil, collab.RootFolder: nil}
	for i, id := range []string{"a", "a b", "a#b", "a0", "ab", "é"} {
		folder := []string{collab.RootFolder, "f"}[i%2]
		s.putDocument(t, id, folder)
		lists[""], lists[folder] = append(lists[""], id), append(lists[folder], id)
	}
	s.putFolder(t, "f", collab.RootFolder)
	s.putFolder(t, "sub", "f") // is no document
	for folder, want := range lists {
		for _, limit := range []int{0, 2, 3, 100} {
			var got []string
			size := 0
			for from, more := "", true; more; {
				list, last, bytes, err := s.ListDocuments(t.Context(), acme, folder, from, limit)
				must.Do(t, err)
				ids := ids(list)
				more = last != ""
				if size += bytes; from != "" {
					if ids[0] != from {
						t.Fatalf("folder %q: %v from %q on", folder, ids, from)
					}
					ids = ids[1:]
				}
				got = append(got, ids...)
				from = got[len(got)-1]
			}
			if diff := cmp.Diff(want, got); diff != "" || size == 0 {
				t.Errorf("folder %q, %d at once: %d bytes, %s", folder, limit, size, diff)
			}
		}
	}
}
