// Package pending sends messages about waiting tasks that are due: those whose message was lost,
// whose run failed, or that were due too late for a message ahead.
package pending

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/metrics"
	"collabdata/shared/store/task"

	"golang.org/x/sync/errgroup"
)

const (
	portion     = 1_000           // tasks per read
	maxRead     = 50_000          // tasks of a shard that a run reads
	maxKept     = 2_500           // of them in memory: more than a run has time to send
	turn        = 200             // tasks that are sent together
	turnTime    = 5 * time.Second // to postpone them, so that a hanging call costs no more; and to send them
	concurrency = 16              // concurrent calls for them

	readsBefore = 30 * time.Second // time left when a run reads no more
	endsBefore  = 12 * time.Second // time left when a run sends no more
	longest     = time.Minute      // duration of a run

	longQueue = 1_000 // waiting messages

	// messages per run, account and kind
	maxShare  = 10_000
	longShare = 50 // to a long queue
)

// Store is the relay's part of package outbox, which documents the methods.
type Store interface {
	Waiting(
		ctx context.Context, kind string, shard int, until collab.Millis, from string, limit int, skip func(error),
	) (list []*task.Task, next string, err error)
	Postpone(ctx context.Context, t *task.Task) (bool, error)
	Abandon(ctx context.Context, t *task.Task, failure string) error
	Beat(ctx context.Context) error
}

// Queue sends messages about tasks. queue.Tasks implements it.
type Queue interface {
	Waiting(ctx context.Context, kind collab.TaskKind) (int, error)
	SendIn(ctx context.Context, delay time.Duration, tasks ...collab.TaskRef) error
}

// Relay sends messages about due tasks. Several relays may run concurrently.
type Relay struct {
	Store   Store
	Queue   Queue
	Metrics *metrics.Metrics // may be nil
	Log     *slog.Logger
	Now     func() time.Time
}

// Run sends messages about due tasks, accounts in turn, until nothing is due or its time is over.
// It reports the age of the oldest task. It sends at most maxShare messages per account and kind,
// and longShare to a long queue; the rest stays due. It postpones tasks before it sends them, so a
// run that dies loses none. First it writes the heartbeat that shows that the stream works.
func (r *Relay) Run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	kinds := collab.TaskKinds()
	errs := make([]error, len(kinds)+1)
	errs[len(kinds)] = r.Store.Beat(ctx)
	oldest := make([]time.Duration, len(kinds))
	var wg sync.WaitGroup
	for i, kind := range kinds {
		wg.Go(func() { oldest[i], errs[i] = r.runKind(ctx, kind) })
	}
	wg.Wait()
	r.Metrics.Set(metrics.TaskAge, slices.Max(oldest).Seconds())
	return errors.Join(errs...)
}

// runKind sends the due tasks of a kind. Each kind has a run, so that none waits for another.
func (r *Relay) runKind(ctx context.Context, kind collab.TaskKind) (oldest time.Duration, err error) {
	share, err := r.share(ctx, kind)
	if err != nil {
		return 0, err
	}
	due, oldest, err := r.due(ctx, kind, share)
	errs := []error{err}
	sent := 0
	for tasks := range slices.Chunk(inTurn(due), turn) {
		if deadline, _ := ctx.Deadline(); ctx.Err() != nil || time.Until(deadline) < endsBefore {
			break
		}
		n, err := r.send(ctx, tasks)
		sent += n
		errs = append(errs, err)
	}
	if sent > 0 {
		r.Log.LogAttrs(ctx, slog.LevelInfo, "sent again", slog.String("kind", string(kind)), slog.Int("messages", sent))
	}
	return oldest, errors.Join(errs...)
}

// due reads the due tasks of a kind, earliest first in each shard, until half of the run's time is
// over. Each run starts with another shard. It returns up to share tasks of each account, and reads
// past the rest.
func (r *Relay) due(ctx context.Context, kind collab.TaskKind, share int) (all []*task.Task, oldest time.Duration, err error) {
	var errs []error
	shares := map[string]int{} // by account
	deadline, _ := ctx.Deadline()
	for i := range keys.DueShards {
		shard := (i + int(r.Now().Unix()/60)) % keys.DueShards
		read, found := 0, 0
		for from, more := "", true; more && read < maxRead && found < maxKept && time.Until(deadline) > readsBefore; more = from != "" {
			page, next, err := r.Store.Waiting(ctx, string(kind), shard, r.Now().UnixMilli(), from, portion, r.Metrics.PassOver(ctx, r.Log))
			if err != nil {
				errs = append(errs, err)
				break
			}
			for _, t := range page {
				oldest = max(oldest, r.Now().Sub(time.UnixMilli(t.Due)))
				if shares[t.Account] < share && found < maxKept {
					shares[t.Account]++
					found++
					all = append(all, t)
				}
			}
			read, from = read+portion, next
		}
	}
	return all, oldest, errors.Join(errs...)
}

// inTurn returns one task of each account after the other.
func inTurn(tasks []*task.Task) (list []*task.Task) {
	accounts := map[string][]*task.Task{}
	var order []string
	for _, t := range tasks {
		if accounts[t.Account] == nil {
			order = append(order, t.Account)
		}
		accounts[t.Account] = append(accounts[t.Account], t)
	}
	for i := 0; len(order) > 0; i++ {
		order = slices.DeleteFunc(order, func(acct string) bool { return i >= len(accounts[acct]) })
		for _, acct := range order {
			list = append(list, accounts[acct][i])
		}
	}
	return list
}

// send postpones tasks and sends messages about the postponed ones, even if other calls failed. A
// task without attempts left waits for the operator instead.
func (r *Relay) send(ctx context.Context, tasks []*task.Task) (sent int, err error) {
	var mu sync.Mutex
	var refs []collab.TaskRef
	var errs []error
	moving, cancel := context.WithTimeout(ctx, turnTime)
	defer cancel()
	var moves errgroup.Group
	moves.SetLimit(concurrency)
	for _, t := range tasks {
		moves.Go(func() error {
			var postponed bool
			var err error
			if t.Attempts >= task.MaxAttempts {
				const failure = "no attempt at it has ended"
				r.Metrics.Add(metrics.TasksFailed, "", 1)
				r.Log.LogAttrs(ctx, slog.LevelError, "task failed: "+failure, slog.String("account", t.Account),
					slog.String("kind", string(t.Kind)), slog.String("id", t.ID))
				err = r.Store.Abandon(moving, t, failure)
			} else {
				postponed, err = r.Store.Postpone(moving, t)
			}
			mu.Lock()
			defer mu.Unlock()
			if errs = append(errs, err); postponed {
				refs = append(refs, t.TaskRef)
			}
			return nil
		})
	}
	_ = moves.Wait() // errors are in errs
	sending, cancel := context.WithTimeout(ctx, turnTime)
	defer cancel()
	if len(refs) > 0 {
		errs = append(errs, r.Queue.SendIn(sending, 0, refs...))
	}
	return len(refs), errors.Join(errs...)
}

// share returns the number of messages per account that a run sends to a kind's queue. It is small
// if the queue is long, because most waiting tasks then have a message in it.
func (r *Relay) share(ctx context.Context, kind collab.TaskKind) (int, error) {
	waiting, err := r.Queue.Waiting(ctx, kind)
	if waiting >= longQueue {
		return longShare, err
	}
	return maxShare, err
}
