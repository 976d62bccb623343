package deliver_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"collabdata/scripts/local/worker"
	"collabdata/shared/collab"
	"collabdata/shared/queue"
	"collabdata/shared/store/hooks"
	"collabdata/shared/testing/storetest"
	"collabdata/shared/webhook"

	"golang.org/x/sync/errgroup"
)

// BenchmarkHealthyEndpoint sends 10,000 events, all at once, to one endpoint that answers at once, and reports how many arrive in a second,
// by how many places the first posts are out of the order of their events at most, and what each cost of the table.
func BenchmarkHealthyEndpoint(b *testing.B) {
	const n = 10_000
	for b.Loop() {
		c := config(b, io.Discard)
		s := outboxOf(c)
		var mu sync.Mutex
		seen := map[string]bool{}
		var order []string
		all := make(chan struct{})
		up := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if id := r.Header.Get("webhook-id"); !seen[id] {
				seen[id] = true
				if order = append(order, id); len(order) == n {
					close(all)
				}
			}
		}))
		secret, err := webhook.NewSecret(rand.Reader)
		if err == nil {
			err = hooks.New(s).AddWebhook(
				b.Context(), "acme", collab.MaxWebhooks, collab.Webhook{ID: "up", URL: up.URL, Secrets: []collab.WebhookSecret{{Secret: secret}}},
			)
		}
		if err != nil {
			b.Fatal(err)
		}
		events := make([]queue.Event, n)
		start := time.Now().Add(-n * time.Millisecond)
		var g errgroup.Group
		g.SetLimit(16)
		for i := range n {
			g.Go(func() error {
				at := start.Add(time.Duration(i) * time.Millisecond)
				ev := &collab.Event{
					ID: collab.NewIDs(at, []byte(rand.Text())).Next(), Type: collab.NotificationAdded, Account: "acme", OrganizationID: "org",
					DocumentID: "doc", Time: at.UnixMilli(), NotificationID: fmt.Sprint(i),
				}
				events[i] = queue.Event{EventRef: collab.EventRef{Account: "acme", ID: ev.ID}}
				_, err := inboxOf(c).AddNotification(
					b.Context(), storetest.Request(time.Now()), collab.OrganizationRef{Account: "acme", Organization: "org"}, collab.Notification{ID: ev.NotificationID}, nil, ev,
				)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			b.Fatal(err)
		}
		if err := queue.New(c.SQS, c.EventsURL, c.Log).SendEvents(b.Context(), events...); err != nil {
			b.Fatal(err)
		}
		l, err := worker.New(c)
		if err != nil {
			b.Fatal(err)
		}
		var usage collab.Usage
		ctx, cancel := context.WithCancel(collab.WithUsage(b.Context(), &usage))
		var local sync.WaitGroup
		began := time.Now()
		local.Go(func() { l.Run(ctx) })
		<-all
		took := time.Since(began)
		cancel()
		local.Wait()
		up.Close()
		want := slices.Sorted(slices.Values(order))
		out := 0
		for i, id := range order {
			at, _ := slices.BinarySearch(want, id)
			out = max(out, i-at, at-i)
		}
		read, write, _ := usage.Total()
		b.ReportMetric(n/took.Seconds(), "events/s")
		b.ReportMetric(float64(out), "places-out")
		b.ReportMetric(read/n, "read-units")
		b.ReportMetric(write/n, "write-units")
	}
}
