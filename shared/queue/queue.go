// Package queue sends and receives messages about tasks. Only this package imports SQS.
package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"collabdata/shared/platform"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/sync/errgroup"
)

// Limits of SQS.
const (
	MaxReceive = 10               // messages received at once
	MaxWait    = 20 * time.Second // for a message
	MaxDelay   = 15 * time.Minute // until a message can be received

	maxBatch = 10
)

const (
	concurrency = 8 // concurrent batches of one call
	sendTries   = 3 // of an entry that SQS rejects from a batch
)

// Queue is a queue of messages. It is safe for concurrent use.
type Queue struct {
	client *sqs.Client
	url    string
	log    *slog.Logger
}

// New returns the queue at a URL.
func New(cfg aws.Config, url string, log *slog.Logger) *Queue {
	return &Queue{client: sqs.NewFromConfig(cfg), url: url, log: log}
}

func (q *Queue) send(ctx context.Context, delay time.Duration, entries []types.SendMessageBatchRequestEntry) error {
	if delay > MaxDelay {
		return fmt.Errorf("queue: a delay of %v is longer than %v", delay, MaxDelay)
	}
	for i := range entries {
		entries[i].Id, entries[i].DelaySeconds = aws.String(strconv.Itoa(i)), int32((delay+time.Second-1)/time.Second)
	}
	var batches errgroup.Group
	batches.SetLimit(concurrency)
	for len(entries) > 0 {
		n := min(len(entries), maxBatch)
		batch := entries[:n]
		entries = entries[n:]
		batches.Go(func() error { return q.sendBatch(ctx, batch) })
	}
	return batches.Wait()
}

// sendBatch sends one batch, and retries the entries that SQS rejects.
func (q *Queue) sendBatch(ctx context.Context, batch []types.SendMessageBatchRequestEntry) error {
	var failed types.BatchResultErrorEntry
	for range sendTries {
		out, err := q.client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &q.url, Entries: batch})
		if err != nil {
			return err
		}
		if len(out.Failed) == 0 {
			return nil
		}
		failed = out.Failed[0]
		batch = leftOut(batch, out.Failed)
	}
	return fmt.Errorf("queue: %d messages refused: %s: %s", len(batch), aws.ToString(failed.Code), aws.ToString(failed.Message))
}

func leftOut(batch []types.SendMessageBatchRequestEntry, failed []types.BatchResultErrorEntry) []types.SendMessageBatchRequestEntry {
	ids := make(map[string]bool, len(failed))
	for _, f := range failed {
		ids[aws.ToString(f.Id)] = true
	}
	var left []types.SendMessageBatchRequestEntry
	for _, e := range batch {
		if ids[*e.Id] {
			left = append(left, e)
		}
	}
	return left
}

// Message is a received message. It returns after the queue's visibility timeout, unless it is
// deleted.
type Message struct {
	Text     string
	Sent     time.Time
	Receives int    // number of receipts, this one included
	Handle   string // for deleting and releasing
}

// Receive returns up to limit messages, up to MaxReceive, and waits up to MaxWait for the first.
func (q *Queue) Receive(ctx context.Context, limit int, wait time.Duration) ([]Message, error) {
	out, err := q.client.ReceiveMessage(platform.WithAttemptTime(ctx, wait+platform.AttemptTime), &sqs.ReceiveMessageInput{
		QueueUrl:            &q.url,
		MaxNumberOfMessages: int32(limit),
		WaitTimeSeconds:     int32(wait / time.Second),
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{
			types.MessageSystemAttributeNameSentTimestamp, types.MessageSystemAttributeNameApproximateReceiveCount,
		},
	})
	if err != nil {
		return nil, err
	}
	messages := make([]Message, len(out.Messages))
	for i, m := range out.Messages {
		sent, err := strconv.ParseInt(m.Attributes[string(types.MessageSystemAttributeNameSentTimestamp)], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("queue: time of sending: %w", err)
		}
		receives, err := strconv.Atoi(m.Attributes[string(types.MessageSystemAttributeNameApproximateReceiveCount)])
		if err != nil {
			return nil, fmt.Errorf("queue: count of receives: %w", err)
		}
		messages[i] = Message{Text: aws.ToString(m.Body), Sent: time.UnixMilli(sent), Receives: receives, Handle: aws.ToString(m.ReceiptHandle)}
	}
	return messages, nil
}

// Delete deletes messages. Messages that it fails to delete return.
func (q *Queue) Delete(ctx context.Context, messages ...Message) error {
	var errs []error
	for len(messages) > 0 {
		n := min(len(messages), maxBatch)
		entries := make([]types.DeleteMessageBatchRequestEntry, n)
		for i, m := range messages[:n] {
			entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: aws.String(m.Handle)}
		}
		messages = messages[n:]
		out, err := q.client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &q.url, Entries: entries})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, f := range out.Failed {
			errs = append(errs, fmt.Errorf("queue: a message was not deleted: %s: %s", aws.ToString(f.Code), aws.ToString(f.Message)))
		}
	}
	return errors.Join(errs...)
}

// Waiting returns the approximate number of messages that can be received now, without delayed and
// received ones.
func (q *Queue) Waiting(ctx context.Context) (int, error) {
	const name = types.QueueAttributeNameApproximateNumberOfMessages
	out, err := q.client.GetQueueAttributes(
		ctx, &sqs.GetQueueAttributesInput{QueueUrl: &q.url, AttributeNames: []types.QueueAttributeName{name}},
	)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(out.Attributes[string(name)])
}
