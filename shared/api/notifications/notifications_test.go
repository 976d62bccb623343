package notifications_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/access"
	"collabdata/shared/api/notifications"
	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/store/accounts"
	"collabdata/shared/store/deletion"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/threads"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
	"collabdata/shared/webhook"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// fixture is the service on a table of its own, with the document doc of the organization org.
type fixture struct {
	notifications.Service
	accounts  *accounts.Store
	directory *directory.Store
	outbox    *outbox.Store
	inbox     *inbox.Store
	threads   *threads.Store
	server    *rpc.Server
	sent      []collab.EventRef
}

// send remembers what goes to the queue.
func (f *fixture) send(_ context.Context, events ...collab.EventRef) {
	f.sent = append(f.sent, events...)
}

var org = collab.OrganizationRef{Account: "acct", Organization: "org"}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	table := storetest.New(t)
	d := directory.New(table)
	o := outbox.New(table)
	in := inbox.New(o, d)
	must.Do(t, storetest.AddDocuments(t.Context(), d, org, "doc"))
	a := accounts.New(table)
	must.Do(t, a.AddAccount(t.Context(), collab.Account{ID: "acct"}))
	f := &fixture{accounts: a, directory: d, outbox: o, inbox: in, threads: threads.New(d, o), server: &rpc.Server{
		Now: func() time.Time { return noon }, Random: rand.Reader, Log: slog.New(slog.DiscardHandler), Idempotency: a,
	}}
	f.server.Send = f.send
	f.Service = notifications.Service{
		Accounts: a, Directory: d, Inbox: in, Deletion: deletion.New(f.threads, in), Threads: f.threads,
		Access: access.New(d, a, webhook.NewGuard(nil), webhook.ClientOptions{}, f.server.Now, f.server.Log),
	}
	return f
}

type answer struct {
	code   int
	Result struct{ Data collab.JSON }
	Error  struct {
		Status  collab.Code
		Message string
		Details []collab.FieldError
	}
}

// post sends data, less organization and document, to an operation.
func post[Req, Data any](t *testing.T, f *fixture, op rpc.Operation[Req, Data], data string, header ...string) answer {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/path", strings.NewReader(`{"data":{"organizationId":"org",`+data+`}}`))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	ctx := collab.WithIdentity(t.Context(), collab.Identity{Account: "acct", APIKey: "key"})
	rpc.Handle(f.server, op, rpc.Options{Idempotent: true}).ServeHTTP(w, r.WithContext(ctx))
	a := answer{code: w.Code}
	must.Do(t, json.Unmarshal(w.Body.Bytes(), &a))
	return a
}

// TestAddRecords checks what the outbox and the table hold of an add.
func TestAddRecords(t *testing.T) {
	f := newFixture(t)
	actor := collab.User{UserID: "u1", Name: new("Una")}
	const common = `"documentId":"doc","actionUser":{"userId":"u1","name":"Una"},"displayHeadlineMessageTemplate":"{actionUser}: {x} {who}"`
	plain := collab.Notification{
		DocumentID: "doc", ActionUser: actor, Headline: "{actionUser}: {x} {who}", CreatedAt: noon.UnixMilli(),
	}
	full := plain
	full.ID = "n-1"
	full.TemplateData = map[string]collab.JSON{"x": collab.JSON(`1.50`), "who": collab.JSON(`{"userId":"u3"}`), "": collab.JSON(`"a <b>"`)}
	full.Body = "more"
	full.SourceData = collab.JSON(`{"b":1.0,"a":[1e3,"<"]}`)
	event := collab.Event{
		Type: collab.NotificationAdded, Account: "acct", OrganizationID: "org", DocumentID: "doc", Time: noon.UnixMilli(),
		Actor: &actor, Notify: true,
	}
	all, some := event, event
	all.NotifyAll = true
	named := []collab.User{{UserID: "u2", Name: new("Duo")}, {UserID: "u3"}}
	verified := some
	verified.VerifyAccess = true
	const users = `,"notifyAll":false,"notifyUsers":[{"userId":"u2","name":"Duo"},{"userId":"u3"},{"userId":"u2","name":"Other"}]`
	const rest = `,"notificationId":"n-1","displayBodyMessage":"more","notificationSourceData":{"b": 1.0,"a":[1e3,"<"]},` +
		`"displayHeadlineMessageTemplateData":{"x":1.50,"who":{"userId":"u3"},"":"a <b>","absent":null}`
	v2 := func(data string) answer { return post(t, f, f.Add, data) }
	v1 := func(data string) answer { return post(t, f, f.AddV1, data) }
	tests := []struct {
		name         string
		post         func(string) answer
		data         string
		event        collab.Event
		notification collab.Notification
	}{
		{"to all", v2, common, all, plain},
		{"to all, users named", v2, common + `,"notifyUsers":[{"userId":"u2"}]`, all, plain},
		{"to some", v2, common + users, some, plain},
		{"to some who may", v2, common + users + `,"verifyUserPermissions":true`, verified, plain},
		{"v1", v1, common + users, some, plain},
		{"everything", v2, common + users + rest, some, full},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f.sent = nil
			a := test.post(test.data)
			if len(f.sent) != 1 {
				t.Fatalf("%d %s: sent %v", a.code, a.Error.Message, f.sent)
			}
			ev, err := f.outbox.Event(t.Context(), f.sent[0].Account, f.sent[0].ID)
			must.Do(t, err)
			stored, err := f.inbox.Notification(t.Context(), org, ev.NotificationID)
			must.Do(t, err)
			want := `{"success":true,"notificationId":"` + stored.ID + `","message":"the notification was added"}`
			if a.code != http.StatusOK || string(a.Result.Data) != want {
				t.Errorf("%d %s", a.code, a.Result.Data)
			}
			if test.notification.ID == "" {
				test.notification.ID = stored.ID
				if len(stored.ID) != 26 || collab.CheckNotificationID(stored.ID) != nil {
					t.Errorf("generated id %q", stored.ID)
				}
			}
			test.event.ID, test.event.NotificationID = f.sent[0].ID, stored.ID
			asJSON := cmp.Transformer("JSON", func(j collab.JSON) (v any) {
				dec := json.NewDecoder(strings.NewReader(string(j)))
				dec.UseNumber()
				if j != nil && dec.Decode(&v) != nil {
					v = string(j)
				}
				return v
			})
			if diff := cmp.Diff(&test.event, ev, asJSON); diff != "" {
				t.Errorf("event: %s", diff)
			}
			if diff := cmp.Diff(test.notification, stored, asJSON); diff != "" {
				t.Errorf("notification: %s", diff)
			}
			users, err := f.inbox.Recipients(t.Context(), ev)
			if want := named[:len(named)*map[bool]int{false: 1}[ev.NotifyAll]]; len(users) != len(want) || err != nil || len(users) > 0 && !cmp.Equal(want, users) {
				t.Errorf("recipients %v, %v", users, err)
			}
		})
	}

	t.Run("twice", func(t *testing.T) {
		f.sent = nil
		a := post(t, f, f.AddV1, `"documentId":"doc","actionUser":{"userId":"x"},"displayHeadlineMessageTemplate":"other","notificationId":"n-1"`)
		if a.code != http.StatusOK || f.sent != nil {
			t.Errorf("%d %s, sent %v", a.code, a.Error.Message, f.sent)
		}
		stored, err := f.inbox.Notification(t.Context(), org, "n-1")
		if err != nil || stored.Headline != full.Headline {
			t.Errorf("%+v %v", stored, err)
		}
	})
	t.Run("under a key", func(t *testing.T) {
		f.sent = nil
		for range 2 {
			if a := post(t, f, f.Add, common, "Idempotency-Key", "k"); a.code != http.StatusOK {
				t.Fatalf("%d %s", a.code, a.Error.Message)
			}
		}
		if len(f.sent) != 1 {
			t.Errorf("sent %v", f.sent)
		}
		a := post(t, f, f.Add, common+` `, "Idempotency-Key", "k")
		if a.code != http.StatusBadRequest || a.Error.Status != collab.InvalidArgument {
			t.Errorf("another body: %d %s", a.code, a.Error.Message)
		}
	})
}

func TestAddSizes(t *testing.T) {
	f := newFixture(t)
	text := func(n int) string { return strings.Repeat("x", n) }
	people := func(n, size int) string {
		users := make([]string, n)
		for i := range users {
			users[i] = `{"userId":"` + text(
				200,
			) + string(
				rune('a'+i/26/26),
			) + string(
				rune('a'+i/26%26),
			) + string(
				rune('a'+i%26),
			) + `","name":"` + text(
				size,
			) + `"}`
		}
		return `[` + strings.Join(users, ",") + `]`
	}
	request := func(actor, headline, more string) string {
		return `"documentId":"doc","actionUser":` + actor + `,"displayHeadlineMessageTemplate":"` + headline + `"` + more
	}
	const actor = `{"userId":"u"}`
	for _, test := range []struct {
		name, data string
		want       string // part of the message; "" for success
	}{
		{"headline", request(actor, text(349_000), ""), ""},
		{"headline too large", request(actor, text(351_000), ""), "data is too large: "},
		{"all together too large", request(actor, text(120_000), `,"displayBodyMessage":"`+text(120_000)+`","notificationSourceData":{"a":"`+text(120_000)+`"}`), "data is too large: "},
		{"names", request(`{"userId":"u","name":"`+text(500)+`","email":"`+text(500)+`"}`, "x", ""), ""},
		{"names too large", request(`{"userId":"u","name":"`+text(501)+`","email":"`+text(500)+`"}`, "x", ""), "data.actionUser must have a name and email of at most 1000 bytes together"},
		{"1,000 users", request(actor, "x", `,"notifyAll":false,"notifyUsers":`+people(1_000, 1_000)), ""},
		{"1,001 users", request(actor, "x", `,"notifyAll":false,"notifyUsers":`+people(1_001, 10)), "data.notifyUsers must have at most 1000 items, not 1001"},
		{"a name too large", request(actor, "x", `,"notifyUsers":`+people(2, 1_001)), "data.notifyUsers[0] must have a name and email of at most 1000 bytes together (and 1 other mistake)"},
		{"a long name of a value", request(actor, "x", `,"displayHeadlineMessageTemplateData":{"`+text(1_000)+`":[]}`), "data.displayHeadlineMessageTemplateData." + text(100) + "… must be a string"},
		{"a name of two words", request(actor, "x", `,"displayHeadlineMessageTemplateData":{"a b":[]}`), `data.displayHeadlineMessageTemplateData["a b"] must be a string`},
	} {
		t.Run(test.name, func(t *testing.T) {
			f.sent = nil
			a := post(t, f, f.Add, test.data)
			switch {
			case test.want == "" && (a.code != http.StatusOK || len(f.sent) != 1):
				t.Errorf("%d %s, sent %v", a.code, a.Error.Message, f.sent)
			case test.want != "" && (a.code != http.StatusBadRequest || !strings.Contains(a.Error.Message, test.want) || len(a.Error.Message) > 300 || f.sent != nil):
				t.Errorf("%d %.300s, sent %v", a.code, a.Error.Message, f.sent)
			}
		})
	}
}
