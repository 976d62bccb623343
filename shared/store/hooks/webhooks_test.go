package hooks

import (
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

func newWebhook(id string) collab.Webhook {
	return collab.Webhook{
		ID: id, URL: "https://example.com/" + id, Description: "of " + id, EventTypes: []collab.EventType{collab.CommentAdded},
		Secrets: []collab.WebhookSecret{{Secret: "whsec_x", CreatedAt: 1}}, CreatedAt: 1, LastUpdated: 2,
	}
}

// TestUpdateOvertaken: two concurrent updates are both kept.
func TestUpdateOvertaken(t *testing.T) { storetest.OnEach(t, open, testUpdateOvertaken) }

func testUpdateOvertaken(t *testing.T, s *Store) {
	ctx := t.Context()
	must.Do(t, s.AddWebhook(ctx, "acct", collab.MaxWebhooks, newWebhook("h")))
	overtaken := false
	w, err := s.UpdateWebhook(ctx, "acct", "h", func(w *collab.Webhook) error {
		if !overtaken {
			overtaken = true
			if _, err := s.UpdateWebhook(ctx, "acct", "h", func(w *collab.Webhook) error { w.Description = "theirs"; return nil }); err != nil {
				return err
			}
		}
		w.Description += ", then mine"
		return nil
	})
	if err != nil || w.Description != "theirs, then mine" {
		t.Errorf("%+v, %v", w, err)
	}
}

func TestDeleteWebhook(t *testing.T) { storetest.OnEach(t, open, testDeleteWebhook) }

func testDeleteWebhook(t *testing.T, s *Store) {
	ctx := t.Context()
	must.Do(t, s.AddWebhook(ctx, "acct", collab.MaxWebhooks, newWebhook("a")))
	for range 2 {
		if err := s.DeleteWebhook(ctx, "acct", "a", "first"); err != nil {
			t.Error(err)
		}
	}
	if err := s.DeleteWebhook(ctx, "acct", "a", "second"); collab.CodeOf(err) != collab.NotFound {
		t.Errorf("deleted by another request, too: %v", err)
	}
}

func TestDisableWebhook(t *testing.T) { storetest.OnEach(t, open, testDisableWebhook) }

func testDisableWebhook(t *testing.T, s *Store) {
	ctx := t.Context()
	must.Do(t, s.AddWebhook(ctx, "acct", collab.MaxWebhooks, newWebhook("h")))
	ev := &collab.Event{ID: "e", Type: collab.WebhookDisabled, Account: "acct", Webhook: &collab.EventWebhook{WebhookID: "h", Reason: "gone"}}
	seen, err := s.Webhook(ctx, "acct", "h")
	must.Do(t, err)
	elsewhere, earlier := seen, seen
	elsewhere.URL, earlier.CreatedAt = "https://old.example", seen.CreatedAt-1
	for _, of := range []collab.Webhook{elsewhere, earlier} {
		if got, err := s.DisableWebhook(ctx, "acct", of, "gone", ev); err != nil || got {
			t.Errorf("what was seen of another endpoint disables it: %v, %v", got, err)
		}
	}
	for i, want := range []bool{true, false} {
		if got, err := s.DisableWebhook(ctx, "acct", seen, "gone", ev); err != nil || got != want {
			t.Errorf("disable %d: %v, %v", i, got, err)
		}
	}
	w, err := s.Webhook(ctx, "acct", "h")
	if err != nil || !w.Disabled || w.DisabledReason != "gone" || w.Wants(collab.CommentAdded) {
		t.Errorf("disabled: %+v, %v", w, err)
	}
	if got, err := s.outbox.Event(ctx, "acct", "e"); err != nil || got.Webhook.Reason != "gone" {
		t.Errorf("its event: %+v, %v", got, err)
	}
	if disabled, err := s.DisableWebhook(ctx, "acct", collab.Webhook{ID: "none"}, "gone", ev); disabled || err != nil {
		t.Errorf("disabled what is not there: %v, %v", disabled, err)
	}
}
