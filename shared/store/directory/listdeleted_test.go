package directory

import (
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"

	"github.com/google/go-cmp/cmp"
)

// TestListDeleted pages through what is deleted among what is not, and finds it by its id.
func TestListDeleted(t *testing.T) { onEach(t, testListDeleted) }

func testListDeleted(t *testing.T, s *Store) {
	ctx := t.Context()
	account := collab.OrganizationRef{Account: acme.Account}
	want := map[collab.OrganizationRef][]Deleted{}
	put := func(in collab.OrganizationRef, kind collab.Thing, id string, deleted collab.Millis) {
		d := Deleted{Kind: kind, ID: id, Name: "n " + id, Folder: "f", Request: "r"}
		d.Incarnation, d.DeletedAt, d.Deletion, d.Until = 7, deleted, "mark", 2*deleted
		it := store.ItemOf(keys.Thing(in, kind, id), d)
		if deleted == 0 {
			delete(it, keys.DeletedAt)
		} else {
			want[in] = append(want[in], d)
		}
		must(t, s.Put(ctx, it))
	}
	for i, id := range []string{"a", "a b", "a#b", "aa", "b", "é"} { // in the order of their keys
		put(account, collab.AnOrganization, id, int64(100*(i%2)))
		put(acme, collab.AFolder, id, int64(100*(i%3)))
	}
	for i, id := range []string{"a", "b", "c", "d"} {
		put(acme, collab.ADocument, id, int64(100*(i%2)))
	}
	put(collab.OrganizationRef{Account: acme.Account, Organization: "other"}, collab.ADocument, "x", 5)
	for in, want := range want {
		for size := 1; size < len(want)+2; size++ {
			var got []Deleted
			for after, more := "", true; more; more = after != "" {
				list, next, err := s.ListDeleted(ctx, in, after, size)
				must(t, err)
				if len(list) > size {
					t.Fatalf("%d on a page of %d", len(list), size)
				}
				got, after = append(got, list...), next
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%v by %d: %s", in, size, diff)
			}
		}
	}
	for _, position := range []string{"x", "DOC#", "DOC#zz", "FLD#zz", "ORG#zz"} { // of nobody, or forged
		if _, _, err := s.ListDeleted(ctx, acme, position, 1); err != nil {
			t.Errorf("after %q: %v", position, err)
		}
	}
	found, err := s.FindDeleted(ctx, acme, "b")
	if err != nil || len(found) != 2 || found[0].Kind != collab.AFolder || found[1].Kind != collab.ADocument || found[1].Request != "r" {
		t.Errorf("%+v, %v", found, err)
	}
	found, err = s.FindDeleted(ctx, account, "a b")
	if err != nil || len(found) != 1 || found[0].Name != "n a b" || !found[0].Restorable(200) || found[0].Restorable(201) {
		t.Errorf("%+v, %v", found, err)
	}
	for _, id := range []string{"a", "none"} {
		if found, err := s.FindDeleted(ctx, acme, id); err != nil || len(found) != 0 {
			t.Errorf("%s: %+v, %v", id, found, err)
		}
	}
}
