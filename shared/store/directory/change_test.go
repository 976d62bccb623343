package directory

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/google/go-cmp/cmp"
)

func TestChange(t *testing.T) { onEach(t, testChange) }

func testChange(t *testing.T, s *Store) {
	ctx := t.Context()
	for i := range 2 {
		var o collab.Organization
		err := storetest.ChangeOrganization(ctx, s, acme, func(stored *collab.Organization) {
			if stored.ID != "org" || (stored.Name == "") != (i == 0) {
				t.Errorf("change %d gets %+v", i, stored)
			}
			stored.Name, stored.CreatedAt, stored.LastUpdated, stored.Metadata = stored.Name+"x", 1, int64(i), collab.JSON(`{"a":1.0}`)
			o = *stored
		})
		got, readErr := s.Organizations(ctx, "acct", []string{"org"})
		if diff := cmp.Diff([]collab.Organization{o}, got); err != nil || readErr != nil || diff != "" {
			t.Errorf("%v, %v (- want, + got):\n%s", err, readErr, diff)
		}
		err = storetest.ChangeDocument(ctx, s, acme.Document("d"), func(d *collab.Document) {
			d.Access, d.Name, d.CreatedAt = collab.AccessRestricted, d.Name+"u", 1
		})
		d, readErr := s.Document(ctx, acme.Document("d"))
		want := collab.Document{
			ID: "d", Name: strings.Repeat("u", i+1), Folder: collab.RootFolder, Access: collab.AccessRestricted,
			AddedBy: d.AddedBy, CreatedAt: 1, LastUpdated: d.LastUpdated,
		}
		if diff := cmp.Diff(want, d); err != nil || readErr != nil || diff != "" {
			t.Errorf("%v, %v (- want, + got):\n%s", err, readErr, diff)
		}
	}
	err := storetest.ChangeOrganization(ctx, s, acme, func(o *collab.Organization) { o.Metadata = nil })
	if got, readErr := s.Organizations(ctx, "acct", []string{"org"}); err != nil || readErr != nil || len(got) != 1 || got[0].Metadata != nil {
		t.Errorf("metadata was not cleared: %+v, %v, %v", got, err, readErr)
	}
}

// TestPreferences sets preferences and reads what holds.
func TestPreferences(t *testing.T) { onEach(t, testPreferences) }

func testPreferences(t *testing.T, s *Store) {
	docs := []string{"d#1", "d2", "d3"}
	for _, set := range []struct {
		documents []string
		p         collab.Preferences
		want      []collab.Preferences
	}{
		{[]string{"d#1"}, collab.Preferences{Inbox: "NONE"}, []collab.Preferences{{Inbox: "NONE", Email: "MINE"}, collab.DefaultPreferences, collab.DefaultPreferences}},
		{nil, collab.Preferences{Email: "ALL"}, []collab.Preferences{{Inbox: "NONE", Email: "ALL"}, {Inbox: "ALL", Email: "ALL"}, {Inbox: "ALL", Email: "ALL"}}},
		{[]string{"d2"}, collab.Preferences{Email: "NONE"}, []collab.Preferences{{Inbox: "NONE", Email: "ALL"}, {Inbox: "ALL", Email: "NONE"}, {Inbox: "ALL", Email: "ALL"}}},
		{[]string{"d#1", "d#1"}, collab.Preferences{}, []collab.Preferences{{Inbox: "ALL", Email: "ALL"}, {Inbox: "ALL", Email: "NONE"}, {Inbox: "ALL", Email: "ALL"}}},
	} {
		must.Do(t, s.SetPreferences(t.Context(), acme, []string{"u", "w"}, set.documents, set.p))
		got, err := s.Preferences(t.Context(), acme, "u", docs)
		if diff := cmp.Diff(set.want, got); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
		for i, d := range docs {
			got, err := s.UserPreferences(t.Context(), acme.Document(d), []string{"v", "u", "w"})
			want := map[string]collab.Preferences{"u": set.want[i], "w": set.want[i], "v": collab.DefaultPreferences}
			effective := map[string]collab.Preferences{}
			for user, set := range got {
				effective[user] = set.Effective()
			}
			if diff := cmp.Diff(want, effective); err != nil || diff != "" {
				t.Errorf("%s: %v %s", d, err, diff)
			}
		}
	}
}

// TestKeepUnknown holds that no change drops attributes that a newer version has written.
func TestKeepUnknown(t *testing.T) { onEach(t, testKeepUnknown) }

func testKeepUnknown(t *testing.T, s *Store) {
	ctx := t.Context()
	changes := map[keys.Key]func() error{
		keys.Organization("acct", "org"): func() error {
			err := storetest.ChangeOrganization(ctx, s, acme, func(o *collab.Organization) { o.Name += "x"; o.Disabled = false })
			return err
		},
		keys.Folder(acme, "f"): func() error {
			s.AddFolders(ctx, storetest.Request(noon), acme, []collab.Folder{{ID: "f", Parent: collab.RootFolder}})
			return s.ChangeFolder(ctx, storetest.Request(noon), acme, "f", func(f *collab.Folder) { f.Name += "x" })
		},
		keys.Document(acme, "d"): func() error {
			err := storetest.ChangeDocument(ctx, s, acme.Document("d"), func(d *collab.Document) { d.Name += "x" })
			return err
		},
		keys.Member(acme, "u"): func() error {
			return s.ChangeMembers(ctx, storetest.Request(noon), collab.Resource{OrganizationRef: acme}, []string{"u"}, true, func(int, *collab.Member) {})[0]
		},
	}
	for k, change := range changes {
		must.Do(t, change())
		_, err := s.Write(ctx, store.Update(k, expression.Set(expression.Name("newer"), expression.Value("kept"))))
		must.Do(t, err)
		must.Do(t, change())
		it, err := s.Get(ctx, k)
		must.Do(t, err)
		if it.Text("newer") != "kept" {
			t.Errorf("%s lost an attribute: %v", k, it)
		}
	}
}

// TestLostAnswer holds that a change whose answer was lost is not done again over what others wrote since: the item knows its last four
// writers, and after more of them the change is ABORTED.
func TestLostAnswer(t *testing.T) {
	for writers, want := range map[int]collab.Code{1: "", 3: "", 4: collab.Aborted} {
		others := newStore(t)
		others.putOrganization(t, collab.Organization{ID: "org", Name: "first"})
		var lost atomic.Bool
		s := New(storetest.Through(t, others.Table, func(next aws.HTTPClient) aws.HTTPClient {
			return client(func(r *http.Request) (*http.Response, error) {
				answer, err := next.Do(r)
				if err != nil || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), "UpdateItem") || lost.Swap(true) {
					return answer, err
				}
				io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
				for range writers {
					must.Do(t, storetest.ChangeOrganization(context.WithoutCancel(r.Context()), others, acme, func(o *collab.Organization) { o.Name += "er" }))
				}
				return nil, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
			})
		}))
		err := storetest.ChangeOrganization(t.Context(), s, acme, func(o *collab.Organization) { o.Name = "new" })
		if collab.CodeOf(err) != want {
			t.Errorf("after %d others the change gave %v, want code %q", writers, err, want)
		}
		got, err := others.Organizations(t.Context(), "acct", []string{"org"})
		if err != nil || len(got) != 1 || got[0].Name != "new"+strings.Repeat("er", writers) {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// client is a transport.
type client func(*http.Request) (*http.Response, error)

func (c client) Do(r *http.Request) (*http.Response, error) { return c(r) }
