package app_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/app"
	"collabdata/shared/app/operate"
	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/accounts"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

// TestAuditFails checks that an act that cannot be recorded does not happen.
func TestAuditFails(t *testing.T) {
	var fails atomic.Bool
	s := apitest.Start(t, func(c *app.Config) {
		next := c.DynamoDB.HTTPClient
		c.DynamoDB.RetryMaxAttempts = 1
		c.DynamoDB.HTTPClient = storetest.Client(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			if fails.Load() && strings.Contains(string(body), "AUDIT#") {
				return nil, errors.New("the table is not reached")
			}
			return next.Do(r)
		})
	})
	const body = `{"data": {"webhookId": "%s", "url": "https://example.com/hook"}}`
	add := func(id string) int { return apitest.Post(s.Handler(), "/v2/webhooks/add", fmt.Sprintf(body, id)).Code }
	if code := add("first"); code != http.StatusOK {
		t.Fatalf("the first webhook answers %d", code)
	}
	fails.Store(true)
	if code := add("second"); code < 500 {
		t.Errorf("a webhook without a record answers %d", code)
	}
	fails.Store(false)
	answer := apitest.Post(s.Handler(), "/v2/webhooks/get", `{"data": {}}`).Body.String()
	if !strings.Contains(answer, `"first"`) || strings.Contains(answer, `"second"`) {
		t.Errorf("the webhooks are %s", answer)
	}
}

// TestAuditRecord checks the size, the expiry and the actor of records.
func TestAuditRecord(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	s := apitest.Start(t, func(c *app.Config) { c.AuditDays, c.Now = 10, func() time.Time { return now } })
	var users []string
	for i := range 100 {
		users = append(users, fmt.Sprintf(`{"userId": "%d%s"}`, i, strings.Repeat("u", 200)))
	}
	code := apitest.Post(s.Handler(), "/v2/users/add", `{"data": {"organizationId": "north", "createOrganization": true, "users": [`+strings.Join(users, ", ")+`]}}`).Code
	if code != http.StatusOK {
		t.Fatalf("users/add answers %d", code)
	}
	var acts []store.Item
	for _, it := range storetest.Scan(t, s.Accounts.Table) {
		if kind, _ := keys.KindOf(it.Key()); kind != nil && kind.Name == "act" {
			acts = append(acts, it)
		}
	}
	if len(acts) != 1 {
		t.Fatalf("there are %d acts", len(acts))
	}
	var expiry struct {
		At int64 `dynamodbav:"ttl"`
	}
	must.Do(t, acts[0].Decode(&expiry))
	if want := now.Add(10 * 24 * time.Hour).Unix(); expiry.At != want {
		t.Errorf("the act expires at %d, not %d", expiry.At, want)
	}
	list, _, err := s.Accounts.Acts(t.Context(), "acme", 0, collab.MaxMillis, accounts.ActPosition{}, 10)
	must.Do(t, err)
	a := list[0]
	size := 0
	for _, ids := range a.IDs {
		size += len(strings.Join(ids, ""))
	}
	if size > collab.MaxActIDs || size < collab.MaxActIDs/2 || a.Omitted != 100-len(a.IDs["userId"]) || a.By != collab.ByBackEnd || a.Actor != "key" {
		t.Errorf("the act has %d bytes of ids, omits %d, and is by %s %s", size, a.Omitted, a.By, a.Actor)
	}
}

// TestAuditAccounts checks that each writing operation of the operator names an account, or an API
// key, to which its record belongs.
func TestAuditAccounts(t *testing.T) {
	for _, e := range operate.Endpoints() {
		if e.Audience != rpc.Operator || !e.Writes() {
			continue
		}
		names := map[string]bool{}
		for _, f := range rpc.ShapeOf(e.Operation.Request).Object.Fields {
			names[f.Name] = f.Required
		}
		if !names["accountId"] && !names["apiKey"] {
			t.Errorf("%s requires neither accountId nor apiKey", e.Path)
		}
	}
}
