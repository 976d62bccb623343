package directory

import (
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store/storetest"

	"github.com/google/go-cmp/cmp"
)

// TestGrow holds what readers and writers use at each time.
func TestGrow(t *testing.T) {
	const wait = collab.Millis(settling / time.Millisecond)
	for _, tt := range []struct {
		name   string
		spread spread
		want   map[collab.Millis]collab.Shards
	}{
		{"never hot", spread{}, map[collab.Millis]collab.Shards{0: {Read: 1, Write: 1}, 1 << 40: {Read: 1, Write: 1}}},
		{"spread", spread{}.grow(8, 1000), map[collab.Millis]collab.Shards{
			1000: {Read: 8, Write: 1}, 1000 + wait - 1: {Read: 8, Write: 1}, 1000 + wait: {Read: 8, Write: 8},
		}},
		{"no less", spread{}.grow(8, 1000).grow(8, 2000).grow(4, 3000), map[collab.Millis]collab.Shards{
			1000 + wait - 1: {Read: 8, Write: 1}, 1000 + wait: {Read: 8, Write: 8},
		}},
		{"again before it settled", spread{}.grow(8, 1000).grow(16, 2000), map[collab.Millis]collab.Shards{
			1000 + wait: {Read: 16, Write: 1}, 2000 + wait: {Read: 16, Write: 16},
		}},
		{"again later", spread{}.grow(8, 1000).grow(16, 1000+wait), map[collab.Millis]collab.Shards{
			1000 + wait: {Read: 16, Write: 8}, 1000 + 2*wait: {Read: 16, Write: 16},
		}},
	} {
		for at, want := range tt.want {
			if got := tt.spread.at(at); got != want {
				t.Errorf("%s, at %d: %+v, want %+v", tt.name, at, got, want)
			}
		}
	}
}

// TestShards spreads an organization, on a clock of the test.
func TestShards(t *testing.T) {
	start := time.Now()
	now := start
	s := at(t, storetest.New(t), func() time.Time { return now })
	operator := New(s.Table) // remembers nothing
	operator.putOrganization(t, collab.Organization{ID: "org"})
	var got []collab.Shards
	step := func(after time.Duration) {
		now = start.Add(after)
		shards, err := s.Shards(t.Context(), acme)
		must(t, err)
		got = append(got, shards)
	}
	step(0)
	must(t, operator.Spread(t.Context(), acme, 8))
	step(organizationFor - 1)
	step(organizationFor)
	operator.putOrganization(t, collab.Organization{ID: "org", Name: "other"})
	must(t, operator.Spread(t.Context(), acme, 2))
	step(settling - time.Second)
	step(settling)
	want := []collab.Shards{{Read: 1, Write: 1}, {Read: 1, Write: 1}, {Read: 8, Write: 1}, {Read: 8, Write: 1}, {Read: 8, Write: 8}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	none := collab.OrganizationRef{Account: "acct", Organization: "none"}
	_, err := s.Shards(t.Context(), none)
	mustCode(t, "shards of no organization", err, collab.NotFound)
	mustCode(t, "no organization", s.Spread(t.Context(), none, 8), collab.NotFound)
}
