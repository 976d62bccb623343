package delivery_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/queue"
)

// gate holds a process up before its calls that concern a lane, its deliveries or its messages.
type gate struct {
	left    atomic.Int64  // calls that are still held up; those after them go on
	arrived chan struct{} // it is held up
	opened  chan struct{} // it goes on
}

func (g *gate) pass(name string, body []byte) {
	lane := bytes.Contains(body, []byte("DUE#lane")) || bytes.Contains(body, []byte("#HOOK#")) || strings.Contains(string(body), "SendMessageBatch")
	if g == nil || !lane && !strings.HasSuffix(name, "SendMessageBatch") || g.left.Add(-1) < 0 {
		return
	}
	g.arrived <- struct{}{}
	<-g.opened
}

// actor is a process that does one thing, call by call.
type actor struct {
	*gate
	done chan error
	over bool
	err  error
}

func act(p *process, most int, do func() error) *actor {
	a := &actor{gate: &gate{arrived: make(chan struct{}), opened: make(chan struct{})}, done: make(chan error, 1)}
	a.left.Store(int64(most))
	p.gate = a.gate
	go func() { a.done <- do() }()
	a.wait()
	return a
}

// wait waits until it is held up, or has done its thing.
func (a *actor) wait() {
	select {
	case <-a.arrived:
	case a.err = <-a.done:
		a.over = true
	}
}

// schedules tries all orders in which the calls of actors can be made. Each is a list of choices between those who are held up.
func schedules(try func(choose func(among int) int)) (tried int) {
	var choices, among []int
	for {
		n := 0
		try(func(k int) int {
			if n == len(choices) {
				choices, among = append(choices, 0), append(among, k)
			}
			n++
			return choices[n-1]
		})
		tried++
		for n = len(choices) - 1; n >= 0 && choices[n] == among[n]-1; n-- {
		}
		if n < 0 {
			return tried
		}
		choices, among = choices[:n+1], among[:n+1]
		choices[n]++
	}
}

// TestInterleavings: in whatever order the calls of one who adds a delivery and of one who works on the lane are made, the delivery is posted,
// once, without the help of the relay: no wake-up is lost. The second case is that of a delivery of an early event, behind the lane's Low.
func TestInterleavings(t *testing.T) {
	for _, test := range []struct {
		name  string
		age   time.Duration // of the event
		calls int           // of the one who adds it, that are held up
		fails bool          // what the lane has already fails at first, so that it is released with a message
	}{{"new", 0, 4, false}, {"late", time.Hour, 2, false}, {"new, after a failure", 0, 4, true}, {"late, after a failure", time.Hour, 2, true}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.account()
			var failing sync.Map // by event
			r := receive(t, func(rw http.ResponseWriter, req *http.Request) {
				if _, fails := failing.LoadAndDelete(req.Header.Get("webhook-id")); fails {
					rw.WriteHeader(http.StatusInternalServerError)
				}
			})
			n := 0
			tried := schedules(func(choose func(int) int) {
				n++
				hook := fmt.Sprint("hook", n)
				ref := collab.LaneRef{Account: a.id, WebhookID: hook}
				a.webhook(hook, r.URL+"/"+hook)
				first, ev := a.quiet(), a.notification(func(ev *collab.Event) {
					ev.ID = collab.NewIDs(w.Now().Add(-test.age), []byte(hook)).Next()
					ev.Notify = false
				})
				want := 1
				if test.fails {
					failing.Store(first.ID, true)
					want = 2
				}
				_, err := w.outbox.AddDelivery(t.Context(), a.lane(hook), collab.Delivery{
					WebhookID: hook, EventID: first.ID, Type: first.Type, State: collab.DeliveryPending, CreatedAt: w.millis(),
				})
				w.must(err)
				woken, err := w.outbox.WakeLane(t.Context(), ref)
				w.must(err)
				adder, holder := w.start(), w.start()
				actors := []*actor{
					act(adder, test.calls, func() error { return adder.Event(t.Context(), event(ev)) }),
					act(holder, 100, func() error { return holder.Lane(t.Context(), queue.Lane{LaneRef: ref, Woken: woken}) }),
				}
				for {
					var held []*actor
					for _, x := range actors {
						if !x.over {
							held = append(held, x)
						}
					}
					if len(held) == 0 {
						break
					}
					next := held[0]
					if len(held) > 1 {
						next = held[choose(len(held))]
					}
					next.opened <- struct{}{}
					next.wait()
				}
				for _, x := range actors {
					w.must(x.err)
				}
				w.drain(w.start())
				w.add(10 * time.Second)
				w.release()
				w.drain(w.start())
				if got := r.got("/" + hook); len(got) != 2 || got[first.ID] != want || got[ev.ID] != 1 {
					t.Errorf("order %d: posted %v; the adder called %v, the holder %v", n, got, adder.calls, holder.calls)
				}
				w.must(w.outbox.DeleteWebhook(t.Context(), a.id, hook, "mark"))
			})
			t.Logf("%d orders", tried)
			if tried < 20 {
				t.Error("these are not all")
			}
		})
	}
}
