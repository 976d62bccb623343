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

// response is what is written, in pieces that are written one after the other without being copied together.
type response struct {
	http       int
	code       collab.Code // "" for success
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
			return // the caller is gone
		}
	}
}

// DroppedFields is the response header that names the unknown fields which were left out of a request: the paths of up to 20, without the
// indexes of arrays, separated by commas, and "..." for more. Settings.UnknownFields switches it on.
const DroppedFields = "X-Dropped-Fields"

// maxDropped is how many unknown fields a response names.
const maxDropped = 20

// successResponse encodes `{"result": …}`.
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

// WithDetails is a failure whose details are a value of the operation, instead of a list of mistakes.
func WithDetails(reason *collab.Error, details any) error { return &detailed{reason, details} }

type detailed struct {
	reason  *collab.Error
	details any
}

func (d *detailed) Error() string { return d.reason.Error() }
func (d *detailed) Unwrap() error { return d.reason }

// Count returns a number of things as a message tells it, such as "1 comment" or "2 deliveries". The noun is one with a regular plural.
func Count(n int, noun string) string {
	if n != 1 {
		if stem, ok := strings.CutSuffix(noun, "y"); ok {
			noun = stem + "ie"
		}
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// Outcome is what became of one item of a bulk request: embed it in what is answered for the item.
type Outcome struct {
	Success bool        `json:"success" person:"out"`
	Message string      `json:"message" person:"out"`
	Code    collab.Code `json:"code,omitempty" person:"out" doc:"Of a failure: as the status of an error"`
}

// Err returns the failure, nil for success.
func (o Outcome) Err() error {
	if o.Success {
		return nil
	}
	return &collab.Error{Code: o.Code, Message: o.Message}
}

// Outcome tells how the write of an item ended, and counts it; done is the message of success. The cause of a failure that the caller
// cannot mend goes into the log.
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

// Item is what became of one thing of a bulk request, which the request names by its id.
type Item struct {
	Outcome
	ID string `json:"id" person:"out"`
}

// Outcomes tells how the writes of things ended, by their ids and in their order: see Outcome. The error of each stands at its place.
func (c *Call) Outcomes(ids []string, errs []error, done string) Keyed[Item] {
	items := make(Keyed[Item], len(ids))
	for i, id := range ids {
		items[i] = Member[Item]{Key: id, Value: Item{c.Outcome(errs[i], done), id}}
	}
	return items
}

// Sum sets the message to how many items were done, and how many failed: the noun is as for Count, done a participle such as "updated".
func (c *Call) Sum(noun, done string) {
	c.Message = Count(c.Items-c.failed, noun) + " " + done
	if c.failed > 0 {
		c.Message += fmt.Sprintf(", %d failed", c.failed)
	}
}

// refusal is a failure whose HTTP status is not that of its code.
type refusal struct {
	reason *collab.Error
	http   int
}

func (r *refusal) Error() string { return r.reason.Error() }
func (r *refusal) Unwrap() error { return r.reason }

func refuse(http int, format string, args ...any) *refusal {
	return &refusal{reason: collab.Errorf(collab.InvalidArgument, format, args...), http: http}
}

// statuses are the HTTP statuses of the codes.
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

// HTTPStatus returns the HTTP status answered for a code; 500 for one that does not exist.
func HTTPStatus(code collab.Code) int {
	return cmp.Or(statuses[code], http.StatusInternalServerError)
}

// failureResponse is the one place that turns an error into status, headers and `{"error": …}`. The text of a failure that is not the
// caller's names the request by its id, as the log does.
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

// asError returns err as what the caller is told. Once the request's time has run out, a failure without a better reason is due to
// that.
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
