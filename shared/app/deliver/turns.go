package deliver

import (
	"sync"

	"collabdata/shared/queue"
)

// turns holds messages that were taken and wait to be worked on, and gives them out account by account, so that the many of one do not hold up
// the few of another. In AWS the queue itself does so, as its messages are in groups; the stand-in does not. Safe for concurrent use.
type turns struct {
	most int // messages that may wait

	mu      sync.Mutex
	changed *sync.Cond
	ended   bool
	waiting map[string][]queue.Message // by account, oldest first
	order   []string                   // the accounts that have any, whose turn it is first
	n       int
}

// newTurns returns turns that hold up to most messages.
func newTurns(most int) *turns {
	t := &turns{most: most, waiting: map[string][]queue.Message{}}
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

// next waits for a message and returns the one whose turn it is. It returns false once end was called: what still waits comes again by itself.
func (t *turns) next() (m queue.Message, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.n == 0 && !t.ended {
		t.changed.Wait()
	}
	if t.ended {
		return m, false
	}
	acct := t.order[0]
	t.order = t.order[1:]
	m, t.waiting[acct] = t.waiting[acct][0], t.waiting[acct][1:]
	if len(t.waiting[acct]) == 0 {
		delete(t.waiting, acct)
	} else {
		t.order = append(t.order, acct)
	}
	t.n--
	t.changed.Broadcast()
	return m, true
}

// end ends the waiting of all.
func (t *turns) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.changed.Broadcast()
}
