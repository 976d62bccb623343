// Package worker runs tasks in the local server. It stands in for the functions deliver and
// relay.
package worker

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"collabdata/shared/app/deliver"
	"collabdata/shared/delivery"
	"collabdata/shared/delivery/pending"
	"collabdata/shared/queue"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"
)

const (
	runs  = 32  // concurrent tasks of the events queue
	calls = 200 // of the calls queue; most wait for their endpoints
	// concurrent calls for messages of a queue; fewer delay operations that send thousands
	polls      = 16
	relayEvery = 3 * time.Second  // between runs of the relay
	timeOut    = 90 * time.Second // for one message, as in the function
	retryAfter = time.Second      // if a queue is unreachable

	// Grace is the time for messages in progress when the worker stops.
	Grace = 5 * time.Second
)

// Worker polls both queues, and runs the relay every few seconds.
type Worker struct {
	deliverer *delivery.Deliverer
	relay     *pending.Relay
	tasks     queue.Tasks
	config    deliver.Config
}

// New assembles a worker. It makes no calls, so the table and the queues need not exist yet. It
// returns an error if c.Mail is invalid.
func New(c deliver.Config) (*Worker, error) {
	d, err := deliver.New(c)
	if err != nil {
		return nil, err
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	tasks := queue.Tasks{Events: queue.New(c.SQS, c.EventsURL, c.Log), Calls: queue.New(c.SQS, c.CallsURL, c.Log)}
	return &Worker{d, &pending.Relay{
		Store: outbox.New(store.New(c.DynamoDB, c.Table, c.Now, rand.Reader)), Queue: tasks, Metrics: c.Metrics, Log: c.Log, Now: c.Now,
	}, tasks, c}, nil
}

// Run works until the context ends, then waits up to 5 s for messages in progress. The next run
// repeats unfinished work.
func (w *Worker) Run(ctx context.Context) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(Grace, cancel)
		context.AfterFunc(work, func() { timer.Stop() })
	})
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { w.poll(ctx, work, w.tasks.Events, runs) })
	wg.Go(func() { w.poll(ctx, work, w.tasks.Calls, calls) })
	wg.Go(func() {
		for pause(ctx, relayEvery) {
			if err := w.relay.Run(ctx); err != nil && ctx.Err() == nil {
				w.config.Log.LogAttrs(ctx, slog.LevelWarn, "relay", slog.Any("cause", err))
			}
			if err := w.config.Metrics.Flush(); err != nil {
				w.config.Log.LogAttrs(ctx, slog.LevelWarn, "metrics", slog.Any("cause", err))
			}
		}
	})
	wg.Wait()
}

// poll handles at most limit messages of a queue concurrently until ctx ends; messages in progress
// continue with work. It deletes messages on receipt, because the stand-in for SQS scans all its
// messages at each call. The relay sends lost messages again.
func (w *Worker) poll(ctx, work context.Context, q *queue.Queue, limit int) {
	var wg sync.WaitGroup
	defer wg.Wait()
	places := make(chan struct{}, limit)
	for range polls {
		wg.Go(func() {
			for ctx.Err() == nil {
				messages, err := q.Receive(ctx, queue.MaxReceive, queue.MaxWait)
				if err == nil {
					err = q.Delete(ctx, messages...)
				}
				if err != nil && ctx.Err() == nil {
					w.config.Log.LogAttrs(ctx, slog.LevelWarn, "queue not reached", slog.Any("cause", err))
					pause(ctx, retryAfter)
				}
				for _, m := range messages {
					select {
					case places <- struct{}{}:
					case <-ctx.Done():
						return // the relay sends waiting messages again
					}
					wg.Go(func() {
						defer func() { <-places }()
						w.take(work, m)
					})
				}
			}
		})
	}
}

func (w *Worker) take(ctx context.Context, m queue.Message) {
	ctx, cancel := context.WithTimeout(ctx, timeOut)
	defer cancel()
	if err := w.deliverer.Take(ctx, m.Text); err != nil {
		w.config.Log.LogAttrs(ctx, slog.LevelWarn, "work to be done again", slog.Any("cause", err))
	}
}

// pause waits. It returns false if the context ends.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
