package notifications_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/store/task"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

var org = collab.OrganizationRef{Account: "acme", Organization: "org"}

// fixture is a service at noon, with document doc of organization org.
type fixture struct {
	*app.Service
	log *bytes.Buffer
}

func newFixture(t *testing.T, change ...func(*app.Config)) *fixture {
	t.Helper()
	f := &fixture{log: &bytes.Buffer{}}
	f.Service = apitest.Start(t, append(change, func(c *app.Config) {
		c.Now, c.Log = func() time.Time { return noon }, slog.New(slog.NewJSONHandler(f.log, nil))
	})...)
	must.Do(t, storetest.AddDocuments(t.Context(), f.Directory, org, "doc"))
	return f
}

// post sends data, without the organization, to an operation.
func (f *fixture) post(path, data string) *httptest.ResponseRecorder {
	return apitest.Post(f.Handler(), "/v2/notifications/"+path, `{"data":{"organizationId":"org",`+data+`}}`)
}

// TestAddEvent checks the recipients of an add, and the check of their access.
func TestAddEvent(t *testing.T) {
	f := newFixture(t)
	const users = `"notifyUsers":[{"userId":"u2","name":"Duo"},{"userId":"u3"},{"userId":"u2","name":"Other"}]`
	for data, want := range map[string]struct {
		all, verify bool
		names       string
	}{
		`"notifyAll":true`:           {true, false, ""},
		users:                        {true, false, ""},
		`"notifyAll":false,` + users: {false, false, "Duo u3"},
		`"verifyUserPermissions":true,"notifyAll":false,` + users: {false, true, "Duo u3"},
	} {
		before := storetest.Waiting(t, f.Outbox.Waiting)
		w := f.post("add", `"documentId":"doc","actionUser":{"userId":"u1","name":"Una"},"displayHeadlineMessageTemplate":"x",
			"notificationSourceData":{"b": 1.0},`+data)
		for _, work := range storetest.Waiting(t, f.Outbox.Waiting) {
			if slices.ContainsFunc(before, func(b *task.Task) bool { return b.ID == work.ID }) {
				continue
			}
			ev, err := f.Outbox.Event(t.Context(), "acme", work.ID)
			must.Do(t, err)
			recipients, err := f.Inbox.Recipients(t.Context(), ev)
			must.Do(t, err)
			stored, err := f.Inbox.Notification(t.Context(), org, ev.NotificationID)
			names := strings.Join(collab.Map(recipients, collab.User.DisplayName), " ")
			if err != nil || ev.NotifyAll != want.all || ev.VerifyAccess != want.verify || names != want.names || ev.Actor.DisplayName() != "Una" ||
				string(stored.SourceData) != `{"b":1.0}` {
				t.Errorf("%s: %+v to %q, %v", data, ev, names, err)
			}
			w.Code = 0 // seen
		}
		if w.Code != 0 {
			t.Errorf("%s: no event, %s", data, w.Body)
		}
	}
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
		want       string // part of the message; "" means success
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
			before := len(storetest.Waiting(t, f.Outbox.Waiting))
			w := f.post("add", test.data)
			events := len(storetest.Waiting(t, f.Outbox.Waiting)) - before
			var a struct{ Error struct{ Message string } }
			must.Do(t, json.Unmarshal(w.Body.Bytes(), &a))
			switch {
			case test.want == "" && (w.Code != http.StatusOK || events != 1):
				t.Errorf("%d %s, %d events", w.Code, a.Error.Message, events)
			case test.want != "" && (w.Code != http.StatusBadRequest || !strings.Contains(a.Error.Message, test.want) || len(a.Error.Message) > 300 || events != 0):
				t.Errorf("%d %.300s, %d events", w.Code, a.Error.Message, events)
			}
		})
	}
}
