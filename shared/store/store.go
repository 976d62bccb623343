// Package store keeps the service's data in its DynamoDB table. It is the only importer of DynamoDB: callers see the words of
// package collab and its errors. The keys are documented in package table.
package store

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"time"

	"collabdata/shared/collab"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
)

// concurrency bounds the calls to the table that one request has under way.
const concurrency = 32

// Trying again after a conflict, a refusal for lack of capacity, or a lost answer.
const (
	reserve     = 3 * time.Second       // before a request's deadline no further try is started
	attempts    = 8                     // of one call, by the SDK
	quota       = 10_000                // of the SDK's bucket, five a repeat: a bulk write may be throttled at every call
	endless     = 50                    // tries of a request that has no deadline
	firstWait   = 20 * time.Millisecond // at most, before the first repeat; each further one doubles it
	longestWait = time.Second
)

// Store is the table. Safe for concurrent use.
//
// Every method fails with UNAVAILABLE when the table throttles or does not answer, DEADLINE_EXCEEDED when the context's time has run
// out, ABORTED when others kept writing the same items until then, and INTERNAL for anything else that callers can't mend.
type Store struct {
	db    *dynamodb.Client
	table string
	now   func() time.Time
	wait  func(n int) time.Duration // before repeat n, from 0
	known known
}

// New returns the store on a table. now is the clock; random, which must be safe for concurrent use, spreads the repeats of calls that
// failed. A Retryer of cfg takes the place of the store's own.
func New(cfg aws.Config, table string, now func() time.Time, random io.Reader) *Store {
	s := &Store{table: table, now: now, known: newKnown()}
	s.wait = func(n int) time.Duration { return jitter(random, n) }
	s.db = dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, addMeter)
		if cfg.Retryer != nil {
			return
		}
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts = attempts
			o.RateLimiter = ratelimit.NewTokenRateLimit(quota)
			o.Retryables = append(o.Retryables, retry.RetryableErrorCode{Codes: map[string]struct{}{
				"TransactionConflictException": {}, // of a single write; transact sees to its own
			}})
			o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) { return s.wait(attempt - 1), nil })
		})
	})
	return s
}

// jitter returns a random part of the longest wait before repeat n.
func jitter(random io.Reader, n int) time.Duration {
	most := min(firstWait<<min(n, 10), longestWait)
	var b [8]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return most
	}
	return time.Duration(binary.BigEndian.Uint64(b[:]) % uint64(most))
}

func (s *Store) millis() collab.Millis { return s.now().UnixMilli() }

// addMeter makes every call report the capacity that it consumed, and counts it into the context's collab.Usage.
func addMeter(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("CountCapacity", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		const total = types.ReturnConsumedCapacityTotal
		switch p := in.Parameters.(type) {
		case *dynamodb.GetItemInput:
			p.ReturnConsumedCapacity = total
		case *dynamodb.BatchGetItemInput:
			p.ReturnConsumedCapacity = total
		case *dynamodb.QueryInput:
			p.ReturnConsumedCapacity = total
		case *dynamodb.PutItemInput:
			p.ReturnConsumedCapacity = total
		case *dynamodb.UpdateItemInput:
			p.ReturnConsumedCapacity = total
		case *dynamodb.DeleteItemInput:
			p.ReturnConsumedCapacity = total
		case *dynamodb.TransactWriteItemsInput:
			p.ReturnConsumedCapacity = total
		}
		out, meta, err := next.HandleInitialize(ctx, in)
		var read, write float64
		switch r := out.Result.(type) {
		case *dynamodb.GetItemOutput:
			read = units(r.ConsumedCapacity)
		case *dynamodb.BatchGetItemOutput:
			for i := range r.ConsumedCapacity {
				read += units(&r.ConsumedCapacity[i])
			}
		case *dynamodb.QueryOutput:
			read = units(r.ConsumedCapacity)
		case *dynamodb.PutItemOutput:
			write = units(r.ConsumedCapacity)
		case *dynamodb.UpdateItemOutput:
			write = units(r.ConsumedCapacity)
		case *dynamodb.DeleteItemOutput:
			write = units(r.ConsumedCapacity)
		case *dynamodb.TransactWriteItemsOutput:
			for i := range r.ConsumedCapacity {
				write += units(&r.ConsumedCapacity[i])
			}
		}
		collab.UsageOf(ctx).Add(read, write)
		return out, meta, err
	}), middleware.Before)
}

func units(c *types.ConsumedCapacity) float64 {
	if c == nil {
		return 0
	}
	return aws.ToFloat64(c.CapacityUnits)
}

// fail turns an error of the SDK into one of the domain. Errors of the domain pass.
func fail(ctx context.Context, err error) error {
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
	_, unreachable := errors.AsType[net.Error](err)
	if retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) == aws.TrueTernary || unreachable || isThrottle(err) {
		return busy(err)
	}
	return &collab.Error{Code: collab.Internal, Message: "internal error", Err: err}
}

func busy(err error) *collab.Error {
	return &collab.Error{Code: collab.Unavailable, Message: "the service is busy: try again", RetryAfter: time.Second, Err: err}
}

// isConflict reports a write that lost against another one under way; trying again may succeed.
func isConflict(err error) bool {
	if _, ok := errors.AsType[*types.TransactionConflictException](err); ok {
		return true
	}
	for _, r := range cancellation(err) {
		if aws.ToString(r.Code) == "TransactionConflict" {
			return true
		}
	}
	return false
}

// isThrottle reports a refusal for lack of capacity.
func isThrottle(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	if ok {
		if _, throttled := retry.DefaultThrottleErrorCodes[api.ErrorCode()]; throttled {
			return true
		}
	}
	for _, r := range cancellation(err) {
		switch aws.ToString(r.Code) {
		case "ThrottlingError", "ProvisionedThroughputExceeded":
			return true
		}
	}
	return false
}

// cancellation returns the reasons of a cancelled transaction, one per item, or nil.
func cancellation(err error) []types.CancellationReason {
	if c, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return c.CancellationReasons
	}
	return nil
}

// isConditionFailed reports a refused condition of a single write.
func isConditionFailed(err error) bool {
	_, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
	return ok
}

// backoff waits before repeat n, from 0, with full jitter, and reports whether there is time for it.
func (s *Store) backoff(ctx context.Context, n int) bool {
	wait := s.wait(n)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait+reserve || !ok && n >= endless {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// transact writes all items or none. Conflicts and throttling are tried again until the deadline is near; a refused condition comes
// back as the reasons, one per item, with err nil. After an error it is not known whether the items were written.
func (s *Store) transact(ctx context.Context, items []types.TransactWriteItem) (refused []types.CancellationReason, err error) {
	for n := 0; ; n++ {
		_, err := s.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items})
		if err == nil {
			return nil, nil
		}
		reasons := cancellation(err)
		for _, r := range reasons {
			if aws.ToString(r.Code) == "ConditionalCheckFailed" {
				return reasons, nil
			}
		}
		if !isConflict(err) && !isThrottle(err) || !s.backoff(ctx, n) {
			return nil, fail(ctx, err)
		}
	}
}
