package collab

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Code is the status of a failure, in `error.status` and in the `code` of a failed item.
type Code string

// The codes, with the HTTP status of each.
const (
	// 400 (413 for size, 415 for content type, 405 for method): the request can never succeed as
	// sent
	InvalidArgument    Code = "INVALID_ARGUMENT"
	FailedPrecondition Code = "FAILED_PRECONDITION" // 400: refused by a setting, a state or a limit
	Unauthenticated    Code = "UNAUTHENTICATED"     // 401: a credential header is missing
	PermissionDenied   Code = "PERMISSION_DENIED"   // 403: the credentials are invalid
	NotFound           Code = "NOT_FOUND"           // 404: something does not exist
	AlreadyExists      Code = "ALREADY_EXISTS"      // 409: the id is taken
	Aborted            Code = "ABORTED"             // 409: a concurrent write won; retry
	ResourceExhausted  Code = "RESOURCE_EXHAUSTED"  // 429: a rate limit; retry later
	Internal           Code = "INTERNAL"            // 500: only the log has the cause
	Unavailable        Code = "UNAVAILABLE"         // 503: a dependency does not answer; retry
	DeadlineExceeded   Code = "DEADLINE_EXCEEDED"   // 504: the request ran out of time
)

func (Code) Values() []string {
	return texts(InvalidArgument, FailedPrecondition, Unauthenticated, PermissionDenied, NotFound, AlreadyExists, Aborted, ResourceExhausted,
		Internal, Unavailable, DeadlineExceeded)
}

// MayRepeat reports whether a retry of the same request may succeed.
func (c Code) MayRepeat() bool {
	return slices.Contains([]Code{Aborted, ResourceExhausted, Internal, Unavailable, DeadlineExceeded}, c)
}

// FieldError is one mistake in a request: the path of the field, such as
// `data.commentAnnotations[0].status.id`, and the rule that it breaks.
type FieldError struct {
	Field   string `json:"field" doc:"Path of the field, such as data.commentAnnotations[0].status.id"`
	Message string `json:"message" doc:"Rule that the field breaks"`
}

// Error is a failure with a message for callers and a cause for the log.
type Error struct {
	Code       Code
	Message    string        // for the caller: never names internals
	Details    []FieldError  // all mistakes in the request, if Code is InvalidArgument
	RetryAfter time.Duration // if positive, the wait before a retry
	Err        error         // cause for the log; may be nil
}

// Error returns code, message and cause, for the log.
func (e *Error) Error() string {
	text := string(e.Code) + ": " + e.Message
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Otherwise returns the error of adding something that exists with another value of a field.
func Otherwise(field string) error {
	return Errorf(AlreadyExists, "already exists with a different %s; left unchanged", field)
}

// DeletedSince returns the error of a thing that an import added, and somebody deleted.
func DeletedSince(kind string) error {
	return Errorf(FailedPrecondition, "the %s was deleted after an earlier import; left deleted", kind)
}

// ErrUnreadable is the cause of errors of stored data in a form unknown to this version.
var ErrUnreadable = errors.New("stored in a form that this version does not know")

func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error with a code and a message for the caller. It takes no %w: use Error.Err
// for the cause.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// NoDocument returns the error of a document that does not exist, or is hidden.
func NoDocument(organization, id string) error {
	return Errorf(NotFound, "document %q does not exist in organization %q", id, organization)
}

// NoAnnotation returns the error of an annotation that does not exist, or is hidden.
func NoAnnotation(doc DocumentRef, id string) error {
	return Errorf(NotFound, "annotation %q does not exist in document %q", id, doc.Document)
}

// FieldErrorf returns an InvalidArgument error of a field by its path, such as `data.url`. The rule
// is a predicate, such as `must not be empty`.
func FieldErrorf(field, format string, args ...any) *Error {
	rule := fmt.Sprintf(format, args...)
	return &Error{Code: InvalidArgument, Message: field + " " + rule, Details: []FieldError{{Field: field, Message: rule}}}
}

// PageTokenError returns an InvalidArgument error of a page token that does not fit the list. The
// cause may be nil.
func PageTokenError(cause error) *Error {
	e := FieldErrorf("data.pageToken", "must be the nextPageToken of this same query, unchanged")
	e.Err = cause
	return e
}

// CodeOf returns the code of err, Internal if it is no Error, and "" if it is nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}

// MessageOf returns the message of err for callers.
func MessageOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok && e.Code != Internal {
		return e.Message
	}
	return "internal error"
}
