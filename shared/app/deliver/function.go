package deliver

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"collabdata/shared/app"
	"collabdata/shared/collab"

	"collabdata/shared/mail"
	"collabdata/shared/metrics"

	"github.com/aws/aws-lambda-go/events"
)

// Serve runs the function that handles the messages of both queues. It does not return.
func Serve() {
	app.Run(func(ctx context.Context, e *app.Environment) (any, error) {
		c, err := fromEnvironment(ctx, e)
		if err != nil {
			return nil, err
		}
		c.Log = app.NewLog(os.Stdout)
		return newHandler(c)
	})
}

func fromEnvironment(ctx context.Context, e *app.Environment) (Config, error) {
	c := Config{
		Table: e.Required("TABLE_NAME"), EventsURL: e.Required("EVENTS_QUEUE_URL"), CallsURL: e.Required("CALLS_QUEUE_URL"),
		Mail: mail.Options{
			From: e.Get("MAIL_FROM"), ConfigurationSet: e.Get("MAIL_CONFIGURATION_SET"), Unsubscribe: e.Get("MAIL_UNSUBSCRIBE"),
			Look: collab.MailLook{FromName: e.Get("MAIL_FROM_NAME"), Product: e.Get("MAIL_PRODUCT"), Link: e.Get("MAIL_LINK")},
		},
		Metrics:       metrics.New(os.Stdout, e.Required("STAGE"), time.Now),
		PrivateRanges: e.PrivateRanges(),
	}
	var err error
	c.DynamoDB, err = e.AWS(ctx)
	c.SQS, c.SES = c.DynamoDB, c.DynamoDB
	return c, err
}

// newHandler returns a handler that handles the messages of a batch concurrently. It returns the
// ids of failed ones.
func newHandler(c Config) (func(context.Context, events.SQSEvent) (events.SQSEventResponse, error), error) {
	d, err := New(c)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, batch events.SQSEvent) (events.SQSEventResponse, error) {
		// SQS requires a list, even an empty one
		response := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for _, m := range batch.Records {
			wg.Go(func() {
				err := d.Take(ctx, m.Body)
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
