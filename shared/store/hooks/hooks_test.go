package hooks

import (
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// onEach runs a test on a table that is reached plainly, and on one behind the chaos transport.
func onEach(t *testing.T, test func(t *testing.T, s *Store)) {
	storetest.OnEach(t, func(t *testing.T, table *store.Table) { test(t, New(outbox.New(table))) })
}

// TestKeepUnknown holds that no change drops attributes that a newer version has written.
func TestKeepUnknown(t *testing.T) { onEach(t, testKeepUnknown) }

func testKeepUnknown(t *testing.T, s *Store) {
	ctx := t.Context()
	must.Do(t, s.AddWebhook(ctx, "acct", collab.MaxWebhooks, newWebhook("h")))
	event := s.deliver(t, theEndpoint, time.Now(), 1)[0]
	s.save(t, theEndpoint, event, retryAt(1))
	for k, change := range map[keys.Key]func() error{
		laneKey(theLane): func() error {
			s.mustLane(t, func(l *Lane) { l.Pause = 5 })
			return nil
		},
		keptKey(theEndpoint, event): func() error {
			s.save(t, theEndpoint, event, delivered)
			return nil
		},
		keys.Webhook("acct", "h"): func() error {
			_, err := s.UpdateWebhook(ctx, "acct", "h", func(w *collab.Webhook) error { w.Description = ""; return nil })
			return err
		},
	} {
		if _, err := s.Write(ctx, store.Update(k, expression.Set(expression.Name("newer"), expression.Value("kept")))); err != nil {
			t.Fatal(err)
		}
		if err := change(); err != nil {
			t.Error(k, err)
		}
		if it, err := s.Get(ctx, k); err != nil || it.Text("newer") != "kept" {
			t.Errorf("%s lost an attribute: %v, %v", k, it, err)
		}
	}
}
