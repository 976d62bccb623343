package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

// TestInboxAsUser checks that a back end reads as a user the notifications that the user's own token
// shows, with the same count, whatever hides them, in pages of any size.
func TestInboxAsUser(t *testing.T) {
	t.Parallel()
	c := newCaller(t, func(*app.Config) {})
	c.must("organizations/folders/add", `"folders": [{"folderId": "f"}]`)
	c.must("organizations/documents/add", `"documents": [{"documentId": "closed"}, {"documentId": "off"}, {"documentId": "lost"}, {"documentId": "members"}]`)
	c.must("organizations/documents/add", `"folderId": "f", "documents": [{"documentId": "filed"}]`)
	documents := []string{"plan", "closed", "off", "lost", "members", "filed"}
	var org collab.OrganizationRef
	at := c.now.UnixMilli()
	for _, id := range documents {
		c.must("users/add", fmt.Sprintf(`"documentId": %q, "users": [{"userId": "bob"}]`, id))
		c.must("commentannotations/add", fmt.Sprintf(`"documentId": %q, "commentAnnotations": [
			{"annotationId": "open", "commentData": [{"commentId": 1, "commentText": "x", "from": {"userId": "bob"}}]},
			{"annotationId": "gone", "commentData": [{"commentId": 1, "commentText": "x", "from": {"userId": "bob"}}]},
			{"annotationId": "members", "visibility": {"type": "organizationPrivate", "organizationId": "acme"}, "commentData": [{"commentId": 1, "commentText": "x", "from": {"userId": "bob"}}]},
			{"annotationId": "bobs", "visibility": {"type": "restricted", "userIds": ["bob"]}, "commentData": [{"commentId": 1, "commentText": "x", "from": {"userId": "bob"}}]}]`, id))
		c.must("commentannotations/delete", fmt.Sprintf(`"documentId": %q, "annotationIds": ["gone"]`, id))
		doc, err := c.Directory.OpenDocument(t.Context(), "acme", "acme", id, collab.CreateFlags{})
		must.Do(t, err)
		org = doc.OrganizationRef
		for _, n := range []collab.Notification{
			{ID: "custom"}, {ID: "all"}, {ID: "open", AnnotationID: "open", CommentIDs: []int64{1}},
			{ID: "gone", AnnotationID: "gone", CommentIDs: []int64{1}}, {ID: "members", AnnotationID: "members", CommentIDs: []int64{1}},
			{ID: "bobs", AnnotationID: "bobs"},
		} {
			at++
			n.ID, n.DocumentID, n.Incarnation, n.CreatedAt, n.ActionUser = id+" "+n.ID, id, doc.Incarnation, at, collab.User{UserID: "bob"}
			_, err := c.Inbox.Derive(t.Context(), org, n, []string{"ann"})
			must.Do(t, err)
			if n.ID == id+" all" {
				must.Do(t, c.Inbox.AddToInboxOfAll(t.Context(), org, n))
			} else {
				must.Do(t, c.Inbox.AddToInbox(t.Context(), org, n, storetest.Placed("ann")))
			}
		}
	}
	read := func(size int, fields string, send func(data string) (int, string)) (list []string) {
		token := ""
		for {
			code, body := send(fmt.Sprintf(`%s"pageSize": %d, "pageToken": %q`, fields, size, token))
			var answer struct {
				Result struct {
					Data          []struct{ NotificationID string }
					UnreadCount   json.RawMessage
					NextPageToken string
				}
			}
			must.Do(t, json.Unmarshal([]byte(body), &answer))
			if code == http.StatusNotFound { // a token of somebody who was removed
				return []string{`{"count":0}`}
			}
			if code != http.StatusOK {
				t.Fatal(code, body)
			}
			for _, n := range answer.Result.Data {
				list = append(list, n.NotificationID)
			}
			if token == "" {
				list = append(list, string(answer.Result.UnreadCount))
			}
			if token = answer.Result.NextPageToken; token == "" {
				return list
			}
		}
	}
	backEnd := func(data string) (int, string) {
		return c.send("notifications/get", `"asUserId": "ann", `+data, credentials.KeyHeader, "key", credentials.TokenHeader, "token")
	}
	person := func(data string) (int, string) {
		c.now = c.now.Add(11 * time.Second)
		return c.ann("notifications/get", data, "")
	}
	var shown []int // notifications after each change
	for _, change := range []struct{ name, path, data string }{
		{"everything", "users/add", `"users": [{"userId": "ann"}]`},
		{"closed", "organizations/documents/access/update", `"documentIds": ["closed"], "accessType": "restricted"`},
		{"members", "organizations/documents/access/update", `"documentIds": ["members"], "accessType": "organizationPrivate"`},
		{"off", "organizations/documents/access/disablestate/update", `"documentIds": ["off"], "disabled": true`},
		{"in the document", "users/add", `"documentId": "lost", "users": [{"userId": "ann"}]`},
		{"lost", "users/delete", `"documentId": "lost", "userIds": ["ann"]`},
		{"filed", "organizations/folders/access/update", `"folderIds": ["f"], "accessType": "restricted"`},
		{"guest", "users/add", `"documentId": "plan", "users": [{"userId": "ann"}]`},
		{"removed", "users/delete", `"userIds": ["ann"]`},
		{"open again", "users/add", `"documentId": "plan", "users": [{"userId": "ann"}]`},
	} {
		c.elsewhere(func() { c.must(change.path, change.data) })
		for _, fields := range []string{"", `"documentId": "plan", `, `"documentId": "closed", `, `"notificationIds": ["lost custom", "plan bobs", "plan custom"], `} {
			var want []string
			for _, size := range []int{5, 50} {
				want = read(size, fields, person)
				if diff := cmp.Diff(want, read(size, fields, backEnd)); diff != "" {
					t.Errorf("%s %s in pages of %d (- with a token, + as the user):\n%s", change.name, fields, size, diff)
				}
			}
			if fields == "" {
				shown = append(shown, len(want)-1)
			}
		}
	}
	if diff := cmp.Diff([]int{24, 20, 20, 16, 16, 12, 8, 8, 0, 2}, shown); diff != "" {
		t.Errorf("notifications after each change (- want, + got):\n%s", diff)
	}
}
