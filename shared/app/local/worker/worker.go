// Package worker delivers events in the local server, in the place of the functions deliver and relay.
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
	"collabdata/shared/store/hooks"
	"collabdata/shared/store/outbox"
)

const (
	runs       = 32               // events worked on at the same time
	lanes      = 200              // most of the time they wait for their endpoints
	polls      = 16               // calls for messages of a queue under way: with fewer an operation that sends thousands is delivered late
	relayEvery = 3 * time.Second  // between two runs of the relay
	timeOut    = 90 * time.Second // for one message, as the function has
	retryAfter = time.Second      // a queue could not be reached

	// Grace is the time for messages under way when the worker ends.
	Grace = 5 * time.Second
)

// Worker polls both queues, and does the relay's work every few seconds.
type Worker struct {
	deliverer        *delivery.Deliverer
	relay            *pending.Relay
	events, webhooks *queue.Queue
	config           deliver.Config
}

// New puts a worker together. It calls nothing: the table and the queues may be made later. The error says what is wrong with c.Mail.
func New(c deliver.Config) (*Worker, error) {
	d, err := deliver.New(c)
	if err != nil {
		return nil, err
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	w := &Worker{deliverer: d, events: queue.New(c.SQS, c.EventsURL, c.Log), webhooks: queue.New(c.SQS, c.WebhooksURL, c.Log), config: c}
	waiting := outbox.New(store.New(c.DynamoDB, c.Table, c.Now, rand.Reader))
	w.relay = &pending.Relay{
		Store: waiting, Lanes: hooks.New(waiting), Events: w.events, Webhooks: w.webhooks, Metrics: c.Metrics, Log: c.Log, Now: c.Now,
	}
	return w, nil
}

// Run works until the context ends, and returns once what is under way has ended: 5 s later at most. Unfinished work is done again when it
// runs the next time.
func (w *Worker) Run(ctx context.Context) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(Grace, cancel)
		context.AfterFunc(work, func() { timer.Stop() })
	})
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { w.poll(ctx, work, w.events, runs) })
	wg.Go(func() { w.poll(ctx, work, w.webhooks, lanes) })
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

// poll works on up to most messages of a queue at a time until ctx ends; what is under way then goes on in work. Messages are deleted as
// they are taken, as the stand-in for SQS goes through all that it holds at each call: the relay brings back what was not done.
func (w *Worker) poll(ctx, work context.Context, q *queue.Queue, most int) {
	var wg sync.WaitGroup
	defer wg.Wait()
	places := make(chan struct{}, most)
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
						return // what still waits comes again by itself
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

// take does what a message asks for.
func (w *Worker) take(ctx context.Context, m queue.Message) {
	ctx, cancel := context.WithTimeout(ctx, timeOut)
	defer cancel()
	if err := w.deliverer.Take(ctx, m.Text, m.Receives); err != nil {
		w.config.Log.LogAttrs(ctx, slog.LevelWarn, "work to be done again", slog.Any("cause", err))
	}
}

// pause waits, and reports whether the context goes on.
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
