package delivery_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/localstack"
	"collabdata/shared/access"
	"collabdata/shared/api"
	"collabdata/shared/api/commentannotations"
	"collabdata/shared/api/notifications"
	"collabdata/shared/api/organizations"
	"collabdata/shared/api/rpc"
	"collabdata/shared/api/users"
	"collabdata/shared/collab"
	"collabdata/shared/queue"
	"collabdata/shared/webhook"

	"github.com/google/go-cmp/cmp"
)

// post posts data to an endpoint as the account's back end does, and returns the status and the answer. Events go to the queue.
func (a *account) post(path, data string) (status int, answer string) {
	a.Helper()
	at := slices.IndexFunc(api.Endpoints(), func(e rpc.Endpoint) bool { return e.Path == path })
	server := &rpc.Server{
		Now: a.Now, Random: rand.Reader, Log: slog.New(slog.DiscardHandler), Idempotency: a.accounts,
		Send: func(ctx context.Context, events ...collab.EventRef) {
			for _, ev := range events {
				a.must(a.events.SendEvents(ctx, queue.Event{EventRef: ev}))
			}
		},
	}
	local := webhook.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	may := access.New(a.directory, a.accounts, local, webhook.ClientOptions{}, a.Now, slog.New(slog.DiscardHandler))
	h := api.Endpoints()[at].Handler(server, rpc.Services{
		&commentannotations.Service{Directory: a.directory, Threads: a.tables.threads, Access: may},
		&notifications.Service{Directory: a.directory, Inbox: a.inboxes, Threads: a.tables.threads, Access: may},
		&organizations.Service{Directory: a.directory}, &users.Service{Directory: a.directory, Erasure: a.deletion.Erasure, Jobs: a.outbox},
	})
	account, err := a.accounts.Account(a.Context(), a.id)
	a.must(err)
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(`{"data":`+data+`}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(collab.WithIdentity(a.Context(), collab.Identity{Account: a.id, APIKey: "key", Settings: account.Settings})))
	return w.Code, w.Body.String()
}

// ok is post for what must succeed.
func (a *account) ok(path, data string) string {
	a.Helper()
	status, answer := a.post(path, data)
	if status != http.StatusOK || strings.Contains(answer, `"success":false`) {
		a.Fatalf("%s %s: %d %s", path, data, status, answer)
	}
	return answer
}

const (
	in     = `"organizationId":"org","documentId":"doc"`
	thread = "/v2/commentannotations"
)

// mention adds a comment of ann that mentions bob and eve.
func (a *account) mention(comment int, text string) {
	a.Helper()
	var people []string
	for _, u := range []string{"bob", "eve"} {
		people = append(people, fmt.Sprintf(`{"userId":%q,"contact":{"userId":%[1]q,"email":%q}}`, u, a.address(u)))
	}
	a.ok(thread+"/comments/add", fmt.Sprintf(
		`{%s,"annotationId":"a1","comments":[{"triggerNotification":true,"commentId":%d,"commentText":%q,"from":{"userId":"ann"},"taggedUserContacts":[%s]}]}`,
		in, comment, text, strings.Join(people, ",")))
}

// hidings hide the thread a1 from eve, and leave it to bob.
var hidings = map[string]func(a *account){
	"a thread for few": func(a *account) {
		a.ok(thread+"/update", `{`+in+`,"annotationIds":["a1"],"updatedData":{"visibility":{"type":"restricted","userIds":["bob"]}}}`)
	},
	"a thread for members": func(a *account) {
		a.ok(thread+"/update", `{`+in+`,"annotationIds":["a1"],"updatedData":{"visibility":{"type":"organizationPrivate","organizationId":"org"}}}`)
	},
	"a restricted document": func(a *account) {
		a.ok("/v2/users/add", `{`+in+`,"users":[{"userId":"bob"},{"userId":"ann"}]}`)
		a.ok("/v2/organizations/documents/access/update", `{"organizationId":"org","documentIds":["doc"],"accessType":"restricted"}`)
	},
	"a restricted folder above it": func(a *account) {
		a.ok("/v2/organizations/folders/add", `{"organizationId":"org","folders":[{"folderId":"f"}]}`)
		a.ok("/v2/users/add", `{"organizationId":"org","folderId":"f","users":[{"userId":"bob"},{"userId":"ann"}]}`)
		a.ok("/v2/organizations/documents/move", `{"organizationId":"org","documentIds":["doc"],"folderId":"f"}`)
		a.ok("/v2/organizations/folders/access/update", `{"organizationId":"org","folderIds":["f"],"accessType":"restricted"}`)
	},
	"users/delete": func(a *account) {
		a.ok("/v2/users/add", `{"organizationId":"org","users":[{"userId":"eve"}]}`)
		a.ok("/v2/users/delete", `{"organizationId":"org","userIds":["eve"]}`)
	},
	"the permission provider": func(a *account) {
		r := receive(a, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"userIds":["ann","bob"]}`) })
		a.provider(r.URL, "s")
	},
}

// ways are the ways to learn of the thread, the rows of SPEC3 18.2. Each reports whether a user learns. What is told was told before the thread
// was hidden, as text "before", and after it, as "after".
var ways = map[string]func(a *account, user string) bool{
	"the inbox, of what was told before": func(a *account, user string) bool {
		return strings.Contains(a.ok("/v2/notifications/get", `{"organizationId":"org","userId":"`+user+`"}`), `"before"`)
	},
	"the inbox, of what happened after": func(a *account, user string) bool {
		return strings.Contains(a.ok("/v2/notifications/get", `{"organizationId":"org","userId":"`+user+`"}`), `"after"`)
	},
	"a mail that waited":  func(a *account, user string) bool { return a.mailed(user, "before") },
	"a mail of something": func(a *account, user string) bool { return a.mailed(user, "after") },
	"an author who is verified": func(a *account, user string) bool {
		status, answer := a.post(thread+"/comments/add",
			`{`+in+`,"annotationId":"a1","verifyUserPermissions":true,"comments":[{"commentText":"x","from":{"userId":"`+user+`"}}]}`)
		return a.allowed(status, answer)
	},
	"who is said to resolve": func(a *account, user string) bool {
		status, answer := a.post(thread+"/update",
			`{`+in+`,"annotationIds":["a1"],"verifyUserPermissions":true,"updatedData":{"resolvedByUserId":"`+user+`"}}`)
		return a.allowed(status, answer)
	},
	"who is said to change the status": func(a *account, user string) bool {
		status, answer := a.post(thread+"/update",
			`{`+in+`,"annotationIds":["a1"],"verifyUserPermissions":true,"updatedData":{"status":{"id":"OPEN"},"statusUpdatedByUserId":"`+user+`"}}`)
		return a.allowed(status, answer)
	},
	"who is said to be an author": func(a *account, user string) bool {
		status, answer := a.post(thread+"/comments/update",
			`{`+in+`,"annotationId":"a1","verifyUserPermissions":true,"commentIds":[3],"updatedData":{"from":{"userId":"`+user+`"}}}`)
		return a.allowed(status, answer)
	},
	"a count of what is unread": func(a *account, user string) bool {
		return strings.Contains(a.ok(thread+"/count/get", `{"organizationId":"org","documentIds":["doc"],"userId":"`+user+`"}`), `"total":1`)
	},
	"a count as a person": func(a *account, user string) bool {
		return strings.Contains(a.found(thread+"/count/get", `{"organizationId":"org","documentIds":["doc"],"asUserId":"`+user+`"}`), `"total":1`)
	},
	"unreadFor": func(a *account, user string) bool {
		return strings.Contains(a.ok(thread+"/get", `{`+in+`,"unreadFor":"`+user+`"}`), `"a1"`)
	},
	"annotations as a person": func(a *account, user string) bool {
		return strings.Contains(a.found(thread+"/get", `{`+in+`,"asUserId":"`+user+`"}`), `"a1"`)
	},
	"an annotation's id as a person": func(a *account, user string) bool {
		return strings.Contains(a.found(thread+"/get", `{"organizationId":"org","annotationIds":["a1"],"asUserId":"`+user+`"}`), `"a1"`)
	},
	"comments as a person": func(a *account, user string) bool {
		return strings.Contains(a.found(thread+"/comments/get", `{`+in+`,"annotationId":"a1","asUserId":"`+user+`"}`), "before")
	},
}

// allowed reports whether a write was done, and fails where it was refused for anything but the user's rights.
func (a *account) allowed(status int, answer string) bool {
	a.Helper()
	denied := strings.Contains(answer, string(collab.PermissionDenied))
	if !denied && (status != http.StatusOK || strings.Contains(answer, `"success":false`)) {
		a.Errorf("%d %s", status, answer)
	}
	return !denied
}

// found is post for what succeeds, or answers as if nothing were there.
func (a *account) found(path, data string) string {
	a.Helper()
	status, answer := a.post(path, data)
	if status != http.StatusOK && status != http.StatusNotFound {
		a.Errorf("%s %s: %d %s", path, data, status, answer)
	}
	return answer
}

// mailed reports whether a text was mailed to a user.
func (a *account) mailed(user, text string) bool {
	return slices.ContainsFunc(a.sent(), func(m localstack.Mail) bool {
		return slices.Contains(m.To, a.address(user)) && strings.Contains(m.Text, text)
	})
}

// TestWaysToLearn walks SPEC3 18.2's table: whatever hides a thread from eve and not from bob, bob learns of it in each way that there is, and
// eve in none. Webhooks and reads that name nobody have it as ever.
func TestWaysToLearn(t *testing.T) {
	for hiding, hide := range hidings {
		t.Run(hiding, func(t *testing.T) {
			w := newWorld(t)
			a := w.account(grouping(false))
			r := receive(t, nil)
			a.webhook("hook", r.URL+"/hook", collab.CommentAdded)
			p := w.start()
			a.ok(thread+"/add", `{`+in+`,"commentAnnotations":[{"annotationId":"a1","commentData":[{"commentId":3,"commentText":"first","from":{"userId":"ann"}}]}]}`)
			a.ok("/v2/users/add", `{"organizationId":"org","users":[{"userId":"ann"},{"userId":"bob"}]}`)
			a.mention(1, "before")
			w.settleUntil(p, w.Now().Add(time.Second))
			for _, u := range []string{"bob", "eve"} {
				if !ways["the inbox, of what was told before"](a, u) || a.mailed(u, "before") {
					t.Fatalf("%s is to have it in the inbox, and a mail that waits", u)
				}
			}
			hide(a)
			w.add(10 * time.Second) // longer than anything is remembered
			w.settle(p)
			a.mention(2, "after")
			w.settle(p)

			got := map[string]string{}
			for way, learns := range ways {
				if bob, eve := learns(a, "bob"), learns(a, "eve"); !bob || eve {
					got[way] = fmt.Sprintf("bob: %v, eve: %v", bob, eve)
				}
			}
			if diff := cmp.Diff(map[string]string{}, got); diff != "" {
				t.Errorf("who learns of it (-want +got):\n%s", diff)
			}
			if answer := a.ok(thread+"/get", `{`+in+`}`); !strings.Contains(answer, "after") {
				t.Errorf("a read that names nobody: %s", answer)
			}
			var last struct {
				Data struct {
					Annotation struct{ Visibility json.RawMessage }
				}
			}
			posts := r.posts()
			w.must(json.Unmarshal([]byte(posts[len(posts)-1].body), &last))
			if !strings.Contains(posts[len(posts)-1].body, "after") || strings.HasPrefix(hiding, "a thread") != (string(last.Data.Annotation.Visibility) != `{"type":"public"}`) {
				t.Errorf("posted %s", posts[len(posts)-1].body)
			}
		})
	}
}
