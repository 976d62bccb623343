package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

// elsewhere calls f with another process of the service, and lets what processes remember for seconds
// expire. Names are remembered for longer.
func (c *caller) elsewhere(f func()) {
	c.Helper()
	here := c.handler
	c.handler = app.New(c.Config()).Handler()
	f()
	c.handler = here
	c.now = c.now.Add(11 * time.Second)
}

// levels are the places of a user of the document plan, as fields of a request.
var levels = map[string]string{"organization": ``, "folder": `"folderId": "f", `, "document": `"documentId": "plan", `}

// newFiledCaller returns a caller whose document plan is in the folder f.
func newFiledCaller(t *testing.T) *caller {
	c := newCaller(t, func(*app.Config) {})
	c.must("organizations/folders/add", `"folders": [{"folderId": "f"}]`)
	c.must("organizations/documents/move", `"folderId": "f", "documentIds": ["plan"]`)
	return c
}

// TestStoredElsewhere checks that a person mentions users as they are stored at each level now, not as
// they were when this process last showed their names.
func TestStoredElsewhere(t *testing.T) {
	const mention = `"documentId": "plan", "commentAnnotations": [{"commentData": [{"commentText": "{{cid}}", "taggedUserContacts": [{"userId": "cid"}]}]}]`
	for level, in := range levels {
		t.Run(level, func(t *testing.T) {
			c := newFiledCaller(t)
			want := func(code int) {
				t.Helper()
				c.ann("commentannotations/get", `"documentId": "plan"`, "") // remembers names
				if got, body := c.ann("commentannotations/add", mention, ""); got != code {
					t.Fatalf("%d %s, want %d", got, body, code)
				}
			}
			c.must("commentannotations/add", `"documentId": "plan", "commentAnnotations": [{"commentData": [{"commentText": "x", "from": {"userId": "cid"}}]}]`)
			want(http.StatusBadRequest)
			c.elsewhere(func() { c.must("users/add", in+`"users": [{"userId": "cid", "name": "Cid"}]`) })
			want(http.StatusOK)
			if level == "folder" {
				c.elsewhere(func() { c.must("organizations/documents/move", `"folderId": "root", "documentIds": ["plan"]`) })
				want(http.StatusBadRequest)
				c.elsewhere(func() { c.must("organizations/documents/move", `"folderId": "f", "documentIds": ["plan"]`) })
				want(http.StatusOK)
			}
			c.elsewhere(func() { c.must("users/delete", in+`"userIds": ["cid"]`) })
			want(http.StatusBadRequest)
		})
	}
}

// TestMembershipElsewhere checks that notifications for everyone, and threads for the organization,
// disappear from the inbox of a person whose membership has ended.
func TestMembershipElsewhere(t *testing.T) {
	c := newCaller(t, func(*app.Config) {})
	doc, err := c.Directory.OpenDocument(t.Context(), "acme", "acme", "plan", collab.CreateFlags{})
	must.Do(t, err)
	n := collab.Notification{ID: "n", DocumentID: "plan", Incarnation: doc.Incarnation, CreatedAt: c.now.UnixMilli(), Body: "secret"}
	_, err = c.Inbox.Derive(t.Context(), doc.OrganizationRef, n, nil)
	must.Do(t, err)
	must.Do(t, c.Inbox.AddToInboxOfAll(t.Context(), doc.OrganizationRef, n))
	c.token = c.sign(collab.ResourceDocument, "plan")
	shown := func() bool {
		code, body := c.ann("notifications/get", `"pageSize": 9`, "")
		if code != http.StatusOK {
			t.Fatal(code, body)
		}
		return strings.Contains(body, "secret")
	}
	if !shown() {
		t.Fatal("a member does not see what is for members")
	}
	c.elsewhere(func() {
		c.must("users/delete", `"userIds": ["ann"]`)
		c.must("users/add", `"documentId": "plan", "users": [{"userId": "ann"}]`)
	})
	if shown() {
		t.Error("a guest sees what is for members")
	}
}

// TestAddressElsewhere checks that a back end reads the address of an acting user as it is now, and
// that reading an inbox changes no name that is remembered.
func TestAddressElsewhere(t *testing.T) {
	c := newFiledCaller(t)
	c.must("users/update", `"users": [{"userId": "bob", "name": "Bob", "email": "bob@example.com"}]`)
	c.must("commentannotations/add", `"documentId": "plan", "commentAnnotations": [{"annotationId": "a", "commentData": [{"commentId": 1, "commentText": "x", "from": {"userId": "bob", "name": "Copy"}}]}]`)
	doc, err := c.Directory.OpenDocument(t.Context(), "acme", "acme", "plan", collab.CreateFlags{})
	must.Do(t, err)
	n := collab.Notification{
		ID: "n", AnnotationID: "a", CommentIDs: []int64{1}, DocumentID: "plan", Incarnation: doc.Incarnation, CreatedAt: c.now.UnixMilli(),
		ActionUser: collab.User{UserID: "bob"},
	}
	_, err = c.Inbox.Derive(t.Context(), doc.OrganizationRef, n, []string{"ann"})
	must.Do(t, err)
	must.Do(t, c.Inbox.AddToInbox(t.Context(), doc.OrganizationRef, n, storetest.Placed("ann")))
	for _, address := range []string{"bob@example.com", "new@example.com"} {
		c.elsewhere(func() {
			c.must("users/update", fmt.Sprintf(`"users": [{"userId": "bob", "email": %q}]`, address))
		})
		if _, body := c.ann("commentannotations/get", `"documentId": "plan"`, ""); !strings.Contains(body, `"name":"Bob"`) || strings.Contains(body, "example.com") {
			t.Errorf("a person reads %s", body)
		}
		_, body := c.send("notifications/get", `"userId": "ann"`, credentials.KeyHeader, "key", credentials.TokenHeader, "token")
		if !strings.Contains(body, address) {
			t.Errorf("a back end does not read %q in %s", address, body)
		}
		if _, body := c.ann("notifications/get", `"documentId": "plan"`, ""); strings.Contains(body, "example.com") {
			t.Errorf("a person reads the address in %s", body)
		}
	}
}

// TestManyNames checks that a page with more users than a request can look up has the names of its
// authors, and that the next requests add the others.
func TestManyNames(t *testing.T) {
	const threads, each = 20, 100
	var log bytes.Buffer
	c := newCaller(t, func(config *app.Config) { config.Log = slog.New(slog.NewJSONHandler(&log, nil)) })
	for i := range threads {
		var tags, users []string
		for j := range each {
			tags = append(tags, fmt.Sprintf(`{"userId": "u%d"}`, i*each+j))
			users = append(users, fmt.Sprintf(`{"userId": "u%d", "name": "U"}`, i*each+j))
		}
		users = append(users, fmt.Sprintf(`{"userId": "author%d", "name": "A"}`, i))
		c.must("users/add", `"users": [`+strings.Join(users, ",")+`]`)
		c.must("commentannotations/add", fmt.Sprintf(`"documentId": "plan", "commentAnnotations": [{"commentData": [{"commentText": "x",
			"from": {"userId": "author%d"}, "taggedUserContacts": [%s]}]}]`, i, strings.Join(tags, ",")))
	}
	var before int
	for range 5 {
		c.now = c.now.Add(11 * time.Second)
		log.Reset()
		_, body := c.ann("commentannotations/get", `"documentId": "plan", "pageSize": 1000`, "")
		var record struct {
			Read float64 `json:"read_units"`
		}
		must.Do(t, json.Unmarshal(bytes.Split(log.Bytes(), []byte("\n"))[0], &record))
		authors, named := strings.Count(body, `"name":"A"`), strings.Count(body, `"name":"U"`)
		if authors != 2*threads || named <= before || record.Read > 300 {
			t.Errorf("%d authors and %d others have names, %d before, for %.1f read units", authors, named, before, record.Read)
		}
		before = named
	}
}
