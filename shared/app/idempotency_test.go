package app_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/platform"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-lambda-go/events"
)

// Time limits for a call that the table refuses, and for one that succeeds.
const (
	short = platform.FunctionTime - platform.OperationTime + 3*time.Second
	long  = platform.FunctionTime
)

// deployment is the service with its own clock, and a table that may refuse writes.
type deployment struct {
	*testing.T
	account string // the caller
	*app.Service
	full  atomic.Pointer[string] // refuses writes with this text for lack of capacity; may be nil
	later atomic.Int64           // offset of the clock
}

func newDeployment(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{T: t, account: "acme"}
	d.Service = apitest.Start(t, func(c *app.Config) {
		c.Now = func() time.Time { return time.Now().Add(time.Duration(d.later.Load())) }
		c.Sleep = func(_ context.Context, duration time.Duration) error {
			d.later.Add(int64(duration))
			return nil
		}
		c.DynamoDB.HTTPClient = storetest.Before(c.DynamoDB.HTTPClient, func(operation, body string) *http.Response {
			writes := operation == "TransactWriteItems" || operation == "PutItem"
			if text := d.full.Load(); text == nil || !writes || !strings.Contains(body, *text) {
				return nil
			}
			return storetest.Answer(400, storetest.Failure("ProvisionedThroughputExceededException"))
		})
	})
	return d
}

// call calls an operation through the gateway, with a key unless it is "", for an account with
// these settings.
func (d *deployment) call(path, key, settings, data string, allowed time.Duration) (status int, body string) {
	d.Helper()
	ctx, cancel := context.WithTimeout(d.Context(), allowed)
	defer cancel()
	status, body, err := d.send(ctx, d.Service, path, key, settings, data)
	must.Do(d, err)
	return status, body
}

// send is call with a context and a process of the service.
func (d *deployment) send(ctx context.Context, s *app.Service, path, key, settings, data string) (status int, body string, err error) {
	header := map[string]string{"Content-Type": "application/json"}
	if key != "" {
		header["Idempotency-Key"] = key
	}
	id := collab.Identity{Account: d.account, APIKey: "key"}
	must.Do(d, json.Unmarshal([]byte(settings), &id.Settings))
	answer, err := app.ProxyHandler(s.HandlerFor(id))(ctx, events.APIGatewayProxyRequest{
		Resource: path, HTTPMethod: "POST", Headers: header, Body: `{"data":` + data + `}`,
	})
	return answer.StatusCode, answer.Body, err
}

// threads returns the ids of all annotations, and the times of their comments by text.
func (d *deployment) threads() (ids []string, written map[string]time.Time) {
	d.Helper()
	_, body := d.call("/v2/commentannotations/get", "", "{}", `{"organizationId":"o","documentId":"d"}`, long)
	var answer struct {
		Result struct {
			Data []struct {
				AnnotationID string
				Comments     []struct {
					CommentText string
					CreatedAt   time.Time
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		d.Fatal(err, body)
	}
	written = map[string]time.Time{}
	for _, a := range answer.Result.Data {
		ids = append(ids, a.AnnotationID)
		for _, c := range a.Comments {
			written[c.CommentText] = c.CreatedAt
		}
	}
	return ids, written
}

const threeThreads = `{"organizationId":"o","createOrganization":true,"documentId":"d","createDocument":true,"commentAnnotations":[
	{"commentData":[{"commentText":"first","from":{"userId":"u"}}]},
	{"commentData":[{"commentText":"second","from":{"userId":"u"}}]},
	{"commentData":[{"commentText":"third","from":{"userId":"u"}}]}]}`

// TestKeyAndPassingFailure throttles one of three annotations. A repeat under the same key only
// adds this annotation, even if the account's setting now raises more events.
func TestKeyAndPassingFailure(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]string{"the same settings": "{}", "all events": `{"allEvents":true}`} {
		t.Run(name, func(t *testing.T) {
			d := newDeployment(t)
			second := "second"
			d.full.Store(&second)
			if status, body := d.call("/v2/commentannotations/add", "k", "{}", threeThreads, short); status != 200 ||
				strings.Count(body, `"success":false`) != 1 {
				t.Fatalf("%d %s", status, body)
			}
			d.full.Store(nil)
			for range 2 {
				if status, body := d.call("/v2/commentannotations/add", "k", settings, threeThreads, long); status != 200 ||
					strings.Contains(body, `"success":false`) {
					t.Errorf("again: %d %s", status, body)
				}
			}
			if ids, written := d.threads(); len(ids) != 3 || len(written) != 3 {
				t.Errorf("there are %v, %v", ids, written)
			}
		})
	}
}

// TestKeyAndTime makes the first attempt at adding comments fail. Comments of a later attempt get
// its time.
func TestKeyAndTime(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	text := "first"
	d.full.Store(&text)
	const data = `{"organizationId":"o","createOrganization":true,"documentId":"d","createDocument":true,"annotationId":"a",
		"commentData":[{"commentText":"first","from":{"userId":"u"}}]}`
	if status, body := d.call("/v2/commentannotations/comments/add", "k", "{}", data, short); status == 200 {
		t.Fatal(body)
	}
	d.full.Store(nil)
	d.later.Store(int64(9 * time.Hour))
	if status, body := d.call("/v2/commentannotations/add", "", "{}", `{"organizationId":"o","documentId":"d","commentAnnotations":[{"annotationId":"a"}]}`, long); status != 200 {
		t.Fatal(body)
	}
	d.later.Store(int64(10 * time.Hour))
	if status, body := d.call("/v2/commentannotations/comments/add", "k", "{}", data, long); status != 200 {
		t.Fatal(body)
	}
	if _, written := d.threads(); time.Until(written["first"]) < 9*time.Hour {
		t.Errorf("the comment is of %v", written["first"])
	}
}
