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
)

func open(table *store.Table) *Store { return New(outbox.New(table)) }

// TestKeepUnknown: changes keep attributes of a newer version.
func TestKeepUnknown(t *testing.T) { storetest.OnEach(t, open, testKeepUnknown) }

func testKeepUnknown(t *testing.T, s *Store) {
	ctx := t.Context()
	must.Do(t, s.AddWebhook(ctx, "acct", collab.MaxWebhooks, newWebhook("h")))
	event := s.deliver(t, theEndpoint, time.Now(), 1)[0]
	s.save(t, theEndpoint, event, retryAt(1))
	storetest.KeepsUnknown(t, s.Table, map[keys.Key]func() error{
		keptKey(theEndpoint, event): func() error {
			s.save(t, theEndpoint, event, func(d *collab.Delivery) { d.NextAttempt++ })
			return nil
		},
		keys.Webhook("acct", "h"): func() error {
			_, err := s.UpdateWebhook(ctx, "acct", "h", func(w *collab.Webhook) error { w.Description += "x"; return nil })
			return err
		},
	})
}
