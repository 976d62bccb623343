// Package relay makes the function that sends due pending work to the queues.
package relay

import (
	"context"
	"crypto/rand"
	"io"
	"os"
	"time"

	"collabdata/shared/app"
	"collabdata/shared/awsconfig"
	"collabdata/shared/delivery/pending"
	"collabdata/shared/env"
	"collabdata/shared/metrics"
	"collabdata/shared/queue"
	"collabdata/shared/store"
	"collabdata/shared/store/hooks"
	"collabdata/shared/store/outbox"

	"github.com/aws/aws-lambda-go/lambda"
)

// Serve runs the function. It reads the environment once and does not return.
func Serve() {
	log := app.NewLog(os.Stdout)
	r, err := fromEnvironment(context.Background(), os.LookupEnv, os.Stdout)
	if err == nil {
		lambda.Start(handler(r))
	}
	log.Error("start", "cause", err)
	os.Exit(1)
}

// fromEnvironment returns the relay that the function's variables and those of the SDK describe.
func fromEnvironment(ctx context.Context, lookup func(string) (string, bool), out io.Writer) (*pending.Relay, error) {
	v := env.Reader{Lookup: lookup}
	table, stage := v.Required("TABLE_NAME"), v.Required("STAGE")
	events, webhooks := v.Required("EVENTS_QUEUE_URL"), v.Required("WEBHOOKS_QUEUE_URL")
	if err := v.Err(); err != nil {
		return nil, err
	}
	cfg, err := awsconfig.Load(ctx)
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

// handler runs the relay once for each event of the schedule.
func handler(r *pending.Relay) func(context.Context) error {
	return func(ctx context.Context) error {
		err := r.Run(ctx)
		if flushed := r.Metrics.Flush(); err == nil {
			err = flushed
		}
		return err
	}
}
