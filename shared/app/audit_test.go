package app_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
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
	"collabdata/shared/credentials"
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

// TestAuditOfOperators checks that each changing operation of operators, and of a back end, writes
// one record, with its caller and without texts; and that a request with a mistake writes none.
// Records expire after 400 days by default, and outlive their account.
func TestAuditOfOperators(t *testing.T) {
	const caller, text = "arn:aws:sts::123456789012:assumed-role/operators/ann", "Never in a record"
	now := time.Now().Truncate(time.Second)
	start := now
	s := apitest.Start(t, func(c *app.Config) { c.Now = func() time.Time { return now } })
	o := operate.New(operate.Config{
		App: s.Config(), CheckURL: s.Guard.CheckURL, Identity: func(context.Context) (string, error) { return caller, nil },
	})
	acts := func(account string) []collab.Act {
		t.Helper()
		now = now.Add(time.Millisecond) // orders the next act
		list, _, err := s.Accounts.Acts(t.Context(), account, 0, collab.MaxMillis, accounts.ActPosition{}, 1_000)
		must.Do(t, err)
		return list
	}
	called := map[string]bool{}
	call := func(account, path string, data map[string]any) map[string]any {
		t.Helper()
		called[path] = true
		before := len(acts(account))
		result, err := o.Call(t.Context(), account, path, data)
		must.Do(t, err)
		list := acts(account)
		if len(list) != before+1 {
			t.Fatalf("%s adds %d records", path, len(list)-before)
		}
		if a := list[0]; a.By != collab.ByOperator || a.Actor != caller || a.Operation != path || a.Error != "" {
			t.Errorf("the record of %s is %+v", path, a)
		}
		var values map[string]any
		_ = json.Unmarshal(result.Data, &values) // none of a list
		return values
	}
	call("north", "/operator/accounts/add", map[string]any{"accountId": "north", "name": text})
	call("north", "/operator/accounts/update", map[string]any{"accountId": "north", "name": text})
	call("north", "/operator/settings/update", map[string]any{"accountId": "north", "mailFromName": text})
	added := call("north", "/operator/keys/add", map[string]any{"accountId": "north"})
	key, token := added["apiKey"].(string), added["token"].(string)
	call("north", "/operator/tokens/rotate", map[string]any{"apiKey": key})
	second := call("north", "/operator/tokens/add", map[string]any{"apiKey": key})["token"].(string)
	call("north", "/operator/tokens/delete", map[string]any{"apiKey": key, "hash": fmt.Sprintf("%x", sha256.Sum256([]byte(second)))})
	call("north", "/operator/signing/rotate", map[string]any{"accountId": "north"})
	call("north", "/v2/organizations/add", map[string]any{"organizations": []any{map[string]any{"organizationId": "o", "organizationName": text}}})
	call("north", "/v2/organizations/folders/add", map[string]any{"organizationId": "o", "folders": []any{
		map[string]any{"folderId": "open"}, map[string]any{"folderId": "closed"},
	}})

	before := len(acts("north"))
	answer := apitest.Post(s.Handler(), "/v2/organizations/folders/update",
		`{"data": {"organizationId": "o", "folders": [{"folderId": "open", "parentFolderId": "closed", "folderName": "`+text+`"}]}}`,
		credentials.KeyHeader, key, credentials.TokenHeader, token)
	if list := acts("north"); answer.Code != http.StatusOK || len(list) != before+1 || list[0].By != collab.ByBackEnd || list[0].Actor != key {
		t.Errorf("folders/update answers %d, and its record is %+v", answer.Code, list[0])
	}
	call("north", "/operator/keys/delete", map[string]any{"apiKey": key})
	before = len(acts("north"))
	for path, data := range map[string]map[string]any{
		"/operator/settings/update": {"accountId": "north", "mailDelaySeconds": -1},
		"/operator/tokens/delete":   {"apiKey": key, "hash": token},
		"/v2/users/add":             {"organizationId": "o", "users": text},
	} {
		if _, err := o.Call(t.Context(), "north", path, data); err == nil {
			t.Errorf("%s accepts %v", path, data)
		}
	}
	if _, err := o.Call(t.Context(), "north", "/operator/keys/get", map[string]any{"accountId": "north"}); err != nil || len(acts("north")) != before {
		t.Errorf("%d records of mistakes and reads, %v", len(acts("north"))-before, err)
	}
	called["/operator/events/retry"] = true
	if _, err := o.Call(t.Context(), "north", "/operator/events/retry", map[string]any{"accountId": "north", "eventId": "none"}); err == nil {
		t.Error("an event that does not exist is tried again")
	}
	if list := acts("north"); len(list) != before+1 || list[0].Error != collab.NotFound || list[0].Actor != caller {
		t.Errorf("%d records of an act that failed: %+v", len(list)-before, list[0])
	}
	call("south", "/operator/accounts/add", map[string]any{"accountId": "south"})
	call("south", "/operator/accounts/update", map[string]any{"accountId": "south", "disabled": true})
	now = now.Add(2 * time.Minute) // functions have noticed
	call("south", "/operator/accounts/delete", map[string]any{"accountId": "south"})
	for _, e := range operate.Endpoints() {
		if e.Audience == rpc.Operator && e.Writes() && !called[e.Path] {
			t.Errorf("%s is not called", e.Path)
		}
	}

	for _, it := range storetest.Scan(t, s.Accounts.Table) {
		if kind, _ := keys.KindOf(it.Key()); kind == nil || kind.Name != "act" {
			continue
		}
		var expiry struct {
			At int64 `dynamodbav:"ttl"`
		}
		must.Do(t, it.Decode(&expiry))
		if expires := time.Unix(expiry.At, 0); expires.Before(start.Add(400*24*time.Hour)) || expires.After(now.Add(400*24*time.Hour)) {
			t.Errorf("a record expires at %v", expires)
		}
		for _, never := range []string{text, token, second} {
			if strings.Contains(fmt.Sprint(it), never) {
				t.Errorf("%q is in a record: %v", never, it)
			}
		}
	}
}
