package app_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"collabdata/localstack"
	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// BenchmarkSpeed compares the service with its bare calls: the same requests to the table and the
// queues, sent again without the service. x-bare is the ratio of their times, which depends little
// on the machine. make bench runs it.
func BenchmarkSpeed(b *testing.B) {
	b.Run("add", func(b *testing.B) { newSpeed(b).writes(b, 1, add) })
	b.Run("add by 16 clients", func(b *testing.B) { newSpeed(b).writes(b, 16, add) })
	b.Run("comment by 16 clients, many threads", func(b *testing.B) { newSpeed(b).comments(b, 16, false) })
	b.Run("comment by 16 clients, one thread", func(b *testing.B) { newSpeed(b).comments(b, 16, true) })

	s := newSpeed(b)
	s.fill(10_000)
	b.Run("list 10,000 threads", func(b *testing.B) {
		s.reads(b, func(op int) {
			for next := ""; ; {
				got := s.send(op, "/v2/commentannotations/get", `"documentIds": ["plan"], "pageSize": 1000`+next)
				_, after, more := strings.Cut(got, `"nextPageToken":"`)
				if !more {
					return
				}
				token, _, _ := strings.Cut(after, `"`)
				next = `, "pageToken": "` + token + `"`
			}
		})
	})
	b.Run("newest 20 threads", func(b *testing.B) {
		s.reads(b, func(op int) {
			s.send(op, "/v2/commentannotations/get", `"documentIds": ["plan"], "pageSize": 20, "order": "desc"`)
		})
	})
}

func newThread(i int) string {
	return fmt.Sprintf(`{"annotationId": "t%d", "location": {"id": "l%d"}, "commentData": [
		{"commentText": "A comment of usual length, with a question about the plan?", "from": {"userId": "u%d", "name": "Ann"}}]}`, i, i%7, i%50)
}

func add(s *speed, op int) {
	s.send(op, "/v2/commentannotations/add", inPlan+`"commentAnnotations": [`+newThread(op)+`]`)
}

// speed is a service whose calls to AWS are recorded.
type speed struct {
	b     *testing.B
	table string
	serve http.Handler

	mu    sync.Mutex
	calls []bareCall
}

// bareCall is a recorded call of an operation, -1 for preparations.
type bareCall struct {
	op      int
	request *http.Request // without its body
	body    []byte
}

type operation struct{} // key of the number of an operation in a context

// recorded records calls before it sends them.
func (s *speed) recorded(cfg *aws.Config) {
	next := cfg.HTTPClient
	cfg.HTTPClient = storetest.Client(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		op, ok := r.Context().Value(operation{}).(int)
		if !ok {
			op = -1
		}
		s.mu.Lock()
		s.calls = append(s.calls, bareCall{op, r, body})
		s.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		return next.Do(r)
	})
}

func newSpeed(b *testing.B) *speed {
	s := &speed{b: b}
	service := apitest.Start(b, func(c *app.Config) {
		s.table = c.Table
		s.recorded(&c.DynamoDB)
		s.recorded(&c.SQS)
	})
	s.serve = service.Handler()
	_, err := service.Accounts.ChangeAccount(b.Context(), "acme", func(a *collab.Account) error {
		a.Settings.WriteUnitsPerSecond, a.Settings.ReadUnitsPerSecond = collab.Unlimited, collab.Unlimited
		return nil
	})
	must.Do(b, err)
	s.send(-1, "/v2/commentannotations/add", inPlan+`"createOrganization": true, "createDocument": true, "commentAnnotations": [{"annotationId": "first"}]`)
	return s
}

// fill adds threads.
func (s *speed) fill(threads int) {
	for i := 0; i < threads; i += 500 {
		var list []string
		for j := range 500 {
			list = append(list, newThread(i+j))
		}
		s.send(-1, "/v2/commentannotations/add", inPlan+`"commentAnnotations": [`+strings.Join(list, ",")+`]`)
	}
}

const inPlan = `"documentId": "plan", `

// send sends an operation, and returns the response.
func (s *speed) send(op int, path, data string) string {
	numbered := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.serve.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), operation{}, op)))
	})
	w := apitest.Post(numbered, path, `{"data": {"organizationId": "acme", `+data+`}}`)
	if w.Code != http.StatusOK {
		s.b.Errorf("%s: %d %s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

// timed returns the time of n operations by some clients.
func timed(n, clients int, do func(op int)) time.Duration {
	began := time.Now()
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for op := client; op < n; op += clients {
				do(op)
			}
		})
	}
	wg.Wait()
	return time.Since(began)
}

// writes measures operations, and their bare calls on another table.
func (s *speed) writes(b *testing.B, clients int, do func(s *speed, op int)) {
	took := timed(b.N, clients, func(op int) { do(s, op) })
	b.StopTimer()
	other := "test-" + rand.Text()
	must.Do(b, localstack.CreateTable(b.Context(), localstacktest.Config(localstacktest.DynamoDB(b)), other))
	calls := s.byOperation(other)
	s.again(calls[-1])
	s.report(b, took, timed(b.N, clients, func(op int) { s.again(calls[op]) }))
}

// comments measures comments in one thread, or each in one of a thousand.
func (s *speed) comments(b *testing.B, clients int, same bool) {
	s.fill(1000)
	b.ResetTimer()
	s.writes(b, clients, func(s *speed, op int) {
		thread := op % 1000
		if same {
			thread = 0
		}
		s.send(op, "/v2/commentannotations/comments/add", fmt.Sprintf(
			inPlan+`"annotationId": "t%d", "commentData": [{"commentText": "An answer", "from": {"userId": "u%d", "name": "Bob"}}]`, thread, op%50))
	})
}

// reads measures operations that write nothing, and their bare calls.
func (s *speed) reads(b *testing.B, do func(op int)) {
	do(-1)
	s.calls = nil
	b.ResetTimer()
	took := timed(b.N, 1, do)
	b.StopTimer()
	calls := s.byOperation(s.table)
	s.report(b, took, timed(b.N, 1, func(op int) { s.again(calls[op]) }))
}

func (s *speed) report(b *testing.B, took, bare time.Duration) {
	b.ReportMetric(float64(took)/float64(bare), "x-bare")
	b.ReportMetric(float64(bare)/float64(b.N), "bare-ns/op")
}

// again is the part of a transaction by which the table knows a repeated call.
var again = regexp.MustCompile(`"ClientRequestToken":"[^"]*",?`)

// byOperation returns the recorded calls, with another table.
func (s *speed) byOperation(table string) map[int][]bareCall {
	calls := map[int][]bareCall{}
	for _, c := range s.calls {
		c.body = again.ReplaceAll(bytes.ReplaceAll(c.body, []byte(s.table), []byte(table)), nil)
		calls[c.op] = append(calls[c.op], c)
	}
	return calls
}

var bare = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// again sends calls one after the other, and reads their answers.
func (s *speed) again(calls []bareCall) {
	for _, c := range calls {
		r := c.request.Clone(context.Background())
		r.Body, r.ContentLength, r.RequestURI = io.NopCloser(bytes.NewReader(c.body)), int64(len(c.body)), ""
		res, err := bare.Do(r)
		if err != nil {
			s.b.Error(err)
			return
		}
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK && !bytes.Contains(text, []byte("Condition")) {
			s.b.Errorf("a bare call answers %d %s (%v)", res.StatusCode, text, err)
		}
		res.Body.Close()
	}
}
