package live

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"

	"golang.org/x/sync/errgroup"
)

const (
	queries     = 16              // at the same time
	posts       = 64              // the same
	postTimeout = 2 * time.Second // of one, with its repeats

	// young is a connection of which the gateway may not know yet that it has begun.
	young = 30 * time.Second
)

// Hints tells those who are connected of items that were written.
type Hints struct {
	Connections Connections
	Gateway     Gateway
	Log         *slog.Logger

	// Lap is the least time that a call of Take lasts where it told somebody. Where calls for a document come one after the other, it bounds the
	// hints about that document. A call that told many pages lasts longer: see spread.
	Lap time.Duration
}

// Bounds of the looks that follow a hint to many pages.
const (
	lookRate  = 300 // in a second
	few       = 100 // pages look at once
	maxSpread = 15 * time.Second
)

// spread is the time over which the looks of n pages are spread; 0 for few.
func spread(n int) time.Duration {
	if n <= few {
		return 0
	}
	return min(time.Duration(n)*time.Second/lookRate, maxSpread)
}

// message is one to a connection.
type message struct{ connection, text string }

// hint is what messages about one change say.
type hint struct {
	Document string `json:"documentId,omitempty"`
	Inbox    bool   `json:"inbox,omitempty"`
	Read     bool   `json:"read,omitempty"`   // it is what the person has seen
	Within   int64  `json:"within,omitempty"` // milliseconds: see spread
}

// Take tells of writes, by the keys of their items: several that concern the same are one hint. It does not ask who may see the writes: a
// hint says only where to look. It fails where the table does: to call it again does no harm.
func (h *Hints) Take(ctx context.Context, written []keys.Key) error {
	changes := map[keys.Change]bool{}
	for _, k := range written {
		if c, ok := keys.ParseChange(k); ok && c.Kind != keys.Heartbeat {
			changes[c] = true
		}
	}
	hints, most, err := h.hints(ctx, changes)
	if err != nil {
		return err
	}
	if len(hints) == 0 {
		return nil
	}
	lap := time.NewTimer(max(h.Lap, spread(most)))
	defer lap.Stop()
	h.post(ctx, slices.Collect(maps.Keys(hints)))
	select {
	case <-lap.C:
	case <-ctx.Done():
	}
	return nil
}

// hints returns the hints that changes call for, and how many pages hear of the change that concerns most of them.
func (h *Hints) hints(ctx context.Context, changes map[keys.Change]bool) (found map[message]bool, most int, err error) {
	var mu sync.Mutex
	found = map[message]bool{}
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(queries)
	for c := range changes {
		everyone := c
		everyone.User = ""
		if c.User != "" && changes[everyone] { // which tells this user as well
			continue
		}
		g.Go(func() error {
			list, err := h.find(within, c)
			mu.Lock()
			defer mu.Unlock()
			for _, m := range list {
				found[m] = true
			}
			most = max(most, len(list))
			return err
		})
	}
	err = g.Wait()
	return found, most, err
}

// find returns the hints that a change calls for.
func (h *Hints) find(ctx context.Context, c keys.Change) (hints []message, err error) {
	said := hint{Document: c.Document, Inbox: c.Kind == keys.InboxChanged, Read: c.Document != "" && c.User != ""}
	var told []collab.Connection
	if said.Inbox {
		told, err = h.Connections.Connections(ctx, c.Account, c.Organization, c.User)
		told = slices.DeleteFunc(told, func(c collab.Connection) bool { return !c.Inbox })
	} else {
		told, err = h.Connections.Watchers(ctx, c.Account, c.Organization, c.Document, c.User)
	}
	if err != nil || len(told) == 0 {
		return nil, err
	}
	said.Within = spread(len(told)).Milliseconds()
	text, err := collab.EncodeJSON(map[string]hint{"changed": said})
	for _, c := range told {
		hints = append(hints, message{c.ID, string(text)})
	}
	return hints, err
}

// post sends messages. It forgets the connections that are gone; what fails otherwise is lost.
func (h *Hints) post(ctx context.Context, list []message) {
	var mu sync.Mutex
	var failed error
	lost := 0
	var g errgroup.Group
	g.SetLimit(posts)
	for _, m := range list {
		g.Go(func() error {
			within, cancel := context.WithTimeout(ctx, postTimeout)
			defer cancel()
			err := h.Gateway.Post(within, m.connection, m.text)
			if errors.Is(err, ErrGone) {
				err = h.Connections.Disconnect(ctx, m.connection, young)
			}
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				lost, failed = lost+1, cmp.Or(failed, err)
			}
			return nil
		})
	}
	_ = g.Wait() // no function fails
	if lost > 0 {
		h.Log.LogAttrs(ctx, slog.LevelWarn, "hints are lost", slog.Int("hints", lost), slog.Any("cause", failed))
	}
}
