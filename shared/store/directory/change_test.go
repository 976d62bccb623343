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
	"collabdata/shared/request"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// TestKeepUnknown: changes keep attributes of a newer version.
func TestKeepUnknown(t *testing.T) { storetest.OnEach(t, New, testKeepUnknown) }

func testKeepUnknown(t *testing.T, s *Store) {
	ctx := t.Context()
	storetest.KeepsUnknown(t, s.Table, map[keys.Key]func() error{
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
	})
}

// TestLostAnswer: a change with a lost answer does not overwrite later writes. The item keeps its
// last four writers; after more, the change is ABORTED.
func TestLostAnswer(t *testing.T) {
	for writers, want := range map[int]collab.Code{1: "", 3: "", 4: collab.Aborted} {
		others := newStore(t)
		others.putOrganization(t, collab.Organization{ID: "org", Name: "first"})
		var lost atomic.Bool
		s := New(storetest.Through(t, others.Table, func(next aws.HTTPClient) aws.HTTPClient {
			return storetest.Client(func(r *http.Request) (*http.Response, error) {
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

// TestRepeatedChange checks that the repetition of a request keeps later changes of others.
func TestRepeatedChange(t *testing.T) {
	s := newStore(t)
	first := storetest.Request(noon)
	for _, step := range []struct {
		req        *request.Request
		name, want string
	}{{first, "a", "a"}, {storetest.Request(noon), "b", "b"}, {storetest.Again(first), "a", "b"}} {
		must.Do(t, s.ChangeOrganizations(t.Context(), step.req, []string{"org"}, true, func(_ int, o *collab.Organization) error {
			o.Name = step.name
			return nil
		})[0])
		if got, err := s.Organizations(t.Context(), "acct", []string{"org"}); err != nil || len(got) != 1 || got[0].Name != step.want {
			t.Errorf("named %s: %+v, %v", step.name, got, err)
		}
	}
}
