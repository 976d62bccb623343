package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"collabdata/shared/api"
	"collabdata/shared/api/rpc"
	"collabdata/shared/credentials"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

// Serve runs the function of the endpoint that the function's handler property names by its path
// without the first slash. It does not return.
func Serve() {
	Run(func(ctx context.Context, env *Environment) (any, error) {
		c, err := fromEnvironment(ctx, env)
		if err != nil {
			return nil, err
		}
		c.Log = NewLog(os.Stdout)
		e, err := endpointOf(env.Get("_HANDLER"))
		if err != nil {
			return nil, err
		}
		return ProxyHandler(New(c).endpoint(e)), nil
	})
}

func endpointOf(handler string) (rpc.Endpoint, error) {
	for _, e := range api.Endpoints() {
		if e.Path == "/"+handler {
			return e, nil
		}
	}
	return rpc.Endpoint{}, fmt.Errorf("the handler property of the function must be the path of an endpoint, not %q", handler)
}

// Run creates a handler from the environment and runs it as a function. It does not return.
func Run(handler func(context.Context, *Environment) (any, error)) {
	h, err := handler(context.Background(), &Environment{Get: os.Getenv})
	if err == nil {
		// keeps the response at the length that rpc.WrappedLen returns
		lambda.StartWithOptions(h, lambda.WithSetEscapeHTML(false))
	}
	NewLog(os.Stdout).Error("start", "cause", err)
	os.Exit(1)
}

func fromEnvironment(ctx context.Context, e *Environment) (Config, error) {
	c := Config{Stage: e.Required("STAGE"), Table: e.Required("TABLE_NAME"), EventsURL: e.Required("EVENTS_QUEUE_URL"), PrivateRanges: e.PrivateRanges()}
	if url := e.Get("LIVE_URL"); url != "" {
		c.LiveURL = "ws" + strings.TrimPrefix(url, "http")
	}
	switch writes := e.Get("WRITES"); writes {
	case "", "on":
	case "off":
		c.ReadOnly = true
	default:
		e.Note("WRITES", fmt.Errorf("must be on or off, not %q", writes))
	}
	if days := e.Get("AUDIT_DAYS"); days != "" {
		n, err := strconv.Atoi(days)
		e.Note("AUDIT_DAYS", err)
		c.AuditDays = n
	}
	var err error
	if c.Headers, err = credentials.ReadHeaders(e.Get); err != nil {
		return c, err
	}
	c.DynamoDB, err = e.AWS(ctx)
	c.SQS = c.DynamoDB
	return c, err
}

// NewLog returns a logger of JSON lines. Each line has the id of the invocation, and the hash of
// the program if the variable CODE is set.
func NewLog(w io.Writer) *slog.Logger {
	log := slog.New(invocationHandler{slog.NewJSONHandler(w, nil)})
	if code := os.Getenv("CODE"); code != "" {
		log = log.With("code", code)
	}
	return log
}

// invocationHandler adds the id of the invocation from the context.
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
