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

	"collabdata/shared/access"
	"collabdata/shared/collab"
	"collabdata/shared/keys"

	"golang.org/x/sync/errgroup"
)

const (
	posts       = 64              // concurrent
	postTimeout = 2 * time.Second // of one post, with retries

	// The maximum time that permission providers may take in one call of Take. The stream's batches
	// have changes of several accounts, and a slow provider of one delays the hints of the others.
	patience = 5 * time.Second

	// The gateway may not know yet that a younger connection has begun.
	young = 30 * time.Second
)

// Hints sends hints about written items to connected pages.
type Hints struct {
	Rule        Rule
	Accounts    Accounts
	Connections Connections
	Gateway     Gateway
	Log         *slog.Logger

	// Lap is the minimum duration of a call of Take that sent hints. If calls for a document are
	// sequential, it bounds the hints about the document. A call that reached many pages lasts
	// longer: see spread.
	Lap time.Duration
}

// Limits of the reads that follow a hint to many pages.
const (
	lookRate  = 300 // each second
	few       = 100 // pages read at once
	maxSpread = 15 * time.Second
)

// spread returns the time over which the reads of n pages are spread, 0 for few.
func spread(n int) time.Duration {
	if n <= few {
		return 0
	}
	return min(time.Duration(n)*time.Second/lookRate, maxSpread)
}

// message is a text to a connection; "" ends it.
type message struct{ connection, text string }

// hint is the text of messages about one change.
type hint struct {
	Document string `json:"documentId,omitempty"`
	Inbox    bool   `json:"inbox,omitempty"`
	Read     bool   `json:"read,omitempty"`   // about the user's read marks
	Within   int64  `json:"within,omitempty"` // milliseconds: see spread
}

// Take sends hints about written items, by their keys; several changes of the same data are one
// hint. It ends the connections of users who may not have the hint, or whose access has changed and
// who may not watch all that they do. It returns the table's errors, and may be called again.
func (h *Hints) Take(ctx context.Context, written []keys.Key) error {
	changes := map[keys.Change]bool{}
	for _, k := range written {
		if c, ok := keys.ParseChange(k); ok && c.Kind != keys.Heartbeat {
			changes[c] = true
		}
	}
	hints, pages, err := h.hints(ctx, changes)
	if err != nil {
		return err
	}
	if len(hints) == 0 {
		return nil
	}
	lap := time.NewTimer(max(h.Lap, spread(pages)))
	defer lap.Stop()
	h.post(ctx, slices.Collect(maps.Keys(hints)))
	select {
	case <-lap.C:
	case <-ctx.Done():
	}
	return nil
}

// hints returns the hints about changes, and the number of pages that receive the most common one.
func (h *Hints) hints(ctx context.Context, changes map[keys.Change]bool) (found map[message]bool, reached int, err error) {
	var mu sync.Mutex
	found = map[message]bool{}
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(queries)
	asking, cancel := context.WithTimeout(within, patience)
	defer cancel()
	for c := range changes {
		everyone := c
		everyone.User = ""
		if c.User != "" && changes[everyone] { // that hint also reaches this user
			continue
		}
		g.Go(func() error {
			list, pages, err := h.find(within, asking, c)
			mu.Lock()
			defer mu.Unlock()
			for _, m := range list {
				found[m] = true
			}
			reached = max(reached, pages)
			return err
		})
	}
	err = g.Wait()
	return found, reached, err
}

// find returns the messages about a change, and the number of pages that receive a hint. It asks no
// permission provider after asking ends.
func (h *Hints) find(ctx, asking context.Context, c keys.Change) (messages []message, pages int, err error) {
	if c.Kind == keys.AccessChanged {
		messages, err = h.recheck(ctx, asking, c)
		return messages, 0, err
	}
	change := hint{Document: c.Document, Inbox: c.Kind == keys.InboxChanged, Read: c.Document != "" && c.User != ""}
	w := collab.Watch{Account: c.Account, Organization: c.Organization, Inbox: change.Inbox}
	var watchers []collab.Connection
	if change.Inbox {
		watchers, err = h.Connections.Connections(ctx, c.Account, c.Organization, c.User)
		watchers = slices.DeleteFunc(watchers, func(c collab.Connection) bool { return !c.Inbox })
	} else {
		w.Documents = []string{c.Document}
		watchers, err = h.Connections.Watchers(ctx, c.Account, c.Organization, c.Document, c.User)
	}
	if err != nil {
		return nil, 0, err
	}
	refused, err := h.refused(ctx, asking, w, watchers)
	if err != nil {
		return nil, 0, err
	}
	pages = len(watchers) - len(refused)
	change.Within = spread(pages).Milliseconds()
	text, err := collab.EncodeJSON(map[string]hint{"changed": change})
	for _, c := range watchers {
		m := message{c.ID, string(text)}
		if refused[c.ID] {
			m.text = ""
		}
		messages = append(messages, m)
	}
	return messages, pages, err
}

// recheck returns messages that end the connections of a user who may not watch all that they do.
func (h *Hints) recheck(ctx, asking context.Context, c keys.Change) (ends []message, err error) {
	list, err := h.Connections.Connections(ctx, c.Account, c.Organization, c.User)
	if len(list) > 0 {
		h.Rule.Directory.Forget(keys.Organization(c.Account, c.Organization)) // its first removal is new
	}
	for _, connection := range list {
		var refused map[string]bool
		if refused, err = h.refused(ctx, asking, connection.Watch, []collab.Connection{connection}); err != nil {
			return nil, err
		}
		for id := range refused {
			ends = append(ends, message{connection: id})
		}
	}
	return ends, err
}

// refused returns the connections, by id, whose users may not watch w. Users are not refused for
// want of an answer of the permission provider when asking ends.
func (h *Hints) refused(ctx, asking context.Context, w collab.Watch, list []collab.Connection) (map[string]bool, error) {
	if len(list) == 0 {
		return nil, nil
	}
	account, err := h.Accounts.Account(ctx, w.Account)
	if err == nil && account.Disabled {
		err = collab.Errorf(collab.PermissionDenied, "the account is disabled")
	}
	var users map[string]error
	if err == nil {
		ids := collab.Map(list, func(c collab.Connection) string { return c.User })
		slices.Sort(ids)
		users, err = h.Rule.refused(ctx, asking, account.Settings, w, slices.Compact(ids))
		if _, silent := errors.AsType[*access.NoAnswer](err); silent {
			h.Log.LogAttrs(ctx, slog.LevelWarn, "connections are not checked", slog.Int("connections", len(list)), slog.Any("cause", err))
			err = nil
		}
	}
	code := collab.CodeOf(err)
	all := code == collab.NotFound || code == collab.PermissionDenied || code == collab.FailedPrecondition
	if err != nil && !all {
		return nil, err
	}
	refused := map[string]bool{}
	for _, c := range list {
		if all || users[c.User] != nil {
			refused[c.ID] = true
		}
	}
	return refused, nil
}

// post sends messages. It deletes ended connections. Messages with other failures are lost; then
// the next hint ends a connection.
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
			var err error
			if m.text != "" {
				err = h.Gateway.Post(within, m.connection, m.text)
			} else if err = h.Gateway.Close(within, m.connection); err == nil {
				err = h.Connections.Disconnect(ctx, m.connection, 0)
			}
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
	_ = g.Wait()
	if lost > 0 {
		h.Log.LogAttrs(ctx, slog.LevelWarn, "hints are lost", slog.Int("hints", lost), slog.Any("cause", failed))
	}
}
