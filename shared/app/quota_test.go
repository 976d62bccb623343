package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/must"

	"github.com/google/go-cmp/cmp"
)

// limited returns a service with its own clock and with settings of the account acme.
func limited(t *testing.T, settings collab.Settings, now func() time.Time, log *bytes.Buffer) *app.Service {
	t.Helper()
	s := apitest.Start(t, func(c *app.Config) {
		c.Now, c.Log = now, slog.New(slog.NewJSONHandler(log, nil))
	})
	if _, err := s.Accounts.ChangeAccount(t.Context(), "acme", func(a *collab.Account) error {
		a.Settings = settings
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return s
}

// seconds returns the Retry-After of a quota refusal. The test fails if the response is another
// one.
func seconds(t *testing.T, what string, w *httptest.ResponseRecorder) time.Duration {
	t.Helper()
	n, err := strconv.Atoi(w.Header().Get("Retry-After"))
	if w.Code != http.StatusTooManyRequests || err != nil || n < 1 || !strings.Contains(w.Body.String(), `"RESOURCE_EXHAUSTED"`) {
		t.Fatalf("%s: %d, Retry-After %q, %s", what, w.Code, w.Header().Get("Retry-After"), w.Body)
	}
	return time.Duration(n) * time.Second
}

func mustPost(t *testing.T, what string, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", what, w.Code, w.Body)
	}
}

// TestLargeUpdate checks that a short request that updates many annotations delays the account's
// next write, in this process and others, but not its reads and other accounts.
func TestLargeUpdate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	s := limited(t, collab.Settings{WriteUnitsPerSecond: 20, EventsPerMinute: 30}, clock, new(bytes.Buffer))
	token := collab.Token{Hash: collab.HashToken("token")}
	must.Do(t, s.Accounts.EnsureAccount(t.Context(), collab.Account{ID: "other"}, "other", []collab.Token{token}))
	const annotations = 100
	var list []string
	for i := range annotations {
		list = append(list, fmt.Sprintf(`{"annotationId": "a%03d"}`, i))
	}
	const in = `{"data": {"organizationId": "acme", "createOrganization": true, "documentId": "plan", "createDocument": true, `
	mustPost(t, "import", apitest.Post(s.Handler(), "/v2/commentannotations/add", in+`"commentAnnotations": [`+strings.Join(list, ",")+`]}}`))
	now = now.Add(time.Hour)

	const update = "/v2/commentannotations/update"
	const all = `{"data": {"organizationId": "acme", "documentId": "plan", "updatedData": {"status": {"id": "RESOLVED"}}, "triggerNotification": true}}`
	const quiet = `{"data": {"organizationId": "acme", "documentId": "plan", "annotationIds": ["a001"], "updatedData": {"context": {"k": 1}}}}`
	mustPost(t, "update of all", apitest.Post(s.Handler(), update, all))
	wait := seconds(t, "the next update", apitest.Post(s.Handler(), update, quiet))
	if wait < 10*time.Second || wait > 10*time.Minute {
		t.Errorf("it waits %v", wait)
	}
	seconds(t, "another process", apitest.Post(app.New(s.Config()).Handler(), update, quiet))
	mustPost(t, "read", apitest.Post(s.Handler(), "/v2/commentannotations/get", `{"data": {"organizationId": "acme"}}`))
	r := httptest.NewRequest(http.MethodPost, "/v2/commentannotations/add", strings.NewReader(in+`"commentAnnotations": [{}]}}`))
	r.Header = http.Header{"Content-Type": {"application/json"}, "X-Service-Api-Key": {"other"}, "X-Service-Auth-Token": {"token"}}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	mustPost(t, "another account", w)

	now = now.Add(wait)
	mustPost(t, "when the debt is paid", apitest.Post(s.Handler(), update, quiet))
	now = now.Add(10 * time.Second)
	wait = seconds(t, "events", apitest.Post(s.Handler(), update, all))
	mustPost(t, "what raises no event", apitest.Post(app.New(s.Config()).Handler(), update, quiet))
	now = now.Add(wait)
	mustPost(
		t, "when the events are paid",
		apitest.Post(app.New(s.Config()).Handler(), update, strings.Replace(all, `"updatedData"`, `"annotationIds": ["a001"], "updatedData"`, 1)),
	)
}

// TestSmallRequests checks that small requests make no calls for the quota, except the first of a
// process in a minute.
func TestSmallRequests(t *testing.T) {
	t.Parallel()
	count := func(limit int64) (calls []float64) {
		now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
		var log bytes.Buffer
		s := limited(t, collab.Settings{
			WriteUnitsPerSecond: limit, ReadUnitsPerSecond: limit, EventsPerMinute: limit, MailsPerDay: limit,
		}, func() time.Time { return now }, &log)
		for range 3 {
			mustPost(t, "add", apitest.Post(s.Handler(), "/v2/commentannotations/add", triggering))
			now = now.Add(10 * time.Second)
		}
		for line := range strings.Lines(log.String()) {
			var record map[string]any
			must.Do(t, json.Unmarshal([]byte(line), &record))
			if n, ok := record["calls"].(float64); ok {
				calls = append(calls, n)
			}
		}
		return calls
	}
	without, with := count(collab.Unlimited), count(1_000_000)
	without[0]++
	if diff := cmp.Diff(without, with); diff != "" || len(with) != 3 {
		t.Error(diff)
	}
}

// TestRefusedWritesCount checks that adds of existing things use the quota like successful adds.
func TestRefusedWritesCount(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	s := limited(t, collab.Settings{WriteUnitsPerSecond: 1000}, func() time.Time { return now }, new(bytes.Buffer))
	comment := `{"commentText":"` + strings.Repeat("x", 25_000) + `","from":{"userId":"u"}}`
	body := `{"data":{"organizationId":"o","createOrganization":true,"documentId":"d","createDocument":true,"commentAnnotations":[{"annotationId":"a",
		"commentData":[` + strings.Join(
		slices.Repeat([]string{comment}, 80),
		",",
	) + `]}]}}`
	mustPost(t, "the first", apitest.Post(s.Handler(), "/v2/commentannotations/add", body))
	now = now.Add(time.Hour)
	for n := range 10 {
		w := apitest.Post(s.Handler(), "/v2/commentannotations/add", body)
		if w.Code == http.StatusTooManyRequests && n > 1 {
			return
		}
		if !strings.Contains(w.Body.String(), "ALREADY_EXISTS") {
			t.Fatalf("add %d: %d %s", n, w.Code, w.Body)
		}
	}
	t.Error("ten adds of 4,000 write units were refused, and the account may go on")
}

// TestReadsHaveAQuota checks that an account with many reads must wait, but no longer than
// necessary.
func TestReadsHaveAQuota(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	s := limited(t, collab.Settings{ReadUnitsPerSecond: 1}, func() time.Time { return now }, new(bytes.Buffer))
	mustPost(t, "add", apitest.Post(s.Handler(), "/v2/commentannotations/add", triggering))
	get := func() *httptest.ResponseRecorder {
		return apitest.Post(s.Handler(), "/v2/commentannotations/get", `{"data": {"organizationId": "acme", "documentId": "plan"}}`)
	}
	for n := 0; ; n++ {
		w := get()
		if w.Code == http.StatusOK && n < 100 {
			continue
		}
		wait := seconds(t, "a read", w)
		now = now.Add(wait)
		mustPost(t, "after the wait", get())
		return
	}
}
