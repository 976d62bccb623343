// Package relay assembles the function that sends due pending work to the queues.
package relay

import (
	"context"
	"crypto/rand"
	"io"
	"os"
	"time"

	"collabdata/shared/app"
	"collabdata/shared/delivery/pending"

	"collabdata/shared/metrics"
	"collabdata/shared/queue"
	"collabdata/shared/store"
	"collabdata/shared/store/hooks"
	"collabdata/shared/store/outbox"
)

// Serve runs the function. It does not return.
func Serve() {
	app.Run(func(ctx context.Context, e *app.Environment) (any, error) {
		r, err := fromEnvironment(ctx, e, os.Stdout)
		return handler(r), err
	})
}

func fromEnvironment(ctx context.Context, e *app.Environment, out io.Writer) (*pending.Relay, error) {
	table, stage := e.Required("TABLE_NAME"), e.Required("STAGE")
	events, webhooks := e.Required("EVENTS_QUEUE_URL"), e.Required("WEBHOOKS_QUEUE_URL")
	cfg, err := e.AWS(ctx)
	if err != nil {
		return nil, err
	}
	log := app.NewLog(out)
	o := outbox.New(store.New(cfg, table, time.Now, rand.Reader))
	return &pending.Relay{
		Store:    o,
		Lanes:    hooks.New(o),
		Events:   queue.New(cfg, events, log),
		Webhooks: queue.New(cfg, webhooks, log),
		Metrics:  metrics.New(out, stage, time.Now),
		Log:      log,
		Now:      time.Now,
	}, nil
}

// handler runs the relay for each event of the schedule.
func handler(r *pending.Relay) func(context.Context) error {
	return func(ctx context.Context) error {
		err := r.Run(ctx)
		if flushed := r.Metrics.Flush(); err == nil {
			err = flushed
		}
		return err
	}
}
