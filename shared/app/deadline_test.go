package app_test

import (
	"bytes"
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

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
)

// silent never answers the first call of an operation, as a connection that has gone silently.
type silent struct {
	next      aws.HTTPClient
	operation atomic.Value // its name
	calls     atomic.Int64 // of it
}

func (c *silent) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if op, _ := c.operation.Load().(string); op != "" && strings.HasSuffix(r.Header.Get("X-Amz-Target"), op) && c.calls.Add(1) == 1 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return c.next.Do(r)
}

// TestSilentConnection holds that a call to AWS which is never answered costs an attempt, not the request, nor the event's message: the
// call is made again.
func TestSilentConnection(t *testing.T) {
	connections := &silent{next: http.DefaultClient}
	s := service(t, func(c *app.Config) {
		c.DynamoDB.HTTPClient = platform.AWSClient{Next: connections, AttemptTime: time.Second / 4}
		c.SQS.HTTPClient = platform.AWSClient{Next: connections}
	})
	if w := post(t, s, "/v2/commentannotations/add", triggering); w.Code != http.StatusOK {
		t.Fatal(w.Body)
	}
	const get = `{"data": {"organizationId": "acme", "documentId": "plan"}}`
	for _, test := range []struct{ operation, path, body string }{
		{"Query", "/v2/commentannotations/get", get},
		{"TransactWriteItems", "/v2/commentannotations/add", triggering},
		{"SendMessageBatch", "/v2/commentannotations/add", triggering},
	} {
		connections.operation.Store(test.operation)
		connections.calls.Store(0)
		if w := post(t, s, test.path, test.body); w.Code != http.StatusOK {
			t.Errorf("one %s is never answered: %d %s", test.operation, w.Code, w.Body)
		}
		if n := connections.calls.Load(); n < 2 {
			t.Errorf("%d calls of %s", n, test.operation)
		}
	}
}

// slow delays every call while it is on.
type slow struct {
	next  aws.HTTPClient
	on    atomic.Bool
	delay map[string]time.Duration // by operation
}

func (c *slow) Do(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if c.on.Load() {
		select {
		case <-time.After(c.delay[operation]):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	return c.next.Do(r)
}

// TestAnswerBeforeTheEnd holds that an update which has no time for all of its annotations says what became of each, a second before its
// function ends, though it has events to send by then.
func TestAnswerBeforeTheEnd(t *testing.T) {
	const annotations, allowed = 500, platform.FunctionTime - platform.OperationTime + 2*time.Second
	connections := &slow{next: http.DefaultClient, delay: map[string]time.Duration{
		"TransactWriteItems": 250 * time.Millisecond, "UpdateItem": 250 * time.Millisecond, "SendMessageBatch": 500 * time.Millisecond,
	}}
	s := service(t, func(c *app.Config) {
		c.DynamoDB.HTTPClient = platform.AWSClient{Next: connections}
		c.SQS.HTTPClient = platform.AWSClient{Next: connections}
	})
	list := make([]string, annotations)
	for i := range list {
		list[i] = fmt.Sprintf(`{"annotationId": "a%03d"}`, i)
	}
	added := post(t, s, "/v2/commentannotations/add", `{"data": {"organizationId": "o", "createOrganization": true, "documentId": "d",
		"createDocument": true, "commentAnnotations": [`+strings.Join(list, ",")+`]}}`)
	if strings.Count(added.Body.String(), `"success":true`) != annotations {
		t.Fatalf("%.500s", added.Body)
	}

	connections.on.Store(true)
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
