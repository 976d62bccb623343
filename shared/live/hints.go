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
	queries     = 16              // at the same time
	posts       = 64              // the same
	postTimeout = 2 * time.Second // of one, with its repeats
	ruleTimeout = 7 * time.Second // of asking the rule, and permission providers: then others are in need of the process

	// young is a connection of which the gateway may not know yet that it has begun.
	young = 30 * time.Second
)

// Hints tells those who are connected of items that were written.
type Hints struct {
	Rule        Rule
	Accounts    Accounts
	Connections Connections
	Gateway     Gateway
	Log         *slog.Logger

	// Lap is how long a call of Take that told somebody takes at least: what calls one after the other, for one document, bounds the hints
	// about it so.
	Lap time.Duration
	// Settle is how long after a change of who may see what the table shows it to every read.
	Settle time.Duration
}

// message is one to a connection.
type message struct{ connection, text string }

// Take tells of writes, by the keys of their items: several that concern the same are one hint. Where access may have changed it asks the
// rule, and ends the connections of those who may not see what they watch. It fails where the table does: to call it again does no harm.
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
	var access []keys.Change
	for c := range changes {
		if c.Kind == keys.AccessChanged {
			access = append(access, c)
		}
	}
	if len(access) > 0 {
		if err := h.recheck(ctx, access); err != nil {
			return err
		}
	}
	if len(hints) > 0 {
		wait(ctx, began)
	}
	return nil
}

func wait(ctx context.Context, t *time.Timer) {
	select {
	case <-t.C:
	case <-ctx.Done():
	}
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
		if c.Kind == keys.AccessChanged || c.User != "" && changes[everyone] { // which tells this user as well
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

// recheck ends the connections of those who may not see any more what they watch. It waits first, so that it finds those who connected just
// before the change, and sees what they may see after it.
func (h *Hints) recheck(ctx context.Context, changes []keys.Change) error {
	wait(ctx, time.NewTimer(h.Settle))
	found := map[string]collab.Connection{} // by id
	for _, c := range changes {
		var list []collab.Connection
		var err error
		if c.Document != "" {
			list, err = h.Connections.Watchers(ctx, c.Account, c.Organization, c.Document, "")
		} else {
			list, err = h.Connections.Connections(ctx, c.Account, c.Organization, c.User)
		}
		if err != nil {
			return err
		}
		for _, c := range list {
			c.Documents = append(c.Documents, found[c.ID].Documents...)
			found[c.ID] = c
		}
	}
	type place struct{ account, organization string }
	places := map[place][]collab.Connection{}
	for _, c := range found {
		at := place{c.Account, c.Organization}
		places[at] = append(places[at], c)
	}
	for at, list := range places {
		may, err := h.mayWatch(ctx, at.account, at.organization, list)
		if err != nil {
			return err
		}
		var g errgroup.Group
		g.SetLimit(posts)
		for _, c := range list {
			if !may(c) {
				g.Go(func() error { return h.end(ctx, c.ID) })
			}
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// mayWatch returns which connections to one organization may go on: those of people who may see all documents that they watch. Where nobody
// says so in time, they may not, as when they ask for a ticket.
func (h *Hints) mayWatch(
	ctx context.Context, acct, org string, list []collab.Connection,
) (func(collab.Connection) bool, error) {
	type seeing struct{ document, user string }
	sees := map[seeing]bool{}
	users := map[string][]string{} // who watch a document
	for _, c := range list {
		for _, doc := range c.Documents {
			users[doc] = append(users[doc], c.User)
		}
	}
	docs, err := h.Rule.open(ctx, acct, org, slices.Sorted(maps.Keys(users)))
	switch collab.CodeOf(err) {
	case collab.NotFound, collab.FailedPrecondition:
		return func(collab.Connection) bool { return false }, nil
	}
	if err != nil {
		return nil, err
	}
	account, err := h.Accounts.Account(ctx, acct)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	within, cancel := context.WithTimeout(ctx, ruleTimeout)
	defer cancel()
	var g errgroup.Group
	g.SetLimit(queries)
	for _, doc := range docs {
		g.Go(func() error {
			slices.Sort(users[doc.Document])
			of := slices.Compact(users[doc.Document])
			viewers, err := h.Rule.Access.Viewers(within, account.Settings, []collab.DocumentRef{doc}, of, false)
			if _, silent := errors.AsType[*access.NoAnswer](err); silent || within.Err() != nil {
				err = ctx.Err()
			}
			mu.Lock()
			defer mu.Unlock()
			for _, v := range slices.Concat(viewers...) {
				sees[seeing{doc.Document, v.User}] = v.May
			}
			return err
		})
	}
	return func(c collab.Connection) bool {
		return !slices.ContainsFunc(c.Documents, func(doc string) bool { return !sees[seeing{doc, c.User}] })
	}, g.Wait()
}

// end ends a connection, whose page may ask for another ticket.
func (h *Hints) end(ctx context.Context, id string) error {
	_ = h.Gateway.Post(ctx, id, bye) // lost, the page notices the end
	if err := h.Gateway.Close(ctx, id); err != nil && !errors.Is(err, ErrGone) {
		return err
	}
	return h.Connections.Disconnect(ctx, id, 0)
}
