package deliver

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"collabdata/shared/delivery"
	"collabdata/shared/delivery/relay"
	"collabdata/shared/queue"
)

const (
	localRuns  = 32               // events worked on at the same time
	localLanes = 200              // lanes: most of the time they wait for their endpoints
	localPolls = 16               // calls for messages of a queue under way: fewer fall behind an operation that sends thousands
	localRelay = 3 * time.Second  // between two runs of the relay
	localTime  = 90 * time.Second // for one message, as the function has
	localGrace = 5 * time.Second  // for messages under way, at the end
	localPause = time.Second      // after a queue could not be reached
)

// Local delivers events in the local server: it polls both queues, and does the relay's work every few seconds.
type Local struct {
	deliverer        *delivery.Deliverer
	relay            *relay.Relay
	events, webhooks *queue.Queue
	config           Config
}

// NewLocal puts it together. It calls nothing: the table and the queues may be made later. The error says what is wrong with Mail.
func NewLocal(c Config) (*Local, error) {
	c = c.withDefaults()
	d, err := New(c)
	if err != nil {
		return nil, err
	}
	l := &Local{deliverer: d, events: c.events(), webhooks: c.webhooks(), config: c}
	_, _, outbox := c.tables()
	l.relay = &relay.Relay{Store: outbox, Events: l.events, Webhooks: l.webhooks, Metrics: c.Metrics, Log: c.Log, Now: c.Now}
	return l, nil
}

// Run works until the context ends, and returns once what is under way has ended: 5 s later at most. What did not end is done again when it
// runs the next time.
func (l *Local) Run(ctx context.Context) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(localGrace, cancel)
		context.AfterFunc(work, func() { timer.Stop() })
	})
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { l.poll(ctx, work, l.events, localRuns) })
	wg.Go(func() { l.poll(ctx, work, l.webhooks, localLanes) })
	wg.Go(func() {
		for pause(ctx, localRelay) {
			if err := l.relay.Run(ctx); err != nil && ctx.Err() == nil {
				l.config.Log.LogAttrs(ctx, slog.LevelWarn, "relay", slog.Any("cause", err))
			}
			if err := l.config.Metrics.Flush(); err != nil {
				l.config.Log.LogAttrs(ctx, slog.LevelWarn, "metrics", slog.Any("cause", err))
			}
		}
	})
	wg.Wait()
}

// poll works on up to most messages of a queue at a time until ctx ends; what is under way then goes on in work. Messages are deleted as they
// are taken, as the stand-in for SQS goes through all that it holds at each call: the relay brings back what was not done.
func (l *Local) poll(ctx, work context.Context, q *queue.Queue, most int) {
	var wg sync.WaitGroup
	defer wg.Wait()
	places := make(chan struct{}, most)
	for range localPolls {
		wg.Go(func() {
			for ctx.Err() == nil {
				messages, err := q.Receive(ctx, queue.MaxReceive, queue.MaxWait)
				if err == nil {
					err = q.Delete(ctx, messages...)
				}
				if err != nil && ctx.Err() == nil {
					l.config.Log.LogAttrs(ctx, slog.LevelWarn, "queue not reached", slog.Any("cause", err))
					pause(ctx, localPause)
				}
				for _, m := range messages {
					select {
					case places <- struct{}{}:
					case <-ctx.Done():
						return // what still waits comes again by itself
					}
					wg.Go(func() {
						defer func() { <-places }()
						l.take(work, m)
					})
				}
			}
		})
	}
}

// take does what a message asks for.
func (l *Local) take(ctx context.Context, m queue.Message) {
	ctx, cancel := context.WithTimeout(ctx, localTime)
	defer cancel()
	if err := l.deliverer.Take(ctx, m.Text, m.Receives); err != nil {
		l.config.Log.LogAttrs(ctx, slog.LevelWarn, "work to be done again", slog.Any("cause", err))
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
