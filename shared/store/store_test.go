package store_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// TestOutlast checks that Outlast sleeps until twice the skew after a time, in real time unless the
// table has another sleep, or until the context ends.
func TestOutlast(t *testing.T) {
	const skew = 10 * time.Millisecond
	table := store.New(aws.Config{}, "none", time.Now, rand.Reader)
	began := time.Now()
	must.Do(t, table.Outlast(t.Context(), began, skew))
	if took := time.Since(began); took < 2*skew {
		t.Errorf("took %v", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), skew)
	defer cancel()
	storetest.WantCode(t, "without time", table.Outlast(ctx, time.Now(), time.Hour), collab.DeadlineExceeded)

	var slept time.Duration
	sleeping := table.At(func() time.Time { return began.Add(skew / 2) }).Sleeping(func(_ context.Context, d time.Duration) error {
		slept += d
		return nil
	})
	must.Do(t, sleeping.Outlast(t.Context(), began, skew))
	if slept != 3*skew/2 {
		t.Errorf("slept %v", slept)
	}
}
