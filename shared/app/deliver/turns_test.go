package deliver

import (
	"fmt"
	"sync"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/queue"

	"github.com/google/go-cmp/cmp"
)

// TestTurns: accounts take turns, each in the order of its messages, and what does not fit waits.
func TestTurns(t *testing.T) {
	message := func(acct string, n int) queue.Message {
		return queue.Message{Text: queue.Event{EventRef: collab.EventRef{Account: acct, ID: fmt.Sprint(acct, n)}}.Encode()}
	}
	turns := newTurns(4)
	turns.add(message("a", 1), message("a", 2), message("a", 3), queue.Message{Text: "unreadable"}, message("b", 1))
	var wg sync.WaitGroup
	wg.Go(func() { turns.add(message("b", 2)) })
	var got []string
	for range 6 {
		m, ok := turns.next()
		if !ok {
			t.Fatal("it ended")
		}
		e, err := queue.DecodeEvent(m.Text)
		if err != nil {
			e.ID = m.Text
		}
		got = append(got, e.ID)
		if len(got) == 3 {
			wg.Wait()
		}
	}
	if diff := cmp.Diff([]string{"a1", "unreadable", "b1", "a2", "b2", "a3"}, got); diff != "" {
		t.Error(diff)
	}
	wg.Go(func() {
		if m, ok := turns.next(); ok {
			t.Errorf("got %v after the end", m)
		}
	})
	turns.end()
	wg.Wait()
	turns.add(make([]queue.Message, 9)...)
	turns.add(message("a", 4)) // nobody waits for room any more
}
