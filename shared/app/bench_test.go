package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/localstack"
	"collabdata/shared/app"
	"collabdata/shared/client"
	"collabdata/shared/collab"
	"collabdata/shared/testing/localstacktest"

	"github.com/aws/smithy-go/middleware"
)

// bench is the local server over HTTP, on a table of its own, with a stopwatch on its calls to the emulator.
type bench struct {
	client *client.Client
	raw    atomic.Int64 // nanoseconds spent in calls of the SDK
	seq    atomic.Int64
}

func newBench(b *testing.B) *bench {
	b.Helper()
	return newBenchOn(b, localstacktest.DynamoDB(b), collab.Settings{})
}

// newBenchOn reaches DynamoDB and the queues at a URL, for an account of settings.
func newBenchOn(b *testing.B, url string, settings collab.Settings) *bench {
	b.Helper()
	s := &bench{}
	stopwatch := func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Stopwatch", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			start := time.Now()
			defer func() { s.raw.Add(int64(time.Since(start))) }()
			return next.HandleInitialize(ctx, in)
		}), middleware.Before)
	}
	cfg := localstacktest.Config(url)
	cfg.APIOptions = []func(*middleware.Stack) error{stopwatch}
	table := fmt.Sprintf("bench-%d", time.Now().UnixNano())
	service := app.New(app.Config{
		DynamoDB:  cfg,
		SQS:       localstacktest.Config(url),
		Table:     table,
		EventsURL: url + "/000000000000/events",
		Log:       slog.New(slog.DiscardHandler),
	})
	settings.WriteUnitsPerSecond, settings.EventsPerMinute = collab.Unlimited, collab.Unlimited
	ctx := b.Context()
	for _, err := range []error{
		localstack.CreateTable(ctx, localstacktest.Config(url), table),
		service.Accounts.EnsureAccount(ctx, collab.Account{ID: "acct", Settings: settings}, "key", []collab.Token{{Hash: collab.HashToken("token")}}),
	} {
		if err != nil {
			b.Fatal(err)
		}
	}
	server := httptest.NewServer(service.Handler())
	b.Cleanup(server.Close)
	s.client = client.New(client.Config{BaseURL: server.URL, APIKey: "key", AuthToken: "token"})
	s.post(b, "/v2/commentannotations/add", s.annotations(1, 10, `"createOrganization": true, "createDocument": true`))
	return s
}

// annotations is the body that adds n annotations with a comment of size bytes each to one document.
func (s *bench) annotations(n, size int, more string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"annotationId": "a%09d", "commentData": [{"commentText": %q, "from": {"userId": "ann"}}]}`,
			s.seq.Add(1), strings.Repeat("x", size))
	}
	if more != "" {
		more = ", " + more
	}
	return fmt.Sprintf(`{"data": {"organizationId": "org", "documentId": "doc", "commentAnnotations": [%s]%s}}`, strings.Join(list, ","), more)
}

func (s *bench) post(b testing.TB, path, body string) []byte {
	b.Helper()
	answer, err := s.client.Send(b.Context(), http.MethodPost, path, nil, []byte(body))
	if err != nil {
		b.Fatal(err)
	}
	if answer.Status != http.StatusOK {
		b.Fatalf("%s: %d %.300s", path, answer.Status, answer.Body)
	}
	return answer.Body
}

// measure reports how long the requests took in relation to the emulator calls that they made, in the same run.
func (s *bench) measure(b *testing.B, request func()) {
	var took atomic.Int64
	s.raw.Store(0)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			start := time.Now()
			request()
			took.Add(int64(time.Since(start)))
		}
	})
	b.ReportMetric(float64(took.Load())/float64(s.raw.Load()), "x-raw-calls")
}

// BenchmarkService measures the local server over HTTP. x-raw-calls is the time of a request divided by the time of the calls to the
// emulator that it made.
func BenchmarkService(b *testing.B) {
	add := func(b *testing.B, clients int) {
		s := newBench(b)
		b.SetParallelism(clients)
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(1, min(clients, runtime.NumCPU()))))
		b.SetParallelism(max(1, clients/runtime.GOMAXPROCS(0)))
		s.measure(b, func() { s.post(b, "/v2/commentannotations/add", s.annotations(1, 100, "")) })
	}
	b.Run("add/clients=1", func(b *testing.B) { add(b, 1) })
	b.Run("add/clients=16", func(b *testing.B) { add(b, 16) })
	for _, size := range []int{20, 1000} {
		b.Run(fmt.Sprintf("list/pageSize=%d", size), func(b *testing.B) {
			s := newBench(b)
			for range 3 {
				s.post(b, "/v2/commentannotations/add", s.annotations(500, 100, ""))
			}
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			body := fmt.Sprintf(`{"data": {"organizationId": "org", "documentId": "doc", "pageSize": %d}}`, size)
			s.measure(b, func() { s.post(b, "/v2/commentannotations/get", body) })
		})
	}
}

// BenchmarkLargestPage answers pages of 5 MB and reports the most heap that was in use meanwhile, by the server and its client
// together.
func BenchmarkLargestPage(b *testing.B) {
	s := newBench(b)
	for range 20 {
		s.post(b, "/v2/commentannotations/add", s.annotations(10, 30_000, ""))
	}
	const body = `{"data": {"organizationId": "org", "documentId": "doc"}}`
	var envelope struct {
		Result struct{ Data []json.RawMessage }
	}
	if answer := s.post(b, "/v2/commentannotations/get", body); len(answer) < 4_900_000 {
		b.Fatalf("a page of %d bytes is not the largest", len(answer))
	} else if err := json.NewDecoder(bytes.NewReader(answer)).Decode(&envelope); err != nil {
		b.Fatal(err)
	}
	envelope.Result.Data = nil
	runtime.GC()
	done, watched := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		var m runtime.MemStats
		for {
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			select {
			case <-done:
				watched <- most
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	b.ResetTimer()
	for b.Loop() {
		s.post(b, "/v2/commentannotations/get", body)
	}
	b.StopTimer()
	close(done)
	b.ReportMetric(float64(<-watched)/1e6, "MB-heap")
}
