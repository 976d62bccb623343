package rpc

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"collabdata/shared/collab"
)

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

// failureResponse is the one place that turns an error into status, headers and `{"error": …}`.
func failureResponse(ctx context.Context, err error) response {
	e := asError(ctx, err)
	a := response{http: HTTPStatus(e.Code), code: e.Code, retryAfter: e.RetryAfter}
	if later := a.http == http.StatusServiceUnavailable || a.http == http.StatusTooManyRequests; later && a.retryAfter <= 0 {
		a.retryAfter = time.Second
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		a.http = r.http
	}
	if a.http >= 500 {
		a.cause = err
	}
	type failure struct {
		Message string              `json:"message"`
		Status  collab.Code         `json:"status"`
		Details []collab.FieldError `json:"details,omitempty"`
	}
	a.body = segments{JSON(map[string]failure{"error": {collab.MessageOf(e), e.Code, e.Details}})}
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
