package app_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

// caller sends requests of a person with a token of the whole organization acme, and of its back end.
type caller struct {
	*testing.T
	*app.Service
	handler http.Handler
	now     time.Time
	token   string
}

// newCaller returns the caller ann in a service, as changed, with the documents plan and other.
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
	ann := collab.Person{UserID: "ann", Resources: []collab.TokenResource{{Type: collab.ResourceOrganization, ID: "acme", AccessRole: collab.RoleEditor}}}
	c.token, err = credentials.Sign(signing[0], "test", "acme", ann, c.now, c.now.Add(collab.MaxTokenLife))
	must.Do(t, err)
	return c
}

// send sends data of the organization; the headers hold names and values in turn.
func (c *caller) send(path, data string, header ...string) (int, string) {
	r := httptest.NewRequest(http.MethodPost, "/v2/"+path, strings.NewReader(`{"data": {"organizationId": "acme", `+data+`}}`))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// must is send for the back end, whose request succeeds.
func (c *caller) must(path, data string) {
	c.Helper()
	code, body := c.send(path, data, credentials.KeyHeader, "key", credentials.TokenHeader, "token")
	if code != http.StatusOK || strings.Contains(body, `"success":false`) {
		c.Fatal(path, code, body)
	}
}

// ann is send for the person, with an Idempotency-Key unless that is "".
func (c *caller) ann(path, data, key string) (int, string) {
	header := []string{"Authorization", "Bearer " + c.token}
	if key != "" {
		header = append(header, "Idempotency-Key", key)
	}
	return c.send(path, data, header...)
}

// TestOlderToken holds that a token shows nothing of a document that was deleted and added again after it, in whatever read and in the inbox.
func TestOlderToken(t *testing.T) {
	c := newCaller(t, func(*app.Config) {})
	requests := map[string][]string{
		"commentannotations/get": {
			`"documentId": "plan"`, `"documentIds": ["plan", "other"]`, `"pageSize": 9`, `"userIds": ["bob"]`, `"annotationIds": ["a"]`, `"updatedAfter": 1`, `"unreadOnly": true`,
		},
		"commentannotations/count/get": {`"documentIds": ["plan"]`},
		"notifications/get":            {`"pageSize": 9`, `"documentId": "plan"`, `"notificationIds": ["n"]`},
	}
	fill := func() {
		c.must("commentannotations/add", `"documentId": "plan", "commentAnnotations": [{"annotationId": "a", "commentData": [{"commentText": "secret", "from": {"userId": "bob"}}]}]`)
		doc, err := c.Directory.OpenDocument(t.Context(), "acme", "acme", "plan", collab.CreateFlags{})
		must.Do(t, err)
		n := collab.Notification{ID: "n", DocumentID: "plan", Incarnation: doc.Incarnation, CreatedAt: c.now.UnixMilli(), Body: "secret"}
		_, err = c.Inbox.Derive(t.Context(), doc.OrganizationRef, n, []string{"ann"})
		must.Do(t, err)
		must.Do(t, c.Inbox.AddToInbox(t.Context(), doc.OrganizationRef, n, []string{"ann"}))
	}
	shown := func(want bool) {
		t.Helper()
		for path, list := range requests {
			for _, data := range list {
				c.now = c.now.Add(11 * time.Second) // the bounds of persons are free again
				_, body := c.ann(path, data, "")
				if got := strings.Contains(body, "secret") || strings.Contains(body, `"total":1`) || strings.Contains(body, `"unreadCount":{"count":1`); got != want {
					t.Errorf("%s %s: %s", path, data, body)
				}
			}
		}
	}
	fill()
	shown(true)
	c.must("organizations/documents/delete", `"documentIds": ["plan"]`)
	c.now = c.now.Add(time.Minute)
	shown(false)
	c.must("organizations/documents/add", `"documents": [{"documentId": "plan"}]`)
	fill()
	shown(false)
}

// TestReadsEnd holds that the reads which a person's request began have ended when the answer is there, also if the request is a repeat that
// needs none of them. Nothing is uncounted then.
func TestReadsEnd(t *testing.T) {
	var claimed chan struct{} // is closed once the table has said that a request is a repeat
	var began, ended atomic.Int64
	c := newCaller(t, func(of *app.Config) {
		next := of.DynamoDB.HTTPClient
		of.DynamoDB.HTTPClient = storetest.Client(func(r *http.Request) (*http.Response, error) {
			if claimed == nil {
				return next.Do(r)
			}
			if !strings.Contains(r.Header.Get("X-Amz-Target"), "Get") {
				defer close(claimed)
				return next.Do(r)
			}
			began.Add(1)
			defer ended.Add(1)
			<-claimed
			return next.Do(r)
		})
	})
	c.must("commentannotations/add", `"documentId": "plan", "commentAnnotations": [{"annotationId": "a", "commentData": [{"commentText": "x", "from": {"userId": "bob"}}]}]`)
	const data = `"documentId": "plan", "annotationId": "a", "commentData": [{"commentText": "{{bob}}", "taggedUserContacts": [{"userId": "bob"}]}]`
	code, first := c.ann("commentannotations/comments/add", data, "key")
	claimed = make(chan struct{})
	again, repeated := c.ann("commentannotations/comments/add", data, "key")
	if code != http.StatusOK || again != code || repeated != first {
		t.Errorf("at first %d %s, then %d %s", code, first, again, repeated)
	}
	if began.Load() == 0 || ended.Load() != began.Load() {
		t.Errorf("of %d reads %d have ended", began.Load(), ended.Load())
	}
}
