package client

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Error is why a call failed.
type Error struct {
	Code       Code
	Message    string        // for people
	Details    []FieldError  // every mistake of the request, when Code is CodeInvalidArgument
	RetryAfter time.Duration // when positive, the call may succeed after this time
	Err        error         // what was wrong on this side; may be nil
}

// FieldError is one mistake of a request: the path of the field, such as data.commentAnnotations[0].status.id, and the rule it breaks.
type FieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Error is the text for a log: code, message and cause.
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

// CodeOf returns the code of err, CodeInternal for an error that is no Error, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// MayRepeat reports whether what failed so may succeed when the same is sent again.
func (c Code) MayRepeat() bool {
	switch c {
	case CodeAborted, CodeResourceExhausted, CodeInternal, CodeUnavailable, CodeDeadlineExceeded:
		return true
	}
	return false
}

// HTTPStatus returns the status with which the service answers a code, for servers that pass a failure on.
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

// MessageOf returns the text about err that anybody may read.
func MessageOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok && e.Code != CodeInternal {
		return e.Message
	}
	return "internal error"
}
