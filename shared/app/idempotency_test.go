package app

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/localstack"
	"collabdata/shared/api"
	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/platform"
	"collabdata/shared/queue"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/must"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
)

// refusing refuses what is written to the table for a while.
type refusing struct {
	aws.HTTPClient
	text atomic.Pointer[string] // writes that hold it are refused for lack of capacity; nil for none
}

func (c *refusing) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	operation := r.Header.Get("X-Amz-Target")
	writes := strings.HasSuffix(operation, "TransactWriteItems") || strings.HasSuffix(operation, "PutItem")
	if text := c.text.Load(); text == nil || !writes || !bytes.Contains(body, []byte(*text)) {
		return c.HTTPClient.Do(r)
	}
	text := `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"x"}`
	return &http.Response{
		StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text)),
	}, nil
}

// What a function has for a call that the table refuses, and for one that succeeds.
const (
	short = platform.FunctionTime - platform.OperationTime + 3*time.Second
	long  = platform.FunctionTime
)

// deployment is the service behind a refusing table, with a clock of its own.
type deployment struct {
	*testing.T
	account string // that calls
	service *Service
	config  Config // of the service
	table   *refusing
	later   atomic.Int64 // how far the clock is ahead
}

func newDeployment(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{T: t, account: "acme"}
	name := "idempotency-" + rand.Text()
	c := Config{
		DynamoDB: localstacktest.Config(localstacktest.DynamoDB(t)), SQS: localstacktest.Config(localstacktest.MiniStack(t)), Table: name,
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.Now().Add(time.Duration(d.later.Load())) },
	}
	urls, err := queue.Create(t.Context(), c.SQS, name+"-")
	must.Do(t, err)
	c.EventsURL = urls[keys.EventsQueue]
	d.table = &refusing{HTTPClient: c.DynamoDB.HTTPClient}
	c.DynamoDB.HTTPClient = d.table
	d.service, d.config = New(c), c
	must.Do(t, localstack.CreateTable(t.Context(), c.DynamoDB, name))
	return d
}

// call sends data to an operation as the gateway does, with a key unless that is "", for an account with these settings.
func (d *deployment) call(path, key, settings, data string, allowed time.Duration) (status int, body string) {
	d.Helper()
	ctx, cancel := context.WithTimeout(d.Context(), allowed)
	defer cancel()
	status, body, err := d.send(ctx, path, key, settings, data)
	must.Do(d, err)
	return status, body
}

// send is call within a context.
func (d *deployment) send(ctx context.Context, path, key, settings, data string) (status int, body string, err error) {
	for _, e := range api.Endpoints() {
		if e.Path != path {
			continue
		}
		header := map[string]string{"Content-Type": "application/json"}
		if key != "" {
			header["Idempotency-Key"] = key
		}
		id := collab.Identity{Account: d.account, APIKey: "key"}
		must.Do(d, json.Unmarshal([]byte(settings), &id.Settings))
		answer, err := ProxyHandler(e.Handler(d.service.server(), d.service.services()))(collab.WithIdentity(ctx, id), events.APIGatewayProxyRequest{
			Resource: path, HTTPMethod: "POST", Headers: header, Body: `{"data":` + data + `}`,
		})
		return answer.StatusCode, answer.Body, err
	}
	return 0, "", fmt.Errorf("there is no operation %s", path)
}

// threads returns the ids of all annotations, and the times of their comments by comment text.
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

// TestKeyAndPassingFailure has one of three annotations meet a throttled table. The same request under its key adds it once the table is
// well, and the others no second time, even where the account has come to raise events for all that is written.
func TestKeyAndPassingFailure(t *testing.T) {
	for name, settings := range map[string]string{"the same settings": "{}", "all events": `{"allEvents":true}`} {
		t.Run(name, func(t *testing.T) {
			d := newDeployment(t)
			second := "second"
			d.table.text.Store(&second)
			if status, body := d.call("/v2/commentannotations/add", "k", "{}", threeThreads, short); status != 200 ||
				strings.Count(body, `"success":false`) != 1 {
				t.Fatalf("%d %s", status, body)
			}
			d.table.text.Store(nil)
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

// TestKeyAndTime has the first attempt at an add of comments do nothing. What a later one adds has the later one's time.
func TestKeyAndTime(t *testing.T) {
	d := newDeployment(t)
	text := "first"
	d.table.text.Store(&text)
	const data = `{"organizationId":"o","createOrganization":true,"documentId":"d","createDocument":true,"annotationId":"a",
		"commentData":[{"commentText":"first","from":{"userId":"u"}}]}`
	if status, body := d.call("/v2/commentannotations/comments/add", "k", "{}", data, short); status == 200 {
		t.Fatal(body)
	}
	d.table.text.Store(nil)
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
