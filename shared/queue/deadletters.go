package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// DeadLetters returns the queue to which messages go that were taken too often without being deleted, as the queue's own attributes name
// it. It fails where there is none.
func (q *Queue) DeadLetters(ctx context.Context) (*Queue, error) {
	const name = types.QueueAttributeNameRedrivePolicy
	out, err := q.client.GetQueueAttributes(
		ctx, &sqs.GetQueueAttributesInput{QueueUrl: &q.url, AttributeNames: []types.QueueAttributeName{name}},
	)
	if err != nil {
		return nil, err
	}
	var policy struct {
		ARN string `json:"deadLetterTargetArn"`
	}
	if err := json.Unmarshal([]byte(out.Attributes[string(name)]), &policy); err != nil {
		return nil, fmt.Errorf("queue: %s has no dead-letter queue", q.url)
	}
	dead, err := q.client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(policy.ARN[strings.LastIndexByte(policy.ARN, ':')+1:])})
	if err != nil {
		return nil, err
	}
	return &Queue{client: q.client, url: aws.ToString(dead.QueueUrl), log: q.log}, nil
}

// Release lets messages that were taken be taken again at once. Those that it fails to release can be taken once the queue's visibility
// timeout has passed.
func (q *Queue) Release(ctx context.Context, messages ...Message) error {
	var errs []error
	for len(messages) > 0 {
		n := min(len(messages), maxBatch)
		entries := make([]types.ChangeMessageVisibilityBatchRequestEntry, n)
		for i, m := range messages[:n] {
			entries[i] = types.ChangeMessageVisibilityBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: aws.String(m.Handle)}
		}
		messages = messages[n:]
		out, err := q.client.ChangeMessageVisibilityBatch(ctx, &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &q.url, Entries: entries})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, f := range out.Failed {
			errs = append(errs, fmt.Errorf("queue: a message was not released: %s: %s", aws.ToString(f.Code), aws.ToString(f.Message)))
		}
	}
	return errors.Join(errs...)
}
