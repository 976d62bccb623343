package threads

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/google/go-cmp/cmp"
)

// TestLargeThread: a thread that exceeds a page comes truncated, and marked as such.
func TestLargeThread(t *testing.T) { storetest.OnEach(t, on, testLargeThread) }

func testLargeThread(t *testing.T, s *Store) {
	org := s.mustOrganization(t, "org")
	doc := org.Document("doc")
	const comments = 60
	s.mustAdd(t, doc, storetest.Thread("a", "u", 1))
	s.mustAdd(t, doc, sized(storetest.Thread("b", "u", comments/2), 100_000))
	rest := sized(storetest.Thread("b", "u", comments), 100_000).Comments[comments/2:]
	rest[len(rest)-1].LastUpdated = 1_100 // moves the time key to 1,250
	if _, err := s.AddComments(t.Context(), newRequest(0), doc, "b", collab.NewComments{Comments: rest}); err != nil {
		t.Fatal(err)
	}
	c := storetest.Thread("c", "u", 2)
	c.LastUpdated = 2_000
	s.mustAdd(t, doc, c)
	for name, q := range map[string]collab.AnnotationQuery{
		"document": {Documents: []string{"doc"}}, "ids": {IDs: []string{"a", "b", "c"}}, "creator": {Creators: []string{"u"}},
		"organization": {}, "window": {Documents: []string{"doc"}, UpdatedAfter: new(int64(1))},
	} {
		var got []string
		for from := []byte(nil); ; {
			bytes := 0
			next, err := s.Walk(t.Context(), org, opened(t.Context(), s.Directory, org, q), from, 1000, func(id string, th *collab.Thread) bool {
				for _, c := range th.Comments {
					bytes += len(*c.Text)
				}
				if bytes > pageBytes && len(th.Comments) < 50 || bytes > 2*pageBytes {
					return false
				}
				cut := ""
				if th.Truncated {
					cut = "…"
					if th.LastUpdated != 1_250 {
						t.Errorf("%s: a cut thread was updated at %d, not at its time key", name, th.LastUpdated)
					}
				}
				for i, c := range th.Comments {
					if c.ID != int64(i+1) {
						t.Fatalf("%s: comment %d of %s is %d", name, i, id, c.ID)
					}
				}
				if th.Truncated && (len(th.Comments)*100_000 < pageBytes-500_000 || len(th.Comments) == comments) {
					t.Errorf("%s: %d comments are a page", name, len(th.Comments))
				}
				got = append(got, id+cut)
				return true
			})
			must.Do(t, err)
			if from = next; next == nil {
				break
			}
		}
		if diff := cmp.Diff([]string{"a", "b…", "c"}, got); diff != "" {
			t.Error(name, diff)
		}
	}
}

// TestForgedPositions walks from forged positions: in other documents, values and keys, before,
// between and after those of the query. The walk returns only matching annotations, or refuses an
// impossible position.
func TestForgedPositions(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	org := s.mustOrganization(t, "org", "d1", "d2")
	for i := range 4 {
		th := storetest.Thread(fmt.Sprint("a", i), fmt.Sprint("u", i%2), 1)
		th.LocationID = fmt.Sprint("l", i%3)
		s.mustAdd(t, org.Document([]string{"d1", "d2"}[i/2]), th)
	}
	heads, entries := []string{"ANN#a0", "ANN#a0#CMT#~"}, []string{"d1#a0", "d2"}
	for _, of := range []struct {
		q      collab.AnnotationQuery
		values int
		within []string // keys
	}{
		{collab.AnnotationQuery{}, 1, heads},
		{collab.AnnotationQuery{Documents: []string{"d2"}}, 1, []string{"ANN#a2", "ANN#a2#CMT#~"}},
		{collab.AnnotationQuery{Folder: collab.RootFolder}, 1, heads},
		{collab.AnnotationQuery{Documents: []string{"d1", "d2"}, Locations: []string{"l1", "l2"}}, 2, entries},
		{collab.AnnotationQuery{Creators: []string{"u1"}}, 1, entries},
		{collab.AnnotationQuery{Folder: collab.RootFolder, Statuses: []string{"OPEN"}}, 1, entries},
		{collab.AnnotationQuery{UpdatedAfter: new(int64(1))}, 1, []string{keys.UpdatedInOrganization(1_000, org.Document("d1"), "a0")}},
		{collab.AnnotationQuery{Documents: []string{"d1"}, UpdatedAfter: new(int64(1))}, 1, []string{keys.UpdatedInDocument(1_000, "a0")}},
		{collab.AnnotationQuery{IDs: []string{"a1", "a3"}}, 3, []string{"d1", "d2"}},
	} {
		whole := s.list(t, org, of.q, 1000)
		walk := func(from string) error {
			_, err := s.Walk(
				t.Context(),
				org,
				opened(t.Context(), s.Directory, org, of.q),
				[]byte(from),
				1000,
				func(id string, th *collab.Thread) bool {
					if th != nil && !slices.Contains(whole, fmt.Sprintf("%s/%s:%d", th.Document, th.ID, len(th.Comments))) {
						t.Errorf("%+v from %s gives %s of %s", of.q, from, id, th.Document)
					}
					return true
				},
			)
			return err
		}
		at := func(document string, value int, key string) string {
			p, err := json.Marshal(position{Document: document, Value: value, Key: key})
			must.Do(t, err)
			return string(p)
		}
		if err := walk("null"); err != nil { // from the start
			t.Error(err)
		}
		for _, d := range []string{"", "d#", "d1", "d2", "other"} {
			for v := range of.values {
				for _, k := range append([]string{"", "\x00", "~"}, of.within...) {
					if err := walk(at(d, v, k)); err != nil {
						t.Errorf("%+v from %s: %v", of.q, at(d, v, k), err)
					}
				}
			}
		}
		for _, p := range []string{
			at("", -1, ""), at("d1", of.values, ""), at("", 1<<40, "~"), at("\x01", 0, ""), at(strings.Repeat("d", 700), 0, "~"),
			at("d1", 0, strings.Repeat("k", keys.MaxSortKey+1)), "", "[]", "{", `{"d":""}x`, `{"v":"x"}`, `{"v":1.5}`, "x", "\xff",
		} {
			storetest.WantCode(t, fmt.Sprintf("%+v from %.40q", of.q, p), walk(p), collab.InvalidArgument)
		}
	}
}

// TestLaterVersion: reads skip items of a later version among heads and comments.
func TestLaterVersion(t *testing.T) { storetest.OnEach(t, on, testLaterVersion) }

func testLaterVersion(t *testing.T, s *Store) {
	org := s.mustOrganization(t, "org")
	doc := org.Document("doc")
	for _, id := range []string{"a", "b", "c"} {
		s.mustAdd(t, doc, storetest.Thread(id, "u", 3))
	}
	reads := func() (got []string) {
		for _, q := range []collab.AnnotationQuery{
			{}, {Documents: []string{"doc"}}, {IDs: []string{"c", "a"}}, {Creators: []string{"u"}}, {UpdatedAfter: new(int64(0))},
			{Documents: []string{"doc"}, UpdatedAfter: new(int64(0))}, {Creators: []string{"u"}, Statuses: []string{"OPEN"}},
		} {
			for _, size := range []int{1, 2, 1000} {
				got = append(got, strings.Join(s.list(t, org, q, size), " "))
			}
		}
		for _, sel := range []collab.Selector{{}, {Creators: []string{"u"}}} {
			ids, err := s.Select(t.Context(), doc, sel, 3)
			must.Do(t, err)
			got = append(got, strings.Join(ids, " "))
		}
		for most := range 4 {
			var ids []string
			for c, err := range s.ListComments(t.Context(), doc, "b", 0, most+1) {
				must.Do(t, err)
				ids = append(ids, fmt.Sprint(c.ID))
			}
			list, err := s.RecentComments(t.Context(), doc, "b", 1000, most+1)
			must.Do(t, err)
			for _, c := range list.Comments {
				ids = append(ids, fmt.Sprint(c.ID))
			}
			got = append(got, strings.Join(ids, " "))
		}
		return got
	}
	want := reads()
	partition := keys.DocumentPartition(doc)
	for i, sk := range []string{
		"ANN#a#CMT", "ANN#a#A#1", "ANN#a#ZZZ#1", "ANN#b#CMT#0", "ANN#b#CMT#0000000000000001#R", "ANN#b#CMT#0000000000000002#R#x",
		"ANN#b#CMT#x", "ANN#bb#CMT#0000000000000001", "ANN#%zz", "ANN#z#CMT#~", "ANN$",
	} {
		it := store.NewItem(keys.Key{PK: partition, SK: sk})
		if sk != "ANN#bb#CMT#0000000000000001" {
			it[keys.By], it[keys.DocAnn] = store.Text(keys.CreatorPartition(doc.OrganizationRef, "u")), store.Text(fmt.Sprint("doc#b", i))
			it[keys.Status], it[keys.CreatedAt] = store.Text("OPEN"), store.Number(1_000)
			it[keys.Upd] = store.Text(keys.UpdatedInDocument(1_000, fmt.Sprint("b", i)))
			it[keys.Org] = store.Text(keys.UpdatedPartition(doc.OrganizationRef))
			it[keys.OrgUpd] = store.Text(keys.UpdatedInOrganization(1_000, doc, fmt.Sprint("b", i)))
		}
		must.Do(t, s.Put(t.Context(), it))
	}
	if diff := cmp.Diff(want, reads()); diff != "" {
		t.Error(diff)
	}
}
