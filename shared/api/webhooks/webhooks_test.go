package webhooks_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"collabdata/localstack"
	"collabdata/shared/api/rpc"
	"collabdata/shared/api/webhooks"
	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/store/accounts"
	"collabdata/shared/store/hooks"
	"collabdata/shared/store/outbox"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/must"
	"collabdata/shared/webhook"
)

// fixture is the service on a table of its own.
type fixture struct {
	*webhooks.Service
	store  *hooks.Store
	server *rpc.Server
	now    time.Time
	secret int // of the secrets made
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{now: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)}
	now := func() time.Time { return f.now }
	table := store.New(localstacktest.Config(localstacktest.DynamoDB(t)), "webhooks-"+rand.Text(), now, rand.Reader)
	f.store = hooks.New(outbox.New(table))
	must.Do(t, localstack.CreateTable(t.Context(), localstacktest.Config(localstacktest.DynamoDB(t)), table.Name()))
	f.server = &rpc.Server{Now: now, Random: rand.Reader, Log: slog.New(slog.DiscardHandler), Idempotency: accounts.New(table)}
	f.Service = &webhooks.Service{Store: f.store, CheckURL: webhook.NewGuard(nil).CheckURL, NewSecret: func() (string, error) {
		f.secret++
		return fmt.Sprintf("whsec_%d", f.secret), nil
	}}
	return f
}

type answer[Data any] struct {
	code   int
	Result struct {
		Data          Data
		NextPageToken string
	}
	Error struct {
		Status  collab.Code
		Message string
	}
}

// post sends data to an operation. Into is what its answer is read into.
func post[Into, Req, Data any](t *testing.T, f *fixture, op rpc.Operation[Req, Data], data string, header ...string) answer[Into] {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/path", strings.NewReader(`{"data":{`+data+`}}`))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	ctx := collab.WithIdentity(t.Context(), collab.Identity{Account: "acct", APIKey: "key"})
	rpc.Handle(f.server, op, rpc.Options{Idempotent: true}).ServeHTTP(w, r.WithContext(ctx))
	a := answer[Into]{code: w.Code}
	must.Do(t, json.Unmarshal(w.Body.Bytes(), &a))
	return a
}

func (f *fixture) mustAdd(t *testing.T, id string) {
	t.Helper()
	a := post[webhooks.WebhookWithSecret](t, f, f.Add, fmt.Sprintf(`"webhookId":%q,"url":"https://example.com"`, id))
	if a.code != http.StatusOK {
		t.Fatal(a.Error.Message)
	}
}

// crash fails once after the endpoint was put.
type crash struct {
	webhooks.Store
	crashed bool
}

func (c *crash) AddWebhook(ctx context.Context, acct string, most int, w collab.Webhook) error {
	return c.after(c.Store.AddWebhook(ctx, acct, most, w))
}

func (c *crash) UpdateWebhook(ctx context.Context, acct, id string, change func(*collab.Webhook) error) (collab.Webhook, error) {
	w, err := c.Store.UpdateWebhook(ctx, acct, id, change)
	return w, c.after(err)
}

// after returns what becomes of a write that was done.
func (c *crash) after(err error) error {
	if err == nil && !c.crashed {
		c.crashed = true
		return errors.New("crash")
	}
	return err
}

// TestAddAgain holds that an add that is sent again under its key after a crash finishes the first attempt.
func TestAddAgain(t *testing.T) {
	for _, id := range []string{"", `"webhookId":"mine",`} {
		f := newFixture(t)
		f.Service.Store = &crash{Store: f.store}
		body := id + `"url":"https://example.com"`
		if a := post[webhooks.WebhookWithSecret](t, f, f.Add, body, "Idempotency-Key", "k"); a.code != http.StatusInternalServerError {
			t.Fatalf("the crash is answered with %d", a.code)
		}
		f.now = f.now.Add(time.Minute)
		second := post[webhooks.WebhookWithSecret](t, f, f.Add, body, "Idempotency-Key", "k")
		third := post[webhooks.WebhookWithSecret](t, f, f.Add, body, "Idempotency-Key", "k")
		if diff := cmp.Diff(second, third, cmp.AllowUnexported(answer[webhooks.WebhookWithSecret]{})); diff != "" {
			t.Errorf("the third answer differs:\n%s", diff)
		}
		all, err := f.store.Webhooks(t.Context(), "acct")
		if err != nil || len(all) != 1 || second.code != http.StatusOK {
			t.Fatalf("%d %s, %d endpoints, %v", second.code, second.Error.Message, len(all), err)
		}
		if got := second.Result.Data; got.WebhookID != all[0].ID || got.Secret != all[0].Secrets[0].Secret || got.Secret != "whsec_1" {
			t.Errorf("answered %+v, there is %+v", got, all[0])
		}
	}
}

// TestRotateAgain holds that a rotation under a key is made once, and shows its secret each time until that is gone.
func TestRotateAgain(t *testing.T) {
	f := newFixture(t)
	f.mustAdd(t, "hook")
	f.Service.Store = &crash{Store: f.store}
	rotate := func(key string) answer[webhooks.WebhookWithSecret] {
		return post[webhooks.WebhookWithSecret](t, f, f.RotateSecret, `"webhookId":"hook"`, "Idempotency-Key", key)
	}
	if a := rotate("k"); a.code != http.StatusInternalServerError {
		t.Fatalf("the crash is answered with %d", a.code)
	}
	for range 2 {
		f.now = f.now.Add(time.Minute)
		if a := rotate("k"); a.code != http.StatusOK || a.Result.Data.Secret != "whsec_2" || len(a.Result.Data.Secrets) != 2 {
			t.Errorf("again: %d %s, %+v", a.code, a.Error.Message, a.Result.Data)
		}
	}
	rotate("other")
	if a := rotate("k"); a.Result.Data.Secret != "whsec_2" || len(a.Result.Data.Secrets) != 3 {
		t.Errorf("after another rotation: %d %s, %+v", a.code, a.Error.Message, a.Result.Data)
	}
	post[webhooks.DeleteResult](t, f, f.Delete, `"webhookId":"hook"`)
	f.mustAdd(t, "hook")
	if a := rotate("k"); a.Error.Status != collab.NotFound {
		t.Errorf("of another endpoint: %d %s", a.code, a.Result.Data.Secret)
	}
}

// TestAddAtOnce: however many endpoints are added at one moment, the account has no more than its quota.
func TestAddAtOnce(t *testing.T) {
	f := newFixture(t)
	f.mustAdd(t, "first")
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			w := collab.Webhook{ID: fmt.Sprint("h", i), URL: "https://example.com"}
			err := f.store.AddWebhook(t.Context(), "acct", collab.WebhookEndpoints, w)
			if code := collab.CodeOf(err); err != nil && code != collab.FailedPrecondition && code != collab.Aborted {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all, err := f.store.Webhooks(t.Context(), "acct")
	if err != nil || len(all) < 2 || len(all) > collab.WebhookEndpoints {
		t.Errorf("%d endpoints, %v", len(all), err)
	}
}

func TestAddTooMany(t *testing.T) {
	f := newFixture(t)
	for i := range collab.WebhookEndpoints {
		f.mustAdd(t, fmt.Sprintf("h%02d", i))
	}
	a := post[webhooks.WebhookWithSecret](t, f, f.Add, `"url":"https://example.com"`)
	if a.code != http.StatusBadRequest || a.Error.Status != collab.FailedPrecondition {
		t.Errorf("one too many is answered with %d %s", a.code, a.Error.Message)
	}
	f.now = f.now.Add(time.Millisecond)
	a = post[webhooks.WebhookWithSecret](t, f, f.Add, `"webhookId":"h07","url":"https://example.com"`)
	if a.Error.Status != collab.AlreadyExists {
		t.Errorf("one that is there is answered with %d %s", a.code, a.Error.Message)
	}
}

// TestHealth holds that it can be seen how an endpoint fails and why it was disabled, and that an update lets it begin afresh.
func TestHealth(t *testing.T) {
	f := newFixture(t)
	f.mustAdd(t, "hook")
	lane, err := f.store.ClaimLane(t.Context(), collab.LaneRef{Account: "acct", WebhookID: "hook"}, "")
	must.Do(t, err)
	for range collab.RestAfter {
		lane.Health.Fail(f.now.UnixMilli())
	}
	if _, ok, err := f.store.ReleaseLane(t.Context(), *lane, false); !ok || err != nil {
		t.Fatal(ok, err)
	}
	hook, err := f.store.Webhook(t.Context(), "acct", "hook")
	must.Do(t, err)
	ev := &collab.Event{ID: "e", Type: collab.WebhookDisabled, Account: "acct"}
	if disabled, err := f.store.DisableWebhook(t.Context(), "acct", hook, "answered 410 Gone", ev); err != nil || !disabled {
		t.Fatal(disabled, err)
	}
	got := post[[]webhooks.Webhook](t, f, f.Get, "").Result.Data
	now := collab.Timestamp(f.now.UnixMilli())
	want := webhooks.Webhook{
		WebhookID: "hook", URL: "https://example.com", Payload: collab.PayloadStandard, Disabled: true, DisabledReason: "answered 410 Gone", Failures: collab.RestAfter,
		FailingSince: now, Resting: true, Secrets: []webhooks.Secret{{CreatedAt: now}}, CreatedAt: now, LastUpdated: now,
	}
	if diff := cmp.Diff([]webhooks.Webhook{want}, got); diff != "" {
		t.Error(diff)
	}
	updated := post[webhooks.Webhook](t, f, f.Update, `"webhookId":"hook","updatedData":{"disabled":false}`).Result.Data
	want.Disabled, want.DisabledReason, want.Failures, want.FailingSince, want.Resting = false, "", 0, 0, false
	if diff := cmp.Diff(want, updated); diff != "" {
		t.Error(diff)
	}
}

// endpoint names the endpoint hook.
func (f *fixture) endpoint(t *testing.T) collab.EndpointRef {
	t.Helper()
	w, err := f.store.Webhook(t.Context(), "acct", "hook")
	must.Do(t, err)
	return collab.EndpointRef{LaneRef: collab.LaneRef{Account: "acct", WebhookID: "hook"}, CreatedAt: w.CreatedAt}
}

// deliveries adds deliveries of n events, a minute apart, with the states in turn.
func (f *fixture) deliveries(t *testing.T, n int, states ...collab.DeliveryState) (events []string) {
	t.Helper()
	defer func(now time.Time) { f.now = now }(f.now)
	start := f.now
	for i := range n {
		at := start.Add(time.Duration(i) * time.Minute)
		f.now = at
		ids := collab.NewIDs(at, []byte(fmt.Sprintf("seed of event %04d", i)))
		d := collab.Delivery{
			WebhookID: "hook", EventID: ids.Next(), Type: collab.CommentAdded, State: states[i%len(states)], Tries: 8,
			NextAttempt: at.Add(time.Hour).UnixMilli(), CreatedAt: at.UnixMilli(),
			Attempts: []collab.DeliveryAttempt{
				{At: at.UnixMilli(), Status: 503, Reason: "answered 503 Service Unavailable", Duration: 12, Answer: "not now"},
				{At: at.UnixMilli() + 5_000, Duration: 30},
			},
		}
		if i%2 == 1 {
			d.Type = collab.CommentUpdated
		}
		must.Do(t, f.store.SaveDelivery(t.Context(), f.endpoint(t), collab.Delivery{}, d))
		events = append(events, d.EventID)
	}
	return events
}

func TestGetDeliveries(t *testing.T) {
	f := newFixture(t)
	f.mustAdd(t, "hook")
	f.mustAdd(t, "other")
	events := f.deliveries(t, 7, collab.DeliveryPending, collab.DeliveryDelivered, collab.DeliveryExhausted)

	newest := post[[]webhooks.Delivery](t, f, f.GetDeliveries, `"webhookId":"hook","pageSize":1`).Result.Data
	first := at("2026-03-04T12:06:00.000Z")
	want := webhooks.Delivery{
		WebhookID: "hook", EventID: events[6], EventType: collab.CommentAdded, State: collab.DeliveryPending,
		NextAttempt: at("2026-03-04T13:06:00.000Z"), CreatedAt: first, LastUpdated: first,
		Attempts: []webhooks.Attempt{
			{At: first, Status: 503, Reason: "answered 503 Service Unavailable", DurationMS: 12, Answer: "not now"},
			{At: at("2026-03-04T12:06:05.000Z"), DurationMS: 30},
		},
	}
	if diff := cmp.Diff([]webhooks.Delivery{want}, newest); diff != "" {
		t.Error(diff)
	}

	minute := func(i int) int64 { return f.now.Add(time.Duration(i) * time.Minute).UnixMilli() }
	for _, test := range []struct {
		name, query string
		want        []int // events
	}{
		{"all", ``, []int{6, 5, 4, 3, 2, 1, 0}},
		{"state", `"state":"exhausted",`, []int{5, 2}},
		{"type", `"eventType":"comment.updated",`, []int{5, 3, 1}},
		{"state and type", `"state":"pending","eventType":"comment.updated",`, []int{3}},
		{"after", fmt.Sprintf(`"createdAfter":%d,`, minute(5)), []int{6, 5}},
		{"before", fmt.Sprintf(`"createdBefore":%d,`, minute(1)), []int{1, 0}},
		{"window", fmt.Sprintf(`"createdAfter":%d,"createdBefore":%d,`, minute(2), minute(4)-1), []int{3, 2}},
		{"nothing is before all times", `"createdBefore":0,`, nil},
		{"another endpoint", `"webhookId":"other",`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !strings.Contains(test.query, "webhookId") {
				test.query += `"webhookId":"hook",`
			}
			for _, size := range []int{1, 2, 1000} {
				var got []int
				for token := ""; ; {
					a := post[[]webhooks.Delivery](t, f, f.GetDeliveries, fmt.Sprintf(`%s"pageSize":%d,"pageToken":%q`, test.query, size, token))
					if a.code != http.StatusOK || len(a.Result.Data) > size {
						t.Fatalf("%d %s, %d of %d", a.code, a.Error.Message, len(a.Result.Data), size)
					}
					for _, d := range a.Result.Data {
						for i, id := range events {
							if id == d.EventID {
								got = append(got, i)
							}
						}
					}
					if token = a.Result.NextPageToken; token == "" {
						break
					}
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("pages of %d:\n%s", size, diff)
				}
			}
		})
	}
}

// states returns what has become of the deliveries of events, by the first letters of their states.
func (f *fixture) states(t *testing.T, events []string) string {
	t.Helper()
	text := ""
	for _, id := range events {
		d, err := f.store.Delivery(t.Context(), f.endpoint(t), id)
		must.Do(t, err)
		if again := d.State == collab.DeliveryPending && d.Tries == 0; again != (d.NextAttempt == f.now.UnixMilli()) {
			t.Errorf("%+v is not as it waits", d)
		}
		text += string(d.State[0])
		if len(d.Attempts) != 2 {
			t.Errorf("the attempts of %s were forgotten", id)
		}
	}
	return text
}

func TestReplayDeliveries(t *testing.T) {
	f := newFixture(t)
	f.mustAdd(t, "hook")
	events := f.deliveries(t, 8, collab.DeliveryDelivered, collab.DeliveryExhausted, collab.DeliveryCanceled)
	f.now = f.now.Add(24 * time.Hour)
	since := func(i int) int64 { return f.now.Add(-24 * time.Hour).Add(time.Duration(i) * time.Minute).UnixMilli() }
	for _, step := range []struct {
		name, query string
		replayed    int
		want        string
	}{
		{"nothing is so new", fmt.Sprintf(`"since":%d`, since(8)), 0, "decdecde"},
		{"one", fmt.Sprintf(`"eventId":%q`, events[0]), 1, "pecdecde"},
		{"those since a time", fmt.Sprintf(`"since":%d`, since(3)), 5, "pecppppp"},
	} {
		replayed := 0
		for token := ""; ; {
			query := `"webhookId":"hook",` + step.query
			if strings.Contains(query, "since") {
				query += fmt.Sprintf(`,"pageSize":2,"pageToken":%q`, token)
			}
			a := post[webhooks.ReplayDeliveriesResult](t, f, f.ReplayDeliveries, query)
			if a.code != http.StatusOK {
				t.Fatalf("%s: %d %s", step.name, a.code, a.Error.Message)
			}
			replayed += a.Result.Data.Replayed
			if token = a.Result.NextPageToken; token == "" {
				break
			}
		}
		if got := f.states(t, events); got != step.want || replayed != step.replayed {
			t.Errorf("%s: replayed %d, want %d; the states are %s, want %s", step.name, replayed, step.replayed, got, step.want)
		}
	}
}

// at returns the time of a text.
func at(text string) (t collab.Timestamp) {
	if err := t.UnmarshalText([]byte(text)); err != nil {
		panic(err)
	}
	return t
}
