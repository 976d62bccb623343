package webhooks_test

import (
	"collabdata/shared/store/hooks"
	"collabdata/shared/store/task"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/api/webhooks"
	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/must"
)

func call(t *testing.T, s *app.Service, path, body string, data any) *httptest.ResponseRecorder {
	t.Helper()
	w := apitest.Post(s.Handler(), "/v2/webhooks/"+path, `{"data":{`+body+`}}`)
	var answer struct {
		Result struct{ Data json.RawMessage }
	}
	must.Do(t, json.Unmarshal(w.Body.Bytes(), &answer))
	if data != nil {
		must.Do(t, json.Unmarshal(answer.Result.Data, data))
	}
	return w
}

func mustAdd(t *testing.T, s *app.Service, id string) {
	t.Helper()
	if w := call(t, s, "add", fmt.Sprintf(`"webhookId":%q,"url":"https://example.com"`, id), nil); w.Code != http.StatusOK {
		t.Fatal(w.Body)
	}
}

var endpoints = int(collab.Settings{}.OrDefaults().WebhookEndpoints)

// TestAddAtOnce checks that concurrent adds do not exceed the account's quota.
func TestAddAtOnce(t *testing.T) {
	s := apitest.Start(t)
	mustAdd(t, s, "first")
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			w := collab.Webhook{ID: fmt.Sprint("h", i), URL: "https://example.com"}
			err := s.Hooks.AddWebhook(t.Context(), "acme", endpoints, w)
			if code := collab.CodeOf(err); err != nil && code != collab.FailedPrecondition && code != collab.Aborted {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all, err := s.Hooks.Webhooks(t.Context(), "acme")
	if err != nil || len(all) < 2 || len(all) > endpoints {
		t.Errorf("%d endpoints, %v", len(all), err)
	}
}

func TestAddTooMany(t *testing.T) {
	s := apitest.Start(t)
	for i := range endpoints {
		mustAdd(t, s, fmt.Sprintf("h%02d", i))
	}
	if w := call(t, s, "add", `"url":"https://example.com"`, nil); w.Code != 400 || !strings.Contains(w.Body.String(), "FAILED_PRECONDITION") {
		t.Errorf("one too many is answered with %d %s", w.Code, w.Body)
	}
	if w := call(t, s, "add", `"webhookId":"h07","url":"https://example.com"`, nil); !strings.Contains(w.Body.String(), "ALREADY_EXISTS") {
		t.Errorf("an existing one is answered with %d %s", w.Code, w.Body)
	}
}

// TestHealth checks the recorded failures and reason of an endpoint, and that an update resets
// them.
func TestHealth(t *testing.T) {
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	s := apitest.Start(t, func(c *app.Config) { c.Now = func() time.Time { return noon } })
	mustAdd(t, s, "hook")
	hook, err := s.Hooks.Webhook(t.Context(), "acme", "hook")
	must.Do(t, err)
	progress, err := hooks.ProgressOf(nil, hook)
	must.Do(t, err)
	for range collab.RestAfter {
		progress.Health.Fail(noon.UnixMilli())
	}
	_, err = s.Outbox.Write(t.Context(), s.Outbox.PutTask(&task.Task{TaskRef: hooks.EndpointTask("acme", "hook"), State: progress.Text()}))
	must.Do(t, err)
	ev := &collab.Event{ID: "e", Type: collab.WebhookDisabled, Account: "acme"}
	if disabled, err := s.Hooks.DisableWebhook(t.Context(), "acme", hook, "answered 410 Gone", ev); err != nil || !disabled {
		t.Fatal(disabled, err)
	}
	var got []webhooks.Webhook
	call(t, s, "get", "", &got)
	now := collab.Timestamp(noon.UnixMilli())
	want := webhooks.Webhook{
		WebhookID: "hook", URL: "https://example.com", Payload: collab.PayloadStandard, Disabled: true, DisabledReason: "answered 410 Gone",
		Failures: collab.RestAfter, FailingSince: now, Resting: true, Secrets: []webhooks.Secret{{CreatedAt: now}}, CreatedAt: now, LastUpdated: now,
	}
	if diff := cmp.Diff([]webhooks.Webhook{want}, got); diff != "" {
		t.Error(diff)
	}
	var updated webhooks.Webhook
	call(t, s, "update", `"webhookId":"hook","updatedData":{"disabled":false}`, &updated)
	want.Disabled, want.DisabledReason, want.Failures, want.FailingSince, want.Resting = false, "", 0, 0, false
	if diff := cmp.Diff(want, updated); diff != "" {
		t.Error(diff)
	}
}
