package collab

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Code is the status string of a failure, as callers read it in `error.status` and in the `code` of a failed item.
type Code string

// The codes, with the HTTP status that package rpc answers for each.
const (
	// 400 (413 for size, 415 for content type, 405 for method): the request can never succeed as sent
	InvalidArgument    Code = "INVALID_ARGUMENT"
	FailedPrecondition Code = "FAILED_PRECONDITION" // 400: refused by a setting, by a state, or as more than one request or account may have
	Unauthenticated    Code = "UNAUTHENTICATED"     // 401: a credential header is missing
	PermissionDenied   Code = "PERMISSION_DENIED"   // 403: the credentials are not valid
	NotFound           Code = "NOT_FOUND"           // 404: the organization, document, annotation or path does not exist
	AlreadyExists      Code = "ALREADY_EXISTS"      // 409: the id already exists
	Aborted            Code = "ABORTED"             // 409: others wrote the same thing at the same time; the caller may try again
	ResourceExhausted  Code = "RESOURCE_EXHAUSTED"  // 429: a limit on rate; the caller may try again later
	Internal           Code = "INTERNAL"            // 500: the cause is in the log and never in the answer
	Unavailable        Code = "UNAVAILABLE"         // 503: a dependency does not answer; the caller may try again
	DeadlineExceeded   Code = "DEADLINE_EXCEEDED"   // 504: the time of the request ran out
)

// Values returns all codes.
func (Code) Values() []string {
	return texts(InvalidArgument, FailedPrecondition, Unauthenticated, PermissionDenied, NotFound, AlreadyExists, Aborted, ResourceExhausted,
		Internal, Unavailable, DeadlineExceeded)
}

// MayRepeat reports whether what failed so may succeed when the same is sent again.
func (c Code) MayRepeat() bool {
	return slices.Contains([]Code{Aborted, ResourceExhausted, Internal, Unavailable, DeadlineExceeded}, c)
}

// FieldError is one mistake of a request: the path of the field, such as `data.commentAnnotations[0].status.id`, and the rule it
// breaks.
type FieldError struct {
	Field   string `json:"field" doc:"The path of the field, such as data.commentAnnotations[0].status.id"`
	Message string `json:"message" doc:"The rule that it breaks"`
}

// Error is a failure with a text that callers may read and a cause that only the log sees.
type Error struct {
	Code       Code
	Message    string        // for the caller: never names an internal
	Details    []FieldError  // every mistake of the request, when Code is InvalidArgument
	RetryAfter time.Duration // when positive, the caller may try again after this time
	Err        error         // the cause, for the log; may be nil
}

// Error is the text for the log: code, message and cause.
func (e *Error) Error() string {
	text := string(e.Code) + ": " + e.Message
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Otherwise is the failure to add something that exists with another value of a field.
func Otherwise(field string) error {
	return Errorf(AlreadyExists, "already exists with a different %s; left unchanged", field)
}

// ErrUnreadable is the cause of the failure to read what is stored in a form that this version does not know.
var ErrUnreadable = errors.New("stored in a form that this version does not know")

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error with a code and a message for the caller. It takes no %w: a cause goes into Error.Err.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// NoDocument is the failure where a document does not exist, or is as if it did not.
func NoDocument(organization, id string) error {
	return Errorf(NotFound, "document %q does not exist in organization %q", id, organization)
}

// NoAnnotation is the failure where an annotation does not exist, or is as if it did not.
func NoAnnotation(doc DocumentRef, id string) error {
	return Errorf(NotFound, "annotation %q does not exist in document %q", id, doc.Document)
}

// FieldErrorf returns the InvalidArgument of one field of a request by its path, such as `data.url`: the rule that it breaks is a
// predicate, such as `must not be empty`.
func FieldErrorf(field, format string, args ...any) *Error {
	rule := fmt.Sprintf(format, args...)
	return &Error{Code: InvalidArgument, Message: field + " " + rule, Details: []FieldError{{Field: field, Message: rule}}}
}

// PageTokenError returns the InvalidArgument of a page token that leads to no place in the list that is asked for; the cause may be nil.
func PageTokenError(cause error) *Error {
	e := FieldErrorf("data.pageToken", "must be the nextPageToken of this same query, unchanged")
	e.Err = cause
	return e
}

// CodeOf returns the code of err, Internal for an error that is no Error, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}

// MessageOf returns the text about err that a caller may read.
func MessageOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok && e.Code != Internal {
		return e.Message
	}
	return "internal error"
}
