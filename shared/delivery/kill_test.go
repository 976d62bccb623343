package delivery_test

import (
	"collabdata/shared/store/hooks"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/delivery"

	"github.com/google/go-cmp/cmp"
)

// scenario is an event in a new account, with its required results wherever a process is killed.
type scenario struct {
	name    string
	happens func(a *account, receiver string) *collab.Event // records the event, and sends nothing
	inbox   map[string]int                                  // notifications by user
	mail    map[string]int                                  // emails by user
	posts   []string                                        // webhook endpoints that get the event, at least once
	states  map[string]collab.DeliveryState                 // of the event's deliveries
}

func grouping(off bool) func(*collab.Settings) {
	return func(s *collab.Settings) { s.MailBatch = map[bool]collab.MailBatch{true: collab.BatchEvent}[off] }
}

func scenarios() []scenario {
	people := func(a *account) []collab.User {
		a.member("cid")
		return []collab.User{a.user("bob"), {UserID: "cid"}}
	}
	return []scenario{
		{
			name: "comment",
			happens: func(a *account, receiver string) *collab.Event {
				a.webhook("bad", receiver+"/bad/"+a.id)
				return a.comment("thread", people(a)...)
			},
			inbox: map[string]int{"bob": 1, "cid": 1, "ann": 0}, mail: map[string]int{"bob": 1, "cid": 1},
			posts: []string{"bad"}, states: map[string]collab.DeliveryState{"bad": collab.DeliveryDelivered},
		},
		{
			name: "notification to named people, whom the permission provider knows",
			happens: func(a *account, receiver string) *collab.Event {
				a.provider(receiver+"/permissions", "secret")
				return a.notification(func(ev *draft) {
					ev.VerifyAccess, ev.People = true, append(people(a), a.user("refused"))
				})
			},
			inbox: map[string]int{"bob": 1, "cid": 1, "refused": 0}, mail: map[string]int{"bob": 1, "cid": 1, "refused": 0},
		},
		{
			name: "notification to all",
			happens: func(a *account, receiver string) *collab.Event {
				for _, user := range []string{"ann", "bob", "cid"} {
					a.member(user)
				}
				for _, user := range []string{"ann", "bob"} {
					a.prefer(user, collab.Preferences{Email: collab.PreferAll})
				}
				return a.notification(func(ev *draft) { ev.NotifyAll = true })
			},
			inbox: map[string]int{"ann": 0, "bob": 1, "cid": 1, "passer-by": 1}, mail: map[string]int{"ann": 0, "bob": 1, "cid": 0},
		},
		{
			name: "the first reaction",
			happens: func(a *account, receiver string) *collab.Event {
				a.webhook("good", receiver+"/good/"+a.id)
				return a.reaction("bob", "ann")
			},
			inbox: map[string]int{"ann": 0, "bob": 1}, mail: map[string]int{"bob": 0},
			posts: []string{"good"}, states: map[string]collab.DeliveryState{"good": collab.DeliveryDelivered},
		},
		{
			name: "an endpoint that is gone",
			happens: func(a *account, receiver string) *collab.Event {
				a.webhook("good", receiver+"/good/"+a.id)
				a.webhook("gone", receiver+"/gone/"+a.id)
				return a.comment("thread")
			},
			inbox: map[string]int{"ann": 0}, posts: []string{"good", "gone"},
			states: map[string]collab.DeliveryState{"good": collab.DeliveryDelivered, "gone": collab.DeliveryPending},
		},
	}
}

// answerAll responds by the first part of the path: good, bad (fails at first), gone, permissions.
func answerAll(t testing.TB) http.HandlerFunc {
	bad := failing(1, http.StatusInternalServerError)
	return func(w http.ResponseWriter, r *http.Request) {
		switch kind, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); kind {
		case "good":
			w.WriteHeader(http.StatusOK)
		case "bad":
			bad(w, r)
		case "gone":
			w.WriteHeader(http.StatusGone)
		case "permissions":
			if r.Header.Get("Authorization") != "Bearer secret" {
				t.Error("the provider was asked without the secret")
			}
			fmt.Fprint(w, `{"userIds":["bob","cid"]}`)
		default:
			t.Errorf("post to %s", r.URL)
		}
	}
}

// TestKilledAnywhere kills the process that handles an event before and after each call to AWS that
// changes something, and starts another. It also never sends the event's message. As a post is
// between two calls, this covers kills between any two steps.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			whole := s.run(t, true, 0)
			if whole.steps < 10 {
				t.Fatalf("calls %v", whole.calls)
			}
			t.Run("never sent", func(t *testing.T) {
				t.Parallel()
				s.run(t, false, 0)
			})
			for k := 1; k <= whole.steps+1; k++ {
				t.Run(fmt.Sprintf("before step %d", k), func(t *testing.T) {
					t.Parallel()
					s.run(t, true, k)
				})
			}
			t.Logf("%d steps in %d calls: %v", whole.steps, len(whole.calls), whole.calls)
		})
	}
}

// run runs the scenario in a new world and kills the first process before a step, from 1; 0 for
// none. It checks the results, and returns that process.
func (s scenario) run(t *testing.T, sent bool, killAt int) *process {
	w := newWorld(t)
	r := receive(t, answerAll(t))
	a := w.account()
	ev, began := s.happens(a, r.URL), w.Now()
	if sent {
		w.send(ev)
	}
	pages := func(o *delivery.Options) { o.PageSize = 2 }
	p := w.start(pages)
	p.killAt.step = killAt
	w.settle(p)
	w.settle(w.start(pages))
	if took := w.Now().Sub(began); took > 12*time.Hour {
		t.Errorf("after %v: it took %v", p.calls, took)
	}
	twice := p.mails - p.marked // killed between the email service's response and the mark
	if killAt == 0 && twice != 0 {
		t.Errorf("%d mails, %d marks", p.mails, p.marked)
	}
	s.check(t, fmt.Sprintf("after %v", p.calls), a, ev, r, twice)
	return p
}

// check reports wrong results of the scenario. twice is the maximum number of duplicate emails.
func (s scenario) check(t *testing.T, title string, a *account, ev *collab.Event, r *receiver, twice int) {
	for user, want := range s.inbox {
		if got := a.inbox(user); len(got) != want {
			t.Errorf("%s: %s has %d notifications, want %d", title, user, len(got), want)
		}
	}
	for _, hook := range s.posts {
		if n := r.got("/" + hook + "/" + a.id)[ev.ID]; n < 1 {
			t.Errorf("%s: %s got the event %d times", title, hook, n)
		}
		if d := a.delivery(hook, ev.ID); d.State != s.states[hook] {
			t.Errorf("%s: delivery to %s is %+v", title, hook, d)
		}
	}
	if hook, err := a.db.Hooks.Webhook(t.Context(), a.id, "gone"); err == nil {
		told := r.got("/good/" + a.id)
		if !hook.Disabled || len(told) != 2 {
			t.Errorf("%s: endpoint gone is disabled: %v; the other got %v", title, hook.Disabled, told)
		}
	}
	if work := a.work(ev); work != nil {
		t.Errorf("%s: pending %+v", title, work)
	}
	mails := a.sentEmails()
	for user, want := range s.mail {
		got := len(mails[a.address(user)])
		if got < want || got > 2*want || got-want > twice {
			t.Errorf("%s: %s has %d mails, want %d", title, user, got, want)
		}
		twice -= max(got-want, 0)
	}
}

// TestDoubledAndDisordered handles every message twice, concurrently in several processes, in any
// order.
func TestDoubledAndDisordered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := receive(t, answerAll(t))
	type run struct {
		s  scenario
		a  *account
		ev *collab.Event
	}
	var runs []run
	for _, s := range scenarios() {
		a := w.account()
		runs = append(runs, run{s, a, s.happens(a, r.URL)})
	}
	for _, x := range runs {
		w.send(x.ev)
	}
	for _, x := range slices.Backward(runs) {
		w.send(x.ev)
		for _, hook := range x.s.posts {
			w.must(w.tasks().SendIn(t.Context(), 0, hooks.EndpointTask(x.a.id, hook)))
		}
		w.send(x.ev)
	}
	processes := []*process{w.start(), w.start(), w.start()}
	done := make(chan bool)
	for _, p := range processes[1:] {
		go func() {
			w.drain(p)
			done <- true
		}()
	}
	w.drain(processes[0])
	for range processes[1:] {
		<-done
	}
	w.settle(processes[0])
	for i, x := range runs {
		x.s.check(t, fmt.Sprintf("%d, %s", i, x.s.name), x.a, x.ev, r, 0)
	}
}

// TestDone checks that messages about a delivered event have no effect, although it would have
// other recipients now. They cost two read units.
func TestDone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := receive(t, nil)
	for _, grouped := range []bool{true, false} {
		a := w.account(grouping(!grouped))
		a.webhook("hook", r.URL+"/"+a.id)
		evs := []*collab.Event{
			a.comment("thread", a.user("bob")),
			a.comment("other"),
			a.notification(func(ev *draft) { ev.NotifyAll = true }),
		}
		w.send(evs...)
		p := w.start()
		w.settle(p)
		a.member("cid")
		a.webhook("late", r.URL+"/"+a.id)
		a.prefer("cid", collab.Preferences{Email: collab.PreferAll})
		posts, inbox, mails := len(r.posts()), a.inbox("bob"), w.sentEmails()
		for _, ev := range evs {
			var usage collab.Usage
			w.must(p.take(collab.WithUsage(t.Context(), &usage), event(ev)))
			if read, write, _ := usage.Total(); read+write > 2 { // the task and the account
				t.Errorf("%.1f read units, %.1f write units", read, write)
			}
		}
		w.settle(p)
		if diff := cmp.Diff(inbox, a.inbox("bob")); diff != "" || len(r.posts()) != posts {
			t.Errorf("%d more posts, inbox %s", len(r.posts())-posts, diff)
		}
		for _, user := range []string{"bob", "cid"} {
			if before, now := len(mails[a.address(user)]), len(w.sentEmails()[a.address(user)]); now != before {
				t.Errorf("%s had %d mails, and has %d", user, before, now)
			}
		}
	}
}
