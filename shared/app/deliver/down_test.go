package deliver

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

	"collabdata/shared/collab"
	"collabdata/shared/queue"
	"collabdata/shared/webhook"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// outage is what a run with an endpoint that is down led to.
type outage struct {
	p50, p99 time.Duration // from the sending of an event until the endpoint that is up has it
	refused  int           // posts to the one that is down
	queued   int           // messages in the queue of webhooks in the end: waiting, delayed or in flight
	pending  int           // deliveries to the one that is down that the relay will wake
}

// runOutage sends n events, a few at a time, to an endpoint that is up and, if down is true, to one at which nothing listens.
func runOutage(t testing.TB, n int, down bool) outage {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c := config(t, io.Discard)
	s := c.store()
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
	hooks := map[string]string{"up": up.URL}
	if down {
		listener, err := net.Listen("tcp4", "127.0.0.1:0")
		must(err)
		hooks["down"] = "http://" + listener.Addr().String()
		must(listener.Close())
	}
	for id, url := range hooks {
		secret, err := webhook.NewSecret(rand.Reader)
		must(err)
		_, err = s.PutWebhook(t.Context(), "acme", collab.Webhook{ID: id, URL: url, Secrets: []collab.WebhookSecret{{Secret: secret}}})
		must(err)
	}
	l, err := NewLocal(c)
	must(err)
	ctx, cancel := context.WithCancel(t.Context())
	var local, clients sync.WaitGroup
	local.Go(func() { l.Run(ctx) })
	defer local.Wait()
	defer cancel()

	var took []time.Duration
	events := c.events()
	for client := range 4 {
		clients.Go(func() {
			for i := client; i < n; i += 4 {
				now := time.Now()
				ev := &collab.Event{
					ID: collab.NewIDs(now, []byte(fmt.Sprint(i, rand.Text()))).Next(), Type: collab.NotificationAdded, Account: "acme",
					OrganizationID: "org", DocumentID: "doc", Time: now.UnixMilli(), Notification: &collab.Notification{ID: fmt.Sprint(i)},
				}
				got := make(chan time.Time, 1)
				mu.Lock()
				waits[ev.ID] = got
				mu.Unlock()
				if _, err := s.AddNotification(ctx, collab.OrganizationRef{Account: "acme", Organization: "org"}, collab.Notification{ID: fmt.Sprint(i)}, ev); err != nil {
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
			}
		})
	}
	clients.Wait()
	slices.Sort(took)
	if len(took) != n {
		t.Fatalf("%d of %d arrived", len(took), n)
	}
	o := outage{p50: took[n/2], p99: took[n*99/100]}
	if !down {
		return o
	}
	client := sqs.NewFromConfig(c.SQS)
	queued := func() (n int) {
		out, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
			QueueUrl: &c.WebhooksURL, AttributeNames: []types.QueueAttributeName{"All"},
		})
		must(err)
		for _, name := range []string{"", "Delayed", "NotVisible"} {
			count, err := strconv.Atoi(cmp.Or(out.Attributes["ApproximateNumberOfMessages"+name], "0"))
			must(err)
			n += count
		}
		return n
	}
	deadline := time.Now().Add(30 * time.Second)
	for o.queued = queued(); o.queued > 2*collab.RestAfter && time.Now().Before(deadline); o.queued = queued() {
	}
	position := ""
	for more := true; more; more = position != "" {
		var list []collab.Delivery
		list, position, err = s.Deliveries(t.Context(), "acme", "down", collab.DeliveryFilter{}, position, 1000)
		must(err)
		for _, d := range list {
			o.refused += len(d.Attempts)
			if d.State == collab.DeliveryPending && d.Due != 0 {
				o.pending++
			}
		}
	}
	return o
}

// TestDownEndpoint: an endpoint that is down delays no other, and what is for it waits in the table and not in the queue.
func TestDownEndpoint(t *testing.T) {
	const n = 200
	var ratios []float64
	for range 5 { // the machine may be busy with something else in one run or the other
		without := runOutage(t, n, false)
		with := runOutage(t, n, true)
		if with.refused > 2*collab.RestAfter || with.queued > 2*collab.RestAfter || with.pending < n-2*collab.RestAfter {
			t.Fatalf("%+v", with)
		}
		t.Logf("without %+v, with %+v", without, with)
		ratios = append(ratios, float64(with.p99)/float64(without.p99))
		if ratios[len(ratios)-1] < 2 {
			return
		}
	}
	t.Errorf("the p99 of others was longer by these factors: %.1f", ratios)
}

// BenchmarkDownEndpoint is TestDownEndpoint with 10,000 events.
func BenchmarkDownEndpoint(b *testing.B) {
	for b.Loop() {
		without := runOutage(b, 10_000, false)
		with := runOutage(b, 10_000, true)
		b.ReportMetric(float64(with.p99.Milliseconds()), "p99-ms")
		b.ReportMetric(float64(without.p99.Milliseconds()), "p99-ms-without")
		b.ReportMetric(float64(with.p99)/float64(without.p99), "p99-ratio")
		b.ReportMetric(float64(with.p50)/float64(without.p50), "p50-ratio")
		b.ReportMetric(float64(with.refused), "posts-to-down")
		b.ReportMetric(float64(with.queued), "queued")
		b.ReportMetric(float64(with.pending), "pending")
	}
}
