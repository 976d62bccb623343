// Package storetest creates tables for tests: on the emulator, with a transport that fails like
// AWS, and with a process that dies after some writes.
package storetest

import (
	"bytes"
	"encoding/json"
	"flag"
	"hash/fnv"
	"io"
	"maps"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/aws"
)

var chaosSeed = flag.Uint64("chaos", 1, "seed of what the chaos transport does")

// OnEach runs a test on a table and, concurrently, on a table with the chaos transport. open opens
// the tested store.
func OnEach[S any](t *testing.T, open func(*store.Table) S, test func(*testing.T, S)) {
	t.Run("plain", func(t *testing.T) {
		t.Parallel()
		test(t, open(New(t)))
	})
	t.Run("chaos", func(t *testing.T) {
		t.Parallel()
		test(t, open(Chaos(t, New(t))))
	})
}

// Chaos returns the table with the chaos transport. It retries without waiting.
func Chaos(t testing.TB, table *store.Table) *store.Table {
	h := fnv.New64a()
	io.WriteString(h, t.Name())
	return Through(t, table, chaotic(h.Sum64()))
}

// Mortal returns the table with the chaos transport for a process that dies after some requests:
// see Killed. Each n has its own chaos.
func Mortal(t testing.TB, table *store.Table, n uint64, after int) *store.Table {
	return Through(t, table, func(next aws.HTTPClient) aws.HTTPClient { return newCut(chaotic(n)(next), after) })
}

func chaotic(n uint64) func(next aws.HTTPClient) aws.HTTPClient {
	random := mathrand.New(mathrand.NewPCG(*chaosSeed, n))
	return func(next aws.HTTPClient) aws.HTTPClient { return &chaos{next: next, random: random} }
}

// chaos is a transport with failures that occur in AWS and not in the emulator: conflicting writes,
// throttling, partial batches, short pages of queries, unreachable servers, and lost responses
// after success. Like AWS, it refuses updates that name an attribute twice.
type chaos struct {
	next aws.HTTPClient

	mu     sync.Mutex
	random *mathrand.Rand
	done   map[string]bool // transactions with a lost response, by token: a repeat succeeds
}

// Do sends a request to DynamoDB, or fails.
func (c *chaos) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	operation := r.Header.Get("X-Amz-Target")
	operation = operation[strings.LastIndexByte(operation, '.')+1:]
	writes := strings.HasSuffix(operation, "Item") && operation != "GetItem"
	var request map[string]json.RawMessage
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	if path, err := pathTwice(body); err != nil || path != "" {
		f := Failure("ValidationException")
		f["message"] = "Two document paths overlap: " + path
		return Answer(400, f), err
	}
	send := func() (*http.Response, error) {
		r.Body = io.NopCloser(bytes.NewReader(body))
		return c.next.Do(r)
	}
	token := string(request["ClientRequestToken"])
	switch dice := c.roll(100); {
	case dice < 3:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	case dice < 9:
		response, err := send()
		if err != nil {
			return nil, err
		}
		response.Body.Close()
		if response.StatusCode == 200 && token != "" {
			c.remember(token)
		}
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	case dice < 12:
		return Answer(400, Failure("ProvisionedThroughputExceededException")), nil
	case c.knows(token):
	case dice < 18 && operation == "TransactWriteItems":
		return Answer(400, c.cancel(request, "TransactionConflict")), nil
	case dice < 21 && operation == "TransactWriteItems":
		return Answer(400, c.cancel(request, "ThrottlingError")), nil
	case dice < 18 && writes:
		return Answer(400, Failure("TransactionConflictException")), nil
	case dice < 50 && operation == "BatchGetItem":
		return c.leaveOver(r, request)
	case dice < 40 && operation == "Query":
		limit := 1 + c.roll(5)
		if wanted, err := strconv.Atoi(string(request["Limit"])); err == nil {
			limit = min(limit, wanted)
		}
		request["Limit"] = marshal(limit)
		body = marshal(request)
		r.ContentLength = int64(len(body))
	}
	return send()
}

func (c *chaos) roll(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.random.IntN(n)
}

func (c *chaos) remember(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = map[string]bool{}
	}
	c.done[token] = true
}

func (c *chaos) knows(token string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done[token]
}

// cancel is the response to a transaction with a refused write.
func (c *chaos) cancel(request map[string]json.RawMessage, code string) any {
	var writes []json.RawMessage
	if err := json.Unmarshal(request["TransactItems"], &writes); err != nil {
		panic(err)
	}
	reasons := make([]map[string]string, len(writes))
	for i := range reasons {
		reasons[i] = map[string]string{"Code": "None"}
	}
	reasons[c.roll(len(reasons))]["Code"] = code
	f := Failure("TransactionCanceledException")
	f["CancellationReasons"] = reasons
	return f
}

// leaveOver reads some of a batch's keys, or none, and returns the others as unprocessed.
func (c *chaos) leaveOver(r *http.Request, request map[string]json.RawMessage) (*http.Response, error) {
	var tables map[string]map[string]json.RawMessage
	if err := json.Unmarshal(request["RequestItems"], &tables); err != nil {
		return nil, err
	}
	type response struct {
		Responses        map[string]json.RawMessage
		UnprocessedKeys  map[string]map[string]json.RawMessage
		ConsumedCapacity json.RawMessage `json:",omitempty"`
	}
	left := map[string]map[string]json.RawMessage{}
	some := false
	for name, batch := range tables {
		var all []json.RawMessage
		if err := json.Unmarshal(batch["Keys"], &all); err != nil {
			return nil, err
		}
		n := c.roll(len(all) + 1)
		some = some || n > 0
		if n < len(all) {
			left[name] = maps.Clone(batch)
			left[name]["Keys"] = marshal(all[n:])
		}
		batch["Keys"] = marshal(all[:n])
	}
	if !some {
		return Answer(200, response{UnprocessedKeys: left}), nil
	}
	request["RequestItems"] = marshal(tables)
	body := marshal(request)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	done, err := c.next.Do(r)
	if err != nil || done.StatusCode != 200 {
		return done, err
	}
	defer done.Body.Close()
	var out response
	if err := json.NewDecoder(done.Body).Decode(&out); err != nil {
		return nil, err
	}
	out.UnprocessedKeys = left
	return Answer(200, out), nil
}

// Failure returns the body of an error of DynamoDB.
func Failure(code string) map[string]any {
	return map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + code, "message": "injected"}
}

// Answer returns a response of DynamoDB.
func Answer(status int, body any) *http.Response {
	text := marshal(body)
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)),
	}
}

func marshal(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}
