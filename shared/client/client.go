// Package client calls the service from Go: a method for each operation, with types of its own for requests and answers, retries, errors
// and pages, and the check of the webhooks that the service sends.
//
//	c := client.New(client.Config{BaseURL: "http://127.0.0.1:8080", APIKey: "dev-key", AuthToken: "dev-token"})
//	added, err := c.CommentAnnotations.Add(ctx, &client.CommentAnnotationsAddRequest{…})
//	for thread, err := range c.CommentAnnotations.Get(ctx, &client.CommentAnnotationsGetRequest{…}) {
//
// A method is named for the path of its operation: /v2/commentannotations/comments/add is CommentAnnotations.AddComments, and takes a
// CommentAnnotationsAddCommentsRequest. The program in the folder example shows the rest.
//
// # Requests
//
// A field of a request that holds its zero value is not sent, unless it is required. Where the zero value means something, the field is a
// pointer; in what an update changes it is a Field, which can be cleared too. Times are sent in milliseconds.
//
// # Calls
//
// A call that failed for now (UNAVAILABLE, ABORTED, RESOURCE_EXHAUSTED, INTERNAL, DEADLINE_EXCEEDED, or no answer) is made again, after
// the time that Retry-After asks for, else after a growing random one, until Config.Attempts are used or the call's time would be over
// before the next. Calls that write carry an Idempotency-Key, the same at each attempt, so that nothing is written twice.
//
// Each error is an *Error: CodeOf tells them apart. That the service was not reached is UNAVAILABLE. A bulk operation
// answers a failure for each item that failed, and no error.
//
// The package imports nothing of the service: README.md says how another module gets, copies or vendors it.
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

// IdempotencyHeader names a request, so that a repeat of it does nothing and answers as the first time.
const IdempotencyHeader = "Idempotency-Key"

// Config says where the service is and who calls it.
type Config struct {
	BaseURL   string       // such as http://127.0.0.1:8080, without the slash at its end
	APIKey    string       // goes into the header APIKeyHeader
	AuthToken string       // goes into the header AuthTokenHeader
	HTTP      *http.Client // nil for http.DefaultClient
	Attempts  int          // of one call, the first counted; 0 for DefaultAttempts

	// Timeout is how long one call takes at most, with all its attempts and the pauses between them; 0 for DefaultTimeout. The deadline of
	// the call's context holds, too. A Retry-After that goes beyond it is not waited for: the call ends with the service's answer.
	Timeout time.Duration

	// APIKeyHeader and AuthTokenHeader carry the credentials, "" for the defaults: the operator of a stage may have set others.
	APIKeyHeader, AuthTokenHeader string
}

// Defaults of Config.
const (
	DefaultAttempts = 5
	DefaultTimeout  = time.Minute

	DefaultAPIKeyHeader    = "x-service-api-key"
	DefaultAuthTokenHeader = "x-service-auth-token"
)

// New returns a client. It calls nothing.
func New(c Config) *Client {
	c.BaseURL = strings.TrimSuffix(c.BaseURL, "/")
	c.HTTP = cmp.Or(c.HTTP, http.DefaultClient)
	c.Attempts = cmp.Or(c.Attempts, DefaultAttempts)
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	c.APIKeyHeader = cmp.Or(c.APIKeyHeader, DefaultAPIKeyHeader)
	c.AuthTokenHeader = cmp.Or(c.AuthTokenHeader, DefaultAuthTokenHeader)
	return newClient(c)
}

// Option changes one call.
type Option func(http.Header)

// IdempotencyKey gives a call a key of its own in place of a random one, so that the call may be made again by another process: 1 to
// 255 characters of printable ASCII.
func IdempotencyKey(key string) Option {
	return func(h http.Header) { h.Set(IdempotencyHeader, key) }
}

// writing returns the headers of a call that writes.
func writing(options []Option) http.Header {
	header := http.Header{}
	header.Set(IdempotencyHeader, rand.Text())
	for _, option := range options {
		option(header)
	}
	return header
}

// Call runs the operation at a path as its method does, for programs that pass JSON on: request and Data may be of any types that have the
// fields which matter.
func Call[Data any](
	ctx context.Context, c *Client, path string, request any, options ...Option,
) (data Data, nextPageToken string, err error) {
	if strings.HasSuffix(path, "/get") {
		return call[Data](ctx, c, path, request, nil)
	}
	return call[Data](ctx, c, path, request, writing(options))
}

// call makes the call of an operation until it succeeds or is given up, and returns the data of the answer and its nextPageToken.
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

// Answer is an answer as it arrived.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// maxAnswer is the most that is read of an answer, in bytes. The service answers 5 MB at most.
const maxAnswer = 16 << 20

// Send sends a body unchanged, once, with the credentials and further headers, which win; a header with the value "" is not sent. It
// returns the answer whatever its status: for tests, and for what no method does. The error is that of the connection.
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

// decode returns the data of an answer and its nextPageToken, or its failure.
func decode[Data any](a *Answer) (data Data, next string, err error) {
	if a.Status == http.StatusOK || a.Status == http.StatusAccepted {
		var envelope struct {
			Result *struct {
				Data          Data   `json:"data"`
				NextPageToken string `json:"nextPageToken"`
				PageToken     string `json:"pageToken"` // as the documented service names it for some lists
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

// Failure returns what an answer other than 200 and 202 says went wrong.
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
		_ = json.Unmarshal(envelope.Error.Details, &e.Details) // those of some failures are no list of mistakes
	} else {
		// Something in between answered: a proxy, a wrong address.
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

// asError returns err as a *Error.
func asError(ctx context.Context, path string, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if ctx.Err() != nil {
		return &Error{Code: CodeDeadlineExceeded, Message: "the call to " + path + " was ended", Err: context.Cause(ctx)}
	}
	return &Error{Code: CodeUnavailable, Message: "no answer from " + path, Err: err}
}
