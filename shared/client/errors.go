package client

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Error is a failed call.
type Error struct {
	Code       Code
	Message    string        // for people
	Details    []FieldError  // all mistakes of the request, if Code is CodeInvalidArgument
	RetryAfter time.Duration // if positive, the call may succeed after this time
	Err        error         // cause on the client side; may be nil
}

// FieldError is one mistake of a request: the path of a field, such as
// data.commentAnnotations[0].status.id, and the broken rule.
type FieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Error returns the code, message and cause, for logs.
func (e *Error) Error() string {
	text := string(e.Code) + ": " + e.Message
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error with a code and a message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// CodeOf returns the code of err. It returns CodeInternal if err is not an Error, and "" if err is
// nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// MayRepeat reports whether the same request may succeed later.
func (c Code) MayRepeat() bool {
	switch c {
	case CodeAborted, CodeResourceExhausted, CodeInternal, CodeUnavailable, CodeDeadlineExceeded:
		return true
	}
	return false
}

// HTTPStatus returns the service's HTTP status for a code.
func (c Code) HTTPStatus() int {
	switch c {
	case CodeInvalidArgument, CodeFailedPrecondition:
		return http.StatusBadRequest
	case CodeUnauthenticated:
		return http.StatusUnauthorized
	case CodePermissionDenied:
		return http.StatusForbidden
	case CodeNotFound:
		return http.StatusNotFound
	case CodeAlreadyExists, CodeAborted:
		return http.StatusConflict
	case CodeResourceExhausted:
		return http.StatusTooManyRequests
	case CodeUnavailable:
		return http.StatusServiceUnavailable
	case CodeDeadlineExceeded:
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
}

// MessageOf returns the message of err that is safe to show.
func MessageOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok && e.Code != CodeInternal {
		return e.Message
	}
	return "internal error"
}
