package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/keys"
	"collabdata/shared/queue"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/must"
)

// rights records the IAM actions that requests to AWS need.
type rights struct {
	mu      sync.Mutex
	actions map[string]bool
}

// proxy returns the address of a server that forwards requests to a stand-in, and records their
// actions.
func (r *rights) proxy(t *testing.T, address string) string {
	t.Helper()
	to, err := url.Parse(address)
	must.Do(t, err)
	forward := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		r.record(t, req.Header.Get("X-Amz-Target"), body)
		req.Body = io.NopCloser(bytes.NewReader(body))
		forward.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func (r *rights) record(t *testing.T, target string, body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	service, operation, _ := strings.Cut(target, ".")
	switch {
	case operation == "TransactWriteItems":
		var transaction struct{ TransactItems []map[string]any }
		if err := json.Unmarshal(body, &transaction); err != nil {
			t.Error(err)
		}
		for _, item := range transaction.TransactItems {
			for kind := range item {
				r.actions["dynamodb:"+strings.TrimSuffix(kind, "Item")+"Item"] = true
			}
		}
	case strings.HasPrefix(service, "DynamoDB"):
		r.actions["dynamodb:"+operation] = true
	case service == "AmazonSQS":
		r.actions["sqs:"+strings.TrimSuffix(operation, "Batch")] = true
	default:
		values, err := url.ParseQuery(string(body))
		if err != nil {
			t.Error(err)
		}
		r.actions["cloudformation:"+values.Get("Action")] = true
	}
}

// TestOperatorPolicy checks that infra/operator-policy.json allows the actions of the commands, and
// no others.
func TestOperatorPolicy(t *testing.T) {
	_, table, db := newStore(t)
	cloud := localstacktest.MiniStack(t)
	cfg := localstacktest.Config(cloud)
	urls, err := queue.Create(t.Context(), cfg, fmt.Sprintf("policy-%d-", time.Now().UnixNano()))
	must.Do(t, err)
	name := fmt.Sprintf("policy-%d", time.Now().UnixNano())
	makeStack(t, cfg, name, map[string]string{"TableName": table, "EventsQueueUrl": urls[keys.EventsQueue]})
	environment(t)
	r := &rights{actions: map[string]bool{}}
	t.Setenv("AWS_ENDPOINT_URL", r.proxy(t, cloud))
	t.Setenv("AWS_ENDPOINT_URL_STS", cloud) // sts:GetCallerIdentity needs no right
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", r.proxy(t, db))

	c := &cli{global: []string{"--stack", name, "--yes"}}
	c.must(t, "accounts", "add", "acme")
	c.must(t, "settings", "update", "acme", "--all-events", "true")
	c.call(t, "/v2/webhooks/add", `"url": "https://example.com/hook"`)
	c.call(t, "/v2/commentannotations/add", `"organizationId": "north", "createOrganization": true, "documentId": "plan", "createDocument": true,
		"commentAnnotations": [{"annotationId": "a", "commentData": [{"commentId": 1, "commentText": "x", "from": {"userId": "ann"}, "triggerNotification": true}]}]`)
	c.call(t, "/v2/commentannotations/get", `"organizationId": "north", "documentIds": ["plan"]`)
	c.call(t, "/v2/organizations/folders/add", `"organizationId": "north", "folders": [{"folderId": "a"}]`)
	c.call(t, "/v2/organizations/documents/add", `"organizationId": "north", "folderId": "a", "documents": [{"documentId": "map"}]`)
	c.must(t, "find", "north")
	c.must(t, "pending", "get")
	c.call(t, "/v2/commentannotations/delete", `"organizationId": "north", "documentId": "plan", "annotationIds": ["a"]`)
	c.call(t, "/v2/users/data/delete", `"organizationIds": ["north"], "userIds": ["ann"]`)
	c.must(t, "organizations", "delete", "acme", "--organization-ids", "north")

	text, err := os.ReadFile("../../infra/operator-policy.json")
	must.Do(t, err)
	var policy struct{ Statement []struct{ Action any } }
	must.Do(t, json.Unmarshal(text, &policy))
	var allowed []string
	for _, s := range policy.Statement {
		list, ok := s.Action.([]any)
		if !ok {
			list = []any{s.Action}
		}
		for _, action := range list {
			allowed = append(allowed, action.(string))
		}
	}
	slices.Sort(allowed)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(r.actions)), allowed); diff != "" {
		t.Errorf("the policy (- needed, + allowed):\n%s", diff)
	}
}
