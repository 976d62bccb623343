package threads

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"

	"github.com/google/go-cmp/cmp"
)

// TestPlan holds by which ranges of keys a query is walked, in which order.
func TestPlan(t *testing.T) {
	org := collab.OrganizationRef{Account: "a", Organization: "o"}
	const in = "A#a#O#o#"
	at := func(n int64) *collab.Millis { return &n }
	everything, ofDocument := "[#, ]", "[d%23#, d%23$]"
	for _, tt := range []struct {
		name   string
		q      collab.AnnotationQuery
		want   []string // ranges of one document, or of all
		others string   // filters whose indexes might do as well
	}{
		{"a document", collab.AnnotationQuery{Documents: []string{"d#"}}, []string{" " + in + "D#d%23 [ANN#, ANN$]"}, ""},
		{"a location", collab.AnnotationQuery{Locations: []string{"l"}}, []string{"index-in " + in + "L#l " + everything}, ""},
		{"locations and creators in a document", collab.AnnotationQuery{
			Documents: []string{"d#"}, Creators: []string{"c"}, Locations: []string{"l", "k#"}, Statuses: []string{"s"},
		}, []string{"index-in " + in + "L#l " + ofDocument, "index-in " + in + "L#k%23 " + ofDocument}, "creators statuses"},
		{"a creator", collab.AnnotationQuery{Creators: []string{"c"}}, []string{"index-by " + in + "U#c " + everything}, ""},
		{"creator and status", collab.AnnotationQuery{Creators: []string{"c"}, Statuses: []string{"s"}}, []string{"index-by " + in + "U#c " + everything}, "statuses"},
		{"creator and status in a folder", collab.AnnotationQuery{Folder: "f", Creators: []string{"c"}, Statuses: []string{"s"}},
			[]string{"index-by " + in + "U#c " + ofDocument}, ""},
		{"a status and when it was created", collab.AnnotationQuery{Statuses: []string{"s"}, CreatedAfter: at(5)},
			[]string{"index-st " + in + "S#s " + everything}, ""},
		{"updated, and a location", collab.AnnotationQuery{UpdatedAfter: at(5), Locations: []string{"l"}},
			[]string{"index-org " + in + "T [000000000000005, ]"}, ""},
		{"updated before", collab.AnnotationQuery{UpdatedBefore: at(1_000)},
			[]string{"index-org " + in + "T [000000000000000, 000000000001250$]"}, ""},
		{"updated in a document", collab.AnnotationQuery{Documents: []string{"d#"}, UpdatedAfter: at(5), UpdatedBefore: at(1_001)},
			[]string{"index-upd " + in + "D#d%23 [000000000000005, 000000000001500$]"}, ""},
		{"updated in a folder", collab.AnnotationQuery{Folder: "f", UpdatedAfter: at(5)}, []string{"index-upd " + in + "D#d%23 [000000000000005, ]"}, ""},
		{"created", collab.AnnotationQuery{CreatedAfter: at(7), CreatedBefore: at(9)}, []string{"index-org " + in + "T [000000000000007, ]"}, ""},
		{"created and updated", collab.AnnotationQuery{CreatedAfter: at(7), UpdatedAfter: at(3), UpdatedBefore: at(collab.MaxMillis)},
			[]string{"index-org " + in + "T [000000000000007, 253402300799999$]"}, ""},
		{"in order of time, and a status", collab.AnnotationQuery{Order: collab.Descending, Statuses: []string{"s"}}, []string{"index-org " + in + "T [000000000000000, ]"}, ""},
		{"in order of time in a document", collab.AnnotationQuery{Order: collab.Ascending, Documents: []string{"d#"}}, []string{"index-upd " + in + "D#d%23 [000000000000000, ]"}, ""},
		{"resolved by", collab.AnnotationQuery{ResolvedBy: []string{"u"}}, []string{" " + in + "D#d%23 [ANN#, ANN$]"}, ""},
		{"all", collab.AnnotationQuery{}, []string{" " + in + "D#d%23 [ANN#, ANN$]"}, ""},
	} {
		p := newPlan(org, &tt.q)
		document := org.Document("d#")
		if p.acrossDocuments() {
			document = collab.DocumentRef{}
		}
		var got []string
		for value := range max(1, len(p.values)) {
			r := p.keyRange(document, value)
			got = append(got, fmt.Sprintf("%s %s [%s, %s]", r.index, r.partition, r.keys.From, r.keys.To))
		}
		var others []string
		for _, f := range p.alternatives(len(tt.q.Documents)) {
			others = append(others, f.name)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || strings.Join(others, " ") != tt.others {
			t.Errorf("%s: others %v\n%s", tt.name, others, diff)
		}
	}
}

// TestManyRangesAreNotProbed holds that no other index is looked into by more than mostProbes queries.
func TestManyRangesAreNotProbed(t *testing.T) {
	q := collab.AnnotationQuery{
		Documents: []string{"d"},
		Locations: []string{"l"},
		Creators:  make([]string, mostProbes),
		Statuses:  make([]string, mostProbes+1),
	}
	p := newPlan(collab.OrganizationRef{}, &q)
	if got := p.alternatives(1); len(got) != 1 || got[0].name != "creators" {
		t.Errorf("%d others in one document", len(got))
	}
	if got := p.alternatives(2); got != nil {
		t.Errorf("%d others in two documents", len(got))
	}
}

// TestCompare holds that positions compare as a walk comes by them: documents in the order asked, then values in the order asked, then
// keys.
func TestCompare(t *testing.T) {
	q := collab.AnnotationQuery{Documents: []string{"z", "a"}, Locations: []string{"l2", "l1"}}
	p := newPlan(collab.OrganizationRef{}, &q)
	want := []position{
		{Document: "z", Key: "z#1"}, {Document: "z", Key: "z#2"}, {Document: "z", Value: 1, Key: "z#0"},
		{Document: "a", Key: "a#1"}, {Document: "a", Value: 1, Key: "a#0"},
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, p.compare)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestLatestKey holds that a window reads as far as a time key may stand: whatever the writers' rule makes of a time.
func TestLatestKey(t *testing.T) {
	for at := collab.Millis(0); at < 1_000; at++ {
		for key := max(0, at-2*quarter); key <= at+quarter; key++ {
			// A comment of the time at finds the key there. Where it moves it, at is the latest.
			if moved := keyFor(key, at); moved > latestKey(at) && moved != key {
				t.Fatalf("a comment of %d moves the key from %d to %d, after %d", at, key, moved, latestKey(at))
			} else if moved < at {
				t.Fatalf("a comment of %d leaves the key at %d", at, moved)
			}
		}
	}
	if got := latestKey(collab.MaxMillis); got != collab.MaxMillis {
		t.Errorf("the last time: %d", got)
	}
}

// TestSieve holds what of an index entry is compared with a query: what the index projects.
func TestSieve(t *testing.T) {
	entry := store.Item{
		keys.Location: store.Text("l"), keys.Creator: store.Text("c"), keys.Status: store.Text("s"), keys.CreatedAt: store.Number(5),
	}
	at := func(n int64) *collab.Millis { return &n }
	for _, tt := range []struct {
		q    collab.AnnotationQuery
		want string // indexes whose entries may pass
	}{
		{collab.AnnotationQuery{}, "in by st upd org"},
		{collab.AnnotationQuery{Locations: []string{"x", "l"}, Creators: []string{"c"}, Statuses: []string{"s"}, CreatedAfter: at(5), CreatedBefore: at(5)}, "in by st upd org"},
		{collab.AnnotationQuery{Locations: []string{"x"}}, "in"}, // it holds the value in its key
		{collab.AnnotationQuery{Creators: []string{"x"}}, "by"},
		{collab.AnnotationQuery{Statuses: []string{"x"}}, "st"},
		{collab.AnnotationQuery{CreatedBefore: at(4)}, ""},
		{collab.AnnotationQuery{CreatedAfter: at(6)}, ""},
		{collab.AnnotationQuery{UpdatedAfter: at(6)}, "in by st upd org"},
	} {
		var got []string
		for _, ix := range keys.Indexes() {
			if sieve(&tt.q, ix.Name)(entry) {
				got = append(got, strings.TrimPrefix(ix.Name, "index-"))
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%+v: %v, want %s", tt.q, got, tt.want)
		}
	}
}

// TestBudget holds when a page ends and what a walk reads next.
func TestBudget(t *testing.T) {
	for _, tt := range []struct {
		name                      string
		b                         budget
		over                      bool
		allowance, entries, items int // for 10
		window, width             int
	}{
		{"at first", budget{most: 20}, false, 9_011, 11, 21, 8, 1},
		{"one is left", budget{most: 20, taken: 19, content: 19_000, sources: 2, spent: cost{entries: 20, bytes: 6_000, units: 1}}, false, 8_983, 11, 21, 1, 1},
		{"full", budget{most: 20, taken: 20, content: 20_000, sources: 1}, true, 9_011, 11, 21, 1, 1},
		{"little passes", budget{most: 20, taken: 1, content: 1_000, sources: 1, spent: cost{entries: 1_000, bytes: 300_000, units: 37}}, false, 8_000, 5_000, 21, 19, 16},
		{"empty sources", budget{most: 20, sources: 100, spent: cost{units: 50}}, false, 7_645, 11, 21, 8, 16},
		{"long threads", budget{most: 20, taken: 2, content: 2_000_000, sources: 1, spent: cost{threads: 2, items: 400}}, false, 9_011, 11, 2_001, 4, 2},
		{"entries are used up", budget{most: 20, spent: cost{entries: 10_000, bytes: 300_000, units: 40}}, true, 1, 100_000, 21, 8, 1},
		{"units are used up", budget{most: 20, spent: cost{entries: 1_000, bytes: 2_000_000, units: 330}}, true, 1, 10_000, 21, 8, 1},
		{"sources are used up", budget{most: 20, sources: 500, spent: cost{units: 250}}, true, 2_184, 11, 21, 8, 16},
	} {
		b := tt.b
		got := []int{b.allowance(1), b.entriesFor(10), b.itemsFor(10), b.window(100, 32), b.width()}
		if diff := cmp.Diff([]int{tt.allowance, tt.entries, tt.items, tt.window, tt.width}, got); diff != "" || b.over() != tt.over {
			t.Errorf("%s: over %v\n%s", tt.name, b.over(), diff)
		}
	}
	few := budget{most: 1_000}
	if got := few.window(30, 32); got != 30+2 {
		t.Errorf("of 30 entries %d are fetched side by side", got)
	}
}
