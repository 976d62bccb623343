package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"collabdata/shared/collab"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Fail converts an error of the SDK, or of decoding an item, to a collab.Error. It returns nil and
// errors of the domain unchanged.
func Fail(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*collab.Error](err); ok {
		return err
	}
	if ctx.Err() != nil {
		return &collab.Error{Code: collab.DeadlineExceeded, Message: "the time of the request ran out", Err: err}
	}
	if isConflict(err) {
		return &collab.Error{Code: collab.Aborted, Message: "others are writing the same data: try again", RetryAfter: time.Second, Err: err}
	}
	if _, unreachable := errors.AsType[net.Error](err); unreachable || isPassing(err) {
		return busy(err)
	}
	return &collab.Error{Code: collab.Internal, Message: "internal error", Err: err}
}

func busy(err error) *collab.Error {
	return &collab.Error{Code: collab.Unavailable, Message: "the service is busy: try again", RetryAfter: time.Second, Err: err}
}

// ErrAborted returns the error of a write that lost too often. subject names the data.
func ErrAborted(subject string) *collab.Error {
	return &collab.Error{Code: collab.Aborted, Message: "others are writing " + subject + ": try again", RetryAfter: time.Second}
}

// isPassing reports whether a retry may succeed: after a conflict, throttling, or an error that the
// SDK retries.
func isPassing(err error) bool {
	return isConflict(err) || isThrottle(err) || retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) == aws.TrueTernary
}

func isConflict(err error) bool {
	if _, ok := errors.AsType[*types.TransactionConflictException](err); ok {
		return true
	}
	return reason(err, "TransactionConflict") >= 0
}

// isThrottle reports whether DynamoDB throttled the call. The SDK also counts a transaction whose
// earlier attempt is still in progress; isThrottle does not.
func isThrottle(err error) bool {
	if _, ok := errors.AsType[*types.TransactionInProgressException](err); ok {
		return false
	}
	return retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err) == aws.TrueTernary ||
		reason(err, "ThrottlingError", "ProvisionedThroughputExceeded") >= 0
}

// reason returns the index of the first item that cancelled a transaction with one of codes, or -1.
func reason(err error, codes ...string) int {
	return slices.IndexFunc(cancellation(err), func(r types.CancellationReason) bool { return slices.Contains(codes, aws.ToString(r.Code)) })
}

// cancellation returns the reasons of a cancelled transaction, one for each item, or nil.
func cancellation(err error) []types.CancellationReason {
	if c, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return c.CancellationReasons
	}
	return nil
}

// CheckSize returns INVALID_ARGUMENT if an item exceeds collab.MaxItemBytes. name is the field in
// the request, or the item's name in the message.
func CheckSize(it Item, name string) error {
	if n := it.Size(); n > collab.MaxItemBytes {
		return collab.FieldErrorf(name, "is too large: %d bytes stored, at most %d", n, collab.MaxItemBytes)
	}
	return nil
}

// Unreadable returns the error of an item that cannot be decoded. It wraps collab.ErrUnreadable.
func Unreadable(k fmt.Stringer, err error) error {
	return &collab.Error{
		Code:    collab.Internal,
		Message: "internal error",
		Err:     fmt.Errorf("item %s: %w: %w", strings.ToValidUTF8(k.String(), "?"), collab.ErrUnreadable, err),
	}
}
