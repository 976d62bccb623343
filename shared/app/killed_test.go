package app_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/api"
	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/google/go-cmp/cmp"
)

// effect is a write request on its own data: each NAME is unique.
type effect struct {
	before string   // the path and data of a preparing call; "" for none
	inbox  []string // notifications of a user called NAME
	data   string
	left   bool // the request changes its selection, so a repeat may return fewer
}

const (
	makeThread = `/v2/commentannotations/add {"organizationId":"o","createOrganization":true,"documentId":"NAME","createDocument":true,
		"commentAnnotations":[{"annotationId":"a","location":{"id":"l"},"assignedTo":{"userId":"ann"},"commentData":[
			{"commentId":1,"commentText":"x","from":{"userId":"bob"}},{"commentId":2,"commentText":"x","from":{"userId":"bob"}}]},
		{"annotationId":"b","location":{"id":"l"},"commentData":[{"commentId":1,"commentText":"x","from":{"userId":"bob"}}]}]}`
	makeFolders = `/v2/organizations/folders/add {"organizationId":"NAME","createOrganization":true,
		"folders":[{"folderId":"a"},{"folderId":"b","parentFolderId":"a"}]}`
	makeDocuments = `/v2/organizations/documents/add {"organizationId":"NAME","createOrganization":true,"folderId":"f","createFolder":true,
		"documents":[{"documentId":"a"},{"documentId":"b"}]}`
	makeGroup   = `/v2/organizations/usergroups/add {"organizationId":"NAME","createOrganization":true,"organizationUserGroups":[{"groupId":"g"}]}`
	makeUsers   = `/v2/users/add {"organizationId":"NAME","createOrganization":true,"users":[{"userId":"ann"},{"userId":"bob"}]}`
	makeWebhook = `/v2/webhooks/add {"webhookId":"NAME","url":"https://example.com"}`
)

// effects are requests to endpoints with an Idempotency-Key; a path may have a suffix. For other
// endpoints, the test kills the first successful request of their scripts.
var effects = map[string]effect{
	"/v2/commentannotations/add": {data: `{"organizationId":"NAME","createOrganization":true,"documentId":"d","createDocument":true,
		"commentAnnotations":[{"annotationId":"a","commentData":[{"commentId":1,"commentText":"x","from":{"userId":"u"},"triggerNotification":true}]}]}`},
	"/v2/commentannotations/add of two": {data: `{"organizationId":"NAME","createOrganization":true,"documentId":"d","createDocument":true,
		"commentAnnotations":[{"annotationId":"a","commentData":[{"commentId":1,"commentText":"x","from":{"userId":"u"}}]},{"annotationId":"b"}]}`},
	"/v1/commentannotations/add": {data: `{"organizationId":"NAME","createOrganization":true,"documentId":"d","createDocument":true,
		"commentAnnotations":[{"annotationId":"a","commentData":[{"commentId":1,"commentText":"x","from":{"userId":"u"}}]}]}`},
	"/v2/commentannotations/update": {before: makeThread,
		data: `{"organizationId":"o","documentId":"NAME","updatedData":{"status":{"id":"RESOLVED"}},"triggerNotification":true}`},
	"/v2/commentannotations/update of users": {before: makeThread, data: `{"organizationId":"o","documentId":"NAME","userIds":["bob"],
		"updateUsers":[{"oldUser":{"userId":"ann"},"newUser":{"userId":"bob"}},{"oldUser":{"userId":"bob"},"newUser":{"userId":"ann"}}]}`, left: true},
	"/v2/commentannotations/update of places": {before: makeThread,
		data: `{"organizationId":"o","documentId":"NAME","locationIds":["l"],"updatedData":{"location":{"id":"elsewhere"}}}`, left: true},
	"/v2/commentannotations/comments/add": {before: makeThread,
		data: `{"organizationId":"o","documentId":"NAME","annotationId":"a","commentData":[{"commentId":3,"commentText":"y","from":{"userId":"u"}}]}`},
	"/v2/commentannotations/comments/add with an event": {
		before: makeThread,
		data: `{"organizationId":"o","documentId":"NAME","annotationId":"a",
		"commentData":[{"commentId":3,"commentText":"y","from":{"userId":"u"},"triggerNotification":true}]}`,
	},
	"/v2/commentannotations/comments/update": {before: makeThread,
		data: `{"organizationId":"o","documentId":"NAME","annotationId":"a","commentIds":[1,2],"updatedData":{"commentText":"z"}}`},
	"/v2/commentannotations/read/set": {before: makeThread,
		data: `{"organizationId":"o","documentId":"NAME","userId":"ann","annotationIds":["a","b"],"read":true}`},
	"/v2/commentannotations/read/set of a document": {before: makeThread,
		data: `{"organizationId":"o","documentId":"NAME","userId":"ann","read":true}`},
	"/v2/commentannotations/delete": {before: makeThread,
		data: `{"organizationId":"o","documentId":"NAME","annotationIds":["a","b"]}`},
	"/v2/commentannotations/delete of all": {before: makeThread, data: `{"organizationId":"o","documentId":"NAME"}`},
	"/v2/commentannotations/comments/delete": {before: makeThread,
		data: `{"organizationId":"o","documentId":"NAME","annotationId":"a","commentIds":[2,1]}`},
	"/v2/commentannotations/comments/delete of all": {
		before: makeThread,
		data:   `{"organizationId":"o","documentId":"NAME","annotationId":"a"}`,
	},
	"/v2/notifications/add": {
		data: `{"organizationId":"o","createOrganization":true,"documentId":"d","createDocument":true,"notificationId":"NAME",
		"actionUser":{"userId":"ann"},"displayHeadlineMessageTemplate":"x"}`,
	},
	"/v1/notifications/add": {
		data: `{"organizationId":"o","createOrganization":true,"documentId":"d","createDocument":true,"notificationId":"NAME",
		"actionUser":{"userId":"ann"},"displayHeadlineMessageTemplate":"x"}`,
	},
	"/v2/notifications/update": {before: makeThread, inbox: []string{"NAME-1", "NAME-2"},
		data: `{"organizationId":"o","userId":"NAME","notifications":[
		{"id":"NAME-1","clickedByUserIds":["NAME"],"displayBodyMessage":"x"},{"id":"NAME-2","clickedByUserIds":["NAME"]}]}`},
	"/v2/notifications/delete": {before: makeThread, inbox: []string{"NAME-1", "NAME-2"},
		data: `{"organizationId":"o","notificationIds":["NAME-2","NAME-1"]}`},
	"/v2/notifications/delete of a document": {before: makeThread, inbox: []string{"NAME-1", "NAME-2"},
		data: `{"organizationId":"o","documentId":"NAME"}`},
	"/v2/notifications/delete of a user": {before: makeThread, inbox: []string{"NAME-1", "NAME-2"},
		data: `{"organizationId":"o","userId":"NAME"}`},
	// the script's request has a folder before its parent: it fails, but a repeat would succeed
	"/v2/organizations/folders/add": {data: `{"organizationId":"NAME","createOrganization":true,
		"folders":[{"folderId":"a"},{"folderId":"b","parentFolderId":"a"}]}`},
	"/v2/organizations/folders/update": {before: makeFolders,
		data: `{"organizationId":"NAME","folders":[{"folderId":"b","parentFolderId":"root"},{"folderId":"a","parentFolderId":"b","folderName":"x"}]}`},
	"/v2/organizations/delete": {before: `/v2/organizations/add {"organizations":[{"organizationId":"NAME"},{"organizationId":"NAME-2"}]}`,
		data: `{"organizationIds":["NAME","NAME-2"]}`},
	"/v2/organizations/documents/delete": {before: makeDocuments, data: `{"organizationId":"NAME","documentIds":["a","b"]}`},
	"/v2/organizations/folders/delete":   {before: makeFolders, data: `{"organizationId":"NAME","folderId":"a"}`},
	"/v2/users/add": {data: `{"organizationId":"NAME","createOrganization":true,"documentId":"d","createDocument":true,
		"users":[{"userId":"ann","name":"Ann"},{"userId":"bob"}]}`},
	"/v2/users/delete": {before: makeUsers, data: `{"organizationId":"NAME","userIds":["ann","bob"]}`},
	"/v2/users/delete at a folder": {
		before: `/v2/users/add {"organizationId":"NAME","createOrganization":true,"folderId":"f","createFolder":true,
		"users":[{"userId":"ann"},{"userId":"bob"}]}`,
		data: `{"organizationId":"NAME","folderId":"f","userIds":["ann","bob"]}`,
	},
	"/v2/auth/permissions/add": {
		before: makeDocuments,
		data: `{"user":{"userId":"ann"},"permissions":{"resources":[{"type":"organization","id":"NAME"},
		{"type":"folder","id":"f","organizationId":"NAME"},{"type":"document","id":"a","organizationId":"NAME"}]}}`,
	},
	"/v2/auth/permissions/remove": {before: makeUsers,
		data: `{"userId":"ann","permissions":{"resources":[{"type":"organization","id":"NAME"}]}}`},
	"/v2/webhooks/add": {data: `{"webhookId":"NAME","url":"https://example.com"}`},
	"/v2/webhooks/update": {before: makeWebhook,
		data: `{"webhookId":"NAME","updatedData":{"disabled":true}}`},
	"/v2/webhooks/secrets/rotate":    {before: makeWebhook, data: `{"webhookId":"NAME"}`},
	"/v2/webhooks/deliveries/replay": {before: makeWebhook, data: `{"webhookId":"NAME","since":0}`},
}

// deliver adds a notification to a user's inbox.
func (d *deployment) deliver(user, id string) {
	d.Helper()
	doc, err := d.Directory.OpenDocument(d.Context(), "acme", "o", user, collab.CreateFlags{})
	must.Do(d, err)
	org, n := doc.OrganizationRef, collab.Notification{ID: id, DocumentID: user, Incarnation: doc.Incarnation, CreatedAt: 1}
	_, err = d.Inbox.Derive(d.Context(), org, n, []string{user})
	if err == nil {
		err = d.Inbox.AddToInbox(d.Context(), org, n, storetest.Placed(user))
	}
	must.Do(d, err)
}

// events returns the undelivered events about a name, without seen ones.
func (d *deployment) events(name string, seen map[string]bool) (list []string) {
	d.Helper()
	for _, it := range storetest.Scan(d, d.Outbox.Table) {
		p, err := keys.ParseTask(it.Key())
		if err != nil || p.Kind != collab.EventTask || seen[p.ID] {
			continue
		}
		seen[p.ID] = true
		ev, err := d.Outbox.Event(d.Context(), d.account, p.ID)
		must.Do(d, err)
		about := fmt.Sprint(ev.Type, " ", ev.OrganizationID, " ", ev.DocumentID, " ", ev.AnnotationID, ev.NotificationID)
		if strings.Contains(about, name) {
			list = append(list, moment.ReplaceAllString(strings.ReplaceAll(about, name, "NAME"), "NOW"))
		}
	}
	slices.Sort(list)
	return list
}

// part matches the response to a partial update.
var part = regexp.MustCompile(`^200 .*"[01] comment annotations? updated"`)

// moment matches parts that differ between requests: times, generated ids and secrets.
var moment = regexp.MustCompile(`"20[0-9-]+T[0-9:.]+Z"|\b[0-9a-z]{26}\b|\b1[0-9]{12}\b|\b1[0-9]{15}\b|whsec_[A-Za-z0-9+/=]+|eyJ[A-Za-z0-9_.-]+`)

// killed calls an operation in a process that dies after a number of requests to the table. It
// reports whether the process died.
func (d *deployment) killed(after int64, path, key, data string) bool {
	c := d.Config()
	var sent atomic.Int64
	dead, next := make(chan struct{}), c.DynamoDB.HTTPClient
	c.DynamoDB.HTTPClient = storetest.Client(func(r *http.Request) (*http.Response, error) {
		switch n := sent.Add(1); {
		case n <= after:
			return next.Do(r)
		case n == after+1:
			close(dead)
		}
		return nil, storetest.ErrKilled
	})
	ctx, cancel := context.WithCancel(d.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.send(ctx, app.New(c), path, key, `{"allEvents":true}`, data)
	}()
	d.Cleanup(func() { <-ended })
	defer cancel()
	select {
	case <-dead:
		return true
	case <-ended:
		return false
	}
}

// TestKilled kills each write operation after each request to the table, also before it stores its
// response. After the lease, the same request with the same Idempotency-Key must return the
// response of an uninterrupted one. Both together must record the same events.
func TestKilled(t *testing.T) {
	t.Parallel()
	cases := maps.Clone(effects)
	for _, e := range api.Endpoints() {
		named := func(name string) bool { path, _, _ := strings.Cut(name, " "); return path == e.Path }
		if e.Idempotent() && !e.Public && !slices.ContainsFunc(slices.Collect(maps.Keys(effects)), named) {
			cases[e.Path] = effect{}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		path, _, _ := strings.Cut(name, " ")
		t.Run(name[1:], func(t *testing.T) {
			t.Parallel()
			d := newDeployment(t) // separate, because events stay pending and are read repeatedly
			server := httptest.NewServer(d.Handler())
			t.Cleanup(server.Close)
			target := apitest.Target{BaseURL: server.URL, Seeder: apitest.Seeder{Accounts: d.Accounts, Directory: d.Directory}}
			of, n, seen := cases[name], 0, map[string]bool{}
			// prepare creates the data of a request, and returns the request's data.
			prepare := func(this string) string {
				if of.data == "" {
					account, data := apitest.Prepare(t, target, path)
					d.account = account
					return string(data)
				}
				d.account = "acme"
				fill := func(text string) string { return strings.ReplaceAll(text, "NAME", this) }
				if path, data, ok := strings.Cut(of.before, " "); ok {
					if status, body := d.call(path, "", "{}", fill(data), long); status != 200 {
						t.Fatalf("%s: %d %s", of.before, status, body)
					}
				}
				for _, id := range of.inbox {
					d.deliver(this, fill(id))
				}
				return fill(of.data)
			}
			// answered prepares and makes a request, killed after most requests to the table; 0
			// means never.
			answered := func(most int64) (killed bool, answer string, events []string) {
				n++
				this := fmt.Sprintf("%s-%02d", strings.NewReplacer("/", "-", " ", "-").Replace(name[1:]), n)
				data := prepare(this)
				d.events(this, seen) // of the preparation
				if most > 0 {
					killed = d.killed(most, path, this, data)
					d.later.Add(int64(time.Minute)) // after its lease
				}
				status, body := d.call(path, this, `{"allEvents":true}`, data, long)
				body = moment.ReplaceAllString(body, "NOW")
				// accounts have a maximum number
				d.call("/v2/webhooks/delete", "", "{}", `{"webhookId":"`+this+`"}`, long)
				about := this
				if of.data == "" {
					about = "" // the account is separate
				}
				return killed, strings.ReplaceAll(fmt.Sprint(status, " ", body), this, "NAME"), d.events(about, seen)
			}
			_, want, events := answered(0)
			if !strings.HasPrefix(want, "20") || of.data != "" && strings.Contains(want, `"success":false`) {
				t.Fatal(want)
			}
			for most, killed := int64(1), true; killed; most++ {
				var got string
				var recorded []string
				killed, got, recorded = answered(most)
				if diff := cmp.Diff(events, recorded); diff != "" {
					t.Errorf("killed after %d requests, the events are (- as of the first alone, + got):\n%s", most, diff)
				}
				if got != want && !(of.left && part.MatchString(got)) {
					t.Errorf("killed after %d requests, it then answers (- as the first, + got):\n%s", most, cmp.Diff(want, got))
				}
			}
		})
	}
}
