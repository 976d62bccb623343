package organizations_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/api/organizations"
	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/store/directory"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

const maxAnswer = 5_000_000

type fixture struct {
	organizations.Service
	directory *directory.Store
	server    *rpc.Server
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	d := directory.New(storetest.New(t))
	return &fixture{
		Service: organizations.Service{Directory: d}, directory: d,
		server: &rpc.Server{Now: time.Now, Random: rand.Reader, Log: slog.New(slog.DiscardHandler)},
	}
}

func (f *fixture) putOrganization(t *testing.T, id string, metadata collab.JSON) {
	t.Helper()
	err := storetest.ChangeOrganization(
		t.Context(),
		f.directory,
		collab.OrganizationRef{Account: "acct", Organization: id},
		func(o *collab.Organization) {
			o.Name, o.Metadata = id, metadata
		},
	)
	must.Do(t, err)
}

// page is an answer; size is that of its body as Lambda wraps it.
type page struct {
	code, size int
	Result     struct {
		Data []struct {
			ID, FolderID string
			SubFolders   []struct{}
		}
		NextPageToken string
	}
	Error struct {
		Status  collab.Code
		Message string
	}
}

func post[Req, Data any](t *testing.T, f *fixture, op rpc.Operation[Req, Data], data string) page {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/path", strings.NewReader(`{"data":{`+data+`}}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	ctx := collab.WithIdentity(context.Background(), collab.Identity{Account: "acct"})
	rpc.Handle(f.server, op, rpc.Options{}).ServeHTTP(w, r.WithContext(ctx))
	p := page{code: w.Code, size: rpc.WrappedLen(w.Body.Bytes())}
	must.Do(t, json.Unmarshal(w.Body.Bytes(), &p))
	return p
}

// TestGetEndsPagesBySize walks organizations whose metadata fill pages before pageSize does.
func TestGetEndsPagesBySize(t *testing.T) {
	f := newFixture(t)
	var want []string
	for i := range 18 { // some more than a page takes
		id := fmt.Sprintf("o%02d", i)
		want = append(want, id)
		f.putOrganization(t, id, collab.JSON(`{"notes":"`+strings.Repeat(`\"`, 75_000)+`"}`))
	}
	ids := `"organizationIds":["` + strings.Join(want, `","`) + `"],`
	for _, query := range []string{"", ids} {
		var got []string
		pages := 0
		for token := ""; ; pages++ {
			p := post(t, f, f.Get, query+`"pageToken":"`+token+`"`)
			if p.code != http.StatusOK || p.size > maxAnswer {
				t.Fatalf("page %d: %d %s, %d bytes", pages, p.code, p.Error.Message, p.size)
			}
			for _, o := range p.Result.Data {
				got = append(got, o.ID)
			}
			if token = p.Result.NextPageToken; token == "" {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%.20s: %s", query, diff)
		}
		if pages != 1 {
			t.Errorf("%.20s: %d pages before the last", query, pages)
		}
	}
}

func TestFoldersGetBeyondAnAnswer(t *testing.T) {
	f := newFixture(t)
	org := collab.OrganizationRef{Account: "acct", Organization: "org"}
	f.putOrganization(t, "org", nil)
	put := func(parent string, n int) {
		t.Helper()
		for i := range n {
			err := f.directory.AddFolders(t.Context(), storetest.Request(time.Now()), org, []collab.Folder{{
				ID: fmt.Sprintf("%s-%02d", parent, i), Parent: parent, Name: strings.Repeat("x", 300_000),
			}})[0]
			if err != nil && collab.CodeOf(err) != collab.AlreadyExists {
				t.Fatal(err)
			}
		}
	}
	put("root", 2)
	put("root-00", 15)
	put("root-01", 1)
	for _, test := range []struct {
		data string
		code int
	}{
		{`"folderId":"root-00"`, http.StatusOK},
		{`"folderId":"root-01"`, http.StatusOK},
		{`"pageSize":1`, http.StatusBadRequest},
	} {
		if p := post(t, f, f.FoldersGetV1, `"organizationId":"org",`+test.data); p.code != test.code || p.size > maxAnswer {
			t.Errorf("%s: %d %s, %d bytes", test.data, p.code, p.Error.Message, p.size)
		}
	}
	p := post(t, f, f.FoldersGetV1, `"organizationId":"org"`)
	if p.code != http.StatusBadRequest || p.Error.Status != collab.FailedPrecondition ||
		p.Error.Message != "one answer does not hold these 18 folders" {
		t.Errorf("all folders: %d %s", p.code, p.Error.Message)
	}
	put("root-00", 17)
	if p := post(t, f, f.FoldersGetV1, `"organizationId":"org","folderId":"root-00"`); p.Error.Status != collab.FailedPrecondition {
		t.Errorf("a folder with many: %d %s", p.code, p.Error.Message)
	}
}
