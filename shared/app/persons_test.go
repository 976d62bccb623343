package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/api"
	"collabdata/shared/api/rpc"
	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
	"collabdata/shared/keys"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/google/go-cmp/cmp"
)

// caller sends requests of the person ann with a token, and of the back end.
type caller struct {
	*testing.T
	*app.Service
	handler http.Handler
	now     time.Time
	key     collab.SigningKey
	token   string // of ann, for the organization
}

// newCaller returns the caller ann in a service configured by change, with the documents plan and
// other.
func newCaller(t *testing.T, change func(*app.Config)) *caller {
	c := &caller{T: t, now: time.Now().Truncate(time.Second)}
	c.Service = apitest.Start(t, func(of *app.Config) {
		of.Now, of.Stage = func() time.Time { return c.now }, "test"
		change(of)
	})
	c.handler = c.Handler()
	c.must("organizations/documents/add", `"createOrganization": true, "documents": [{"documentId": "plan"}, {"documentId": "other"}]`)
	c.must("users/add", `"users": [{"userId": "ann"}, {"userId": "bob"}]`)
	signing, err := c.Accounts.RotateSigningKeys(t.Context(), "acme")
	must.Do(t, err)
	c.key = signing[0]
	c.token = c.sign(collab.ResourceOrganization, "acme")
	return c
}

// sign returns a token of ann for a resource.
func (c *caller) sign(kind collab.ResourceType, id string) string {
	r := collab.TokenResource{Type: kind, ID: id, AccessRole: collab.RoleEditor}
	if kind != collab.ResourceOrganization {
		r.OrganizationID = "acme"
	}
	token, err := credentials.Sign(c.key, "test", "acme", collab.Person{UserID: "ann", Resources: []collab.TokenResource{r}}, c.now, c.now.Add(collab.MaxTokenLife))
	must.Do(c, err)
	return token
}

// send sends data, and adds the organization unless data contains one. header alternates names and
// values.
func (c *caller) send(path, data string, header ...string) (int, string) {
	if !strings.Contains(data, "organizationIds") && !strings.HasPrefix(path, "auth/") {
		data = `"organizationId": "acme", ` + data
	}
	r := httptest.NewRequest(http.MethodPost, "/v2/"+path, strings.NewReader(`{"data": {`+data+`}}`))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// must sends a request of the back end, which must succeed.
func (c *caller) must(path, data string) {
	c.Helper()
	code, body := c.send(path, data, credentials.KeyHeader, "key", credentials.TokenHeader, "token")
	if code >= 300 || strings.Contains(body, `"success":false`) {
		c.Fatal(path, code, body)
	}
}

// ann sends a request of the person, with an Idempotency-Key unless it is "".
func (c *caller) ann(path, data, key string) (int, string) {
	header := []string{"Authorization", "Bearer " + c.token}
	if key != "" {
		header = append(header, "Idempotency-Key", key)
	}
	return c.send(path, data, header...)
}

// TestOlderToken checks that a token does not show a document that was deleted and added again
// after it was issued, in any read or in the inbox. It also checks this for organizations.
func TestOlderToken(t *testing.T) {
	t.Parallel()
	c := newCaller(t, func(of *app.Config) { of.LiveURL = "ws://live.test" })
	requests := map[string][]string{
		"commentannotations/get": {
			`"documentId": "plan"`, `"documentIds": ["plan", "other"]`, `"pageSize": 9`, `"userIds": ["bob"]`, `"annotationIds": ["a"]`, `"updatedAfter": 1`, `"unreadOnly": true`,
		},
		"commentannotations/count/get": {`"documentIds": ["plan"]`},
		"notifications/get":            {`"pageSize": 9`, `"documentId": "plan"`, `"notificationIds": ["n", "n2"]`},
	}
	notify := func(document, notification string) {
		doc, err := c.Directory.OpenDocument(t.Context(), "acme", "acme", document, collab.CreateFlags{})
		must.Do(t, err)
		n := collab.Notification{ID: notification, DocumentID: document, Incarnation: doc.Incarnation, CreatedAt: c.now.UnixMilli(), Body: "secret"}
		_, err = c.Inbox.Derive(t.Context(), doc.OrganizationRef, n, []string{"ann"})
		must.Do(t, err)
		must.Do(t, c.Inbox.AddToInbox(t.Context(), doc.OrganizationRef, n, storetest.Placed("ann")))
	}
	fill := func(notification string) {
		c.must("commentannotations/add", `"documentId": "plan", "commentAnnotations": [{"annotationId": "a", "commentData": [{"commentText": "secret", "from": {"userId": "bob"}}]}]`)
		notify("plan", notification)
	}
	shown := func(want bool) {
		t.Helper()
		for path, list := range requests {
			for _, data := range list {
				c.now = c.now.Add(11 * time.Second) // resets personal limits
				_, body := c.ann(path, data, "")
				if got := strings.Contains(body, "secret") || strings.Contains(body, `"total":1`) || strings.Contains(body, `"unreadCount":{"count":1`); got != want {
					t.Errorf("%s %s: %s", path, data, body)
				}
			}
		}
	}
	fill("n")
	shown(true)
	c.must("organizations/documents/delete", `"documentIds": ["plan"]`)
	c.now = c.now.Add(time.Minute)
	shown(false)
	c.must("organizations/documents/add", `"documents": [{"documentId": "plan"}]`)
	fill("n2")
	shown(false)

	notify("other", "n3")
	notify("other", "n4")
	c.now = c.now.Add(time.Minute)
	if _, body := c.ann("notifications/get", `"pageSize": 1`, ""); !strings.Contains(body, `"unreadCount":{"count":2}`) {
		t.Errorf("two are unread, and more are counted: %s", body)
	}

	own := func(want int) {
		t.Helper()
		for path, data := range map[string]string{
			"organizations/usergroups/get": `"pageSize": 9`, "notifications/config/set": `"config": {"inbox": "NONE"}`, "notifications/update": `"readUntil": 1`,
			"commentannotations/get": `"pageSize": 9`, "live/tickets/add": `"inbox": true`,
		} {
			c.now = c.now.Add(11 * time.Second)
			if code, body := c.ann(path, data, ""); code != want {
				t.Errorf("%s: %d %s", path, code, body)
			}
		}
	}
	own(http.StatusOK)
	c.must("organizations/delete", `"organizationIds": ["acme"]`)
	c.now = c.now.Add(time.Minute)
	own(http.StatusNotFound)
	c.must("users/add", `"createOrganization": true, "users": [{"userId": "ann"}]`)
	own(http.StatusNotFound)
}

// TestOlderFolder checks that a token of a folder does not open documents in a folder that was
// deleted and added again after it was issued.
func TestOlderFolder(t *testing.T) {
	t.Parallel()
	c := newCaller(t, func(*app.Config) {})
	token := ""
	look := func() int {
		c.now = c.now.Add(11 * time.Second)
		code, _ := c.send("commentannotations/get", `"documentId": "other"`, "Authorization", "Bearer "+token)
		return code
	}
	folder := func() {
		c.must("organizations/folders/add", `"folders": [{"folderId": "f"}]`)
		c.must("organizations/documents/move", `"documentIds": ["other"], "folderId": "f"`)
	}
	folder()
	token = c.sign(collab.ResourceFolder, "f")
	if code := look(); code != http.StatusOK {
		t.Errorf("in the folder: %d", code)
	}
	c.must("organizations/documents/move", `"documentIds": ["other"], "folderId": "root"`)
	c.must("organizations/folders/delete", `"folderId": "f"`)
	c.now = c.now.Add(time.Minute)
	folder()
	if code := look(); code != http.StatusForbidden {
		t.Errorf("in the folder that was added again: %d", code)
	}
	token = c.sign(collab.ResourceFolder, "f")
	if code := look(); code != http.StatusOK {
		t.Errorf("with another token: %d", code)
	}
}

// TestPersonShare checks that only the person who uses much of the account's quotas must wait: by
// writes, and by reads of refused requests.
func TestPersonShare(t *testing.T) {
	t.Parallel()
	var documents []string
	for i := range 30 {
		documents = append(documents, fmt.Sprintf(`"d%d"`, i))
	}
	for path, data := range map[string]string{
		"commentannotations/add": `"documentId": "plan", "commentAnnotations": [{"commentData": [{"commentText": "x"}]}]`,
		"commentannotations/get": `"documentIds": [` + strings.Join(documents, ", ") + `]`,
	} {
		t.Run(path, func(t *testing.T) {
			c := newCaller(t, func(*app.Config) {})
			_, err := c.Accounts.ChangeAccount(t.Context(), "acme", func(a *collab.Account) error {
				a.Settings.WriteUnitsPerSecond, a.Settings.ReadUnitsPerSecond = 20, 20
				return nil
			})
			must.Do(t, err)
			c.now = c.now.Add(time.Hour)
			token := c.sign(collab.ResourceDocument, "plan")
			send := func() (int, string) { return c.send(path, data, "Authorization", "Bearer "+token) }
			code, body := send()
			for range 15 {
				c.now = c.now.Add(time.Second)
				if code, body = send(); code == http.StatusTooManyRequests {
					break
				}
			}
			if code != http.StatusTooManyRequests || !strings.Contains(body, "a person's share") {
				t.Errorf("the person: %d %s", code, body)
			}
			c.must("users/add", `"users": [{"userId": "new"}]`)
		})
	}
}

// TestTokenWrites checks that generate_token stores only changes that the request asks for. It
// stores only its act if it repeats another request or writes are off. It stores changes even if
// the account's quotas are used up.
func TestTokenWrites(t *testing.T) {
	t.Parallel()
	off := false
	c := newCaller(t, func(*app.Config) {})
	token := func(more string, header ...string) {
		t.Helper()
		h := c.handler
		if off {
			of := c.Config()
			of.ReadOnly = true
			c.handler = app.New(of).Handler()
			defer func() { c.handler = h }()
		}
		c.now = c.now.Add(time.Minute)
		code, body := c.send("auth/generate_token", `"userId": "dan", "userProperties": {"name": "Dan"}, "permissions": {"resources": [
			{"type": "document", "id": "plan", "organizationId": "acme"}, {"type": "document", "id": "new", "organizationId": "acme"}, {"type": "organization", "id": "brand"}]}`+more,
			append(header, credentials.KeyHeader, "key", credentials.TokenHeader, "token")...)
		if code != http.StatusOK || !strings.Contains(body, `"token":"`) {
			t.Fatal(code, body)
		}
	}
	stored := func() map[keys.Key]string {
		is := map[keys.Key]string{}
		for _, it := range storetest.Scan(t, c.Outbox.Table) {
			if !strings.HasPrefix(it.Text(keys.SK), "QUOTA") && !strings.HasPrefix(it.Text(keys.PK), "AUDIT") {
				is[it.Key()] = it.Text(keys.Writer) + fmt.Sprint(it.Number(keys.LastUpdated))
			}
		}
		return is
	}
	unchanged := func(what string, do func()) {
		t.Helper()
		before := stored()
		if do(); !cmp.Equal(before, stored()) {
			t.Errorf("%s: %s", what, cmp.Diff(before, stored()))
		}
	}
	const create = `, "createOrganization": true, "createDocument": true`
	off = true
	unchanged("writes are off", func() { token(create, "Idempotency-Key", "off") })
	off = false
	token("", "Idempotency-Key", "key")
	unchanged("the same again", func() { token("") })
	c.must("users/delete", `"documentId": "plan", "userIds": ["dan"]`)
	unchanged("a repeat", func() { token("", "Idempotency-Key", "key") })

	_, err := c.Accounts.ChangeAccount(t.Context(), "acme", func(a *collab.Account) error {
		a.Settings.WriteUnitsPerSecond, a.Settings.ReadUnitsPerSecond = 1, 1
		return nil
	})
	must.Do(t, err)
	c.now = c.now.Add(time.Hour)
	for code := 0; code != http.StatusTooManyRequests; {
		code, _ = c.send("commentannotations/add", `"documentId": "plan", "commentAnnotations": [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}]`,
			credentials.KeyHeader, "key", credentials.TokenHeader, "token")
	}
	before := len(stored())
	token(create)
	if now := len(stored()); now < before+3 {
		t.Errorf("with used quotas there are %d items, and %d before", now, before)
	}
}

// TestManyAtOnce checks that a hundred people can react to one comment, follow one document, and
// follow one thread at the same time, as after an announcement.
func TestManyAtOnce(t *testing.T) {
	handler := apitest.Start(t).Handler()
	post := func(path, data string) int {
		return apitest.Post(handler, "/v2/"+path, `{"data": {"organizationId": "acme", `+data+`}}`).Code
	}
	post("organizations/documents/add", `"createOrganization": true, "documents": [{"documentId": "plan"}]`)
	if code := post("commentannotations/add", `"documentId": "plan", "commentAnnotations": [{"annotationId": "a", "commentData": [{"commentId": 1, "commentText": "x", "from": {"userId": "ann"}}]}]`); code != http.StatusOK {
		t.Fatal(code)
	}
	for _, request := range [][2]string{
		{"commentannotations/comments/reactions/add", `"documentId": "plan", "annotationId": "a", "commentId": 1, "emoji": "👍", "from": {"userId": "USER"}`},
		{"commentannotations/comments/reactions/add", `"documentId": "plan", "annotationId": "a", "commentId": 1, "emoji": "🎉", "triggerNotification": true, "from": {"userId": "USER"}`},
		{"notifications/config/set", `"documentIds": ["plan"], "userIds": ["USER"], "level": "all"`},
		{"notifications/config/set", `"documentIds": ["plan"], "annotationIds": ["a"], "userIds": ["USER"], "level": "all"`},
	} {
		var failed atomic.Int32
		var all sync.WaitGroup
		for n := range 100 {
			all.Go(func() {
				if post(request[0], strings.ReplaceAll(request[1], "USER", fmt.Sprint("u", n))) != http.StatusOK {
					failed.Add(1)
				}
			})
		}
		all.Wait()
		if n := failed.Load(); n > 0 {
			t.Errorf("%s %s: %d of 100 fail", request[0], request[1], n)
		}
	}
}

// TestHiddenDocument checks that no operation tells a person a document that is restricted,
// disabled, or from which the person was removed, from a missing one.
func TestHiddenDocument(t *testing.T) {
	c := newCaller(t, func(of *app.Config) { of.LiveURL = "ws://live.test" })
	c.must("organizations/documents/add", `"documents": [{"documentId": "secret"}, {"documentId": "off"}, {"documentId": "left"}]`)
	c.must("organizations/documents/access/update", `"documentIds": ["secret"], "accessType": "restricted"`)
	c.must("users/add", `"documentId": "left", "users": [{"userId": "ann"}]`)
	for _, id := range []string{"secret", "off", "left"} {
		c.must("commentannotations/add", `"documentId": "`+id+`", "commentAnnotations": [{"annotationId": "a", "commentData": [{"commentId": 1, "commentText": "x", "from": {"userId": "ann"}}]}]`)
	}
	c.must("users/delete", `"documentId": "left", "userIds": ["ann"]`)
	c.must("organizations/documents/access/disablestate/update", `"documentIds": ["off"], "disabled": true`)
	requests := map[string][]string{
		"commentannotations/add":                       {`"documentId": "D", "commentAnnotations": [{"commentData": [{"commentText": "x"}]}]`},
		"commentannotations/get":                       {`"documentId": "D"`, `"documentIds": ["D"]`, `"documentIds": ["D"], "annotationIds": ["a"]`, `"documentId": "D", "updatedAfter": NOW, "includeDeleted": true`},
		"commentannotations/update":                    {`"documentId": "D", "annotationIds": ["a"], "updatedData": {"status": {"id": "RESOLVED"}}`, `"documentId": "D", "annotationIds": ["a"], "updatedData": {"visibility": {"type": "restricted", "userIds": ["ann"]}}`},
		"commentannotations/delete":                    {`"documentId": "D", "annotationIds": ["a"]`},
		"commentannotations/comments/add":              {`"documentId": "D", "annotationId": "a", "commentData": [{"commentText": "x"}]`, `"documentId": "D", "annotationId": "a", "commentData": [{"commentText": "x {{ann}}", "taggedUserContacts": [{"userId": "ann"}]}]`},
		"commentannotations/comments/update":           {`"documentId": "D", "annotationId": "a", "commentIds": [1], "updatedData": {"commentText": "x"}`},
		"commentannotations/comments/get":              {`"documentId": "D", "annotationId": "a"`},
		"commentannotations/comments/delete":           {`"documentId": "D", "annotationId": "a", "commentIds": [1]`},
		"commentannotations/comments/reactions/add":    {`"documentId": "D", "annotationId": "a", "commentId": 1, "emoji": "👍"`},
		"commentannotations/comments/reactions/delete": {`"documentId": "D", "annotationId": "a", "commentId": 1, "emoji": "👍"`},
		"commentannotations/count/get":                 {`"documentIds": ["D"]`, `"documentIds": ["D"], "unreadFor": "ann"`},
		"commentannotations/read/set":                  {`"documentId": "D", "read": true`, `"documentId": "D", "read": false`, `"documentId": "D", "annotationIds": ["a"], "read": true`},
		"commentannotations/read/get":                  {`"documentIds": ["D"]`},
		"notifications/config/set":                     {`"documentIds": ["D"], "config": {"inbox": "ALL"}`, `"documentIds": ["D"], "level": "all"`, `"documentIds": ["D"], "level": "default"`, `"documentIds": ["D"], "annotationIds": ["a"], "level": "all"`},
		"notifications/config/get":                     {`"documentIds": ["D"]`},
		"notifications/get":                            {`"documentId": "D"`},
		"users/get":                                    {`"documentId": "D"`, `"documentId": "D", "userIds": ["bob"]`},
		"live/tickets/add":                             {`"documentIds": ["D"]`},
	}
	for _, e := range api.Endpoints() {
		path, v2 := strings.CutPrefix(e.Path, "/v2/")
		if e.Person == rpc.BackEnd || !v2 || !slices.ContainsFunc(rpc.ShapeOf(e.Operation.Request).Object.Fields, func(f rpc.Field) bool {
			return f.In && strings.HasPrefix(f.Name, "documentId")
		}) {
			continue
		}
		if requests[path] == nil {
			t.Errorf("this test has no request to %s", e.Path)
		}
		for _, data := range requests[path] {
			answer := func(id string) string {
				c.now = c.now.Add(11 * time.Second) // resets personal limits
				code, body := c.ann(path, strings.ReplaceAll(strings.ReplaceAll(data, `"D"`, `"`+id+`"`), "NOW", fmt.Sprint(c.now.UnixMilli())), "")
				return fmt.Sprint(code, " ", strings.ReplaceAll(body, id, "D"))
			}
			missing := answer("nobody")
			for _, id := range []string{"secret", "off", "left"} {
				if got := answer(id); got != missing {
					t.Errorf("%s %s\n of %s %.300s\n missing %.300s", path, data, id, got, missing)
				}
			}
		}
	}
}
