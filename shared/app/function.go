package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"collabdata/shared/api/rpc"
	"collabdata/shared/awsconfig"
	"collabdata/shared/credentials"
	"collabdata/shared/lambdahttp"
	"collabdata/shared/webhook"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

// Serve runs the function of an endpoint. It reads the environment once and does not return.
func Serve(e rpc.Endpoint) {
	run(func(s *Service) any { return lambdahttp.Handler(e.Handler(s.server(), s.services())) })
}

// Authorize runs the function that checks credentials for the gateway. It reads the environment once and does not return.
func Authorize() {
	run(func(s *Service) any {
		return lambdahttp.Authorizer(&credentials.Checker{Keys: s.Accounts, Now: s.config.Now, Headers: s.config.Headers}, s.config.Log)
	})
}

// run serves the handler that is made of the service which the environment describes.
func run(handler func(*Service) any) {
	log := NewLog(os.Stdout)
	c, err := fromEnvironment(context.Background(), os.LookupEnv)
	if err == nil {
		c.Log = log
		lambda.StartWithOptions(handler(New(c)), lambda.WithSetEscapeHTML(false)) // the answer is as long on the wire as rpc.WrappedLen says
	}
	log.Error("start", "cause", err)
	os.Exit(1)
}

// fromEnvironment returns the configuration that the function's variables and those of the SDK describe.
func fromEnvironment(ctx context.Context, lookup func(string) (string, bool)) (Config, error) {
	var c Config
	for name, field := range map[string]*string{"TABLE_NAME": &c.Table, "EVENTS_QUEUE_URL": &c.EventsURL} {
		value, ok := lookup(name)
		if !ok || value == "" {
			return Config{}, fmt.Errorf("the environment variable %s is missing", name)
		}
		*field = value
	}
	if url := LiveURL(lookup); url != "" {
		c.LiveURL = "ws" + strings.TrimPrefix(url, "http")
	}
	ranges, _ := lookup("ALLOWED_PRIVATE_CIDRS")
	var err error
	if c.Headers, err = credentials.ReadHeaders(lookup); err != nil {
		return Config{}, err
	}
	if c.PrivateRanges, err = webhook.ParseRanges(ranges); err != nil {
		return Config{}, fmt.Errorf("the environment variable ALLOWED_PRIVATE_CIDRS: %w", err)
	}
	switch writes, _ := lookup("WRITES"); writes {
	case "", "on":
	case "off":
		c.ReadOnly = true
	default:
		return Config{}, fmt.Errorf("the environment variable WRITES: must be on or off, not %q", writes)
	}
	cfg, err := awsconfig.Load(ctx)
	c.DynamoDB, c.SQS = cfg, cfg
	return c, err
}

// LiveURL returns the URL of the API that holds connections, "" where there is none. In a local cloud it is below the address of that.
func LiveURL(lookup func(string) (string, bool)) string {
	url, _ := lookup("LIVE_URL") // https://<api>.<domain>/<stage>
	cloud, _ := lookup("AWS_ENDPOINT_URL")
	if url == "" || cloud == "" {
		return url
	}
	api, rest, _ := strings.Cut(strings.TrimPrefix(url, "https://"), ".")
	_, stage, _ := strings.Cut(rest, "/")
	return cloud + "/_aws/execute-api/" + api + "/" + stage
}

// NewLog returns a logger that writes JSON lines, with the hash of the function's program, if its variable CODE says one, and the id of the
// function's invocation.
func NewLog(w io.Writer) *slog.Logger {
	log := slog.New(invocationHandler{slog.NewJSONHandler(w, nil)})
	if code := os.Getenv("CODE"); code != "" {
		log = log.With("code", code)
	}
	return log
}

// invocationHandler adds the id of the invocation that the context carries.
type invocationHandler struct{ slog.Handler }

func (h invocationHandler) Handle(ctx context.Context, r slog.Record) error {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		r.AddAttrs(slog.String("invocationId", lc.AwsRequestID))
	}
	return h.Handler.Handle(ctx, r)
}

func (h invocationHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return invocationHandler{h.Handler.WithAttrs(attrs)}
}

func (h invocationHandler) WithGroup(name string) slog.Handler {
	return invocationHandler{h.Handler.WithGroup(name)}
}
