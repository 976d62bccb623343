package app

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"collabdata/shared/collab"
	"collabdata/shared/platform"
)

// ProxyHandler returns a function that answers the proxy events of an API Gateway REST API with h.
// The request's path omits the stage and the base path. The context carries the gateway's request
// id and ends early enough to finish an operation: see platform.OperationTime. Start the function
// with lambda.WithSetEscapeHTML(false), so that rpc.WrappedLen holds.
func ProxyHandler(h http.Handler) func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
	return func(ctx context.Context, event events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		ctx, cancel := ending(ctx, platform.FunctionTime-platform.OperationTime)
		defer cancel()
		w := &response{header: make(http.Header)}
		if id := event.RequestContext.RequestID; id != "" {
			ctx = collab.WithRequestID(ctx, id)
			w.header.Set(collab.RequestIDHeader, id)
		}
		h.ServeHTTP(w, newRequest(ctx, &event))
		return w.event(), nil
	}
}

// ending returns a context that ends the duration before ahead of ctx.
func ending(ctx context.Context, before time.Duration) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, end.Add(-before))
}

func newRequest(ctx context.Context, event *events.APIGatewayProxyRequest) *http.Request {
	path := event.Resource
	if path == "" {
		path = event.Path
	}
	r := &http.Request{
		Method:        event.HTTPMethod,
		URL:           &url.URL{Path: path, RawQuery: queryOf(event).Encode()},
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        headerOf(event.Headers, event.MultiValueHeaders),
		Body:          io.NopCloser(strings.NewReader(event.Body)),
		ContentLength: int64(len(event.Body)),
		Host:          event.RequestContext.DomainName,
		RemoteAddr:    event.RequestContext.Identity.SourceIP,
		RequestURI:    path,
	}
	r.Header.Del("Content-Encoding") // the gateway has decompressed the body
	if event.IsBase64Encoded {
		r.Body = io.NopCloser(base64.NewDecoder(base64.StdEncoding, strings.NewReader(event.Body)))
		r.ContentLength = -1
	}
	return r.WithContext(ctx)
}

// queryOf prefers multi-value parameters, as headerOf does.
func queryOf(event *events.APIGatewayProxyRequest) url.Values {
	if len(event.MultiValueQueryStringParameters) > 0 {
		return event.MultiValueQueryStringParameters
	}
	q := url.Values{}
	for name, value := range event.QueryStringParameters {
		q.Set(name, value)
	}
	return q
}

// headerOf prefers multi-value headers, which some event sources omit. It merges spellings of one
// name, so that the service can refuse duplicate credentials.
func headerOf(single map[string]string, multi map[string][]string) http.Header {
	h := make(http.Header, len(single))
	for name, values := range multi {
		name = http.CanonicalHeaderKey(name)
		h[name] = append(h[name], values...)
	}
	if len(multi) == 0 {
		for name, value := range single {
			h.Add(name, value)
		}
	}
	return h
}

// response records the output of a handler. It copies the body once if the handler announced its
// length.
type response struct {
	header http.Header
	status int
	body   strings.Builder
}

func (w *response) Header() http.Header { return w.header }

func (w *response) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	if n, err := strconv.Atoi(w.header.Get("Content-Length")); err == nil && n > 0 {
		w.body.Grow(n)
	}
}

func (w *response) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// event returns the response for the gateway, which sets Content-Length itself.
func (w *response) event() events.APIGatewayProxyResponse {
	w.WriteHeader(http.StatusOK)
	e := events.APIGatewayProxyResponse{StatusCode: w.status, Headers: make(map[string]string), Body: w.body.String()}
	for name, values := range w.header {
		if name != "Content-Length" {
			e.Headers[name] = strings.Join(values, ", ")
		}
	}
	return e
}
