package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Heat says whether an index was too hot for writes. Safe for concurrent use.
type Heat struct {
	index string
	seen  atomic.Bool
}

// Seen reports whether a try of a write was refused because one partition of the index, or of one that AWS did not name, takes no more. The
// write may have been carried out since: it is tried again.
func (h *Heat) Seen() bool { return h.seen.Load() }

type heatKey struct{}

// WatchIndex returns a context whose writes are watched for an index that is too hot for them.
func WatchIndex(ctx context.Context, index string) (context.Context, *Heat) {
	h := &Heat{index: index}
	return context.WithValue(ctx, heatKey{}, h), h
}

// noteHeat notes in the context what an error says of the index that is watched.
func noteHeat(ctx context.Context, err error) {
	if h, ok := ctx.Value(heatKey{}).(*Heat); ok && err != nil && tooHot(err, h.index) {
		h.seen.Store(true)
	}
}

// tooHot reports whether a write was refused because a partition of an index takes no more. AWS names the index, but for a transaction: there
// a text says "table or index", or "one or more global secondary indexes".
func tooHot(err error, index string) bool {
	for _, r := range throttlingReasons(err) {
		if resource := aws.ToString(r.Resource); aws.ToString(r.Reason) == "IndexWriteKeyRangeThroughputExceeded" &&
			(resource == "" || strings.HasSuffix(resource, "/index/"+index)) {
			return true
		}
	}
	for _, r := range cancellation(err) {
		if slices.Contains(throttled, aws.ToString(r.Code)) && strings.Contains(aws.ToString(r.Message), "index") {
			return true
		}
	}
	return false
}

func throttlingReasons(err error) []types.ThrottlingReason {
	if e, ok := errors.AsType[*types.ThrottlingException](err); ok {
		return e.ThrottlingReasons
	}
	if e, ok := errors.AsType[*types.ProvisionedThroughputExceededException](err); ok {
		return e.ThrottlingReasons
	}
	return nil
}
