package delivery_test

import (
	"fmt"
	"testing"

	"collabdata/shared/collab"
)

// TestBudget checks the table units of an event's delivery over all stages.
func TestBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := receive(t, nil)
	for _, test := range []struct {
		name        string
		recipients  int
		webhooks    int
		off         bool
		read, write float64 // maximum capacity units
		calls       int     // maximum calls to the table
	}{
		{"nobody", 0, 0, true, 6, 2, 10},
		{"one webhook", 0, 1, true, 13, 10, 23},
		{"one person, mail at once", 1, 0, true, 31, 12, 43},
		{"one person, mail grouped", 1, 0, false, 33, 12, 46},
		{"one webhook and ten people, mail at once", 10, 1, true, 300, 100, 290},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := w.account(grouping(test.off))
			for i := range test.webhooks {
				a.webhook(fmt.Sprint("hook", i), r.URL+"/hook")
			}
			var people []collab.User
			for i := range test.recipients {
				people = append(people, a.user(fmt.Sprint("user", i)))
			}
			w.send(a.comment("thread", people...))
			p := w.start()
			var usage collab.Usage
			p.ctx = collab.WithUsage(p.ctx, &usage)
			w.settle(p)
			read, write, calls := usage.Total()
			t.Logf("%.1f read units, %.1f write units, %d calls to the table, %d to AWS", read, write, calls, len(p.calls))
			if read > test.read || write > test.write || calls > test.calls {
				t.Errorf(
					"%.1f read units, %.1f write units, %d calls; want at most %.1f, %.1f, %d", read, write, calls, test.read, test.write, test.calls,
				)
			}
		})
	}
}

// TestBusyBudget checks the table units of an event with a post to a busy endpoint, where posts
// share the writes of the endpoint's task.
func TestBusyBudget(t *testing.T) {
	t.Parallel()
	const n = 60
	a, w := newAccount(t)
	r := a.hooked(nil)
	for range n {
		w.send(a.quiet())
	}
	p := w.start()
	var usage collab.Usage
	p.ctx = collab.WithUsage(p.ctx, &usage)
	w.settle(p)
	read, write, _ := usage.Total()
	t.Logf("%.2f read units, %.2f write units for each of %d posts", read/n, write/n, len(r.posts()))
	// slower machines need more runs
	if len(r.posts()) != n || write/n > 7 || read/n > 7.5 {
		t.Errorf("%.2f read units, %.2f write units for each of %d posts", read/n, write/n, len(r.posts()))
	}
}
