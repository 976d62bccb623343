package deliver

import (
	"slices"
	"sync"

	"collabdata/shared/queue"
)

// turns holds messages that were taken and wait to be worked on, and gives them out account by account, so that the many of one do not hold up
// the few of another, and no account's work takes all the places. In AWS the queue does so itself, as its messages are in groups: those of
// accounts with little under way come first. The stand-in does not. Safe for concurrent use.
type turns struct {
	most  int // messages that may wait
	share int // of one account that may be worked on at a time

	mu      sync.Mutex
	changed *sync.Cond
	ended   bool
	waiting map[string][]queue.Message // by account, oldest first
	order   []string                   // the accounts that have any, whose turn it is first
	working map[string]int             // given out and not done, by account
	n       int
}

// newTurns returns turns that hold up to most messages, and give out up to share of each account at a time.
func newTurns(most, share int) *turns {
	t := &turns{most: most, share: share, waiting: map[string][]queue.Message{}, working: map[string]int{}}
	t.changed = sync.NewCond(&t.mu)
	return t
}

// add lets messages wait, once there is room for one.
func (t *turns) add(messages ...queue.Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.n >= t.most && !t.ended {
		t.changed.Wait()
	}
	for _, m := range messages {
		acct := queue.Account(m.Text)
		if len(t.waiting[acct]) == 0 {
			t.order = append(t.order, acct)
		}
		t.waiting[acct] = append(t.waiting[acct], m)
		t.n++
	}
	t.changed.Broadcast()
}

// next waits for a message and returns the one whose turn it is, and what is to be called once it has been worked on. It returns false once end
// was called: what still waits comes again by itself.
func (t *turns) next() (m queue.Message, done func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	turn := t.turn()
	for turn < 0 && !t.ended {
		t.changed.Wait()
		turn = t.turn()
	}
	if t.ended {
		return m, nil, false
	}
	acct := t.order[turn]
	t.order = slices.Delete(t.order, turn, turn+1)
	m, t.waiting[acct] = t.waiting[acct][0], t.waiting[acct][1:]
	if len(t.waiting[acct]) == 0 {
		delete(t.waiting, acct)
	} else {
		t.order = append(t.order, acct)
	}
	t.n--
	t.working[acct]++
	t.changed.Broadcast()
	return m, func() { t.done(acct) }, true
}

// turn is whose turn it is, by its place in the order; -1 for nobody's.
func (t *turns) turn() int {
	return slices.IndexFunc(t.order, func(acct string) bool { return t.working[acct] < t.share })
}

func (t *turns) done(acct string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.working[acct]--; t.working[acct] == 0 {
		delete(t.working, acct)
	}
	t.changed.Broadcast()
}

// end ends the waiting of all.
func (t *turns) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.changed.Broadcast()
}
