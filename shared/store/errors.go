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

// Fail turns an error of the SDK, or one met in reading an item, into one of the domain. Errors of the domain pass, and nil.
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

// ErrAborted is the failure of a write that others kept overtaking; subject says what they write, as a caller knows it.
func ErrAborted(subject string) *collab.Error {
	return &collab.Error{Code: collab.Aborted, Message: "others are writing " + subject + ": try again", RetryAfter: time.Second}
}

// isPassing reports a failure after which the next try may succeed: a conflict, throttling, and what the SDK retries.
func isPassing(err error) bool {
	return isConflict(err) || isThrottle(err) || retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) == aws.TrueTernary
}

// isConflict reports a write that lost against another one under way.
func isConflict(err error) bool {
	if _, ok := errors.AsType[*types.TransactionConflictException](err); ok {
		return true
	}
	return reason(err, "TransactionConflict") >= 0
}

// isThrottle reports throttling. The SDK counts a transaction whose earlier try is still under way as throttled, too: that is none.
func isThrottle(err error) bool {
	if _, ok := errors.AsType[*types.TransactionInProgressException](err); ok {
		return false
	}
	return retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err) == aws.TrueTernary ||
		reason(err, "ThrottlingError", "ProvisionedThroughputExceeded") >= 0
}

// reason returns the first item for which a transaction was cancelled with one of the codes, -1 for none.
func reason(err error, codes ...string) int {
	return slices.IndexFunc(cancellation(err), func(r types.CancellationReason) bool { return slices.Contains(codes, aws.ToString(r.Code)) })
}

// cancellation returns the reasons of a cancelled transaction, one per item, or nil.
func cancellation(err error) []types.CancellationReason {
	if c, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return c.CancellationReasons
	}
	return nil
}

// CheckSize fails with INVALID_ARGUMENT for an item larger than the service stores; what is the item as a caller knows it: the path of the
// field that holds it, where a request has one.
func CheckSize(it Item, what string) error {
	if n := it.Size(); n > collab.MaxItemBytes {
		return collab.FieldErrorf(what, "is too large: %d bytes stored, at most %d", n, collab.MaxItemBytes)
	}
	return nil
}

// Unreadable is the failure of an item that is not in the form that its kind has; collab.ErrUnreadable is its cause.
func Unreadable(k fmt.Stringer, err error) error {
	return &collab.Error{
		Code:    collab.Internal,
		Message: "internal error",
		Err:     fmt.Errorf("item %s: %w: %w", strings.ToValidUTF8(k.String(), "?"), collab.ErrUnreadable, err),
	}
}
