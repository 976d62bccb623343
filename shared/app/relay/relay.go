// Package relay assembles the function that sends messages about due tasks.
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
	events, calls := e.Required("EVENTS_QUEUE_URL"), e.Required("CALLS_QUEUE_URL")
	cfg, err := e.AWS(ctx)
	if err != nil {
		return nil, err
	}
	log := app.NewLog(out)
	return &pending.Relay{
		Store:   outbox.New(store.New(cfg, table, time.Now, rand.Reader)),
		Queue:   queue.Tasks{Events: queue.New(cfg, events, log), Calls: queue.New(cfg, calls, log)},
		Metrics: metrics.New(out, stage, time.Now),
		Log:     log,
		Now:     time.Now,
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
