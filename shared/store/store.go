// Package store reads and writes the service's DynamoDB table: items, transactions, repeats. The packages below it know what the items
// mean: directory (organizations, documents, folders, members), accounts (API keys, settings, quotas), threads (annotations and comments),
// outbox (events, pending work, mails, jobs), hooks (webhook endpoints), inbox (notifications), connections (of pages), deletion and erasure
// (of people). Package keys documents the
// keys. Nothing else imports DynamoDB.
package store

import (
	"context"
	"encoding/hex"
	"io"
	"time"

	"collabdata/shared/collab"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Table is the table. Safe for concurrent use.
//
// Every method fails with UNAVAILABLE when the table throttles or does not answer, DEADLINE_EXCEEDED when the context's time has run
// out, ABORTED when others kept writing the same items until then, and INTERNAL for anything that callers can do nothing about.
type Table struct {
	db     *dynamodb.Client
	name   string
	now    func() time.Time
	random io.Reader
	retry  *retryer
}

// New returns the table of a name. now is the clock. random is safe for concurrent use and never fails; waits and marks are drawn from it.
func New(cfg aws.Config, name string, now func() time.Time, random io.Reader) *Table {
	t := &Table{name: name, now: now, random: random}
	t.retry = &retryer{wait: t.jitter}
	t.db = dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, addMeter, addAttempts)
		o.Retryer = t.retry
	})
	return t
}

// RepeatAtOnce makes repeats follow without a wait, and returns the table. It is for tests, before the table is used.
func (t *Table) RepeatAtOnce() *Table {
	t.retry.wait = func(int, bool) time.Duration { return 0 }
	return t
}

// At returns the table with another clock.
func (t *Table) At(now func() time.Time) *Table {
	at := *t
	at.now = now
	return &at
}

// Name returns the table's name.
func (t *Table) Name() string { return t.name }

// ClockSkew is more than clocks of two processes differ by.
const ClockSkew = 500 * time.Millisecond

// Now returns the time.
func (t *Table) Now() time.Time { return t.now() }

// Millis returns the time in milliseconds.
func (t *Table) Millis() collab.Millis { return t.now().UnixMilli() }

// NewMark returns a mark that no other write has, for a write that belongs to no request.
func (t *Table) NewMark() string {
	var b [10]byte
	_, _ = io.ReadFull(t.random, b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// NewSecret returns 32 random bytes.
func (t *Table) NewSecret() ([]byte, error) {
	secret := make([]byte, 32)
	_, err := io.ReadFull(t.random, secret)
	return secret, err
}

// Outlast waits until whatever is added from its return on, by a clock that differs by at most skew, is later than all that was added before
// the time began. It fails with the context.
func (t *Table) Outlast(ctx context.Context, began time.Time, skew time.Duration) error {
	timer := time.NewTimer(began.Add(2 * skew).Sub(t.Now()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return Fail(ctx, ctx.Err())
	case <-timer.C:
		return nil
	}
}
