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

// Namespace is the namespace of all figures.
const Namespace = "CollabData"

// Channels of delivery, a dimension of some figures.
const (
	Inbox   = "inbox"
	Email   = "email"
	Webhook = "webhook"
)

// Figures. Those by channel count deliveries.
const (
	Events           = "Events"           // started deliveries
	Deliveries       = "Deliveries"       // by channel
	DeliveryRetries  = "DeliveryRetries"  // by channel: failed, with a retry to come
	DeliveryFailures = "DeliveryFailures" // by channel: given up
	WebhooksDisabled = "WebhooksDisabled" // disabled endpoints
	// delayed emails, because the quota of the account or of SES was used up
	MailsHeld = "MailsHeld"
	// addresses marked as undeliverable, and reports about addresses that no stored person has
	Undeliverable  = "Undeliverable"
	ReportsDropped = "ReportsDropped"
	Unreadable     = "Unreadable"  // skipped items that this version cannot read
	TasksFailed    = "TasksFailed" // tasks that have failed for hours
	TaskAge        = "TaskAge"     // age of the oldest task that is due, in seconds
	HintsAge       = "HintsAge"    // seconds from a write of the relay to the function hints
)

// Metrics collects figures of a stage until they are flushed. It is safe for concurrent use. A nil
// Metrics drops them.
type Metrics struct {
	w     io.Writer
	stage string
	now   func() time.Time

	mu      sync.Mutex
	figures map[string]map[string]float64 // by channel ("" for none) and name
}

// New returns Metrics that write to w.
func New(w io.Writer, stage string, now func() time.Time) *Metrics {
	return &Metrics{w: w, stage: stage, now: now, figures: map[string]map[string]float64{}}
}

// Add adds to a figure of a channel, or of no channel if it is "".
func (m *Metrics) Add(name, channel string, n float64) {
	if m == nil || n == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(channel)[name] += n
}

// PassOver returns a callback that counts and logs an unreadable item. Its argument is the cause.
func (m *Metrics) PassOver(ctx context.Context, log *slog.Logger) func(error) {
	return func(err error) {
		m.Add(Unreadable, "", 1)
		log.LogAttrs(ctx, slog.LevelError, "unreadable entry passed over", slog.Any("cause", err))
	}
}

// Set sets a figure without a channel.
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

// Flush writes the figures since the last flush, one line per channel.
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
			if name == TaskAge || name == HintsAge {
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
