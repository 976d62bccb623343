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
	took    time.Duration // the whole run
	queued  int           // messages in it in the end: waiting, delayed or in flight
	refused int           // posts to the one that is down
	pending int           // deliveries to the one that is down
}

// clients send events side by side, each the next once the last has arrived. They are as many as the stand-ins bear: MiniStack looks for
// messages every 100 ms while one waits for them, and an event passes two queues.
const clients = 8

// hangsFor is the time-out of posts to an endpoint that hangs.
const hangsFor = 3 * time.Second

// How an endpoint is down.
const (
	refuses = "refuses"
	hangs   = "hangs"
)

// runOutage sends n events to an endpoint that is up and to one that is down.
func runOutage(t *testing.T, n int, down string) outage {
	t.Helper()
	c := config(t, io.Discard)
	s := outboxOf(c)
	client := sqs.NewFromConfig(c.SQS)
	count := func() (messages int) {
		out, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
			QueueUrl: &c.WebhooksURL, AttributeNames: []types.QueueAttributeName{"All"},
		})
		if err != nil {
			t.Error(err)
		}
		for _, state := range []string{"", "Delayed", "NotVisible"} {
			n, err := strconv.Atoi(cmp.Or(out.Attributes["ApproximateNumberOfMessages"+state], "0"))
			if err != nil {
				t.Error(err)
			}
			messages += n
		}
		return messages
	}
	var mu sync.Mutex
	waits := make(map[string]chan struct{}, n)
	up := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		id := r.Header.Get("webhook-id")
		if got := waits[id]; got != nil {
			close(got)
			delete(waits, id) // it may come again
		}
	}))
	defer up.Close()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	must.Do(t, err)
	urls := map[string]string{"up": up.URL, "down": "http://" + listener.Addr().String()}
	if down == refuses {
		must.Do(t, listener.Close())
	} else {
		defer listener.Close()
		c.Calls.Timeout = hangsFor
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
				got := make(chan struct{})
				mu.Lock()
				waits[ev.ID] = got
				mu.Unlock()
				if _, err := inboxOf(c).AddNotification(ctx, storetest.Request(time.Now()), collab.OrganizationRef{Account: "acme", Organization: "org"}, collab.Notification{ID: fmt.Sprint(i)}, nil, ev); err != nil {
					t.Error(err)
					return
				}
				if err := events.SendEvents(ctx, queue.Event{EventRef: collab.EventRef{Account: "acme", ID: ev.ID}}); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-got:
				case <-time.After(time.Minute):
					t.Errorf("event %d did not arrive", i)
					return
				}
			}
		})
	}
	senders.Wait()
	o.took = time.Since(began)
	deadline := time.Now().Add(time.Minute)
	for {
		if o.queued = count(); o.queued <= clients || time.Now().After(deadline) {
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
func (o outage) check(t *testing.T, n int) {
	t.Helper()
	posts := collab.RestAfter + 2 + int(o.took/(30*time.Second)) + 1
	if o.refused > posts || o.pending < n-posts || o.queued > clients {
		t.Errorf("%+v: want at most %d posts", o, posts)
	}
}

// TestDownEndpoint: while an endpoint is down every other gets its events, and what is for the one that is down waits in the table and not
// in the queue.
func TestDownEndpoint(t *testing.T) {
	const n = 200
	for _, down := range []string{refuses, hangs} {
		t.Run(down, func(t *testing.T) { runOutage(t, n, down).check(t, n) })
	}
}
