package deliver

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"collabdata/shared/app"
	"collabdata/shared/awsconfig"
	"collabdata/shared/collab"
	"collabdata/shared/env"
	"collabdata/shared/mail"
	"collabdata/shared/metrics"
	"collabdata/shared/webhook"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

// Serve runs the function that takes the messages of both queues. It reads the environment once and does not return.
func Serve() {
	log := app.NewLog(os.Stdout)
	c, err := fromEnvironment(context.Background(), os.LookupEnv)
	if err == nil {
		c.Log = log
		var handler func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)
		if handler, err = newHandler(c); err == nil {
			lambda.Start(handler)
		}
	}
	log.Error("start", "cause", err)
	os.Exit(1)
}

// fromEnvironment returns the configuration that the function's variables and those of the SDK describe.
func fromEnvironment(ctx context.Context, lookup func(string) (string, bool)) (Config, error) {
	r := env.Reader{Lookup: lookup}
	c := Config{
		Table: r.Required("TABLE_NAME"), EventsURL: r.Required("EVENTS_QUEUE_URL"), WebhooksURL: r.Required("WEBHOOKS_QUEUE_URL"),
		Mail: mail.Options{
			From: r.Optional("MAIL_FROM"), ConfigurationSet: r.Optional("MAIL_CONFIGURATION_SET"), Unsubscribe: r.Optional("MAIL_UNSUBSCRIBE"),
			Look: collab.MailLook{FromName: r.Optional("MAIL_FROM_NAME"), Product: r.Optional("MAIL_PRODUCT"), Link: r.Optional("MAIL_LINK")},
		},
		Metrics: metrics.New(os.Stdout, r.Required("STAGE"), time.Now),
	}
	var err error
	c.PrivateRanges, err = webhook.ParseRanges(r.Optional("ALLOWED_PRIVATE_CIDRS"))
	r.Note("ALLOWED_PRIVATE_CIDRS", err)
	if err := r.Err(); err != nil {
		return c, err
	}
	cfg, err := awsconfig.Load(ctx)
	c.DynamoDB, c.SQS, c.SES = cfg, cfg, cfg
	return c, err
}

// newHandler returns the handler of a batch of messages, all handled at the same time. It answers which of them failed.
func newHandler(c Config) (func(context.Context, events.SQSEvent) (events.SQSEventResponse, error), error) {
	d, err := New(c)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, batch events.SQSEvent) (events.SQSEventResponse, error) {
		response := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}} // a list, even when it is empty
		var mu sync.Mutex
		var wg sync.WaitGroup
		for _, m := range batch.Records {
			wg.Go(func() {
				receives, _ := strconv.Atoi(m.Attributes["ApproximateReceiveCount"])
				err := d.Take(ctx, m.Body, receives)
				if err == nil {
					return
				}
				c.Log.LogAttrs(ctx, slog.LevelWarn, "message to come again", slog.String("message", m.MessageId),
					slog.String("receives", m.Attributes["ApproximateReceiveCount"]), slog.Any("cause", err))
				mu.Lock()
				defer mu.Unlock()
				response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
			})
		}
		wg.Wait()
		return response, c.Metrics.Flush()
	}, nil
}
