package live

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"time"

	"collabdata/shared/app"
	"collabdata/shared/awsconfig"
	"collabdata/shared/collab"
	"collabdata/shared/env"
	"collabdata/shared/keys"
	rules "collabdata/shared/live"
	"collabdata/shared/live/gateway"
	"collabdata/shared/webhook"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

// Serve runs the function of the gateway's routes. It reads the environment once and does not return.
func Serve() {
	run(func(c Config) any {
		pages, _ := New(c)
		return routes(pages, c.Log)
	})
}

// ServeHints runs the function that takes the table's stream. It reads the environment once and does not return.
func ServeHints() {
	run(func(c Config) any {
		_, hints := New(c)
		return func(ctx context.Context, batch events.DynamoDBEvent) error { return hints.Take(ctx, written(batch)) }
	})
}

func run(handler func(Config) any) {
	log := app.NewLog(os.Stdout)
	c, err := fromEnvironment(context.Background(), os.LookupEnv)
	if err == nil {
		c.Log = log
		lambda.Start(handler(c))
	}
	log.Error("start", "cause", err)
	os.Exit(1)
}

// fromEnvironment returns the configuration that the function's variables and those of the SDK describe.
func fromEnvironment(ctx context.Context, lookup func(string) (string, bool)) (Config, error) {
	r := env.Reader{Lookup: lookup}
	c := Config{Table: r.Required("TABLE_NAME")}
	r.Required("LIVE_URL")
	var err error
	c.PrivateRanges, err = webhook.ParseRanges(r.Optional("ALLOWED_PRIVATE_CIDRS"))
	r.Note("ALLOWED_PRIVATE_CIDRS", err)
	if err := r.Err(); err != nil {
		return c, err
	}
	c.DynamoDB, err = awsconfig.Load(ctx)
	c.Gateway = gateway.New(c.DynamoDB, app.LiveURL(lookup))
	return c, err
}

type (
	routed = events.APIGatewayWebsocketProxyRequest
	answer = events.APIGatewayProxyResponse
)

// routes returns the handler of the routes: $connect, $disconnect, and $default for every message.
func routes(pages *rules.Pages, log *slog.Logger) func(context.Context, routed) (answer, error) {
	return func(ctx context.Context, r routed) (answer, error) {
		answer := answer{StatusCode: http.StatusOK}
		switch of := r.RequestContext; of.EventType {
		case "CONNECT":
			if err := pages.Connect(ctx, of.ConnectionID, r.QueryStringParameters["ticket"]); err != nil {
				answer.StatusCode = http.StatusForbidden
				if code := collab.CodeOf(err); code == collab.Internal || code == collab.Unavailable || code == collab.DeadlineExceeded {
					answer.StatusCode = http.StatusServiceUnavailable
				}
				log.LogAttrs(ctx, slog.LevelWarn, "a connection is refused", slog.Int("status", answer.StatusCode), slog.Any("cause", err))
			}
		case "DISCONNECT":
			pages.Disconnect(ctx, of.ConnectionID)
		default:
			pages.Message(ctx, of.ConnectionID, time.UnixMilli(of.ConnectedAt), r.Body)
		}
		return answer, nil
	}
}

// written returns the keys of the items that a batch of the stream is about.
func written(batch events.DynamoDBEvent) []keys.Key {
	list := make([]keys.Key, len(batch.Records))
	for i, r := range batch.Records {
		pk, sk := r.Change.Keys[keys.PK], r.Change.Keys[keys.SK]
		list[i] = keys.Key{PK: pk.String(), SK: sk.String()}
	}
	return list
}
