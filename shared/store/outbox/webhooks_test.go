package outbox

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/table"

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
	if err := s.AddWebhook(ctx, "acct", newWebhook("h")); err != nil {
		t.Fatal(err)
	}
	other := newWebhook("h")
	other.URL = "https://example.org/"
	if err := s.AddWebhook(ctx, "acct", other); collab.CodeOf(err) != collab.AlreadyExists {
		t.Errorf("added twice: %v", err)
	}
	got, err := s.Webhook(ctx, "acct", "h")
	if diff := cmp.Diff(newWebhook("h"), got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if _, err := s.Webhook(ctx, "other", "h"); collab.CodeOf(err) != collab.NotFound {
		t.Errorf("of another account: %v", err)
	}
	big := newWebhook("big")
	big.Description = strings.Repeat("x", collab.MaxItemBytes)
	if err := s.AddWebhook(ctx, "acct", big); collab.CodeOf(err) != collab.InvalidArgument {
		t.Errorf("too large: %v", err)
	}

	if _, err := s.CountFailure(ctx, "acct", "h", 10, 20); err != nil {
		t.Fatal(err)
	}
	describe := func(text string) func(*collab.Webhook) error {
		return func(w *collab.Webhook) error {
			w.Description = text
			return nil
		}
	}
	changed, err := s.UpdateWebhook(ctx, "acct", "h", describe("changed"))
	if err != nil || changed.Description != "changed" || changed.Health != (collab.WebhookHealth{}) {
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
	if _, err := s.UpdateWebhook(ctx, "acct", "h", func(*collab.Webhook) error { return collab.Errorf(collab.FailedPrecondition, "no") }); collab.CodeOf(err) != collab.FailedPrecondition {
		t.Errorf("refused by the change: %v", err)
	}
	if _, err := s.UpdateWebhook(ctx, "acct", "gone", describe("x")); collab.CodeOf(err) != collab.NotFound {
		t.Errorf("changed what is not there: %v", err)
	}

	if err := s.AddWebhook(ctx, "acct", newWebhook("a")); err != nil {
		t.Fatal(err)
	}
	list, err := s.Webhooks(ctx, "acct")
	if err != nil || len(list) != 2 || list[0].ID != "a" || list[1].Description != "by another, then by me" {
		t.Errorf("list %+v, %v", list, err)
	}
}

func TestDeleteWebhook(t *testing.T) { onEach(t, testDeleteWebhook) }

func testDeleteWebhook(t *testing.T, s *Store) {
	ctx := t.Context()
	if err := s.AddWebhook(ctx, "acct", newWebhook("a")); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteWebhook(ctx, "acct", "a"); err != nil {
		t.Error(err)
	}
	if err := s.DeleteWebhook(ctx, "acct", "a"); collab.CodeOf(err) != collab.NotFound {
		t.Errorf("deleted twice: %v", err)
	}
}

func TestWebhookHealth(t *testing.T) { onEach(t, testWebhookHealth) }

func testWebhookHealth(t *testing.T, s *Store) {
	ctx := t.Context()
	if err := s.AddWebhook(ctx, "acct", newWebhook("h")); err != nil {
		t.Fatal(err)
	}
	health := func() collab.WebhookHealth {
		w, err := s.Webhook(ctx, "acct", "h")
		if err != nil {
			t.Fatal(err)
		}
		return w.Health
	}
	for i := range 5 {
		w, err := s.CountFailure(ctx, "acct", "h", int64(100+i), int64(200+i))
		if err != nil || w.Health != (collab.WebhookHealth{Failures: i + 1, FailingSince: 100, NextProbe: int64(200 + i)}) {
			t.Errorf("failure %d: %+v, %v", i, w, err)
		}
	}
	if !health().Resting() {
		t.Error("not resting after five failures")
	}
	for _, claim := range []struct {
		now  int64
		want bool
	}{{203, false}, {204, true}, {205, false}, {234, true}} {
		if got, err := s.ClaimProbe(ctx, "acct", "h", claim.now, claim.now+30); err != nil || got != claim.want {
			t.Errorf("probe at %d: %v, %v", claim.now, got, err)
		}
	}
	if err := s.ForgetFailures(ctx, "acct", "h"); err != nil || health() != (collab.WebhookHealth{}) {
		t.Errorf("after success %+v, %v", health(), err)
	}
	if err := s.ForgetFailures(ctx, "acct", "none"); err != nil {
		t.Error(err)
	}
	if w, err := s.CountFailure(ctx, "acct", "none", 1, 2); w != nil || err != nil {
		t.Errorf("failure of what is not there: %+v, %v", w, err)
	}

	ev := &collab.Event{ID: "e", Type: collab.WebhookDisabled, Account: "acct", Webhook: &collab.EventWebhook{WebhookID: "h", Reason: "gone"}}
	for i, want := range []bool{true, false} {
		if got, err := s.DisableWebhook(ctx, "acct", "h", "gone", ev); err != nil || got != want {
			t.Errorf("disable %d: %v, %v", i, got, err)
		}
	}
	w, err := s.Webhook(ctx, "acct", "h")
	if err != nil || !w.Disabled || w.DisabledReason != "gone" || w.Wants(collab.CommentAdded) {
		t.Errorf("disabled: %+v, %v", w, err)
	}
	if got, err := s.Event(ctx, "acct", "e"); err != nil || got.Webhook.Reason != "gone" {
		t.Errorf("its event: %+v, %v", got, err)
	}
}

func TestDelivery(t *testing.T) { onEach(t, testDelivery) }

func testDelivery(t *testing.T, s *Store) {
	ctx := t.Context()
	now := time.Now().UnixMilli()
	d := collab.Delivery{WebhookID: "h#1", EventID: "e", Type: collab.CommentAdded, State: collab.DeliveryPending, NextAttempt: 5, CreatedAt: now, LastUpdated: now}
	added, err := s.AddDelivery(ctx, "acct", d)
	if err != nil || added.Rev != 1 {
		t.Fatal(added, err)
	}
	it, err := s.Get(ctx, table.Delivery("acct", "h#1", "e"))
	if kept := it.Number(table.Expires) - now/1000; kept != 30*24*60*60 || err != nil {
		t.Errorf("kept for %d s, %v", kept, err)
	}
	d.State = collab.DeliveryCanceled
	if there, err := s.AddDelivery(ctx, "acct", d); err != nil || !cmp.Equal(there, added) {
		t.Errorf("added twice: %+v, %v", there, err)
	}

	failed := added
	failed.Made, failed.NextAttempt, failed.Due = 1, 1000, 1000
	failed.Keep(collab.DeliveryAttempt{At: 6, Status: 500, Reason: "answered 500", Duration: 12})
	saved, err := s.SaveDelivery(ctx, "acct", added, failed)
	if err != nil || saved.Rev != 2 {
		t.Fatal(saved, err)
	}
	if _, err := s.SaveDelivery(ctx, "acct", added, failed); collab.CodeOf(err) != collab.Aborted {
		t.Errorf("saved from an old state: %v", err)
	}
	work := s.dueAt(t)
	want := []collab.DueWork{{
		EventRef: collab.EventRef{Account: "acct", ID: "e"}, WebhookID: "h#1", At: 1000, Since: 1000, Expires: expiry(now) * 1000,
	}}
	if diff := cmp.Diff(want, work); diff != "" {
		t.Error(diff)
	}

	if moved, err := s.MoveDue(ctx, work[0], 2000); err != nil || !moved {
		t.Errorf("moved %v, %v", moved, err)
	}
	if moved, err := s.MoveDue(ctx, work[0], 3000); err != nil || moved {
		t.Errorf("moved again from where it was: %v, %v", moved, err)
	}
	if _, err := s.SaveDelivery(ctx, "acct", saved, saved); collab.CodeOf(err) != collab.Aborted {
		t.Errorf("saved although the relay has moved it: %v", err)
	}
	w, there, err := s.DeliveryWork(ctx, "acct", "h#1", "e")
	if err != nil || w != nil || there.Due != 2000 || there.Rev != 3 {
		t.Errorf("read %+v, %+v, %v", w, there, err)
	}
	if diff := cmp.Diff(failed.Attempts, there.Attempts); diff != "" {
		t.Error(diff)
	}
	done := *there
	done.State, done.Due = collab.DeliveryDelivered, 0
	if _, err := s.SaveDelivery(ctx, "acct", *there, done); err != nil {
		t.Error(err)
	}
	if work := s.dueAt(t); len(work) != 0 {
		t.Errorf("pending %+v", work)
	}

	again, err := s.ReplayDelivery(ctx, "acct", "h#1", "e")
	if err != nil || again.State != collab.DeliveryPending || again.Made != 0 || len(again.Attempts) != 1 || len(s.dueAt(t)) != 1 {
		t.Errorf("replayed %+v, %v", again, err)
	}
	if _, err := s.ReplayDelivery(ctx, "acct", "h#1", "none"); collab.CodeOf(err) != collab.NotFound {
		t.Errorf("replayed what is not there: %v", err)
	}
}

// TestMoveDueOfDone: pending work whose delivery stands elsewhere is left over, and is cleared away.
func TestMoveDueOfDone(t *testing.T) { onEach(t, testMoveDueOfDone) }

func testMoveDueOfDone(t *testing.T, s *Store) {
	ctx := t.Context()
	d := collab.Delivery{WebhookID: "h", EventID: "e", State: collab.DeliveryDelivered, CreatedAt: time.Now().UnixMilli()}
	if _, err := s.AddDelivery(ctx, "acct", d); err != nil {
		t.Fatal(err)
	}
	left, err := dueItem(deliveryDue(70, "acct", "h", "e"), 0, 70, expiry(d.CreatedAt))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(ctx, left); err != nil {
		t.Fatal(err)
	}
	if moved, err := s.MoveDue(ctx, s.dueAt(t)[0], 2000); err != nil || moved || len(s.dueAt(t)) != 0 {
		t.Errorf("moved %v, %v, left %+v", moved, err, s.dueAt(t))
	}
}

func TestDeliveries(t *testing.T) { onEach(t, testDeliveries) }

func testDeliveries(t *testing.T, s *Store) {
	ctx := t.Context()
	const n = 25
	start := time.UnixMilli(1_700_000_000_000)
	var all []string
	for i := range n {
		at := start.Add(time.Duration(i) * time.Second)
		d := collab.Delivery{
			WebhookID: "h", EventID: collab.NewIDs(at, []byte("seed")).Next(), Type: collab.CommentAdded, State: collab.DeliveryDelivered, CreatedAt: at.UnixMilli(),
		}
		if i%5 == 0 {
			d.State, d.Type = collab.DeliveryExhausted, collab.AnnotationAdded
		}
		if _, err := s.AddDelivery(ctx, "acct", d); err != nil {
			t.Fatal(err)
		}
		all = append([]string{d.EventID}, all...)
	}
	walk := func(f collab.DeliveryFilter, most int) []string {
		got := []string{}
		for after := ""; ; {
			list, next, err := s.Deliveries(ctx, "acct", "h", f, after, most)
			if err != nil {
				t.Fatal(err)
			}
			if len(list) > most {
				t.Fatalf("%d on a page of %d", len(list), most)
			}
			for _, d := range list {
				got = append(got, d.EventID)
			}
			if next == "" {
				return got
			}
			after = next
		}
	}
	every5 := []string{all[4], all[9], all[14], all[19], all[24]}
	ms := start.UnixMilli()
	for _, test := range []struct {
		name string
		f    collab.DeliveryFilter
		want []string
	}{
		{"all", collab.DeliveryFilter{}, all},
		{"of a state", collab.DeliveryFilter{State: collab.DeliveryExhausted}, every5},
		{"of a type", collab.DeliveryFilter{Type: collab.AnnotationAdded}, every5},
		{"of none", collab.DeliveryFilter{State: collab.DeliveryPending}, []string{}},
		{"since", collab.DeliveryFilter{After: ms + 20_000}, all[:5]},
		{"until", collab.DeliveryFilter{Before: ms + 4_000}, all[20:]},
		{"between", collab.DeliveryFilter{After: ms + 1, Before: ms + 5_999}, all[19:24]},
		{"between, of a state", collab.DeliveryFilter{After: ms, Before: ms + 5_000, State: collab.DeliveryExhausted}, every5[3:]},
	} {
		for _, most := range []int{1, 2, 7, 100} {
			t.Run(fmt.Sprint(test.name, "/", most), func(t *testing.T) {
				if diff := cmp.Diff(test.want, walk(test.f, most)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}

	replayed := 0
	for after := ""; ; {
		k, next, err := s.ReplayDeliveries(ctx, "acct", "h", collab.DeliveryFilter{After: ms + 10_000}, after, 4)
		if err != nil {
			t.Fatal(err)
		}
		replayed += k
		if next == "" {
			break
		}
		after = next
	}
	if pending := walk(collab.DeliveryFilter{State: collab.DeliveryPending}, 100); replayed != 15 || !slices.Equal(pending, all[:15]) || len(s.dueAt(t)) != 15 {
		t.Errorf("replayed %d: %v, %d to be woken", replayed, pending, len(s.dueAt(t)))
	}
}
