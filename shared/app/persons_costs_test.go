package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"collabdata/shared/api"
	"collabdata/shared/api/rpc"
	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/google/go-cmp/cmp"
)

// Bounds of a person's request. A larger item can be written alone, twice in a transaction.
const (
	mostWritten = 690
	mostRead    = 1_500
)

// TestPersonCosts sends the most expensive request of each operation for persons, in a restricted
// document ten folders deep. It checks the units in the introduction of the reference.
func TestPersonCosts(t *testing.T) {
	var log bytes.Buffer
	now := time.Now().Truncate(time.Second)
	s := apitest.Start(t, func(c *app.Config) {
		c.Now, c.Stage, c.LiveURL = func() time.Time { return now }, "test", "ws://live.test"
		c.Log = slog.New(slog.NewJSONHandler(&log, nil))
	})
	keys, err := s.Accounts.RotateSigningKeys(t.Context(), "acme")
	must.Do(t, err)
	h := s.Handler()
	send := func(token, path, data string, refusable ...bool) units {
		t.Helper()
		now = now.Add(time.Hour) // resets personal limits
		log.Reset()
		r := httptest.NewRequest(http.MethodPost, "/v2/"+path, strings.NewReader(`{"data": {"organizationId": "acme", `+data+`}}`))
		r.Header.Set("Content-Type", "application/json")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		} else {
			r.Header.Set(credentials.KeyHeader, "key")
			r.Header.Set(credentials.TokenHeader, "token")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		refused := refusable != nil && strings.Contains(w.Body.String(), "too much for a person's request")
		if !refused && (w.Code != http.StatusOK || strings.Contains(w.Body.String(), `"success":false`)) {
			t.Errorf("%s %.200s: %d %.500s", path, data, w.Code, w.Body)
		}
		if refused {
			t.Logf("%s is refused: %d %.200s", path, w.Code, w.Body)
		}
		var record struct {
			Read  float64 `json:"read_units"`
			Write float64 `json:"write_units"`
		}
		must.Do(t, json.Unmarshal(bytes.Split(log.Bytes(), []byte("\n"))[0], &record))
		return units{write: record.Write, read: record.Read}
	}
	list := func(n int, form string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = strings.ReplaceAll(form, "%d", fmt.Sprint(i))
		}
		return strings.Join(all, ", ")
	}
	text := func(n int) string { return strings.Repeat("x", n) }

	_, err = s.Directory.OpenOrCreateOrganization(t.Context(), "acme", "acme", true)
	must.Do(t, err)
	in := "root"
	for i := range 10 {
		send("", "organizations/folders/add", fmt.Sprintf(`"folders": [{"folderId": "f%d", "parentFolderId": %q}]`, i, in))
		in = fmt.Sprintf("f%d", i)
	}
	send("", "organizations/documents/add", `"folderId": "f9", "documents": [{"documentId": "plan"}, {"documentId": "huge"}, `+list(29, `{"documentId": "d%d"}`)+`]`)
	send("", "organizations/folders/access/update", `"folderIds": ["f0"], "accessType": "restricted"`)
	send("", "users/add", `"folderId": "f0", "users": [{"userId": "ann", "name": "Ann"}, `+list(60, `{"userId": "u%d", "name": "U %d"}`)+`]`)
	for i := range 110 { // exceeds a response
		send("", "commentannotations/add", fmt.Sprintf(`"documentId": "plan", "commentAnnotations": [{"annotationId": "a%d", "commentData": [{"commentText": %q, "from": {"userId": "ann"}}]}]`, i, text(48_000)))
	}
	token, err := credentials.Sign(keys[0], "test", "acme", collab.Person{UserID: "ann", Resources: []collab.TokenResource{
		{Type: collab.ResourceFolder, ID: "f0", OrganizationID: "acme", AccessRole: collab.RoleEditor},
	}}, now, now.Add(10_000*time.Hour))
	must.Do(t, err)
	plan := `"documentId": "plan", `
	tags := `"taggedUserContacts": [` + list(50, `{"userId": "u%d"}`) + `]`
	send("", "commentannotations/add", plan+`"commentAnnotations": [{"annotationId": "long", "commentData": [`+list(90, `{"commentId": 1%d, "commentText": "`+text(1_000)+`", "from": {"userId": "ann"}}`)+`]}]`)
	doc, err := s.Directory.OpenDocument(t.Context(), "acme", "acme", "plan", collab.CreateFlags{})
	must.Do(t, err)
	org := doc.OrganizationRef
	for i := range 1_000 {
		n := collab.Notification{
			ID: fmt.Sprintf("n%d", i), DocumentID: "plan", Incarnation: doc.Incarnation, ActionUser: collab.User{UserID: "bob"}, Headline: text(4_000),
			CreatedAt: now.UnixMilli(),
		}
		_, err := s.Inbox.Derive(t.Context(), org, n, []string{"ann"})
		must.Do(t, err)
		must.Do(t, s.Inbox.AddToInbox(t.Context(), org, n, storetest.Placed("ann")))
	}
	used := map[string]units{} // by path
	for _, test := range []struct{ path, data string }{
		{"commentannotations/add", plan + `"commentAnnotations": [{"commentData": [{"commentText": "x", ` + tags + `}]}, ` + list(9, `{"visibility": {"type": "restricted", "userIds": ["u%d"]}, "commentData": [{"commentText": "`+text(12_000)+`"}]}`) + `]`},
		{"commentannotations/comments/add", plan + `"annotationId": "long", "commentData": [{"commentText": "x", ` + tags + `}, ` + list(9, `{"commentText": "`+text(13_000)+`"}`) + `]`},
		{"commentannotations/get", `"documentId": "plan"`},
		{"commentannotations/count/get", `"documentIds": ["plan", ` + list(29, `"d%d"`) + `]`},
		{"commentannotations/comments/get", plan + `"annotationId": "long"`},
		{"commentannotations/update", plan + `"annotationIds": [` + list(30, `"a%d"`) + `], "updatedData": {"status": {"id": "RESOLVED"}, "visibility": {"type": "restricted", "userIds": [` + list(50, `"u%d"`) + `]}}`},
		{"commentannotations/read/set", plan + `"read": true, "annotationIds": [` + list(30, `"a%d"`) + `]`},
		{"commentannotations/read/get", `"documentIds": ["plan", ` + list(29, `"d%d"`) + `]`},
		{"notifications/get", `"pageSize": 1000`},
		{"notifications/update", `"notifications": [` + list(30, `{"id": "n%d"}`) + `]`},
		{"notifications/config/set", `"documentIds": ["plan", ` + list(29, `"d%d"`) + `], "config": {"email": "NONE"}`},
		{"notifications/config/get", `"documentIds": ["plan", ` + list(29, `"d%d"`) + `]`},
		{"organizations/usergroups/get", `"searchKey": "no"`},
		{"users/get", plan + `"searchKey": "no"`},
		{"live/tickets/add", `"inbox": true, "documentIds": ["plan", ` + list(29, `"d%d"`) + `]`},
		{"commentannotations/comments/update", plan + `"annotationId": "long", "commentIds": [` + list(10, `1%d`) + `], "updatedData": {"commentText": "` + text(20_000) + `"}`},
		{"commentannotations/comments/reactions/add", plan + `"annotationId": "long", "commentId": 10, "emoji": "👍"`},
		{"commentannotations/comments/reactions/delete", plan + `"annotationId": "long", "commentId": 10, "emoji": "👍"`},
		{"commentannotations/comments/delete", plan + `"annotationId": "long", "commentIds": [` + list(10, `1%d`) + `]`},
		{"commentannotations/delete", plan + `"annotationIds": [` + list(30, `"a%d"`) + `]`},
	} {
		used["/v2/"+test.path] = send(token, test.path, test.data)
	}
	// The same with threads, comments and entries of the greatest size, which only back ends can make.
	for i := range 30 {
		send("", "commentannotations/add", fmt.Sprintf(`"documentId": "huge", "commentAnnotations": [{"annotationId": "h%d", "targetElement": {"targetText": %q}, "commentData": [{"commentId": 1, "commentText": %q, "from": {"userId": "ann"}}]}]`, i, text(330_000), text(340_000)))
	}
	send("", "commentannotations/add", fmt.Sprintf(`"documentId": "huge", "commentAnnotations": [{"annotationId": "open", "targetElement": {"targetText": %q}, "commentData": [`+list(9, `{"commentId": 1%d, "commentText": "`+text(340_000)+`", "from": {"userId": "ann"}}`)+`]}]`, text(330_000)))
	huge, err := s.Directory.OpenDocument(t.Context(), "acme", "acme", "huge", collab.CreateFlags{})
	must.Do(t, err)
	for i := range 30 {
		n := collab.Notification{
			ID: fmt.Sprintf("h%d", i), DocumentID: "huge", Incarnation: huge.Incarnation, AnnotationID: fmt.Sprintf("h%d", i), CommentIDs: []int64{1}, Event: collab.AnnotationAdded,
			ActionUser: collab.User{UserID: "bob"}, CreatedAt: now.UnixMilli(),
		}
		_, err := s.Inbox.Derive(t.Context(), org, n, []string{"ann"})
		must.Do(t, err)
		must.Do(t, s.Inbox.AddToInbox(t.Context(), org, n, storetest.Placed("ann")))
	}
	plan = `"documentId": "huge", `
	before, refusable := now.UnixMilli(), true
	for _, test := range []struct{ path, data string }{
		{"commentannotations/comments/reactions/add", plan + `"annotationId": "h0", "commentId": 1, "emoji": "👍"`},
		{"commentannotations/comments/reactions/add", plan + `"annotationId": "h1", "commentId": 1, "emoji": "👍"`},
		{"commentannotations/get", plan + fmt.Sprintf(`"updatedAfter": %d, "includeDeleted": true, "statusIds": ["none"]`, before)},
		{"commentannotations/comments/reactions/delete", plan + `"annotationId": "h0", "commentId": 1, "emoji": "👍"`},
		{"commentannotations/get", `"documentId": "huge"`},
		{"commentannotations/get", plan + `"annotationIds": [` + list(30, `"h%d"`) + `]`},
		{"commentannotations/comments/get", plan + `"annotationId": "open"`},
		{"commentannotations/comments/add", plan + `"annotationId": "open", "commentData": [{"commentText": "x"}]`},
		{"commentannotations/count/get", `"documentIds": ["huge"]`},
		{"commentannotations/read/set", plan + `"read": true, "annotationIds": [` + list(30, `"h%d"`) + `]`},
		{"commentannotations/read/get", `"documentIds": ["huge"]`},
		{"notifications/get", `"pageSize": 1000`},
		{"notifications/update", `"notifications": [` + list(30, `{"id": "h%d"}`) + `]`},
		{"notifications/config/set", `"documentIds": ["huge"], "level": "all", "annotationIds": [` + list(30, `"h%d"`) + `]`},
		{"commentannotations/update", plan + `"annotationIds": [` + list(30, `"h%d"`) + `], "updatedData": {"status": {"id": "RESOLVED"}}`},
		{"commentannotations/comments/update", plan + `"annotationId": "open", "commentIds": [` + list(9, `1%d`) + `], "updatedData": {"commentText": "x"}`},
		{"commentannotations/comments/delete", plan + `"annotationId": "open", "commentIds": [` + list(9, `1%d`) + `]`},
		{"commentannotations/delete", plan + `"annotationIds": [` + list(30, `"h%d"`) + `]`},
	} {
		u := send(token, test.path, test.data, refusable)
		t.Logf("greatest %s: %.0f write and %.0f read units", test.path, u.write, u.read)
		most := used["/v2/"+test.path]
		used["/v2/"+test.path] = units{write: max(most.write, u.write), read: max(most.read, u.read)}
	}
	for path, u := range used {
		if u.write > mostWritten || u.read > mostRead {
			t.Errorf("%s uses %.0f write and %.0f read units", path, u.write, u.read)
		}
	}
	const begin, end = "<!-- persons: go test ./shared/app -run TestPersonCosts -update writes this table -->\n", "<!-- end of persons -->\n"
	const file = "../../infra/README.md"
	readme, err := os.ReadFile(file)
	must.Do(t, err)
	head, rest, _ := strings.Cut(string(readme), begin)
	table, tail, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("%s has no place for the table", file)
	}
	up := func(n float64) float64 { return math.Ceil(n/10) * 10 }
	fresh := "| operation | write units | read units |\n|---|---|---|\n"
	for _, e := range api.Endpoints() {
		if e.Person == rpc.BackEnd {
			continue
		}
		u, tried := used[e.Path]
		if !tried {
			t.Errorf("%s is not measured", e.Path)
		}
		fresh += fmt.Sprintf("| %s | %.0f | %.0f |\n", e.Path, up(u.write), up(u.read))
	}
	if *update {
		must.Do(t, os.WriteFile(file, []byte(head+begin+fresh+end+tail), 0o644))
		return
	}
	// Concurrent reads end a page a little earlier or later.
	about := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= max(20, 0.3*max(a, b)) })
	if diff := cmp.Diff(rowsOf(t, table), rowsOf(t, fresh), about); diff != "" {
		t.Errorf("the most expensive requests (-stated +measured):\n%s", diff)
	}
}

// rowsOf returns the write and read units of a table, by operation.
func rowsOf(t *testing.T, table string) map[string][2]float64 {
	t.Helper()
	rows := map[string][2]float64{}
	for _, m := range regexp.MustCompile(`(?m)^\| (/\S+) \| (\d+) \| (\d+) \|$`).FindAllStringSubmatch(table, -1) {
		rows[m[1]] = [2]float64{number(t, m[2]), number(t, m[3])}
	}
	return rows
}
