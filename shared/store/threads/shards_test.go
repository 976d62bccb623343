package threads

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/store/directory"
	"collabdata/shared/table"

	"github.com/google/go-cmp/cmp"
)

// spread is an organization whose annotations lie in shards of the index by time.
type spread struct {
	s    *Store
	org  collab.OrganizationRef
	want []string // in the order of time keys
}

// newSpread makes an organization of n annotations in 12 documents, several at each time, in the shards that shardOf says.
func newSpread(t *testing.T, s *Store, name string, n int, shardOf func(i int) int) *spread {
	t.Helper()
	o := &spread{s: s, org: s.mustOrganization(t, name)}
	type key struct{ sk, doc, id string }
	var keys []key
	l := newLoader(t, s)
	for i := range n {
		doc := fmt.Sprint("d ", i%12)
		th := newThread(fmt.Sprintf("a%03d", i*7%n), fmt.Sprint("u", i%3), 0, 0)
		th.CreatedAt, th.LastUpdated = 1_000, int64(1_000+i*13%17)
		l.head(o.org.Document(doc), &th.Annotation, shardOf(i))
		keys = append(keys, key{table.UpdatedInOrganization(th.LastUpdated, doc, th.ID), doc, th.ID})
	}
	l.wait()
	slices.SortFunc(keys, func(a, b key) int { return strings.Compare(a.sk, b.sk) })
	for _, k := range keys {
		o.want = append(o.want, fmt.Sprintf("%s/%s:0", k.doc, k.id))
	}
	return o
}

// grow spreads the organization over n shards, as a process sees it that has just started.
func (o *spread) grow(t *testing.T, n int) {
	t.Helper()
	if err := o.s.Directory.Spread(t.Context(), o.org, n); err != nil {
		t.Fatal(err)
	}
	o.s.Directory = directory.New(o.s.Table)
}

// move puts an annotation into another shard, where its time key stays.
func (o *spread) move(t *testing.T, entry string, shard int) {
	t.Helper()
	var i, id int
	if _, err := fmt.Sscanf(entry, "d %d/a%d", &i, &id); err != nil {
		t.Fatal(err)
	}
	it, err := o.s.Get(t.Context(), table.Annotation("acct", o.org.Organization, fmt.Sprint("d ", i), fmt.Sprintf("a%03d", id)))
	if err != nil || it == nil {
		t.Fatal(entry, err)
	}
	it[table.Org] = store.Text(table.UpdatedPartition("acct", o.org.Organization, shard))
	if err := o.s.Put(t.Context(), it); err != nil {
		t.Fatal(err)
	}
}

// TestShards walks organizations in any number of shards: the order is that of one.
func TestShards(t *testing.T) { onEach(t, testShards) }

func testShards(t *testing.T, s *Store) {
	const annotations = 40
	random := rand.New(rand.NewPCG(1, 2))
	after := collab.AnnotationQuery{UpdatedAfter: ptr(int64(0))}
	for _, n := range []int{1, 2, 8} {
		o := newSpread(t, s, fmt.Sprint("of ", n), annotations, func(int) int { return random.IntN(n) })
		o.grow(t, n)
		for _, size := range []int{1, 7, 1000} {
			if diff := cmp.Diff(o.want, s.list(t, o.org, after, size)); diff != "" {
				t.Errorf("%d shards, pages of %d:\n%s", n, size, diff)
			}
		}
		some := s.list(t, o.org, collab.AnnotationQuery{UpdatedAfter: ptr(int64(1_010)), UpdatedBefore: ptr(int64(1_020)), Creators: []string{"u1"}}, 2)
		if len(some) == 0 || len(some) > annotations/3 {
			t.Errorf("%d shards: a window of a creator's has %d", n, len(some))
		}
	}
	// The number grows while a walk is under way, and what is written moves to its new shard.
	for _, size := range []int{1, 7} {
		o := newSpread(t, s, fmt.Sprint("grows ", size), annotations, func(int) int { return 0 })
		var got []string
		pages := 0
		for from := []byte(nil); ; {
			next, err := s.Walk(t.Context(), o.org, after, from, size, func(id string, th *collab.Thread) bool {
				got = append(got, fmt.Sprintf("%s/%s:0", th.Document, id))
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
			if from = next; next == nil {
				break
			}
			if n := []int{1, 2, 8, 20}[min(pages, 3)]; pages < 4 {
				o.grow(t, n)
				for i := pages; i < annotations; i += 4 {
					o.move(t, o.want[i], random.IntN(n))
				}
			}
			pages++
		}
		if diff := cmp.Diff(o.want, got); diff != "" {
			t.Errorf("pages of %d while the number grows:\n%s", size, diff)
		}
	}
}

// TestShardsCost holds what a page of 20 costs of an index in shards, beside its threads: half a unit for each, even if all annotations lie
// in one of them.
func TestShardsCost(t *testing.T) {
	s := newStore(t)
	const annotations = 100
	for _, tt := range []struct {
		name   string
		shards int
		of     func(i int) int
		units  float64
	}{
		{"one", 1, func(int) int { return 0 }, 1},
		{"eight", 8, func(i int) int { return i % 8 }, 4},
		{"eight, all in the last", 8, func(int) int { return 7 }, 5},
	} {
		o := newSpread(t, s, tt.name, annotations, tt.of)
		o.grow(t, tt.shards)
		if err := s.Directory.CheckOrganization(t.Context(), o.org); err != nil {
			t.Fatal(err)
		}
		const most = 20
		taken := 0
		units, calls := spent(t, func(ctx context.Context) error {
			_, err := s.Walk(ctx, o.org, collab.AnnotationQuery{UpdatedAfter: ptr(int64(0))}, nil, most, func(string, *collab.Thread) bool {
				taken++
				return true
			})
			return err
		})
		index := units - 0.5*most
		t.Logf("%s: %.1f units and %d calls for the index", tt.name, index, calls-most)
		if taken != most || index > tt.units {
			t.Errorf("%s: %d annotations for %.1f units, at most %.1f", tt.name, taken, index, tt.units)
		}
	}
}
