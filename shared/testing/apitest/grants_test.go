package apitest_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"collabdata/shared/api"
	"collabdata/shared/api/rpc"
	"collabdata/shared/testing/leadingkeys"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// overseer records the grants that each endpoint's calls to the table and the queues need, and its
// errors.
type overseer struct {
	mu    sync.Mutex
	used  map[string]rpc.Grants // by path
	wrong map[string]bool       // calls that no grant allows

	errors errorTexts
}

type pathKey struct{}

// watch adds the endpoint to the context of its calls.
func (o *overseer) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r.WithContext(context.WithValue(r.Context(), pathKey{}, r.URL.Path)))
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		w.Write(answer.Body.Bytes())
		o.mu.Lock()
		defer o.mu.Unlock()
		o.errors.of(r.URL.Path, answer.Body.Bytes())
	})
}

// before returns a client with recorded calls.
func (o *overseer) before(next aws.HTTPClient) aws.HTTPClient {
	return storetest.Client(func(r *http.Request) (*http.Response, error) {
		if path, ok := r.Context().Value(pathKey{}).(string); ok {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			o.note(path, r.Header.Get("X-Amz-Target"), body)
		}
		return next.Do(r)
	})
}

// note adds the grants that a call needs.
func (o *overseer) note(path, target string, body []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	service, operation, _ := strings.Cut(target, ".")
	if service == "AmazonSQS" {
		o.used[path] |= rpc.SendEvents
		if !strings.HasPrefix(operation, "SendMessage") {
			o.wrong[path+": "+operation] = true
		}
		return
	}
	partitions, err := leadingkeys.Of(operation, body)
	if err != nil {
		o.wrong[fmt.Sprintf("%s: %v", path, err)] = true
	}
	if partitions == nil {
		o.used[path] |= rpc.ReadIndexes
	}
	for action, keys := range partitions {
		table, webhooks := rpc.WriteTable, rpc.WriteWebhooks
		switch action {
		case "dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query":
			table, webhooks = rpc.ReadTable, rpc.ReadWebhooks
		}
		for _, key := range keys {
			kind, _, _ := strings.Cut(key, "#")
			switch {
			// usage of accounts and people
			case strings.HasSuffix(key, "#QUOTA") && strings.Count(key, "#") == 2 && action == "dynamodb:UpdateItem":
			case kind == "A":
				o.used[path] |= table
			case kind == "HOOK":
				o.used[path] |= webhooks
			case kind == "UNSUBSCRIBE" && table == rpc.ReadTable:
				o.used[path] |= rpc.ReadMailSecrets
			case kind == "PROVIDER" && table == rpc.ReadTable:
				o.used[path] |= rpc.ReadProviders
			case kind == "LIVE" && table == rpc.ReadTable, kind == "TICKET" && action == "dynamodb:PutItem":
				o.used[path] |= rpc.AddTickets
			case kind == "AUDIT" && action == "dynamodb:PutItem":
				o.used[path] |= rpc.WriteAudit
			// credentials, which every function reads
			case (kind == "KEY" || kind == "ACCOUNT" || kind == "SIGN") && table == rpc.ReadTable:
			default:
				o.wrong[fmt.Sprintf("%s: %s on %s", path, action, key)] = true
			}
		}
	}
}

// report reports calls that an endpoint's grants do not allow.
func (o *overseer) report(t *testing.T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for call := range o.wrong {
		t.Error(call)
	}
	for _, e := range api.Endpoints() {
		if beyond := o.used[e.Path] &^ e.Grants; beyond != 0 {
			t.Errorf("%s needs %b beyond the grants of its row, %b", e.Path, beyond, e.Grants)
		}
		if o.used[e.Path] == 0 && !e.Public && everyScript() {
			t.Errorf("no call of %s was seen", e.Path)
		}
	}
}

// everyScript reports whether -run selects all scripts.
func everyScript() bool { return !strings.Contains(flag.Lookup("test.run").Value.String(), "/") }
