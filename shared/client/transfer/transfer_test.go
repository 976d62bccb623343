package transfer_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	gocmp "github.com/google/go-cmp/cmp"

	"collabdata/shared/app"
	"collabdata/shared/app/operate"
	"collabdata/shared/client"
	"collabdata/shared/client/transfer"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
	"collabdata/shared/mail/unsubscribe"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/must"
)

type service struct {
	*app.Service
	url      string
	operator string // URL of operate.Operator.Transfer for the account of the credentials
	cold     atomic.Bool
}

// restart clears the operator's caches.
func (s *service) restart() { s.cold.Store(true) }

// serve serves a service with its own table and these headers of credentials.
func serve(t testing.TB, headers ...credentials.Headers) *service {
	t.Helper()
	s := &service{Service: apitest.Start(t, func(c *app.Config) { c.Headers = append(headers, credentials.Headers{})[0] })}
	var o atomic.Pointer[operate.Operator]
	s.restart()
	ofOperator := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		account := strings.TrimSuffix(r.Header.Get(cmp.Or(s.Config().Headers.Key, credentials.KeyHeader)), "-key")
		if s.cold.Swap(false) {
			o.Store(operate.New(operate.Config{App: s.Config()}))
		}
		h, err := o.Load().Transfer(r.Context(), account)
		if err != nil {
			t.Error(err)
			return
		}
		h.ServeHTTP(w, r)
	})
	for url, h := range map[*string]http.Handler{&s.url: s.Handler(), &s.operator: ofOperator} {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		*url = server.URL
	}
	return s
}

// account adds an account, and returns an operator's client of it.
func (s *service) account(t testing.TB, id string) *client.Client {
	t.Helper()
	account := collab.Account{ID: id, Settings: collab.Settings{WriteUnitsPerSecond: collab.Unlimited, ReadUnitsPerSecond: collab.Unlimited}}
	must.Do(t, s.Accounts.EnsureAccount(t.Context(), account, id+"-key", []collab.Token{{Hash: collab.HashToken(id + "-token")}}))
	return s.client(s.operator, id, nil)
}

// client returns a client of an account at a URL of the service; transport may be nil.
func (s *service) client(url, account string, transport http.RoundTripper) *client.Client {
	return client.New(client.Config{
		BaseURL: url, APIKey: account + "-key", AuthToken: account + "-token", HTTP: &http.Client{Transport: transport},
	})
}

// call calls an operation, which must succeed for every item.
func call(t testing.TB, c *client.Client, path, data string) {
	t.Helper()
	answer, _, err := client.Call[jsontext.Value](t.Context(), c, path, jsontext.Value("{"+data+"}"))
	if err != nil || bytes.Contains(answer, []byte(`"success":false`)) {
		t.Fatalf("%s: %v\n%s", path, err, answer)
	}
}

// everything adds an organization with every kind of thing.
func everything(t testing.TB, c *client.Client) {
	t.Helper()
	call(t, c, "/v2/organizations/add", `"organizations": [{"organizationId": "acme", "organizationName": "Acme <&> \u2028", "kind": "customer", "_kind": 1, "tier": {"level": 1.50}}]`)
	call(t, c, "/v2/organizations/folders/add", `"organizationId": "acme", "folders": [{"folderId": "z", "folderName": "Plans", "accessType": "restricted"},
		{"folderId": "a", "folderName": "In z", "parentFolderId": "z"}, {"folderId": "b#%", "parentFolderId": "a", "accessType": "public"}]`)
	call(t, c, "/v2/organizations/documents/add", `"organizationId": "acme", "documents": [{"documentId": "plan", "documentName": "The plan", "kind": "text", "pages": 3}, {"documentId": "old/plan"}]`)
	call(t, c, "/v2/organizations/documents/add", `"organizationId": "acme", "folderId": "b#%", "documents": [{"documentId": "budget"}, {"documentId": "own"}]`)
	call(t, c, "/v2/organizations/documents/access/update", `"organizationId": "acme", "documentIds": ["own"], "accessType": "organizationPrivate"`)
	call(t, c, "/v2/users/add", `"organizationId": "acme", "users": [{"userId": "ann", "name": "Ann", "email": "ann@example.com", "isAdmin": true, "organizationId": "elsewhere"}, {"userId": "bob", "accessRole": "viewer"}]`)
	call(t, c, "/v2/users/add", `"organizationId": "acme", "folderId": "z", "users": [{"userId": "cid", "name": "Cid"}, {"userId": "ann"}]`)
	call(t, c, "/v2/users/add", `"organizationId": "acme", "documentId": "own", "users": [{"userId": "dee", "name": "Dee", "photoUrl": "https://example.com/d.png"}]`)
	call(t, c, "/v2/auth/permissions/add", `"user": {"userId": "dee"}, "permissions": {"resources": [{"type": "organization", "id": "acme", "expiresAt": 4000000001}, {"type": "document", "id": "own", "organizationId": "acme", "accessRole": "viewer", "expiresAt": 4000000000},
		{"type": "document", "id": "plan", "organizationId": "acme"}, {"type": "folder", "id": "z", "organizationId": "acme", "expiresAt": 1000000000}]}`)

	call(t, c, "/v2/commentannotations/add", `"organizationId": "acme", "documentId": "plan", "commentAnnotations": [
		{"annotationId": "full", "location": {"id": "page", "locationName": "Page"}, "targetElement": {"elementId": "title", "targetText": "x", "occurrence": 2, "selectAllContent": false, "prefix": "before ", "suffix": " after"},
			"status": {"id": "IN_PROGRESS", "color": "red"}, "assignedTo": {"userId": "bob", "name": "Bob"}, "context": {"a": {"b": [1, 2.0, null]}}, "priority": {"id": "p1", "name": "High"},
			"createdAt": 1700000000001, "lastUpdated": 1700000009000, "type": "suggestion", "suggestion": {"newValue": [1], "oldValue": null}, "commentType": "chart", "pageInfo": {"url": "u"},
			"isPageAnnotation": true, "actions": [{"a": [1]}], "positionX": 1.5, "screenWidth": 1920, "visibility": {"type": "restricted", "userIds": ["bob", "cid"]},
			"commentData": [{"commentId": 5, "commentText": "Look, {{bob}}", "commentHtml": "<b>Look</b>", "from": {"userId": "ann", "name": "Ann", "color": "#123"}, "createdAt": 1700000000002, "lastUpdated": 1700000000003,
				"context": {"k": "v"}, "taggedUserContacts": [{"userId": "bob", "contact": {"userId": "bob", "name": "Bob"}}], "agent": {"name": "gpt", "reason": {"findingId": "f1"}}},
				{"commentId": 7, "from": {"userId": "bob"}, "isCommentResolverUsed": true, "isCommentTextAvailable": false, "createdAt": 1700000000004}]},
		{"annotationId": "bare"}, {"annotationId": "emptied", "commentData": [{"commentId": 1, "commentText": "x", "from": {"userId": "ann", "name": "Ann"}}]},
		{"annotationId": "of another", "commentData": [{"commentId": 1, "commentText": "x", "from": {"userId": "ann", "name": "Ann", "email": "a@example.com"}}]},
		{"annotationId": "own status", "status": {"id": "custom", "iconUrl": "https://example.com/i.png", "type": "terminal"}, "visibility": {"type": "organizationPrivate", "organizationId": "acme"}},
		{"annotationId": "resolved", "commentData": [{"commentId": 1, "commentText": "x", "from": {"userId": "ann"}}]}]`)
	call(t, c, "/v2/commentannotations/comments/add", `"organizationId": "acme", "documentId": "plan", "annotationId": "full", "commentData": [
		{"commentId": 6, "commentText": "{{cid}}", "from": {"userId": "cid"}, "createdAt": 1700000000005, "lastUpdated": 1700000000006, "taggedUserContacts": [{"userId": "cid", "text": "@Cid"}],
			"actions": [{}], "progress": {"state": "x", "steps": [{"n": 1}], "visibleToUserIds": ["bob"]}, "attachments": [{"attachmentId": 1, "name": "a.png", "size": 9, "metadata": {"w": 1}}]}]`)
	call(t, c, "/v2/commentannotations/update", `"organizationId": "acme", "documentId": "plan", "annotationIds": ["full"], "updatedData": {"suggestion": {"newValue": [1], "status": "accepted"}}`)
	call(t, c, "/v2/commentannotations/update", `"organizationId": "acme", "documentId": "plan", "annotationIds": ["resolved"], "updatedData": {"status": {"id": "DONE", "type": "terminal"}, "resolvedByUserId": "bob", "statusUpdatedByUserId": "cid"}`)
	call(t, c, "/v2/commentannotations/update", `"organizationId": "acme", "documentId": "plan", "annotationIds": ["of another"], "updatedData": {"from": {"email": null, "name": "Anna"}}`)
	call(t, c, "/v2/commentannotations/comments/delete", `"organizationId": "acme", "documentId": "plan", "annotationId": "emptied"`)
	call(t, c, "/v2/commentannotations/add", `"organizationId": "acme", "documentId": "budget", "commentAnnotations": [{"annotationId": "private", "status": {"id": "s", "svg": "<svg/>", "type": "ongoing"},
		"visibility": {"type": "restricted", "userIds": ["bob"]}, "actions": [{"id": 1}], "commentData": [{"commentId": 1, "commentText": "of another", "from": {"userId": "ann"}}]}]`)
	call(t, c, "/v2/commentannotations/update", `"organizationId": "acme", "documentId": "budget", "annotationIds": ["private"], "updatedData": {"from": {"userId": "cid"}}`)
	call(t, c, "/v2/organizations/usergroups/add", `"organizationId": "acme", "organizationUserGroups": [{"groupId": "g", "groupName": "G"}, {"groupId": "none"}]`)
	call(t, c, "/v2/organizations/usergroups/users/add", `"organizationId": "acme", "organizationUserGroupId": "g", "userIds": ["ann", "stranger"]`)
	call(t, c, "/v2/notifications/config/set", `"organizationId": "acme", "userIds": ["ann", "bob"], "config": {"inbox": "MINE", "slack": "ALL"}`)
	call(t, c, "/v2/notifications/config/set", `"organizationId": "acme", "userIds": ["ann"], "documentIds": ["plan", "of later"], "config": {"email": "NONE"}`)
	call(t, c, "/v2/commentannotations/read/set", `"organizationId": "acme", "documentId": "plan", "userId": "bob", "read": true`)
	call(t, c, "/v2/commentannotations/read/set", `"organizationId": "acme", "documentId": "plan", "userId": "ann", "read": true, "annotationIds": ["full"]`)
	call(t, c, "/v2/commentannotations/read/set", `"organizationId": "acme", "documentId": "plan", "userId": "ann", "read": false, "readAt": 1700000000000`)
	call(t, c, "/v2/commentannotations/add", `"organizationId": "acme", "documentId": "closed", "createDocument": true, "commentAnnotations": [
		{"annotationId": "kept", "createdAt": 1700000000000, "commentData": [{"commentId": 1, "commentText": "Nobody reads it now", "from": {"userId": "ann"}}]}]`)
	call(t, c, "/v2/organizations/documents/access/update", `"organizationId": "acme", "documentIds": ["closed"], "accessType": "restricted"`)
	call(t, c, "/v2/users/add", `"organizationId": "acme", "documentId": "closed", "users": [{"userId": "eve", "name": "Eve"}]`)
	call(t, c, "/v2/auth/permissions/add", `"user": {"userId": "eve"}, "permissions": {"resources": [{"type": "document", "id": "closed", "organizationId": "acme", "expiresAt": 4000000002}]}`)
	call(t, c, "/v2/notifications/config/set", `"organizationId": "acme", "userIds": ["eve"], "documentIds": ["closed"], "config": {"email": "NONE"}`)
	call(t, c, "/v2/commentannotations/read/set", `"organizationId": "acme", "documentId": "closed", "userId": "eve", "read": true`)
	call(t, c, "/v2/organizations/documents/access/disablestate/update", `"organizationId": "acme", "documentIds": ["closed"], "disabled": true`)
	fillEverything(t, c)
	var many []string
	for n := range 200 {
		many = append(many, fmt.Sprintf(`{"commentId": %d, "commentText": "%d", "from": {"userId": "u%d"}, "createdAt": %d}`, n+1, n, n%7, 1700000000000+n))
	}
	call(t, c, "/v2/commentannotations/add", `"organizationId": "acme", "documentId": "old/plan", "commentAnnotations": [{"annotationId": "many", "createdAt": 1600000000000, "commentData": [`+strings.Join(many[:90], ",")+`]}]`)
	for few := range slices.Chunk(many[90:], 90) {
		call(t, c, "/v2/commentannotations/comments/add", `"organizationId": "acme", "documentId": "old/plan", "annotationId": "many", "commentData": [`+strings.Join(few, ",")+`]`)
	}
}

// details are all fields of a user object except the id.
const details = `"name": "Fay", "email": "fay@example.com", "photoUrl": "https://example.com/f.png", "organizationId": "elsewhere", "color": "#111", "textColor": "#222",
	"initial": "F", "plan": "free", "type": "guest", "isReadOnly": true, "isAnonymous": false, "isGuest": true, "isAdmin": false, "groupId": "x", "clientGroupId": "y"`

// fillEverything adds the API's fields that everything omits.
func fillEverything(t testing.TB, c *client.Client) {
	t.Helper()
	const fay = `{"userId": "fay", ` + details + `}`
	call(t, c, "/v2/users/add", `"organizationId": "acme", "users": [{"userId": "fay", `+details+`, "accessRole": "viewer", "locale": "pt-BR", "timeZone": "Asia/Tokyo"}, {"userId": "gil"}, {"userId": "hal"}]`)
	call(t, c, "/v2/users/add", `"organizationId": "acme", "documentId": "plan", "users": [{"userId": "fay", `+details+`, "accessRole": "viewer", "locale": "pt-BR", "timeZone": "Asia/Tokyo"}, {"userId": "ida"}]`)
	call(t, c, "/v2/users/add", `"organizationId": "acme", "folderId": "a", "users": [{"userId": "fay", `+details+`, "accessRole": "viewer", "locale": "de", "timeZone": "Europe/Berlin"}]`)
	call(t, c, "/v2/organizations/documents/add", `"organizationId": "acme", "documents": [{"documentId": "whole"}]`)
	call(t, c, "/v2/commentannotations/add", `"organizationId": "acme", "documentId": "whole", "commentAnnotations": [{"annotationId": "whole", "location": {"id": "page", "locationName": "Page"},
		"targetElement": {"elementId": "title", "targetText": "x", "occurrence": 2, "selectAllContent": true, "prefix": "before ", "suffix": " after"}, "assignedTo": `+fay+`, "context": {"a": 1}, "contextShared": true, "priority": {"id": "p1", "name": "High", "color": "red", "lightColor": "pink"},
		"status": {"id": "mine", "type": "ongoing", "name": "Mine", "color": "#333", "lightColor": "#444", "svg": "<svg/>", "iconUrl": "https://example.com/i.png"}, "createdAt": 1700000000001, "lastUpdated": 1700000009000,
		"visibility": {"type": "restricted", "userIds": ["gil", "hal", "ann", "ida"]}, "type": "suggestion", "suggestion": {"newValue": 1}, "commentType": "chart", "pageInfo": {"url": "u"}, "isPageAnnotation": true,
		"actions": [{"a": 1}], "positionX": 1.5, "positionY": 2.5, "screenWidth": 1920, "screenHeight": 1080, "screenScrollHeight": 5, "screenScrollTop": 6,
		"commentData": [{"commentId": 1, "commentText": "x", "from": `+fay+`}]}]`)
	call(t, c, "/v2/commentannotations/update", `"organizationId": "acme", "documentId": "whole", "annotationIds": ["whole"], "updatedData": {"resolvedByUserId": "gil", "statusUpdatedByUserId": "hal", "status": {"id": "mine", "type": "terminal",
		"name": "Mine", "color": "#333", "lightColor": "#444", "svg": "<svg/>", "iconUrl": "https://example.com/i.png"}}`)
	call(t, c, "/v2/commentannotations/comments/add", `"organizationId": "acme", "documentId": "whole", "annotationId": "whole", "commentData": [{"commentId": 2, "commentText": "{{fay}} {{g}}", "commentHtml": "<b>x</b>",
		"isCommentResolverUsed": true, "isCommentTextAvailable": true, "from": `+fay+`, "createdAt": 1700000000005, "lastUpdated": 1700000000006, "addedAt": 1700000000905, "context": {"a": 1}, "contextShared": true, "reactions": [{"emoji": "👍", "users": [{"userId": "gil"}, {"userId": "hal"}]}], "taggedUserContacts": [{"userId": "fay", "contact": `+fay+`, "text": "@Fay"},
		{"organizationUserGroupId": "g"}], "attachments": [{"attachmentId": 1, "name": "a.png", "bucketPath": "b", "size": 9, "type": "t", "url": "https://example.com/a", "thumbnail": "https://example.com/t", "mimeType": "image/png", "metadata": {"w": 1}}],
		"agent": {"name": "gpt"}, "actions": [{}], "progress": {"state": "x", "steps": [1], "visibleToUserIds": ["fay"]}}]`)
	for user, level := range map[string]string{"gil": "all", "hal": "none", "ann": "mentions"} {
		call(t, c, "/v2/notifications/config/set", `"organizationId": "acme", "documentIds": ["whole"], "annotationIds": ["whole"], "userIds": ["`+user+`"], "level": "`+level+`"`)
	}
	const times = `"organizationId": "acme", "mailFrequency": "daily", "mailHour": 7, "timeZone": "Asia/Tokyo", `
	call(t, c, "/v2/notifications/config/set", times+`"userIds": ["gil"]`)
	call(t, c, "/v2/notifications/config/set", times+`"userIds": ["hal"], "config": {"inbox": "MINE", "email": "ALL", "slack": "NONE"}`)
	call(t, c, "/v2/notifications/config/set", `"organizationId": "acme", "userIds": ["hal"], "documentIds": ["whole"], "config": {"inbox": "MINE", "email": "ALL", "slack": "NONE"}`)
	call(t, c, "/v2/notifications/config/set", `"organizationId": "acme", "userIds": ["ida"], "mailFrequency": "daily", "mailHour": 0`)
	call(t, c, "/v2/notifications/config/set", `"organizationId": "acme", "userIds": ["jon"], "mailFrequency": "weekly", "mailDay": "friday",
		"quietHours": {"from": "20:00", "to": "08:00", "days": ["sunday"]}`)
	call(t, c, "/v2/commentannotations/read/set", `"organizationId": "acme", "documentId": "whole", "userId": "hal", "read": true, "annotationIds": ["whole"]`)

	// Suggestions without a decision: one was cleared, which leaves its status.
	call(t, c, "/v2/commentannotations/add", `"organizationId": "acme", "documentId": "whole", "commentAnnotations": [{"annotationId": "open", "type": "suggestion", "suggestion": {"newValue": 1}},
		{"annotationId": "cleared", "type": "suggestion", "suggestion": {"newValue": 1}}]`)
	call(t, c, "/v2/commentannotations/update", `"organizationId": "acme", "documentId": "whole", "annotationIds": ["cleared"], "updatedData": {"suggestion": null}`)

	// Removed users: one wrote and follows, one was later added to a group.
	call(t, c, "/v2/commentannotations/add", `"organizationId": "acme", "documentId": "whole", "commentAnnotations": [{"annotationId": "of jon", "commentData": [{"commentId": 1, "commentText": "x", "from": {"userId": "jon"}}]}]`)
	call(t, c, "/v2/users/add", `"organizationId": "acme", "users": [{"userId": "jon"}, {"userId": "kim"}]`)
	call(t, c, "/v2/users/add", `"organizationId": "acme", "documentId": "whole", "users": [{"userId": "ida"}, {"userId": "ann"}]`)
	call(t, c, "/v2/notifications/config/set", `"organizationId": "acme", "documentIds": ["whole"], "userIds": ["hal", "gil"], "level": "all"`)
	call(t, c, "/v2/notifications/config/set", `"organizationId": "acme", "documentIds": ["whole"], "annotationIds": ["of jon"], "userIds": ["jon", "ida"], "level": "all"`)
	call(t, c, "/v2/users/delete", `"organizationId": "acme", "documentId": "whole", "userIds": ["ida", "ann"]`)
	call(t, c, "/v2/users/delete", `"organizationId": "acme", "userIds": ["jon", "kim"]`)
	call(t, c, "/v2/organizations/usergroups/users/add", `"organizationId": "acme", "organizationUserGroupId": "g", "userIds": ["kim"]`)

	// Grants that were taken, which hides nothing.
	call(t, c, "/v2/users/add", `"organizationId": "acme", "folderId": "z", "users": [{"userId": "lou"}]`)
	call(t, c, "/v2/users/delete", `"organizationId": "acme", "folderId": "z", "userIds": ["lou"]`)
	call(t, c, "/v2/users/add", `"organizationId": "acme", "users": [{"userId": "lou"}]`)
	call(t, c, "/v2/auth/permissions/remove", `"userId": "lou", "permissions": {"resources": [{"type": "organization", "id": "acme"}]}`)
}

// unsubscribe unsubscribes users of acme and their addresses. The users may have no other line.
func (s *service) unsubscribe(t testing.TB, account string, users ...string) {
	t.Helper()
	for _, u := range users {
		must.Do(t, s.Accounts.Unsubscribe(t.Context(), unsubscribe.Recipient{
			Account: account, Organization: "acme", User: u, Email: u + "@example.com",
		}))
	}
}

func export(t testing.TB, c *client.Client, o transfer.ExportOptions) string {
	t.Helper()
	var file strings.Builder
	must.Do(t, transfer.Export(t.Context(), c, "acme", &file, o))
	return file.String()
}

// load imports a file without refused lines.
func load(t testing.TB, c *client.Client, file string, o transfer.ImportOptions) *transfer.Result {
	t.Helper()
	o.Refused = func(r transfer.Refusal) { t.Errorf("refused: %+v", r) }
	result, err := transfer.Import(t.Context(), c, strings.NewReader(file), o)
	must.Do(t, err)
	return result
}

// same reports differences of two files, ignoring the order of lines.
func same(t *testing.T, what, want, got string) {
	t.Helper()
	if diff := gocmp.Diff(slices.Sorted(strings.Lines(want)), slices.Sorted(strings.Lines(got))); diff != "" {
		t.Errorf("%s (- want, + got):\n%s", what, diff)
	}
}

// TestImportKilled checks that an import killed after any request, and repeated, adds everything
// once.
func TestImportKilled(t *testing.T) {
	s := serve(t)
	one := s.account(t, "one")
	everything(t, one)
	s.unsubscribe(t, "one", "ann", "nobody else")
	file := export(t, one, transfer.ExportOptions{})
	two := s.account(t, "two")
	transfer.SendLines(t, 5)
	ended := 0
	for requests := int64(1); ; requests += 3 {
		ctx, kill := context.WithCancel(t.Context())
		var sent atomic.Int64
		killed := s.client(s.operator, "two", roundTrip(func(r *http.Request) (*http.Response, error) {
			answer, err := http.DefaultTransport.RoundTrip(r)
			// executed, but without a response
			if !strings.HasSuffix(r.URL.Path, "/get") && sent.Add(1) == requests {
				kill()
			}
			return answer, err
		}))
		_, err := transfer.Import(ctx, killed, strings.NewReader(file), transfer.ImportOptions{
			Refused: func(r transfer.Refusal) { t.Errorf("refused: %+v", r) },
		})
		kill()
		if err == nil {
			break
		}
		ended++
	}
	if ended < 5 {
		t.Errorf("only %d imports were killed", ended)
	}
	same(t, "after it was killed", file, export(t, two, transfer.ExportOptions{}))
}

// TestDisabled checks that an operator can export and import disabled things; others get an error.
func TestDisabled(t *testing.T) {
	s := serve(t)
	one, two := s.account(t, "one"), s.account(t, "two")
	everything(t, one)
	file := export(t, one, transfer.ExportOptions{})
	if !strings.Contains(file, "Nobody reads it now") {
		t.Error("the threads of a disabled document are not in the file")
	}
	_, err := transfer.Import(t.Context(), s.client(s.url, "two", nil), strings.NewReader(file), transfer.ImportOptions{})
	if err == nil || !strings.HasPrefix(err.Error(), "only an operator imports: ") {
		t.Errorf("a back end imports: %v", err)
	}
	load(t, two, file, transfer.ImportOptions{})
	same(t, "imported", file, export(t, two, transfer.ExportOptions{}))

	call(t, one, "/v2/organizations/access/disablestate/update", `"organizationIds": ["acme"], "disabled": true`)
	if err := transfer.Export(t.Context(), s.client(s.url, "one", nil), "acme", io.Discard, transfer.ExportOptions{Documented: true}); client.CodeOf(err) != client.CodeFailedPrecondition {
		t.Errorf("a disabled organization is exported: %v", err)
	}
	file = export(t, one, transfer.ExportOptions{})
	three := s.account(t, "three")
	for range 2 {
		load(t, three, file, transfer.ImportOptions{})
		same(t, "the disabled organization", file, export(t, three, transfer.ExportOptions{}))
	}
	if first, _, _ := strings.Cut(file, "\n"); !strings.Contains(first, `"disabled":true`) {
		t.Errorf("its first line is %s", first)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestRefused checks that refused lines are reported one by one, and all others are added.
func TestRefused(t *testing.T) {
	c := serve(t).account(t, "one")
	file := `{"kind":"organization","organizationId":"acme"}
{"kind":"folder","folderId":"f"}
{"kind":"folder","folderId":"g","parentFolderId":"nowhere"}
{"kind":"document","documentId":"plan","folderId":"f"}
{"kind":"document","documentId":"lost","folderId":"nowhere"}
{"kind":"annotation","documentId":"plan","annotationId":"a"}
{"kind":"comment","documentId":"plan","annotationId":"a","commentId":1,"commentText":"one","from":{"userId":"ann"}}
{"kind":"comment","documentId":"plan","annotationId":"a","commentId":2,"from":{"userId":"ann"}}
{"kind":"comment","documentId":"plan","annotationId":"a","commentId":3,"commentText":7,"from":{"userId":"ann"}}
{"kind":"annotation","documentId":"plan","annotationId":"b","status":{"id":7}}
{"kind":"comment","documentId":"plan","annotationId":"b","commentId":1,"commentText":"one","from":{"userId":"ann"}}
{"kind":"annotation","documentId":"nowhere","annotationId":"c"}
{"kind":"user","userId":"ann","accessRole":"owner"}
{"kind":"user","userId":"bob"}
{"kind":"grant","userId":"bob","type":"folder","id":"nowhere"}
{"kind":"grant","userId":"bob","type":"folder","id":"f"}
`
	var refused []string
	result, err := transfer.Import(t.Context(), c, strings.NewReader(file), transfer.ImportOptions{Refused: func(r transfer.Refusal) {
		refused = append(refused, fmt.Sprintf("%02d %s %s %s: %s", r.Line, r.Kind, r.ID, r.Field, r.Message))
	}})
	must.Do(t, err)
	slices.Sort(refused)
	want := []string{
		`03 folder g : folder "nowhere" does not exist`,
		`05 document lost : folder "nowhere" does not exist`,
		"08 comment 2 : must have content: a text, HTML, attachments, or isCommentResolverUsed",
		"09 comment 3 commentText: must be a string, not a number",
		"10 annotation b status.id: must be a string, not a number",
		`11 comment 1 : annotation "b" does not exist in document "plan"`,
		`12 annotation c : document "nowhere" does not exist in organization "acme"`,
		"13 user ann accessRole: must be one of editor, viewer",
		`15 grant nowhere : folder "nowhere" does not exist`,
	}
	if diff := gocmp.Diff(want, refused); diff != "" {
		t.Errorf("refused (- want, + got):\n%s", diff)
	}
	for kind, n := range map[transfer.Kind]int64{transfer.Folder: 1, transfer.Document: 1, transfer.Annotation: 1, transfer.Comment: 1, transfer.User: 1, transfer.Grant: 1} {
		if result.Added[kind] != n {
			t.Errorf("of kind %s %d were added, want %d", kind, result.Added[kind], n)
		}
	}
}

// TestOtherwiseThere checks that existing things that differ from the file are unchanged and
// reported.
func TestOtherwiseThere(t *testing.T) {
	s := serve(t)
	one, two := s.account(t, "one"), s.account(t, "two")
	everything(t, one)
	file := export(t, one, transfer.ExportOptions{})
	load(t, two, file, transfer.ImportOptions{})
	call(t, two, "/v2/commentannotations/update", `"organizationId": "acme", "documentId": "plan", "annotationIds": ["bare"], "updatedData": {"status": {"id": "RESOLVED"}}`)
	call(t, two, "/v2/commentannotations/comments/update", `"organizationId": "acme", "documentId": "plan", "annotationId": "full", "commentIds": [6], "updatedData": {"commentText": "other"}`)
	call(t, two, "/v2/organizations/documents/access/update", `"organizationId": "acme", "documentIds": ["own"], "accessType": "restricted"`)
	want := export(t, two, transfer.ExportOptions{})
	var refused []string
	if _, err := transfer.Import(t.Context(), two, strings.NewReader(file), transfer.ImportOptions{Refused: func(r transfer.Refusal) {
		refused = append(refused, fmt.Sprintf("%s %s: %s", r.Kind, r.ID, r.Message))
	}}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(refused)
	if diff := gocmp.Diff([]string{
		"annotation bare: already exists with a different status; left unchanged",
		"comment 6: already exists with a different commentText, lastUpdated; left unchanged",
		"document own: already exists with a different accessType; left unchanged",
	}, refused); diff != "" {
		t.Errorf("refused (- want, + got):\n%s", diff)
	}
	same(t, "after the second import", want, export(t, two, transfer.ExportOptions{}))
}

// TestSuggestionWithoutStatus checks that an imported suggestion without a status is pending.
func TestSuggestionWithoutStatus(t *testing.T) {
	s := serve(t)
	one, two := s.account(t, "one"), s.account(t, "two")
	everything(t, one)
	file := export(t, one, transfer.ExportOptions{})
	without := strings.ReplaceAll(file, `,"status":"pending"`, "")
	if without == file {
		t.Fatal("no suggestion is pending")
	}
	load(t, two, without, transfer.ImportOptions{})
	same(t, "imported", file, export(t, two, transfer.ExportOptions{}))
}

// TestPrivate checks that private data of the file does not leak to others in the account, whatever
// exists under its ids.
func TestPrivate(t *testing.T) {
	const (
		add     = "/v2/commentannotations/add"
		plan    = `{"kind":"document","documentId":"plan","documentName":""}`
		comment = `{"kind":"comment","documentId":"plan","annotationId":"a","commentId":2,"commentText":"secret","from":{"userId":"ann"}}`
		private = `{"kind":"annotation","documentId":"plan","annotationId":"a","from":{"userId":"bob"},"visibility":{"type":"restricted","userIds":["ann"]}}`
		there   = `"organizationId": "acme", "documentId": "plan", "createDocument": true, "commentAnnotations": [{"annotationId": "a"`
	)
	s := serve(t)
	for name, test := range map[string]struct {
		calls [][2]string // that prepare the account
		lines []string
		want  []string // refusals
	}{
		"another thread": {
			[][2]string{{add, there + `, "commentData": [{"commentId": 1, "commentText": "Hello all", "from": {"userId": "cid"}}]}]`}},
			[]string{plan, private, comment},
			[]string{"annotation a: another annotation has the id; left unchanged", "comment 2: another annotation has the id; left unchanged"},
		},
		"another thread, and comments of another batch": {
			[][2]string{{add, there + `}]`}},
			[]string{plan, private, `{"kind":"annotation","documentId":"plan","annotationId":"b"}`, comment},
			[]string{"annotation a: another annotation has the id; left unchanged", "comment 2: another annotation has the id; left unchanged"},
		},
		"a status that no operation takes": {
			nil,
			[]string{plan, strings.Replace(private, `"from"`, `"status":{"id":"s","svg":"<svg/>","type":{"own":[1]}},"from"`, 1), comment},
			[]string{"annotation a: must be a string, not an object", `comment 2: annotation "a" does not exist in document "plan"`},
		},
		"nobody is named any more": {
			nil, []string{plan, strings.Replace(private, `,"userIds":["ann"]`, "", 1), comment}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := s.account(t, strings.ReplaceAll(strings.NewReplacer(",", "", "'", "").Replace(name), " ", "-"))
			call(t, c, "/v2/organizations/add", `"organizations": [{"organizationId": "acme"}]`)
			for _, of := range test.calls {
				call(t, c, of[0], of[1])
			}
			file := `{"kind":"organization","organizationId":"acme"}` + "\n" + strings.Join(test.lines, "\n") + "\n"
			for range 2 {
				var refused []string
				_, err := transfer.Import(t.Context(), c, strings.NewReader(file), transfer.ImportOptions{Refused: func(r transfer.Refusal) {
					refused = append(refused, fmt.Sprintf("%s %s: %s", r.Kind, r.ID, r.Message))
				}})
				slices.Sort(refused)
				if diff := gocmp.Diff(test.want, refused); err != nil || diff != "" {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
			}
			for user, sees := range map[string]bool{"mallory": false, "bob": test.want == nil} {
				answer, _, err := client.Call[jsontext.Value](t.Context(), c, "/v2/commentannotations/get", map[string]any{
					"organizationId": "acme", "asUserId": user,
				})
				if err != nil || strings.Contains(string(answer), "secret") != sees {
					t.Errorf("%s reads %v %s", user, err, answer)
				}
			}
		})
	}
}

// TestBadLines checks that a malformed line is reported with its field and rule, before anything is
// added.
func TestBadLines(t *testing.T) {
	const first = `{"kind":"organization","organizationId":"acme"}` + "\n"
	for _, test := range []struct{ file, want string }{
		{"", "line 1 is not there: the file is empty"},
		{"[]\n", ""},
		{first + "{\n", ""},
		{first + `{"kind":"document","documentId":"a"}` + "\n" + `{"kind":"annot`, "line 3 ends in its middle: the export did not come to its end"},
		{first + `{"kind":"thing"}` + "\n", "line 2: kind must be one of [organization unsubscribed removal folder group document level annotation comment grant user preference readState]"},
		{first + first, "line 2: kind must be organization in the first line, and in no other"},
		{`{"kind":"folder","folderId":"a"}` + "\n", "line 1: kind must be organization in the first line, and in no other"},
		{first + `{"kind":"comment","documentId":"a","commentId":1}` + "\n", "line 2: annotationId is required"},
		{first + `{"kind":"annotation","documentId":"a","annotationId":"b","colour":"red"}` + "\n", "line 2: colour is no field of a line of kind annotation"},
		{first + `{"kind":"comment","documentId":"a","annotationId":"b","commentId":1,"triggerNotification":true}` + "\n", "line 2: triggerNotification is no field of a line of kind comment"},
		{first + `{"kind":"document","documentId":"` + strings.Repeat("a", transfer.MaxLine) + `"}` + "\n", "line 2 has more than 5242880 bytes"},
		{first + `{"kind":"document","documentId":"a","a":1,"a":2}` + "\n", ""},
		{first + "{\"kind\":\"document\",\"documentId\":\"\xff\"}\n", ""},
	} {
		err := transfer.Check(strings.NewReader(test.file), transfer.ImportOptions{})
		if _, ok := errors.AsType[*transfer.LineError](err); !ok || test.want != "" && err.Error() != test.want {
			t.Errorf("%.80q: %v, want %s", test.file, err, test.want)
		}
	}
	if err := transfer.Check(strings.NewReader(first), transfer.ImportOptions{Documents: map[string]string{"a": "b"}}); err == nil {
		t.Error("a document that is to be renamed may be missing")
	}
}

// TestCopy imports from the documented operations of a service with other header names.
func TestCopy(t *testing.T) {
	there := serve(t, credentials.Headers{Key: "x-other-key", Token: "x-other-token"})
	there.account(t, "one")
	config := client.Config{
		BaseURL: there.url, APIKey: "one-key", AuthToken: "one-token", APIKeyHeader: "x-other-key", AuthTokenHeader: "x-other-token",
	}
	own := client.New(config)
	everything(t, own)
	config.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		for _, ours := range []string{"/usergroups/get", "/config/users/get", "/read/get"} {
			if strings.HasSuffix(r.URL.Path, ours) {
				t.Errorf("%s is called, which is not documented", r.URL.Path)
			}
		}
		return http.DefaultTransport.RoundTrip(r)
	})}
	c := client.New(config)
	var skipped []string
	file := export(t, c, transfer.ExportOptions{Documented: true, Skipped: func(text string) { skipped = append(skipped, text) }})
	if len(skipped) != 2 || !strings.HasPrefix(skipped[0], `document "closed" is disabled: `) ||
		!strings.Contains(file, `"documentId":"closed"`) || strings.Contains(file, "Nobody reads it now") {
		t.Errorf("skipped: %q, the file is\n%s", skipped, file)
	}
	two := serve(t).account(t, "two")
	load(t, two, file, transfer.ImportOptions{})
	same(t, "copied", file, export(t, two, transfer.ExportOptions{Documented: true}))
	config.BaseURL, config.HTTP = there.operator, nil
	same(t, "the documented part", canonical(t, withoutOwn(export(t, client.New(config), transfer.ExportOptions{}))), canonical(t, withoutOwn(file)))
	_, err := client.New(client.Config{BaseURL: there.url, APIKey: "one-key", AuthToken: "one-token"}).Jobs.Get(t.Context(), &client.JobsGetRequest{JobID: "x"})
	if client.CodeOf(err) != client.CodeUnauthenticated || !strings.Contains(err.Error(), "the headers x-other-key and x-other-token are required") {
		t.Errorf("under the usual names: %v", err)
	}
}

// awkward is a service with unusual behavior: small pages, unknown fields, null for missing values,
// outages, requests to wait, closed connections, and page tokens that expire after six requests.
type awkward struct {
	service  http.Handler
	requests int64
	tokens   map[string]int64 // number of requests when the token was issued
	expired  int
}

func (a *awkward) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request map[string]map[string]any
	if err == nil {
		err = json.Unmarshal(body, &request)
	}
	if err != nil {
		panic(err)
	}
	a.requests++
	switch n := a.requests; {
	case n%17 == 3:
		w.Header().Set("Retry-After", time.Now().UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusTooManyRequests)
		io.WriteString(w, `{"message": "Too Many Requests"}`)
		return
	case n%17 == 7:
		http.Error(w, "<html>Internal Server Error</html>", http.StatusInternalServerError)
		return
	case n%17 == 11:
		w.WriteHeader(http.StatusInternalServerError)
		io.WriteString(w, `{"error": {"status": "INTERNAL", "message": "Something went wrong", "newField": null}}`)
		return
	case n%17 == 13:
		panic(http.ErrAbortHandler)
	}
	if token, _ := request["data"]["pageToken"].(string); token != "" && a.requests-a.tokens[token] > 6 {
		a.expired++
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"error": {"status": "INVALID_ARGUMENT", "message": "The page token has expired"}}`)
		return
	}
	if size := map[string]int{"/v2/organizations/documents/get": 7, "/v2/users/get": 7, "/v2/commentannotations/get": 1}[r.URL.Path]; size > 0 {
		request["data"]["pageSize"] = size
	}
	body, _ = json.Marshal(request)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	answer := httptest.NewRecorder()
	a.service.ServeHTTP(answer, r)
	var v map[string]any
	if err := json.Unmarshal(answer.Body.Bytes(), &v); err != nil {
		panic(err)
	}
	if result, ok := v["result"].(map[string]any); ok {
		result["data"] = adorned(result["data"])
		if token, _ := result["nextPageToken"].(string); token != "" {
			a.tokens[token] = a.requests
		}
	}
	w.WriteHeader(answer.Code)
	if err := json.MarshalWrite(w, v); err != nil {
		panic(err)
	}
}

// nulls are fields that may be null, by a field of the same object.
var nulls = map[string][]string{
	"annotationId": {"location", "assignedTo", "context", "newField", "suggestion", "resolvedByUserId", "commentsTruncated"},
	"commentId":    {"commentHtml", "commentText", "attachments", "newField", "agent"},
	"ancestors":    {"folderName", "newField"},
	"accessRole":   {"name", "email", "photoUrl", "expiresAt"},
	"documentName": {"folderId"},
}

// adorned returns data of a service with more fields and with null for missing values.
func adorned(v any) any {
	switch v := v.(type) {
	case []any:
		for n := range v {
			v[n] = adorned(v[n])
		}
		if len(v) == 0 {
			return nil
		}
	case map[string]any:
		for of, names := range nulls {
			for _, name := range names {
				if _, has := v[name]; v[of] != nil && !has {
					v[name] = nil
				}
			}
		}
		if comments, has := v["comments"]; has {
			v["comments"] = adorned(comments)
		}
		if v["annotationId"] != nil {
			v["newObject"] = map[string]any{"a": []int{1}}
		}
		if len(v) == 0 {
			return nil
		}
	}
	return v
}

// TestCopyOfAnother checks that a copy survives outages, delays and expired page tokens, and
// ignores unknown fields.
func TestCopyOfAnother(t *testing.T) {
	s := serve(t)
	own := s.account(t, "one")
	everything(t, own)
	for n := range 40 {
		call(t, own, "/v2/commentannotations/add", fmt.Sprintf(`"organizationId": "acme", "documentId": "d%02d", "createDocument": true, "commentAnnotations": [{"annotationId": "a"}]`, n))
		call(t, own, "/v2/users/add", fmt.Sprintf(`"organizationId": "acme", "users": [{"userId": "u%02d"}]`, n))
	}
	want := export(t, s.client(s.url, "one", nil), transfer.ExportOptions{Documented: true})
	other := &awkward{service: s.Handler(), tokens: map[string]int64{}}
	server := httptest.NewServer(other)
	defer server.Close()
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	c := s.client(server.URL, "one", nil)
	got := export(t, c, transfer.ExportOptions{Documented: true})
	if other.expired == 0 || other.requests < 100 {
		t.Errorf("of %d requests %d had an expired page token", other.requests, other.expired)
	}
	same(t, "copied", canonical(t, want), canonical(t, got))
}

// canonical sorts the members of each line of a file.
func canonical(t *testing.T, file string) string {
	t.Helper()
	var all strings.Builder
	for line := range strings.Lines(file) {
		v := jsontext.Value(line)
		must.Do(t, v.Canonicalize())
		all.WriteString(v.String() + "\n")
	}
	return all.String()
}

// withoutOwn removes lines that no documented operation returns: groups, preferences, read states,
// removals, unsubscribed users, followers of documents, ended grants, users with own fields, and
// the content of disabled documents.
func withoutOwn(file string) string {
	var kept strings.Builder
	for line := range strings.Lines(file) {
		own := strings.Contains(line, `"expiresAt":1000000000`) || strings.Contains(line, `"folderId":"z"`) && !strings.Contains(line, `"cid"`)
		own = own || strings.HasPrefix(line, `{"kind":"level","userId"`) // of a document
		own = own || strings.Contains(line, `"closed"`) && !strings.HasPrefix(line, `{"kind":"document"`)
		for _, kind := range []transfer.Kind{transfer.Group, transfer.Preference, transfer.ReadState, transfer.Removal, transfer.Unsubscribed} {
			own = own || strings.HasPrefix(line, fmt.Sprintf(`{"kind":%q`, kind))
		}
		if !own {
			kept.WriteString(line)
		}
	}
	return kept.String()
}
