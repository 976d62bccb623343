package threads

import (
	"slices"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/testing/storetest"

	"github.com/google/go-cmp/cmp"
)

// TestLeft deletes, narrows and restores threads: only users that lost sight of a thread receive
// its id.
func TestLeft(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	began := time.Now().UnixMilli()
	private := func(users ...string) *collab.Visibility {
		return &collab.Visibility{Type: collab.VisibilityRestricted, UserIDs: users}
	}
	add := func(id string, v *collab.Visibility) {
		th := storetest.Thread(id, "ann", 1)
		th.Visibility = v
		w.must(w.AddAnnotation(t.Context(), newRequest(0), w.doc, th, collab.NewAnnotation{}))
	}
	change := func(id string, f func(*collab.Annotation)) {
		r := newRequest(0)
		w.must(w.UpdateAnnotations(t.Context(), r, w.doc, []string{id}, collab.AnnotationChange{
			Head: func(_ int, a *collab.Annotation, _ bool) ([]*collab.Event, error) {
				f(a)
				a.LastUpdated = r.Millis()
				return nil, nil
			},
		})[0])
	}
	show := func(id string, v *collab.Visibility) {
		change(id, func(a *collab.Annotation) { a.Visibility = v })
	}
	gone := func(id string) {
		_, errs := w.delete(newRequest(0), id)
		w.must(errs[0])
	}
	add("deleted", nil)
	gone("deleted")
	add("deleted, bob's", private("bob"))
	gone("deleted, bob's")
	add("deleted, members'", &collab.Visibility{Type: collab.VisibilityOrganizationPrivate})
	gone("deleted, members'")
	add("added again", nil)
	gone("added again")
	add("added again", nil)
	add("narrowed", nil)
	show("narrowed", private("bob"))
	show("narrowed", private("bob", "cleo"))
	add("narrowed from eve", private("bob", "eve"))
	show("narrowed from eve", private("bob"))
	add("narrowed, shown again", nil)
	show("narrowed, shown again", private("bob"))
	show("narrowed, shown again", nil)
	add("creator replaced", private("bob"))
	change("creator replaced", func(a *collab.Annotation) { a.CreatorID = "cleo" })
	add("narrowed, deleted", private("eve"))
	show("narrowed, deleted", private("cleo"))
	gone("narrowed, deleted")

	for _, test := range []struct {
		user  string
		sight collab.Sight
		want  []string
	}{
		{"nobody", nil, []string{"deleted", "deleted, bob's", "deleted, members'", "narrowed, deleted"}},
		{"eve", seenAs("eve"), []string{"deleted", "narrowed", "narrowed from eve", "narrowed, deleted"}},
		{"bob", seenAs("bob"), []string{"deleted", "deleted, bob's"}},
		{"cleo", seenAs("cleo"), []string{"deleted", "narrowed, deleted"}},
		{"ann, who began them", seenAs("ann"), []string{"creator replaced", "deleted", "deleted, bob's", "narrowed, deleted"}},
	} {
		list, _, err := w.Left(t.Context(), w.doc, began, test.sight, 20)
		w.must(err)
		ids := []string{}
		for _, th := range list {
			ids = append(ids, th.ID)
			if !th.Deleted || th.LastUpdated < began || th.Status == nil || th.Comments != nil {
				t.Errorf("%+v", th)
			}
		}
		slices.Sort(ids)
		if diff := cmp.Diff(test.want, ids); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.user, diff)
		}
	}
	if _, _, err := w.Left(t.Context(), w.doc, began, seenAs("eve"), 7); err != nil {
		t.Error(err)
	}
	if list, _, err := w.Left(t.Context(), w.doc, time.Now().UnixMilli()+1, nil, 20); err != nil || list != nil {
		t.Errorf("later: %v, %v", list, err)
	}
	for name, after := range map[string]collab.Millis{"more than asked for": began, "longer ago": began - LeftFor.Milliseconds() - 1} {
		if _, _, err := w.Left(t.Context(), w.doc, after, nil, 5); collab.CodeOf(err) != collab.FailedPrecondition {
			t.Errorf("%s: %v", name, err)
		}
	}
	for id, there := range map[string]bool{"deleted": false, "added again": true} {
		look, err := w.Get(t.Context(), keys.AnnotationID(w.doc, id))
		w.must(err)
		if expires := look.Number(keys.Expires); leads(look) != there || !there && (expires < began/1000+int64(LeftFor.Seconds()) || expires > time.Now().Add(LeftFor).Unix()) {
			t.Errorf("%s: its look-up is %v", id, look)
		}
	}
	items, err := w.Query(t.Context(), store.Scan{PK: keys.LeftPartition(w.doc), Keys: store.Everything})
	w.must(err)
	for _, it := range items {
		if expires := it.Number(keys.Expires); expires < (began+LeftFor.Milliseconds())/1000 || expires > (time.Now().UnixMilli()+LeftFor.Milliseconds())/1000 {
			t.Errorf("an item expires at %d", expires)
		}
	}
}
