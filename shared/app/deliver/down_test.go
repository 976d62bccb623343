package deliver_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"collabdata/shared/app/local/worker"
	"collabdata/shared/collab"
	"collabdata/shared/queue"
	"collabdata/shared/store/hooks"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
	"collabdata/shared/webhook"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// outage is what a run with an endpoint that is down led to.
type outage struct {
	p50, p99 time.Duration // from the sending of an event until the endpoint that is up has it
	took     time.Duration // the whole run
	held     int           // messages in the queue of webhooks that were delayed or in flight at the same time, at most
	queued   int           // messages in it in the end: waiting, delayed or in flight
	refused  int           // posts to the one that is down
	pending  int           // deliveries to the one that is down
}

// clients send events side by side, each the next once the last has arrived. They are as many as the stand-ins bear: MiniStack looks for
// messages every 100 ms while one waits for them, and an event passes two queues.
const clients = 8

// hangsFor is the time-out of posts to an endpoint that hangs.
const hangsFor = 3 * time.Second

// How an endpoint is down.
const (
	notAtAll = ""
	refuses  = "refuses"
	hangs    = "hangs"
)

// runOutage sends n events to an endpoint that is up and to one that is down.
func runOutage(t testing.TB, n int, down string) outage {
	t.Helper()
	c := config(t, io.Discard)
	s := outboxOf(c)
	client := sqs.NewFromConfig(c.SQS)
	count := func() (waiting, held int) {
		out, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
			QueueUrl: &c.WebhooksURL, AttributeNames: []types.QueueAttributeName{"All"},
		})
		if err != nil {
			t.Error(err)
			return 0, 0
		}
		number := func(name string) int {
			n, err := strconv.Atoi(cmp.Or(out.Attributes["ApproximateNumberOfMessages"+name], "0"))
			if err != nil {
				t.Error(err)
			}
			return n
		}
		return number(""), number("Delayed") + number("NotVisible")
	}
	var mu sync.Mutex
	waits := make(map[string]chan time.Time, n)
	up := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		id := r.Header.Get("webhook-id")
		if got := waits[id]; got != nil {
			got <- time.Now()
			delete(waits, id) // it may come again
		}
	}))
	defer up.Close()
	urls := map[string]string{"up": up.URL}
	if down != notAtAll {
		listener, err := net.Listen("tcp4", "127.0.0.1:0")
		must.Do(t, err)
		urls["down"] = "http://" + listener.Addr().String()
		if down == refuses {
			must.Do(t, listener.Close())
		} else {
			defer listener.Close()
			c.Calls.Timeout = hangsFor
		}
	}
	for id, url := range urls {
		secret, err := webhook.NewSecret(rand.Reader)
		must.Do(t, err)
		must.Do(t,
			hooks.New(s).AddWebhook(
				t.Context(), "acme", collab.MaxWebhooks, collab.Webhook{ID: id, URL: url, Secrets: []collab.WebhookSecret{{Secret: secret}}},
			),
		)
	}
	l, err := worker.New(c)
	must.Do(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var local, senders sync.WaitGroup
	local.Go(func() { l.Run(ctx) })
	defer local.Wait()
	defer cancel()

	var took []time.Duration
	var o outage
	events := queue.New(c.SQS, c.EventsURL, c.Log)
	began := time.Now()
	for sender := range clients {
		senders.Go(func() {
			for i := sender; i < n; i += clients {
				now := time.Now()
				ev := &collab.Event{
					ID: collab.NewIDs(now, []byte(fmt.Sprint(i, rand.Text()))).Next(), Type: collab.NotificationAdded, Account: "acme",
					OrganizationID: "org", DocumentID: "doc", Time: now.UnixMilli(), NotificationID: fmt.Sprint(i),
				}
				got := make(chan time.Time, 1)
				mu.Lock()
				waits[ev.ID] = got
				mu.Unlock()
				if _, err := inboxOf(c).AddNotification(ctx, storetest.Request(time.Now()), collab.OrganizationRef{Account: "acme", Organization: "org"}, collab.Notification{ID: fmt.Sprint(i)}, nil, ev); err != nil {
					t.Error(err)
					return
				}
				start := time.Now()
				if err := events.SendEvents(ctx, queue.Event{EventRef: collab.EventRef{Account: "acme", ID: ev.ID}}); err != nil {
					t.Error(err)
					return
				}
				select {
				case at := <-got:
					mu.Lock()
					took = append(took, at.Sub(start))
					mu.Unlock()
				case <-time.After(time.Minute):
					t.Errorf("event %d did not arrive", i)
					return
				}
				if i%50 == 0 {
					_, held := count()
					mu.Lock()
					o.held = max(o.held, held)
					mu.Unlock()
				}
			}
		})
	}
	senders.Wait()
	slices.Sort(took)
	if len(took) != n {
		t.Fatalf("%d of %d arrived", len(took), n)
	}
	o.p50, o.p99, o.took = took[n/2], took[n*99/100], time.Since(began)
	if down == notAtAll {
		return o
	}
	deadline := time.Now().Add(time.Minute)
	for {
		waiting, held := count()
		if o.queued = waiting + held; o.queued <= clients || time.Now().After(deadline) {
			break
		}
	}
	position := ""
	for more := true; more; more = position != "" {
		var list []collab.Delivery
		list, position, err = hooks.New(s).Deliveries(t.Context(), "acme", "down", collab.DeliveryFilter{}, position, 1000)
		must.Do(t, err)
		for _, d := range list {
			o.refused += len(d.Attempts)
			if d.State == collab.DeliveryPending {
				o.pending++
			}
		}
	}
	return o
}

// check fails where more was posted to the endpoint that is down than it takes until it rests, and then a probe every half minute; or where
// what is for it stays in the queue.
func (o outage) check(t testing.TB, n int) {
	t.Helper()
	posts := collab.RestAfter + 2 + int(o.took/(30*time.Second)) + 1
	if o.refused > posts || o.pending < n-posts || o.queued > clients {
		t.Errorf("%+v: want at most %d posts", o, posts)
	}
}

// TestDownEndpoint: while an endpoint is down every other gets its events, and what is for the one that is down waits in the table and not
// in the queue. BenchmarkDownEndpoint measures by how much others are delayed.
func TestDownEndpoint(t *testing.T) {
	const n = 200
	for _, down := range []string{refuses, hangs} {
		t.Run(down, func(t *testing.T) { runOutage(t, n, down).check(t, n) })
	}
}

// BenchmarkDownEndpoint compares 10,000 events with an endpoint that is down with as many without one. Each of the two takes about six
// minutes: give -timeout 30m.
func BenchmarkDownEndpoint(b *testing.B) {
	const n = 10_000
	for _, down := range []string{refuses, hangs} {
		b.Run(down, func(b *testing.B) {
			for b.Loop() {
				without := runOutage(b, n, notAtAll)
				with := runOutage(b, n, down)
				with.check(b, n)
				if with.held > 10*clients {
					b.Errorf("%d messages were in flight at the same time", with.held)
				}
				b.Logf("without %+v, with %+v", without, with)
				b.ReportMetric(float64(with.p50.Milliseconds()), "p50-ms")
				b.ReportMetric(float64(without.p50.Milliseconds()), "p50-ms-without")
				b.ReportMetric(float64(with.p99.Milliseconds()), "p99-ms")
				b.ReportMetric(float64(without.p99.Milliseconds()), "p99-ms-without")
				b.ReportMetric(float64(with.p99)/float64(without.p99), "p99-ratio")
				b.ReportMetric(float64(with.refused), "posts-to-down")
				b.ReportMetric(float64(with.held), "most-in-flight")
				b.ReportMetric(float64(with.pending), "pending")
			}
		})
	}
}
