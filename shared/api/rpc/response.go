package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"collabdata/shared/collab"
)

// response is a response body in pieces, which are written without concatenation.
type response struct {
	http       int
	code       collab.Code // "" means success
	body       segments
	retryAfter time.Duration
}

func (a response) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(a.body.len()))
	if a.http == http.StatusMethodNotAllowed {
		h.Set("Allow", http.MethodPost)
	}
	if a.retryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((a.retryAfter+time.Second-1)/time.Second), 10))
	}
	w.WriteHeader(a.http)
	for _, piece := range a.body {
		if _, err := w.Write(piece); err != nil {
			return // the client has gone
		}
	}
}

// DroppedFields is the response header with the paths of up to 20 dropped unknown fields. It has no
// array indexes, commas between paths, and "..." if there are more. See Settings.UnknownFields.
const DroppedFields = "X-Dropped-Fields"

// maxDropped is the number of dropped fields in a response.
const maxDropped = 20

func successResponse(call *Call, data any, accepted bool) response {
	if page, ok := data.(interface{ report() }); ok {
		page.report()
	}
	result := Keyed[any]{{"status", "success"}, {"message", cmp.Or(call.Message, "done")}, {"data", data}}
	if call.NextPageToken != "" {
		result = append(result, Member[any]{"nextPageToken", call.NextPageToken})
		if call.bothTokens {
			result = append(result, Member[any]{"pageToken", call.NextPageToken})
		}
	}
	if call.Unread != nil {
		result = append(result, Member[any]{"unreadCount", call.Unread})
	}
	if call.JobID != "" {
		result = append(result, Member[any]{"jobId", call.JobID})
	}
	s := make(segments, 0, 16)
	s.add(`{"result":`)
	s.value(result)
	status := http.StatusOK
	if accepted {
		status = http.StatusAccepted
		for _, m := range append(result[:3:3], Member[any]{"statusCode", status}) {
			s.add(`,"` + m.Key + `":`)
			s.value(m.Value)
		}
	}
	s.add("}")
	return response{http: status, body: s}
}

// WithDetails is a failure with custom details, instead of a list of violations.
func WithDetails(reason *collab.Error, details any) error { return &detailed{reason, details} }

type detailed struct {
	reason  *collab.Error
	details any
}

func (d *detailed) Error() string { return d.reason.Error() }
func (d *detailed) Unwrap() error { return d.reason }

// Count formats a number with a noun that has a regular plural, such as "1 comment" or "2
// deliveries".
func Count(n int, noun string) string {
	if n != 1 {
		if stem, ok := strings.CutSuffix(noun, "y"); ok {
			noun = stem + "ie"
		}
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// Outcome is the outcome of one item of a bulk request: embed it in the item's result.
type Outcome struct {
	Success bool        `json:"success" person:"out"`
	Message string      `json:"message" person:"out"`
	Code    collab.Code `json:"code,omitempty" person:"out" doc:"Of a failure: as the status of an error"`
}

// Outcome returns the outcome of one item, and counts it. done is the message of a success. The
// cause of an internal failure is logged.
func (c *Call) Outcome(err error, done string) Outcome {
	c.Items++
	if err == nil {
		return Outcome{Success: true, Message: done}
	}
	c.failed++
	code := collab.CodeOf(err)
	c.unfinished = c.unfinished || code.MayRepeat()
	if HTTPStatus(code) >= 500 {
		c.cause = err
	}
	return Outcome{Message: collab.MessageOf(err), Code: code}
}

// Item is the outcome of one item with an id.
type Item struct {
	Outcome
	ID string `json:"id" person:"out"`
}

// Outcomes returns the outcomes of items by id, in order. errs has one error for each id: see
// Outcome.
func (c *Call) Outcomes(ids []string, errs []error, done string) Keyed[Item] {
	items := make(Keyed[Item], len(ids))
	for i, id := range ids {
		items[i] = Member[Item]{Key: id, Value: Item{c.Outcome(errs[i], done), id}}
	}
	return items
}

// Sum sets the message to the number of completed and failed items. noun is as in Count, done a
// participle such as "updated".
func (c *Call) Sum(noun, done string) {
	c.Message = Count(c.Items-c.failed, noun) + " " + done
	if c.failed > 0 {
		c.Message += fmt.Sprintf(", %d failed", c.failed)
	}
}

// refusal is a failure with an HTTP status of its own.
type refusal struct {
	reason *collab.Error
	http   int
}

func (r *refusal) Error() string { return r.reason.Error() }
func (r *refusal) Unwrap() error { return r.reason }

func refuse(http int, format string, args ...any) *refusal {
	return &refusal{reason: collab.Errorf(collab.InvalidArgument, format, args...), http: http}
}

// statuses maps codes to HTTP statuses.
var statuses = map[collab.Code]int{
	collab.InvalidArgument:    http.StatusBadRequest,
	collab.FailedPrecondition: http.StatusBadRequest,
	collab.Unauthenticated:    http.StatusUnauthorized,
	collab.PermissionDenied:   http.StatusForbidden,
	collab.NotFound:           http.StatusNotFound,
	collab.AlreadyExists:      http.StatusConflict,
	collab.Aborted:            http.StatusConflict,
	collab.ResourceExhausted:  http.StatusTooManyRequests,
	collab.Unavailable:        http.StatusServiceUnavailable,
	collab.DeadlineExceeded:   http.StatusGatewayTimeout,
}

// HTTPStatus returns the HTTP status of a code, or 500 if it is unknown.
func HTTPStatus(code collab.Code) int {
	return cmp.Or(statuses[code], http.StatusInternalServerError)
}

// failureResponse turns an error into status, headers and `{"error": …}`. The message of an
// internal failure has the request id, as the log does.
func failureResponse(ctx context.Context, err error) response {
	e := asError(ctx, err)
	a := response{http: HTTPStatus(e.Code), code: e.Code, retryAfter: e.RetryAfter}
	if later := a.http == http.StatusServiceUnavailable || a.http == http.StatusTooManyRequests; later && a.retryAfter <= 0 {
		a.retryAfter = time.Second
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		a.http = r.http
	}
	type failure struct {
		Message string      `json:"message"`
		Status  collab.Code `json:"status"`
		Details any         `json:"details,omitempty"`
	}
	var details any
	if d, ok := errors.AsType[*detailed](err); ok {
		details = d.details
	} else if len(e.Details) > 0 {
		details = e.Details
	}
	message := collab.MessageOf(e)
	if id := collab.RequestIDOf(ctx); id != "" && a.http >= 500 {
		message += " (request " + id + ")"
	}
	a.body = segments{JSON(map[string]failure{"error": {message, e.Code, details}})}
	return a
}

// asError returns the error for the caller. After the deadline, an unexplained failure becomes
// DEADLINE_EXCEEDED.
func asError(ctx context.Context, err error) *collab.Error {
	e, ok := errors.AsType[*collab.Error](err)
	vague := !ok || e.Code == collab.Internal || e.Code == collab.Unavailable
	if vague && ctx.Err() != nil || !ok && errors.Is(err, context.DeadlineExceeded) {
		return collab.Errorf(collab.DeadlineExceeded, "the time of the request ran out; parts of it may have been done")
	}
	if !ok {
		return &collab.Error{Code: collab.Internal, Err: err}
	}
	return e
}
