package live

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"time"

	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/keys"
	rules "collabdata/shared/live"
	"collabdata/shared/live/gateway"
	"collabdata/shared/metrics"

	"github.com/aws/aws-lambda-go/events"
)

// Serve runs the function of the gateway's routes. It does not return.
func Serve() {
	run(func(c Config) any {
		pages, _ := New(c)
		return routes(pages, c.Log)
	})
}

// ServeHints runs the function that reads the table's stream. It does not return.
func ServeHints() {
	run(func(c Config) any {
		_, hints := New(c)
		return taker(hints, metrics.New(os.Stdout, c.Stage, time.Now))
	})
}

// taker returns the handler of the table's stream. It reports the age of each heartbeat.
func taker(hints *rules.Hints, m *metrics.Metrics) func(context.Context, events.DynamoDBEvent) error {
	return func(ctx context.Context, batch events.DynamoDBEvent) error {
		list := written(batch)
		for i, k := range list {
			if k == keys.HeartbeatKey() {
				m.Set(metrics.HintsAge, time.Since(batch.Records[i].Change.ApproximateCreationDateTime.Time).Seconds())
			}
		}
		return errors.Join(hints.Take(ctx, list), m.Flush())
	}
}

func run(handler func(Config) any) {
	app.Run(func(ctx context.Context, e *app.Environment) (any, error) {
		c, err := fromEnvironment(ctx, e)
		if err != nil {
			return nil, err
		}
		c.Log = app.NewLog(os.Stdout)
		return handler(c), nil
	})
}

func fromEnvironment(ctx context.Context, e *app.Environment) (Config, error) {
	c := Config{Stage: e.Required("STAGE"), Table: e.Required("TABLE_NAME"), PrivateRanges: e.PrivateRanges()}
	liveURL := e.Required("LIVE_URL")
	var err error
	if c.DynamoDB, err = e.AWS(ctx); err == nil {
		c.Gateway = gateway.New(c.DynamoDB, liveURL)
	}
	return c, err
}

type (
	routed = events.APIGatewayWebsocketProxyRequest
	answer = events.APIGatewayProxyResponse
)

// routes handles the routes $connect, $disconnect, and $default for messages except pings.
func routes(pages *rules.Pages, log *slog.Logger) func(context.Context, routed) (answer, error) {
	return func(ctx context.Context, r routed) (answer, error) {
		answer := answer{StatusCode: http.StatusOK}
		switch request := r.RequestContext; request.EventType {
		case "CONNECT":
			if err := pages.Connect(ctx, request.ConnectionID, r.QueryStringParameters["ticket"]); err != nil {
				answer.StatusCode = http.StatusForbidden
				if code := collab.CodeOf(err); code == collab.Internal || code == collab.Unavailable || code == collab.DeadlineExceeded {
					answer.StatusCode = http.StatusServiceUnavailable
				}
				log.LogAttrs(ctx, slog.LevelWarn, "a connection is refused", slog.Int("status", answer.StatusCode), slog.Any("cause", err))
			}
		case "DISCONNECT":
			pages.Disconnect(ctx, request.ConnectionID)
		default:
			pages.Message(ctx, request.ConnectionID)
		}
		return answer, nil
	}
}

func written(batch events.DynamoDBEvent) []keys.Key {
	list := make([]keys.Key, len(batch.Records))
	for i, r := range batch.Records {
		pk, sk := r.Change.Keys[keys.PK], r.Change.Keys[keys.SK]
		list[i] = keys.Key{PK: pk.String(), SK: sk.String()}
	}
	return list
}
