package app_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/app"
	"collabdata/shared/platform"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-lambda-go/events"
)

// TestSilentConnection checks that a hanging call to AWS is retried, and fails neither the request
// nor the event's message.
func TestSilentConnection(t *testing.T) {
	t.Parallel()
	var operation atomic.Value // its first call hangs
	var calls atomic.Int64     // of operation
	connections := storetest.Client(func(r *http.Request) (*http.Response, error) {
		if op, _ := operation.Load().(string); op != "" && strings.HasSuffix(r.Header.Get("X-Amz-Target"), op) && calls.Add(1) == 1 {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		return http.DefaultClient.Do(r)
	})
	s := apitest.Start(t, func(c *app.Config) {
		c.DynamoDB.HTTPClient = platform.AWSClient{Next: connections, AttemptTime: time.Second / 4}
		c.SQS.HTTPClient = platform.AWSClient{Next: connections}
	})
	if w := apitest.Post(s.Handler(), "/v2/commentannotations/add", triggering); w.Code != http.StatusOK {
		t.Fatal(w.Body)
	}
	const get = `{"data": {"organizationId": "acme", "documentId": "plan"}}`
	for _, test := range []struct{ operation, path, body string }{
		{"Query", "/v2/commentannotations/get", get},
		{"TransactWriteItems", "/v2/commentannotations/add", triggering},
		{"SendMessageBatch", "/v2/commentannotations/add", triggering},
	} {
		operation.Store(test.operation)
		calls.Store(0)
		if w := apitest.Post(s.Handler(), test.path, test.body); w.Code != http.StatusOK {
			t.Errorf("one %s is never answered: %d %s", test.operation, w.Code, w.Body)
		}
		if n := calls.Load(); n < 2 {
			t.Errorf("%d calls of %s", n, test.operation)
		}
	}
}

// TestRefusingTable checks that a request ends after some refusals of the table, without the rest
// of its time.
func TestRefusingTable(t *testing.T) {
	t.Parallel()
	var fails atomic.Bool
	var calls atomic.Int64
	connections := storetest.Client(func(r *http.Request) (*http.Response, error) {
		if !fails.Load() {
			return http.DefaultClient.Do(r)
		}
		calls.Add(1)
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{}, Body: http.NoBody}, nil
	})
	s := apitest.Start(t, func(c *app.Config) { c.DynamoDB.HTTPClient = connections })
	fails.Store(true)
	w := apitest.Post(s.Handler(), "/v2/commentannotations/get", `{"data": {"organizationId": "acme", "documentId": "plan"}}`)
	if w.Code != http.StatusServiceUnavailable || calls.Load() > 20 {
		t.Errorf("answered %d %s after %d refusals", w.Code, w.Body, calls.Load())
	}
}

// TestAnswerBeforeTheEnd checks that an update without time for all annotations reports each result
// a second before its function ends, although it has events to send.
func TestAnswerBeforeTheEnd(t *testing.T) {
	t.Parallel()
	const annotations, allowed = 500, platform.FunctionTime - platform.OperationTime + 2*time.Second
	delays := map[string]time.Duration{
		"TransactWriteItems": 250 * time.Millisecond, "UpdateItem": 250 * time.Millisecond, "SendMessageBatch": 500 * time.Millisecond,
	}
	var slow atomic.Bool
	connections := storetest.Client(func(r *http.Request) (*http.Response, error) {
		if _, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); slow.Load() {
			select {
			case <-time.After(delays[operation]):
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}
		return http.DefaultClient.Do(r)
	})
	s := apitest.Start(t, func(c *app.Config) {
		c.DynamoDB.HTTPClient = platform.AWSClient{Next: connections}
		c.SQS.HTTPClient = platform.AWSClient{Next: connections}
	})
	list := make([]string, annotations)
	for i := range list {
		list[i] = fmt.Sprintf(`{"annotationId": "a%03d"}`, i)
	}
	added := apitest.Post(s.Handler(), "/v2/commentannotations/add", `{"data": {"organizationId": "o", "createOrganization": true, "documentId": "d",
		"createDocument": true, "commentAnnotations": [`+strings.Join(list, ",")+`]}}`)
	if strings.Count(added.Body.String(), `"success":true`) != annotations {
		t.Fatalf("%.500s", added.Body)
	}

	slow.Store(true)
	end := time.Now().Add(allowed)
	ctx, cancel := context.WithDeadline(t.Context(), end)
	defer cancel()
	answer, err := app.ProxyHandler(s.Handler())(ctx, events.APIGatewayProxyRequest{
		Resource: "/v2/commentannotations/update", HTTPMethod: "POST",
		Headers: map[string]string{"Content-Type": "application/json", "x-service-api-key": "key", "x-service-auth-token": "token"},
		Body:    `{"data": {"organizationId": "o", "documentId": "d", "triggerNotification": true, "updatedData": {"status": {"id": "RESOLVED"}}}}`,
	})
	left := time.Until(end)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%d %.500s, %v", answer.StatusCode, answer.Body, err)
	}
	done, late := strings.Count(answer.Body, `"success":true`), strings.Count(answer.Body, `"code":"DEADLINE_EXCEEDED"`)
	if done == 0 || late == 0 || done+late != annotations {
		t.Errorf("%d were updated, for %d there was no time, of %d: %.500s", done, late, annotations, answer.Body)
	}
	if left < platform.AnswerTime {
		t.Errorf("answered %v before the end", left)
	}
	t.Logf("%d updated, %d not, %v before the end", done, late, left)
}
