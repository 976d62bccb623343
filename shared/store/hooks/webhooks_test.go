package hooks

import (
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/testing/must"

	"github.com/google/go-cmp/cmp"
)

func newWebhook(id string) collab.Webhook {
	return collab.Webhook{
		ID: id, URL: "https://example.com/" + id, Description: "of " + id, EventTypes: []collab.EventType{collab.CommentAdded},
		Secrets: []collab.WebhookSecret{{Secret: "whsec_x", CreatedAt: 1}}, CreatedAt: 1, LastUpdated: 2,
	}
}

func TestChangeWebhook(t *testing.T) { onEach(t, testChangeWebhook) }

func testChangeWebhook(t *testing.T, s *Store) {
	ctx := t.Context()
	must.Do(t, s.AddWebhook(ctx, "acct", collab.MaxWebhooks, newWebhook("h")))
	other := newWebhook("h")
	other.URL = "https://example.org/"
	if err := s.AddWebhook(ctx, "acct", collab.MaxWebhooks, other); collab.CodeOf(err) != collab.AlreadyExists {
		t.Errorf("added twice: %v", err)
	}
	got, err := s.Webhook(ctx, "acct", "h")
	if diff := cmp.Diff(newWebhook("h"), got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if _, err := s.Webhook(ctx, "other", "h"); collab.CodeOf(err) != collab.NotFound {
		t.Errorf("of another account: %v", err)
	}

	s.mustLane(t, func(l *Lane) { l.Health.Fail(10) })
	if list, err := s.Webhooks(ctx, "acct"); err != nil || list[0].Health.Failures != 1 {
		t.Errorf("after a failure %+v, %v", list, err)
	}
	describe := func(text string) func(*collab.Webhook) error {
		return func(w *collab.Webhook) error {
			w.Description = text
			return nil
		}
	}
	changed, err := s.UpdateWebhook(ctx, "acct", "h", describe("changed"))
	if err != nil || changed.Description != "changed" {
		t.Errorf("changed: %+v, %v", changed, err)
	}
	overtaken := false
	_, err = s.UpdateWebhook(ctx, "acct", "h", func(w *collab.Webhook) error {
		if !overtaken {
			overtaken = true
			if _, err := s.UpdateWebhook(ctx, "acct", "h", describe("by another")); err != nil {
				return err
			}
		}
		w.Description += ", then by me"
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := s.UpdateWebhook(ctx, "acct", "h", func(*collab.Webhook) error { return collab.Errorf(collab.FailedPrecondition, "no") }); collab.CodeOf(
		err,
	) != collab.FailedPrecondition {
		t.Errorf("refused by the change: %v", err)
	}
	if _, err := s.UpdateWebhook(ctx, "acct", "gone", describe("x")); collab.CodeOf(err) != collab.NotFound {
		t.Errorf("changed what is not there: %v", err)
	}

	must.Do(t, s.AddWebhook(ctx, "acct", collab.MaxWebhooks, newWebhook("a")))
	list, err := s.Webhooks(ctx, "acct")
	if err != nil || len(list) != 2 || list[1].Health.Failures != 0 || list[0].ID != "a" || list[1].Description != "by another, then by me" {
		t.Errorf("list %+v, %v", list, err)
	}
}

func TestDeleteWebhook(t *testing.T) { onEach(t, testDeleteWebhook) }

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

func TestDisableWebhook(t *testing.T) { onEach(t, testDisableWebhook) }

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
