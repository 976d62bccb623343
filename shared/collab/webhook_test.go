package collab

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"collabdata/shared/testing/must"
)

func TestRotate(t *testing.T) {
	const hour = int64(time.Hour / time.Millisecond)
	w := Webhook{Secrets: []WebhookSecret{{Secret: "a", CreatedAt: 1}}}
	rotate := func(secret string, now Millis) {
		t.Helper()
		must.Do(t, w.Rotate("", secret, now))
	}
	signing := func(now Millis, want ...string) {
		t.Helper()
		if got := w.SigningSecrets(now); !slices.Equal(got, want) {
			t.Errorf("at hour %d sign %v, want %v", now/hour, got, want)
		}
	}
	signing(0, "a")
	rotate("b", hour)
	signing(hour, "b", "a")
	signing(25*hour-1, "b", "a")
	signing(25*hour, "b")
	rotate("c", 2*hour)
	signing(2*hour, "c", "b", "a")
	rotate("d", 25*hour)
	signing(25*hour, "d", "c", "b")
	if len(w.Secrets) != 3 {
		t.Errorf("%d secrets are kept", len(w.Secrets))
	}

	w = Webhook{ID: "h", Secrets: []WebhookSecret{{Secret: "0"}}}
	for i := range MaxWebhookSecrets - 1 {
		rotate(fmt.Sprint(i+1), hour)
	}
	before := slices.Clone(w.Secrets)
	if err := w.Rotate("", "more", hour); CodeOf(err) != FailedPrecondition || !slices.Equal(w.Secrets, before) {
		t.Errorf("%v, secrets %v", err, w.Secrets)
	}
	rotate("later", 25*hour)
	signing(25*hour, "later", "4")
}

func TestWants(t *testing.T) {
	for _, test := range []struct {
		w    Webhook
		want bool
	}{
		{Webhook{}, true},
		{Webhook{EventTypes: []EventType{CommentUpdated, CommentAdded}}, true},
		{Webhook{EventTypes: []EventType{CommentUpdated}}, false},
		{Webhook{Disabled: true}, false},
	} {
		if got := test.w.Wants(CommentAdded); got != test.want {
			t.Errorf("%+v wants it: %v", test.w, got)
		}
	}
}

func TestDeliveryKeepsItsLastAttempts(t *testing.T) {
	var d Delivery
	for i := range MaxDeliveryAttempts + 2 {
		before := d.Attempts
		d.Keep(DeliveryAttempt{At: int64(i)})
		if len(before) > 0 && before[0].At != max(0, int64(i-MaxDeliveryAttempts)) {
			t.Fatal("the list before was changed")
		}
	}
	if len(d.Attempts) != MaxDeliveryAttempts || d.Attempts[0].At != 2 {
		t.Errorf("kept %d from %d on", len(d.Attempts), d.Attempts[0].At)
	}
}

func TestDeliveryKeepsItsLastAnswers(t *testing.T) {
	var d Delivery
	for _, answer := range []string{"1", "", "2", "3", "", "4"} {
		before := slices.Clone(d.Attempts)
		was := d.Attempts
		d.Keep(DeliveryAttempt{Answer: answer})
		if !slices.Equal(was, before) {
			t.Fatal("the list before was changed")
		}
	}
	got := ""
	for _, a := range d.Attempts {
		got += a.Answer + ","
	}
	if want := ",,2,3,,4,"; got != want {
		t.Errorf("kept %s, want %s", got, want)
	}
}

func TestEarliestID(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_123)
	for seed := range 100 {
		ids := NewIDs(at, []byte{byte(seed)})
		id, next := ids.Next(), EarliestID(at.UnixMilli()+1)
		if first := EarliestID(at.UnixMilli()); len(first) != len(id) || id < first || id >= next {
			t.Fatalf("%s is not between %s and %s", id, first, next)
		}
	}
}
