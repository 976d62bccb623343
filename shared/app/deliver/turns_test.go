package deliver

import (
	"fmt"
	"sync"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/queue"

	"github.com/google/go-cmp/cmp"
)

// TestTurns: accounts take turns, each in the order of its messages, what does not fit waits, and so does an account that has its share
// under way.
func TestTurns(t *testing.T) {
	message := func(acct string, n int) queue.Message {
		return queue.Message{Text: queue.Event{EventRef: collab.EventRef{Account: acct, ID: fmt.Sprint(acct, n)}}.Encode()}
	}
	turns := newTurns(4, 2)
	var under []func() // what was given out and is not done
	next := func() string {
		t.Helper()
		m, done, ok := turns.next()
		if !ok {
			t.Fatal("it ended")
		}
		under = append(under, done)
		e, err := queue.DecodeEvent(m.Text)
		if err != nil {
			return m.Text
		}
		return e.ID
	}
	turns.add(message("a", 1), message("a", 2), message("a", 3), queue.Message{Text: "unreadable"}, message("b", 1))
	var wg sync.WaitGroup
	wg.Go(func() { turns.add(message("b", 2)) })
	got := []string{next(), next(), next()}
	wg.Wait()
	got = append(got, next(), next())
	if turn := turns.turn(); turn >= 0 {
		t.Errorf("it is the turn of %s, which has its share", turns.order[turn])
	}
	under[0]()
	got = append(got, next())
	if diff := cmp.Diff([]string{"a1", "unreadable", "b1", "a2", "b2", "a3"}, got); diff != "" {
		t.Error(diff)
	}
	for _, done := range under[1:] {
		done()
	}
	if len(turns.working) != 0 {
		t.Errorf("under way when all is done: %v", turns.working)
	}
	wg.Go(func() {
		if m, _, ok := turns.next(); ok {
			t.Errorf("got %v after the end", m)
		}
	})
	turns.end()
	wg.Wait()
	turns.add(make([]queue.Message, 9)...)
	turns.add(message("a", 4)) // nobody waits for room any more
}
