// Package relay sends pending work to the queues again: events whose message was lost or whose delivery failed, mails that have waited long
// enough, and deliveries to webhook endpoints whose time has come.
package relay

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/metrics"
	"collabdata/shared/queue"
	"collabdata/shared/table"

	"golang.org/x/sync/errgroup"
)

const (
	// perShard bounds what a run looks at, and so what it sends: 5,000 messages.
	perShard = 5_000 / table.DueShards

	firstMove = 2 * time.Minute // until what was sent is sent again; twice as long each time
	lastMove  = time.Hour

	longQueue   = 1_000            // messages that wait
	longestWait = 10 * time.Minute // for which a queue may be long before nothing more is sent to it

	concurrency = 16
)

// Store is what the relay needs of the table. Package store documents the methods.
type Store interface {
	Due(ctx context.Context, shard int, until collab.Millis, most int) ([]collab.DueWork, error)
	MoveDue(ctx context.Context, w collab.DueWork, to collab.Millis) (bool, error)
	DropDue(ctx context.Context, w collab.DueWork) error
	Backlog(ctx context.Context, queue string, long bool) (collab.Millis, error)
}

// Events is the queue of events.
type Events interface {
	Waiting(ctx context.Context) (int, error)
	SendEvents(ctx context.Context, events ...queue.Event) error
}

// Webhooks is the queue of deliveries to webhook endpoints.
type Webhooks interface {
	Waiting(ctx context.Context) (int, error)
	SendWebhooks(ctx context.Context, delay time.Duration, webhooks ...queue.Webhook) error
}

// Relay sends pending work again. Several may run at the same time.
type Relay struct {
	Store    Store
	Events   Events
	Webhooks Webhooks
	Metrics  *metrics.Metrics // nil for none
	Log      *slog.Logger
	Now      func() time.Time
}

// Run sends what is due, at most 5,000 messages, and reports the age of the oldest pending event. To a queue that has had a backlog for ten
// minutes it sends nothing: what is due stays so. Each work is moved on before it is sent, so it is lost by nobody's end.
func (r *Relay) Run(ctx context.Context) error {
	now := r.Now()
	eventsOpen, err := r.open(ctx, table.EventsQueue, r.Events)
	if err != nil {
		return err
	}
	webhooksOpen, err := r.open(ctx, table.WebhooksQueue, r.Webhooks)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var errs []error
	var events []queue.Event
	var webhooks []queue.Webhook
	var oldest time.Duration
	note := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err)
	}
	var moves errgroup.Group
	moves.SetLimit(concurrency)
	for shard := range table.DueShards {
		// Looks ahead as far as work is moved, so that the oldest event is seen even when it is not due.
		list, err := r.Store.Due(ctx, shard, now.Add(lastMove).UnixMilli(), perShard)
		if err != nil {
			note(err)
			continue
		}
		for _, w := range list {
			if w.WebhookID == "" {
				oldest = max(oldest, now.Sub(time.UnixMilli(w.Since)))
			}
			open := eventsOpen
			if w.WebhookID != "" {
				open = webhooksOpen
			}
			if !open || w.At > now.UnixMilli() {
				continue
			}
			moves.Go(func() error {
				moved, err := r.move(ctx, w, now)
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
				switch {
				case !moved:
				case w.WebhookID == "":
					events = append(events, queue.Event{EventRef: w.EventRef})
				default:
					webhooks = append(webhooks, queue.Webhook{EventRef: w.EventRef, WebhookID: w.WebhookID, Attempt: 1})
				}
				return nil
			})
		}
	}
	_ = moves.Wait() // they note their errors
	r.Metrics.Set(metrics.PendingEventAge, oldest.Seconds())
	if len(events) > 0 {
		note(r.Events.SendEvents(ctx, events...))
	}
	if len(webhooks) > 0 {
		note(r.Webhooks.SendWebhooks(ctx, 0, webhooks...))
	}
	if n := len(events) + len(webhooks); n > 0 {
		r.Log.LogAttrs(ctx, slog.LevelInfo, "sent again", slog.Int("events", len(events)), slog.Int("webhooks", len(webhooks)))
	}
	return errors.Join(errs...)
}

// move moves work on before it is sent, and reports whether it is to be. Work that has expired is dropped.
func (r *Relay) move(ctx context.Context, w collab.DueWork, now time.Time) (bool, error) {
	if w.Expires != 0 && w.Expires <= now.UnixMilli() {
		return false, r.Store.DropDue(ctx, w)
	}
	wait := lastMove
	if w.Moves < 5 {
		wait = firstMove << w.Moves
	}
	return r.Store.MoveDue(ctx, w, now.Add(wait).UnixMilli())
}

// open reports whether anything is to be sent to a queue: not while it has had longQueue messages waiting for longestWait without a break. SQS
// does not tell how old its oldest message is.
func (r *Relay) open(ctx context.Context, name string, q interface {
	Waiting(ctx context.Context) (int, error)
}) (bool, error) {
	waiting, err := q.Waiting(ctx)
	if err != nil {
		return false, err
	}
	since, err := r.Store.Backlog(ctx, name, waiting >= longQueue)
	if err != nil || since == 0 {
		return err == nil, err
	}
	if stood := r.Now().Sub(time.UnixMilli(since)); stood >= longestWait {
		r.Log.LogAttrs(ctx, slog.LevelWarn, "a queue stands: nothing is sent to it", slog.String("queue", name), slog.Int("waiting", waiting),
			slog.Float64("seconds", stood.Seconds()))
		return false, nil
	}
	return true, nil
}
