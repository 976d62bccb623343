package queue_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"collabdata/shared/keys"
	"collabdata/shared/queue"
	"collabdata/shared/testing/must"
)

func TestDeadLetters(t *testing.T) {
	cfg := config(t)
	live := queue.New(cfg, create(t, cfg)[keys.WebhooksQueue], slog.New(slog.DiscardHandler))
	dead, err := live.DeadLetters(t.Context())
	must.Do(t, err)
	dead.Send(t.Context(), refs(12)...)
	checkEvents(t, receive(t, dead, 12), 12)
	if messages, err := live.Receive(t.Context(), queue.MaxReceive, 0); err != nil || len(messages) != 0 {
		t.Errorf("what the dead-letter queue was sent came to the queue: %v, %v", messages, err)
	}
	if _, err := dead.DeadLetters(t.Context()); err == nil || !strings.Contains(err.Error(), "has no dead-letter queue") {
		t.Errorf("the dead-letter queue of the dead-letter queue: %v", err)
	}
}

func TestRelease(t *testing.T) {
	cfg := config(t)
	q := queue.New(cfg, create(t, cfg)[keys.EventsQueue], slog.New(slog.DiscardHandler))
	q.Send(t.Context(), refs(12)...)
	taken := receive(t, q, 12)
	if messages, err := q.Receive(t.Context(), queue.MaxReceive, 0); err != nil || len(messages) != 0 {
		t.Fatalf("what was taken came again: %v, %v", messages, err)
	}
	start := time.Now()
	must.Do(t, q.Release(t.Context(), taken...))
	again := receive(t, q, 12)
	checkEvents(t, again, 12)
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("what was released came after %v, as if it had not been", took)
	}
	must.Do(t, q.Delete(t.Context(), again...))
	if err := q.Release(t.Context(), again[0]); err == nil {
		t.Error("a message that is gone was released")
	}
}
