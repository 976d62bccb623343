package organizations_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/api/rpc"
	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

const maxAnswer = 5_000_000

// page is a response. size is that of its body as Lambda encodes it.
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

func post(t *testing.T, s *app.Service, path, data string) page {
	t.Helper()
	w := apitest.Post(s.Handler(), path, `{"data":{`+data+`}}`)
	p := page{code: w.Code, size: rpc.WrappedLen(w.Body.Bytes())}
	must.Do(t, json.Unmarshal(w.Body.Bytes(), &p))
	return p
}

// TestGetEndsPagesBySize walks organizations whose further fields end pages by size.
func TestGetEndsPagesBySize(t *testing.T) {
	s := apitest.Start(t)
	var want []string
	for i := range 18 { // more than a page holds
		id := fmt.Sprintf("o%02d", i)
		want = append(want, id)
		must.Do(t, storetest.ChangeOrganization(t.Context(), s.Directory, collab.OrganizationRef{Account: "acme", Organization: id}, func(o *collab.Organization) {
			o.Metadata = collab.JSON(`{"notes":"` + strings.Repeat(`\"`, 75_000) + `"}`)
		}))
	}
	ids := `"organizationIds":["` + strings.Join(want, `","`) + `"],`
	for _, query := range []string{"", ids} {
		var got []string
		pages := 0
		for token := ""; ; pages++ {
			p := post(t, s, "/v2/organizations/get", query+`"pageToken":"`+token+`"`)
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
	s := apitest.Start(t)
	org := collab.OrganizationRef{Account: "acme", Organization: "org"}
	must.Do(t, storetest.AddDocuments(t.Context(), s.Directory, org))
	put := func(parent string, n int) {
		t.Helper()
		for i := range n {
			err := s.Directory.AddFolders(t.Context(), storetest.Request(time.Now()), org, []collab.Folder{{
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
		if p := post(t, s, "/v1/organizations/folders/get", `"organizationId":"org",`+test.data); p.code != test.code || p.size > maxAnswer {
			t.Errorf("%s: %d %s, %d bytes", test.data, p.code, p.Error.Message, p.size)
		}
	}
	p := post(t, s, "/v1/organizations/folders/get", `"organizationId":"org"`)
	if p.code != http.StatusBadRequest || p.Error.Status != collab.FailedPrecondition ||
		p.Error.Message != "the response to these 18 folders would exceed 5 MB" {
		t.Errorf("all folders: %d %s", p.code, p.Error.Message)
	}
	put("root-00", 17)
	if p := post(t, s, "/v1/organizations/folders/get", `"organizationId":"org","folderId":"root-00"`); p.Error.Status != collab.FailedPrecondition {
		t.Errorf("a folder with many: %d %s", p.code, p.Error.Message)
	}
}
