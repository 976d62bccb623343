// Package metrics reports figures to CloudWatch, as log lines in its embedded metric format.
package metrics

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// Namespace holds all figures.
const Namespace = "CollabData"

// Channels by which an event reaches somebody: a dimension of some figures.
const (
	Inbox   = "inbox"
	Email   = "email"
	Webhook = "webhook"
)

// Figures. Those by channel are counts of what was sent over it.
const (
	Events           = "Events"           // whose delivery was begun
	Deliveries       = "Deliveries"       // by channel
	DeliveryRetries  = "DeliveryRetries"  // by channel: failed, and to be tried again
	DeliveryFailures = "DeliveryFailures" // by channel: given up
	WebhooksDisabled = "WebhooksDisabled" // endpoints that were disabled
	MailsHeld        = "MailsHeld"        // times that the mails about an event were put off, as the account's quota was used up, or that of SES
	Unreadable       = "Unreadable"       // entries of the table that this version can't read, and passed over
	EventsFailed     = "EventsFailed"     // events whose delivery has failed for hours
	PendingEventAge  = "PendingEventAge"  // seconds that the oldest pending event has been waiting for
	HintsAge         = "HintsAge"         // seconds from a write of the relay to the run that tells pages of such writes
)

// Metrics collects figures of a stage until they are flushed. Safe for concurrent use; a nil Metrics drops them.
type Metrics struct {
	w     io.Writer
	stage string
	now   func() time.Time

	mu      sync.Mutex
	figures map[string]map[string]float64 // by channel, "" for none, and name
}

// New returns Metrics that are written to w.
func New(w io.Writer, stage string, now func() time.Time) *Metrics {
	return &Metrics{w: w, stage: stage, now: now, figures: map[string]map[string]float64{}}
}

// Add adds to a figure of a channel, "" for a figure that has none.
func (m *Metrics) Add(name, channel string, n float64) {
	if m == nil || n == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(channel)[name] += n
}

// PassOver returns what counts and logs an entry of the table that can't be read and is passed over; its error is the cause.
func (m *Metrics) PassOver(ctx context.Context, log *slog.Logger) func(error) {
	return func(err error) {
		m.Add(Unreadable, "", 1)
		log.LogAttrs(ctx, slog.LevelError, "unreadable entry passed over", slog.Any("cause", err))
	}
}

// Set sets a figure that has no channel.
func (m *Metrics) Set(name string, value float64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of("")[name] = value
}

func (m *Metrics) of(channel string) map[string]float64 {
	if m.figures[channel] == nil {
		m.figures[channel] = map[string]float64{}
	}
	return m.figures[channel]
}

type definition struct {
	Name string
	Unit string
}

// Flush writes what was collected since the last time, a line for each channel.
func (m *Metrics) Flush() error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, channel := range slices.Sorted(maps.Keys(m.figures)) {
		dimensions := []string{"Stage"}
		line := map[string]any{"Stage": m.stage}
		if channel != "" {
			dimensions = append(dimensions, "Channel")
			line["Channel"] = channel
		}
		var definitions []definition
		for _, name := range slices.Sorted(maps.Keys(m.figures[channel])) {
			unit := "Count"
			if name == PendingEventAge || name == HintsAge {
				unit = "Seconds"
			}
			definitions = append(definitions, definition{name, unit})
			line[name] = m.figures[channel][name]
		}
		line["_aws"] = map[string]any{
			"Timestamp": m.now().UnixMilli(),
			"CloudWatchMetrics": []any{map[string]any{
				"Namespace": Namespace, "Dimensions": [][]string{dimensions}, "Metrics": definitions,
			}},
		}
		text, err := json.Marshal(line)
		if err != nil {
			return err
		}
		if _, err := m.w.Write(append(text, '\n')); err != nil {
			return err
		}
	}
	clear(m.figures)
	return nil
}
