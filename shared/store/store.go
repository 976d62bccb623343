// Package store reads and writes the service's DynamoDB table: items, transactions, retries.
// Package keys documents the keys. Nothing else imports DynamoDB.
//
// The packages below know the meaning of items:
//   - directory: organizations, documents, folders, members
//   - accounts: API keys, settings, quotas
//   - threads: annotations and comments
//   - task: background work
//   - outbox: the tasks of events, notices and jobs
//   - hooks: webhook endpoints
//   - inbox: notifications
//   - connections: pages that receive live hints
//   - deletion, erasure: large deletions, and personal data
package store

import (
	"context"
	"encoding/hex"
	"io"
	"time"

	"collabdata/shared/cache"
	"collabdata/shared/collab"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Table is the DynamoDB table. It is safe for concurrent use.
//
// Every method returns UNAVAILABLE if the table throttles or does not answer, and DEADLINE_EXCEEDED
// if the context's time runs out. It returns ABORTED if conflicts with other writes persist until
// then, and INTERNAL for anything else. Methods of the packages below return the same errors, and
// those in their comments.
type Table struct {
	db     *dynamodb.Client
	name   string
	now    func() time.Time
	random io.Reader
	retry  *retryer
	sleep  func(context.Context, time.Duration) error
}

// New returns the table called name. random supplies waits and marks; it must be safe for
// concurrent use and never fail.
func New(cfg aws.Config, name string, now func() time.Time, random io.Reader) *Table {
	t := &Table{name: name, now: now, random: random, sleep: sleep}
	t.retry = &retryer{wait: t.jitter}
	t.db = dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, addMeter, addAttempts)
		o.Retryer = t.retry
	})
	return t
}

// WithBreaker makes calls fail at once for a second after the table refused ten in a row, and
// returns the table. Functions that answer requests call it before they use the table. Background
// work keeps calling the table, so that it stores the result of a call or an email.
func (t *Table) WithBreaker() *Table {
	t.retry.refusals = cache.NewBreaker(mostRefusals, refusedPause, t.now)
	return t
}

// RepeatAtOnce removes the waits before retries and returns the table. Tests call it before they
// use the table.
func (t *Table) RepeatAtOnce() *Table {
	t.retry.wait = func(int, bool) time.Duration { return 0 }
	return t
}

// At returns a copy of the table with another clock.
func (t *Table) At(now func() time.Time) *Table {
	at := *t
	at.now = now
	return &at
}

// Sleeping returns a copy of the table that sleeps by a function, which returns the context's error
// if the context ends first. A test with its own clock moves the clock.
func (t *Table) Sleeping(by func(context.Context, time.Duration) error) *Table {
	sleeping := *t
	sleeping.sleep = by
	return &sleeping
}

func (t *Table) Name() string { return t.name }

// ClockSkew exceeds the difference between the clocks of two processes.
const ClockSkew = 500 * time.Millisecond

func (t *Table) Now() time.Time { return t.now() }

func (t *Table) Millis() collab.Millis { return t.now().UnixMilli() }

// NewMark returns a unique mark for a write outside a request.
func (t *Table) NewMark() string {
	var b [10]byte
	_, _ = io.ReadFull(t.random, b[:])
	return hex.EncodeToString(b[:])
}

func (t *Table) NewSecret() ([]byte, error) {
	secret := make([]byte, 32)
	_, err := io.ReadFull(t.random, secret)
	return secret, err
}

// Outlast waits until 2·skew after began, so that later writes get later times on any machine whose
// clock differs by at most skew. It returns the context's error if the context ends first.
func (t *Table) Outlast(ctx context.Context, began time.Time, skew time.Duration) error {
	if err := t.sleep(ctx, began.Add(2*skew).Sub(t.Now())); err != nil {
		return Fail(ctx, err)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
