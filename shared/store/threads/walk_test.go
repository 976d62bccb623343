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

func TestWalk(t *testing.T) { onEach(t, testWalk) }

func testWalk(t *testing.T, s *Store) {
	org := s.mustOrganization(t, "org", "d1", "d2", "empty")
	s.mustFolder(t, org, "f", "d2")
	for i, d := range []string{"d1", "d1", "d2", "d2", "d1"} {
		th := newThread(fmt.Sprint("a", i), fmt.Sprint("u", i%2), i, 10)
		th.LocationID = fmt.Sprint("l", i%3)
		th.Location = collab.JSON(`{"id":"` + th.LocationID + `"}`)
		th.StatusID = fmt.Sprint("s", i%4)
		th.CreatedAt = int64(100 * (i + 1))
		th.LastUpdated = int64(1000 - 100*i)
		for i := range th.Comments {
			th.Comments[i].LastUpdated = th.LastUpdated
		}
		s.mustAdd(t, org.Document(d), th)
	}
	all := []string{"d1/a0:0", "d1/a1:1", "d1/a4:4", "d2/a2:2", "d2/a3:3"}
	pick := func(is ...int) []string {
		list := []string{}
		for _, i := range is {
			list = append(list, all[i])
		}
		return list
	}
	tests := []struct {
		name string
		q    collab.AnnotationQuery
		want []string
	}{
		{"everything", collab.AnnotationQuery{}, all},
		{"a document", collab.AnnotationQuery{Documents: []string{"d2"}}, pick(3, 4)},
		{"documents in the order asked", collab.AnnotationQuery{Documents: []string{"d2", "none", "d1"}}, pick(3, 4, 0, 1, 2)},
		{"a folder", collab.AnnotationQuery{Folder: "f"}, pick(3, 4)},
		{"no folder", collab.AnnotationQuery{Folder: "root"}, pick(0, 1, 2)},
		{"ids in the order asked", collab.AnnotationQuery{IDs: []string{"a3", "x", "a0"}}, []string{all[4], "-x", all[0]}},
		{"ids in a document", collab.AnnotationQuery{Documents: []string{"d1"}, IDs: []string{"a3", "a0"}}, []string{"-a3", all[0]}},
		{"ids in a folder", collab.AnnotationQuery{Folder: "f", IDs: []string{"a3", "a0", "x"}}, []string{all[4], "-x"}},
		{"ids that fail a filter", collab.AnnotationQuery{IDs: []string{"a3", "a0"}, Creators: []string{"u0"}}, pick(0)},
		{"locations in the order asked", collab.AnnotationQuery{Locations: []string{"l1", "l0"}}, pick(1, 2, 0, 4)},
		{"locations in a document", collab.AnnotationQuery{Documents: []string{"d2", "d1"}, Locations: []string{"l1", "l0"}}, pick(4, 1, 2, 0)},
		{"locations in a folder", collab.AnnotationQuery{Folder: "f", Locations: []string{"l1", "l0"}}, pick(4)},
		{"creators", collab.AnnotationQuery{Creators: []string{"u1"}}, pick(1, 4)},
		{"statuses", collab.AnnotationQuery{Statuses: []string{"s0"}}, pick(0, 2)},
		{"creator and status", collab.AnnotationQuery{Creators: []string{"u0"}, Statuses: []string{"s0"}}, pick(0, 2)},
		{"updated window", collab.AnnotationQuery{UpdatedAfter: new(int64(700)), UpdatedBefore: new(int64(900))}, pick(4, 3, 1)},
		{"updated window in a document", collab.AnnotationQuery{Documents: []string{"d1"}, UpdatedAfter: new(int64(600))}, pick(2, 1, 0)},
		{"created window", collab.AnnotationQuery{CreatedAfter: new(int64(300))}, pick(2, 4, 3)},
		{"created before", collab.AnnotationQuery{CreatedBefore: new(int64(300))}, pick(3, 1, 0)},
		{"all filters", collab.AnnotationQuery{Documents: []string{"d1"}, Folder: "root", Locations: []string{"l1"}, Creators: []string{"u0"},
			Statuses: []string{"s0"}, UpdatedAfter: new(int64(1)), CreatedBefore: new(int64(999))}, pick(2)},
	}
	for _, tt := range tests {
		for _, size := range []int{1, 2, 1000} {
			t.Run(fmt.Sprint(tt.name, "/", size), func(t *testing.T) {
				if diff := cmp.Diff(tt.want, s.list(t, org, tt.q, size)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// TestLargeThread walks past a thread that is larger than a page: it comes with as many comments as a page may hold, and says so.
func TestLargeThread(t *testing.T) { onEach(t, testLargeThread) }

func testLargeThread(t *testing.T, s *Store) {
	org := s.mustOrganization(t, "org")
	doc := org.Document("doc")
	const comments = 60
	s.mustAdd(t, doc, newThread("a", "u", 1, 10))
	s.mustAdd(t, doc, newThread("b", "u", comments/2, 100_000))
	rest := newThread("b", "u", comments, 100_000).Comments[comments/2:]
	rest[len(rest)-1].LastUpdated = 1_100 // moves the time key to 1,250
	if _, err := s.AddComments(t.Context(), newRequest(0), doc, "b", collab.NewComments{Comments: rest}); err != nil {
		t.Fatal(err)
	}
	c := newThread("c", "u", 2, 10)
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

// TestForgedPositions walks from positions that no walk gave: in documents, values and keys before, within, between, after and next to
// those of the query. It gives annotations that pass the filters, or refuses what could be no position of the query at all.
func TestForgedPositions(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	org := s.mustOrganization(t, "org", "d1", "d2")
	for i := range 4 {
		th := newThread(fmt.Sprint("a", i), fmt.Sprint("u", i%2), 1, 10)
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
		if err := walk("null"); err != nil { // as from the start
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

// TestForgedPosition walks from after keys that are longer than DynamoDB takes: the caller's mistake, where they would be in the list.
func TestForgedPosition(t *testing.T) {
	s := newStore(t)
	org := s.mustOrganization(t, "org")
	ctx, long := t.Context(), strings.Repeat("z", keys.MaxSortKey)
	walk := func(q collab.AnnotationQuery, key string) error {
		from, err := json.Marshal(position{Key: key})
		must.Do(t, err)
		_, err = s.Walk(ctx, org, opened(ctx, s.Directory, org, q), from, 1, func(string, *collab.Thread) bool { return true })
		return err
	}
	for name, list := range map[string]func(position string) error{
		"statuses": func(position string) error { return walk(collab.AnnotationQuery{Statuses: []string{"OPEN"}}, position) },
		"times": func(position string) error {
			return walk(collab.AnnotationQuery{UpdatedAfter: new(collab.Millis)}, position)
		},
	} {
		storetest.WantCode(t, name, list(long), collab.InvalidArgument)
		storetest.WantCode(t, name+", a short one", list("z"), "")
	}
}

// TestTimes holds that lastUpdated is the latest of head and comments, to the millisecond, wherever the head's time key stands, and that
// windows find an annotation by it.
func TestTimes(t *testing.T) { onEach(t, testTimes) }

func testTimes(t *testing.T, s *Store) {
	org := s.mustOrganization(t, "org")
	doc := org.Document("doc")
	th := newThread("a", "u", 0, 0)
	th.CreatedAt, th.LastUpdated = 10_000, 10_000
	s.mustAdd(t, doc, th)
	found := func(after, before collab.Millis) (at collab.Millis) {
		t.Helper()
		for _, documents := range [][]string{nil, {"doc"}} {
			at = 0
			if _, err := s.Walk(t.Context(), org, opened(t.Context(), s.Directory, org, collab.AnnotationQuery{Documents: documents, UpdatedAfter: &after, UpdatedBefore: &before}), nil, 10,
				func(_ string, th *collab.Thread) bool {
					at = th.LastUpdated
					return true
				}); err != nil {
				t.Fatal(err)
			}
		}
		return at
	}
	latest := th.LastUpdated
	for i, at := range []collab.Millis{10_001, 10_100, 10_050, 10_249, 10_250, 10_251, 10_499, 10_501, 20_000, 20_250, 19_000, 20_251} {
		c := newComment(int64(i+1), "u", 1)
		c.LastUpdated = at
		if _, err := s.AddComments(t.Context(), newRequest(0), doc, "a", collab.NewComments{Comments: []collab.Comment{c}}); err != nil {
			t.Fatal(err)
		}
		latest = max(latest, at)
		for _, w := range [][2]collab.Millis{{latest, latest}, {0, latest}, {latest, collab.MaxMillis}} {
			if got := found(w[0], w[1]); got != latest {
				t.Errorf("after a comment of %d the window %v finds %d, want %d", at, w, got, latest)
			}
		}
		for _, w := range [][2]collab.Millis{{0, latest - 1}, {latest + 1, collab.MaxMillis}} {
			if got := found(w[0], w[1]); got != 0 {
				t.Errorf("after a comment of %d the window %v finds %d", at, w, got)
			}
		}
	}
}

// TestLaterVersion holds that reading passes over what a later version wrote among heads and comments.
func TestLaterVersion(t *testing.T) { onEach(t, testLaterVersion) }

func testLaterVersion(t *testing.T, s *Store) {
	org := s.mustOrganization(t, "org")
	doc := org.Document("doc")
	for _, id := range []string{"a", "b", "c"} {
		s.mustAdd(t, doc, newThread(id, "u", 3, 10))
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

// TestSelect holds which annotations of a document a selector names.
func TestSelect(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	org := s.mustOrganization(t, "org", "other")
	doc := org.Document("doc")
	for i := range 60 {
		th := newThread(fmt.Sprintf("a%02d", i), fmt.Sprint("u", i%2), i%7*10, 1)
		th.LocationID = fmt.Sprint("l", i%3)
		s.mustAdd(t, doc, th)
	}
	s.mustAdd(t, org.Document("other"), newThread("x", "u1", 0, 0))
	for _, tt := range []struct {
		name string
		sel  collab.Selector
		want func(i int) bool
	}{
		{"all", collab.Selector{}, func(int) bool { return true }},
		{"a creator", collab.Selector{Creators: []string{"u1"}}, func(i int) bool { return i%2 == 1 }},
		{"locations", collab.Selector{Locations: []string{"l2", "none", "l0"}}, func(i int) bool { return i%3 != 1 }},
		{"both", collab.Selector{Locations: []string{"l2"}, Creators: []string{"u0"}}, func(i int) bool { return i%3 == 2 && i%2 == 0 }},
		{"none", collab.Selector{Creators: []string{"u2"}}, func(int) bool { return false }},
	} {
		var want []string
		for i := range 60 {
			if tt.want(i) {
				want = append(want, fmt.Sprintf("a%02d", i))
			}
		}
		got, err := s.Select(t.Context(), doc, tt.sel, max(1, len(want)))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", tt.name, err, diff)
		}
		if len(want) > 1 {
			_, err := s.Select(t.Context(), doc, tt.sel, len(want)-1)
			storetest.WantCode(t, tt.name+", one too many", err, collab.FailedPrecondition)
		}
	}
}
