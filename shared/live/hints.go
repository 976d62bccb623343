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

	// Lap is how long a call of Take that told somebody takes at least: what calls one after the other, for one document, bounds the hints
	// about it so.
	Lap time.Duration
}

// message is one to a connection.
type message struct{ connection, text string }

// Take tells of writes, by the keys of their items: several that concern the same are one hint. Who may see what was written is not asked: a
// hint says only where to look. It fails where the table does: to call it again does no harm.
func (h *Hints) Take(ctx context.Context, written []keys.Key) error {
	began := time.NewTimer(h.Lap)
	defer began.Stop()
	changes := map[keys.Change]bool{}
	for _, k := range written {
		if c, ok := keys.ParseChange(k); ok {
			changes[c] = true
		}
	}
	hints, err := h.hints(ctx, changes)
	if err != nil {
		return err
	}
	h.post(ctx, slices.Collect(maps.Keys(hints)))
	if len(hints) > 0 {
		select {
		case <-began.C:
		case <-ctx.Done():
		}
	}
	return nil
}

// hints returns the hints that changes call for.
func (h *Hints) hints(ctx context.Context, changes map[keys.Change]bool) (map[message]bool, error) {
	var mu sync.Mutex
	found := map[message]bool{}
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
			return err
		})
	}
	return found, g.Wait()
}

// find returns the hints that a change calls for.
func (h *Hints) find(ctx context.Context, c keys.Change) (hints []message, err error) {
	type changed struct {
		Document string `json:"documentId,omitempty"`
		Inbox    bool   `json:"inbox,omitempty"`
	}
	said := changed{Document: c.Document, Inbox: c.Kind == keys.InboxChanged}
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
	text, err := collab.EncodeJSON(map[string]changed{"changed": said})
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
