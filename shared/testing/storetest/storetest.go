package storetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/localstack"
	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/must"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

var tables atomic.Int64

// client is shared by all tests to keep connections.
var client = localstacktest.Config("").HTTPClient

// Config returns the configuration of the emulator.
func Config(t testing.TB) aws.Config {
	cfg := localstacktest.Config(localstacktest.DynamoDB(t))
	cfg.HTTPClient = client
	return cfg
}

// New returns a new table.
func New(t testing.TB) *store.Table {
	t.Helper()
	name := fmt.Sprintf("store-%d-%d", time.Now().UnixNano(), tables.Add(1))
	table := store.New(Config(t), name, time.Now, rand.Reader)
	must.Do(t, localstack.CreateTable(t.Context(), Config(t), name))
	return table
}

// Through returns a table with another client, which may call next. It retries without waiting.
func Through(t testing.TB, table *store.Table, wrap func(next aws.HTTPClient) aws.HTTPClient) *store.Table {
	cfg := Config(t)
	cfg.HTTPClient = wrap(cfg.HTTPClient)
	return store.New(cfg, table.Name(), table.Now, rand.Reader).RepeatAtOnce()
}

// Client is a client that calls a function.
type Client func(*http.Request) (*http.Response, error)

// Do calls the function.
func (c Client) Do(r *http.Request) (*http.Response, error) { return c(r) }

// Before returns a client that calls a function before each request, with the operation's name and
// the body. If the function returns a response, the client returns it and sends nothing.
func Before(next aws.HTTPClient, call func(operation, body string) *http.Response) Client {
	return func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		if answer := call(operation, string(body)); answer != nil {
			return answer, nil
		}
		return next.Do(r)
	}
}

// Watched returns a table with a client of Before.
func Watched(t testing.TB, table *store.Table, call func(operation, body string) *http.Response) *store.Table {
	return Through(t, table, func(next aws.HTTPClient) aws.HTTPClient { return Before(next, call) })
}

// Killed returns a table for a process that dies after some requests: later requests fail and have
// no effect.
func Killed(t testing.TB, table *store.Table, after int) *store.Table {
	return Through(t, table, func(next aws.HTTPClient) aws.HTTPClient { return newCut(next, after) })
}

func newCut(next aws.HTTPClient, after int) *cut {
	c := &cut{next: next}
	c.left.Store(int64(after))
	return c
}

// cut is a transport that sends a number of requests.
type cut struct {
	next aws.HTTPClient
	left atomic.Int64
}

// ErrKilled is the error of the calls of a dead process. Clients do not repeat them.
var ErrKilled error = killed{}

type killed struct{}

func (killed) Error() string        { return "the process was killed" }
func (killed) RetryableError() bool { return false }

// Do sends a request, or fails.
func (c *cut) Do(r *http.Request) (*http.Response, error) {
	if c.left.Add(-1) < 0 {
		return nil, ErrKilled
	}
	return c.next.Do(r.WithContext(context.WithoutCancel(r.Context()))) // sent requests complete
}

// Scan returns every item of the table.
func Scan(t testing.TB, table *store.Table) (items []store.Item) {
	t.Helper()
	name := table.Name()
	pages := dynamodb.NewScanPaginator(
		dynamodb.NewFromConfig(Config(t)), &dynamodb.ScanInput{TableName: &name, ConsistentRead: aws.Bool(true)},
	)
	for pages.HasMorePages() {
		page, err := pages.NextPage(context.WithoutCancel(t.Context())) // also during cleanup
		must.Do(t, err)
		for _, it := range page.Items {
			items = append(items, it)
		}
	}
	return items
}

// Request returns a request of the account acct at a time, with unique ids.
func Request(at time.Time) *request.Request {
	return &request.Request{Identity: collab.Identity{Account: "acct"}, Now: at, IDs: collab.NewIDs(at, []byte(rand.Text()))}
}

// Again returns another attempt at a request.
func Again(req *request.Request) *request.Request {
	return &request.Request{Identity: req.Identity, Now: req.Now, IDs: req.IDs, Repeat: true}
}

// WantCode reports an error if err does not have the code want. what describes the call.
func WantCode(t testing.TB, what string, err error, want collab.Code) {
	t.Helper()
	if got := collab.CodeOf(err); got != want {
		t.Errorf("%s: %v, want code %q", what, err, want)
	}
}

// Calls returns the number of calls to the table that f makes.
func Calls(t testing.TB, f func(ctx context.Context)) (n int) {
	t.Helper()
	u := &collab.Usage{}
	f(collab.WithUsage(t.Context(), u))
	_, _, n = u.Total()
	return n
}

// KeepsUnknown checks that changes of items keep an attribute of a later version. A change may be
// repeated.
func KeepsUnknown(t *testing.T, table *store.Table, changes map[keys.Key]func() error) {
	t.Helper()
	for k, change := range changes {
		must.Do(t, change())
		it, err := table.Get(t.Context(), k)
		must.Do(t, err)
		it["later"] = &types.AttributeValueMemberS{Value: "kept"}
		must.Do(t, table.Put(t.Context(), it))
		must.Do(t, change())
		if it, err = table.Get(t.Context(), k); err != nil || it.Text("later") != "kept" {
			t.Errorf("%s lost an attribute: %v, %v", k, it, err)
		}
	}
}
