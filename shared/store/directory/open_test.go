package directory

import (
	"context"
	"sync"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/google/go-cmp/cmp"
)

// TestOpenTogether: concurrent additions of a document and its organization all open the same ones.
func TestOpenTogether(t *testing.T) { storetest.OnEach(t, New, testOpenTogether) }

func testOpenTogether(t *testing.T, s *Store) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := s.OpenDocument(t.Context(), "acct", "twins", "d", collab.CreateFlags{Organization: true, Document: true}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestKnown checks how long the directory trusts its cache.
func TestKnown(t *testing.T) {
	plain := newStore(t)
	plain.putOrganization(t, collab.Organization{ID: "org"})
	plain.putDocument(t, "doc", "")
	start := time.Now()
	now := start
	s := New(plain.Table.At(func() time.Time { return now }))
	type outcome struct {
		after time.Duration
		calls int
		code  collab.Code
	}
	var got []outcome
	step := func(after time.Duration) {
		now = start.Add(after)
		var code collab.Code
		n := storetest.Calls(t, func(ctx context.Context) {
			code = codeOf(s.OpenDocument(ctx, "acct", "org", "doc", collab.CreateFlags{}))
		})
		got = append(got, outcome{after, n, code})
	}
	step(0)
	step(CacheTTL - 1)
	plain.putOrganization(t, collab.Organization{ID: "org", Disabled: true})
	step(CacheTTL - 1)
	step(CacheTTL)
	plain.putOrganization(t, collab.Organization{ID: "org"})
	step(CacheTTL)
	step(2 * CacheTTL)
	want := []outcome{
		{0, 2, ""}, {CacheTTL - 1, 0, ""}, {CacheTTL - 1, 0, ""}, {CacheTTL, 1, collab.FailedPrecondition},
		{CacheTTL, 1, ""}, {2 * CacheTTL, 1, ""},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
		t.Error(diff)
	}
	plain.putOrganization(t, collab.Organization{ID: "org", Lifetime: collab.Lifetime{Incarnation: 7}})
	now = start.Add(3 * CacheTTL)
	if org, err := s.OpenOrganization(t.Context(), "acct", "org"); err != nil || org.Incarnation != 7 {
		t.Errorf("the next incarnation is opened as %+v, %v", org, err)
	}
}

// TestOpenInFolder opens documents directly in a folder, without disabled ones.
func TestOpenInFolder(t *testing.T) {
	s := newStore(t)
	s.putOrganization(t, collab.Organization{ID: "org"})
	for _, folder := range []string{"f", "gone"} {
		s.putFolder(t, folder, collab.RootFolder)
	}
	s.putDocument(t, "a", "f")
	s.putDocument(t, "off", "f")
	s.putDocument(t, "b", "")
	s.putDocument(t, "c", "gone")
	must.Do(t, storetest.ChangeDocument(t.Context(), s, acme.Document("off"), func(d *collab.Document) { d.Disabled = true }))
	must.Do(t, s.ChangeFolder(t.Context(), storetest.Request(noon), acme, "gone", func(f *collab.Folder) { f.DeletedAt = 1 }))
	for folder, want := range map[string][]string{"": {"a", "b", "c"}, "f": {"a"}, collab.RootFolder: {"b"}, "gone": nil, "none": nil} {
		_, list, err := s.Open(t.Context(), "acct", "org", folder, []string{"a", "off", "b", "c"})
		var got []string
		for _, doc := range list {
			got = append(got, doc.Document)
		}
		if diff := cmp.Diff(want, got); diff != "" || (collab.CodeOf(err) == collab.NotFound) != (want == nil) {
			t.Errorf("in folder %q: %v (-want +got):\n%s", folder, err, diff)
		}
	}
	for limit, end := range map[int]string{0: "", 1: "a"} {
		list, last, _, err := s.ListDocuments(t.Context(), acme, "f", "", limit)
		if err != nil || len(list) != 1 || list[0].Document != "a" || last != end {
			t.Errorf("listed by %d are %+v up to %q, %v", limit, list, last, err)
		}
	}
	for _, create := range []collab.CreateFlags{{}, {Document: true}} {
		if code := codeOf(s.OpenDocument(t.Context(), "acct", "org", "off", create)); code != collab.FailedPrecondition {
			t.Errorf("a disabled document opens with %q", code)
		}
	}
}

// TestOpenCalls: opening takes one round trip, none if all is cached, two if something is missing.
func TestOpenCalls(t *testing.T) {
	made := newStore(t)
	made.putOrganization(t, collab.Organization{ID: "org"})
	made.putDocument(t, "a", "")
	made.putDocument(t, "b", "")
	s := New(made.Table)
	for i, tt := range []struct {
		ids  []string
		want int
	}{{nil, 1}, {nil, 0}, {[]string{"a"}, 1}, {[]string{"a"}, 0}, {[]string{"a", "b"}, 1}, {[]string{"b", "none", "a"}, 2}} {
		if got := storetest.Calls(t, func(ctx context.Context) {
			_, _, err := s.Open(ctx, "acct", "org", "", tt.ids)
			must.Do(t, err)
		}); got != tt.want {
			t.Errorf("step %d: %d calls, want %d", i, got, tt.want)
		}
	}
}

func codeOf(_ collab.DocumentRef, err error) collab.Code { return collab.CodeOf(err) }
