// Package stream follows the stream of the table where no Lambda does: in the local server and in tests.
package stream

import (
	"context"
	"fmt"
	"time"

	"collabdata/shared/keys"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// pause is how long nothing is asked where nothing was written.
const pause = 100 * time.Millisecond

// Stream is the stream of a table.
type Stream struct {
	client *dynamodbstreams.Client
	arn    *string
	shards map[string]*string // iterators by shard, nil for one that has ended
}

// Open returns the stream of a table from now on. A table without one is given one, of keys alone.
func Open(ctx context.Context, cfg aws.Config, table string) (*Stream, error) {
	db := dynamodb.NewFromConfig(cfg)
	described, err := db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return nil, err
	}
	client := dynamodbstreams.NewFromConfig(cfg, func(o *dynamodbstreams.Options) {
		o.BaseEndpoint = db.Options().BaseEndpoint // AWS_ENDPOINT_URL_DYNAMODB names both
	})
	s := &Stream{client: client, arn: described.Table.LatestStreamArn, shards: map[string]*string{}}
	if spec := described.Table.StreamSpecification; spec == nil || !aws.ToBool(spec.StreamEnabled) {
		updated, err := db.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &table, StreamSpecification: &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeKeysOnly,
		}})
		if err != nil {
			return nil, fmt.Errorf("giving the table a stream: %w", err)
		}
		s.arn = updated.TableDescription.LatestStreamArn
	}
	return s, s.find(ctx, streamtypes.ShardIteratorTypeLatest)
}

// find begins with shards that were not known.
func (s *Stream) find(ctx context.Context, from streamtypes.ShardIteratorType) error {
	out, err := s.client.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: s.arn})
	if err != nil {
		return err
	}
	for _, shard := range out.StreamDescription.Shards {
		if _, known := s.shards[*shard.ShardId]; known {
			continue
		}
		it, err := s.client.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
			StreamArn: s.arn, ShardId: shard.ShardId, ShardIteratorType: from,
		})
		if err != nil {
			return err
		}
		s.shards[*shard.ShardId] = it.ShardIterator
	}
	return nil
}

// Next waits until something was written, and returns the keys of what was. It fails with the context, and where the stream cannot be read.
func (s *Stream) Next(ctx context.Context) ([]keys.Key, error) {
	for {
		var written []keys.Key
		ended := false
		for id, iterator := range s.shards {
			if iterator == nil {
				continue
			}
			out, err := s.client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator})
			if err != nil {
				return nil, err
			}
			for _, r := range out.Records {
				written = append(written, keys.Key{PK: text(r.Dynamodb.Keys[keys.PK]), SK: text(r.Dynamodb.Keys[keys.SK])})
			}
			s.shards[id] = out.NextShardIterator
			ended = ended || out.NextShardIterator == nil
		}
		if ended || len(s.shards) == 0 {
			if err := s.find(ctx, streamtypes.ShardIteratorTypeTrimHorizon); err != nil {
				return nil, err
			}
		}
		if len(written) > 0 {
			return written, nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func text(v streamtypes.AttributeValue) string {
	if s, ok := v.(*streamtypes.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}
