package pending_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store/task"
	"collabdata/shared/testing/must"
)

// slow is a backlog that takes a time to read.
type slow struct {
	*backlog
	page time.Duration
}

func (s slow) Waiting(
	ctx context.Context, kind string, shard int, until collab.Millis, from string, limit int, skip func(error),
) ([]*task.Task, string, error) {
	select {
	case <-time.After(s.page):
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
	return s.backlog.Waiting(ctx, kind, shard, until, from, limit, skip)
}

// TestSlowBacklog checks that a run without time to read all of an account's backlog sends the part
// that it has read. Each shard is read in one of the next runs.
func TestSlowBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{TB: t, now: time.Now(), queue: &queues{length: map[collab.TaskKind]int{collab.EventTask: 1_000}}}
		r := w.relay()
		r.Store = slow{&backlog{pages: 30}, 200 * time.Millisecond}
		sent := map[string]bool{}
		for range keys.DueShards {
			must.Do(t, r.Run(t.Context()))
			for _, ref := range w.queue.sent {
				sent[ref.Account+ref.ID] = true
			}
			w.add(time.Minute)
		}
		for shard := range keys.DueShards {
			if !sent[fmt.Sprint("zoe", shard)] {
				t.Errorf("the task in shard %d was not sent", shard)
			}
		}
	})
}
