// Package client calls the service from Go. It has a method for each operation, with types for
// requests and responses, retries, errors and pages, and verifies webhooks.
//
//	c := client.New(client.Config{BaseURL: "http://127.0.0.1:8080", APIKey: "dev-key", AuthToken: "dev-token"})
//	added, err := c.CommentAnnotations.Add(ctx, &client.CommentAnnotationsAddRequest{…})
//	for thread, err := range c.CommentAnnotations.Get(ctx, &client.CommentAnnotationsGetRequest{…}) {
//
// Methods are named after the paths of their operations: /v2/commentannotations/comments/add is
// CommentAnnotations.AddComments, with a CommentAnnotationsAddCommentsRequest. See the program in
// the folder example.
//
// # Requests
//
// Zero values of optional fields are omitted. A field is a pointer if its zero value is meaningful.
// In updates it is a Field, which can also be cleared. Times are sent in milliseconds.
//
// # Calls
//
// A call is retried after UNAVAILABLE, ABORTED, RESOURCE_EXHAUSTED, INTERNAL, DEADLINE_EXCEEDED or
// no response. It waits for the time in Retry-After, else for a growing random time. It stops after
// Config.Attempts, or if the call's time would end before the next attempt. All attempts of a write
// have the same Idempotency-Key, so that it happens once.
//
// Every error is an *Error; CodeOf returns its code. The code is UNAVAILABLE if the service is
// unreachable. A bulk operation returns failures per item and no error.
//
// The package does not import the service. README.md explains how to get, copy or vendor it.
package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// IdempotencyHeader identifies a request: a repeat does nothing and gets the first response.
const IdempotencyHeader = "Idempotency-Key"

// Config configures a Client.
type Config struct {
	BaseURL   string       // such as http://127.0.0.1:8080, without a trailing slash
	APIKey    string       // sent in the header APIKeyHeader
	AuthToken string       // sent in the header AuthTokenHeader
	HTTP      *http.Client // http.DefaultClient if nil
	Attempts  int          // of a call, including the first; 0 means DefaultAttempts

	// Timeout limits a call with all attempts and pauses; 0 means DefaultTimeout. The deadline of
	// the call's context also applies. If Retry-After exceeds it, the call returns the service's
	// error immediately.
	Timeout time.Duration

	// APIKeyHeader and AuthTokenHeader are the headers of the credentials; "" means the default.
	// The operator of a stage may change them.
	APIKeyHeader, AuthTokenHeader string
}

// Defaults of Config.
const (
	DefaultAttempts = 5
	DefaultTimeout  = time.Minute

	DefaultAPIKeyHeader    = "x-service-api-key"
	DefaultAuthTokenHeader = "x-service-auth-token"
)

// New returns a client. It makes no calls.
func New(c Config) *Client {
	c.BaseURL = strings.TrimSuffix(c.BaseURL, "/")
	c.HTTP = cmp.Or(c.HTTP, http.DefaultClient)
	c.Attempts = cmp.Or(c.Attempts, DefaultAttempts)
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	c.APIKeyHeader = cmp.Or(c.APIKeyHeader, DefaultAPIKeyHeader)
	c.AuthTokenHeader = cmp.Or(c.AuthTokenHeader, DefaultAuthTokenHeader)
	return newClient(c)
}

// Option configures one call.
type Option func(http.Header)

// IdempotencyKey sets the key of a call, so that another process can repeat it: 1 to 255 printable
// ASCII characters.
func IdempotencyKey(key string) Option {
	return func(h http.Header) { h.Set(IdempotencyHeader, key) }
}

// writing returns the headers of a write.
func writing(options []Option) http.Header {
	header := http.Header{}
	header.Set(IdempotencyHeader, rand.Text())
	for _, option := range options {
		option(header)
	}
	return header
}

// Call calls the operation at a path like its method does, for programs that pass JSON through:
// request and Data may be any types with the relevant fields.
func Call[Data any](
	ctx context.Context, c *Client, path string, request any, options ...Option,
) (data Data, nextPageToken string, err error) {
	if strings.HasSuffix(path, "/get") {
		return call[Data](ctx, c, path, request, nil)
	}
	return call[Data](ctx, c, path, request, writing(options))
}

// call calls an operation with retries, and returns the data of the response and its nextPageToken.
func call[Data any](ctx context.Context, c *Client, path string, request any, header http.Header) (data Data, next string, err error) {
	body, err := json.Marshal(map[string]any{"data": request}, encoding)
	if err != nil {
		return data, "", &Error{Code: CodeInvalidArgument, Message: "the request cannot be written as JSON", Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		answer, err := c.Send(ctx, http.MethodPost, path, header, body)
		if err == nil {
			if data, next, err = decode[Data](answer); err == nil {
				return data, next, nil
			}
		}
		failure := asError(ctx, path, err)
		if attempt == c.config.Attempts || !failure.Code.MayRepeat() || !pause(ctx, delay(failure, attempt)) {
			return data, "", failure
		}
	}
}

// Answer is a raw response.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// maxAnswer is the maximum number of response bytes to read. The service sends at most 5 MB.
const maxAnswer = 16 << 20

// Send sends an unchanged body once, with the credentials and further headers, which take
// precedence. It omits headers with the value "". It returns a response with any status, and an
// error if the connection failed. Use it for tests and for requests without a method.
func (c *Client) Send(ctx context.Context, method, path string, header http.Header, body []byte) (*Answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.config.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(c.config.APIKeyHeader, c.config.APIKey)
	r.Header.Set(c.config.AuthTokenHeader, c.config.AuthToken)
	for name, values := range header {
		if name = http.CanonicalHeaderKey(name); strings.Join(values, "") == "" {
			r.Header.Del(name)
		} else {
			r.Header[name] = values
		}
	}
	res, err := c.config.HTTP.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	return &Answer{Status: res.StatusCode, Header: res.Header, Body: text}, nil
}

// decode returns the data of a response and its nextPageToken, or its failure.
func decode[Data any](a *Answer) (data Data, next string, err error) {
	if a.Status == http.StatusOK || a.Status == http.StatusAccepted {
		var envelope struct {
			Result *struct {
				Data          Data   `json:"data"`
				NextPageToken string `json:"nextPageToken"`
				// the documented service's name in some lists
				PageToken string `json:"pageToken"`
			} `json:"result"`
		}
		if err := json.Unmarshal(a.Body, &envelope, decoding); err != nil {
			return data, "", &Error{Code: CodeFailedPrecondition, Message: "the answer is not of the type asked for", Err: err}
		}
		if r := envelope.Result; r != nil {
			return r.Data, cmp.Or(r.NextPageToken, r.PageToken), nil
		}
	}
	return data, "", a.Failure()
}

// Failure returns the error in a response with a status other than 200 and 202.
func (a *Answer) Failure() *Error {
	var envelope struct {
		Error struct {
			Message string         `json:"message"`
			Status  Code           `json:"status"`
			Details jsontext.Value `json:"details"`
		} `json:"error"`
	}
	e := &Error{Code: CodeUnavailable}
	if err := json.Unmarshal(a.Body, &envelope); err == nil && envelope.Error.Status != "" {
		e.Code, e.Message = envelope.Error.Status, envelope.Error.Message
		// details of some failures are not a list of mistakes
		_ = json.Unmarshal(envelope.Error.Details, &e.Details)
	} else {
		// The response is from a proxy or another server.
		e.Message = fmt.Sprintf("the answer is none of the service: HTTP status %d", a.Status)
		switch {
		case a.Status == http.StatusTooManyRequests:
			e.Code = CodeResourceExhausted
		case a.Status < 500:
			e.Code = CodeFailedPrecondition
		}
	}
	after := a.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(after); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(after); err == nil {
		e.RetryAfter = max(0, time.Until(at))
	}
	return e
}

func asError(ctx context.Context, path string, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if ctx.Err() != nil {
		return &Error{Code: CodeDeadlineExceeded, Message: "the call to " + path + " was ended", Err: context.Cause(ctx)}
	}
	return &Error{Code: CodeUnavailable, Message: "no answer from " + path, Err: err}
}
