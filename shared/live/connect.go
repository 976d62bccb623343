package live

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/credentials"
)

const (
	maxMessage = 100         // bytes of a message of a page
	maxPings   = 20          // of a connection in pingSpan, in one process
	pingSpan   = time.Minute // pages ping every few minutes

	// A ping ends a connection of this age, because the next one may come nine minutes later.
	maxAge = collab.ConnectionLifetime - 9*time.Minute
)

// Messages of the service.
const (
	pong = `{"pong":true}`
	bye  = `{"bye":true}`
)

// Pages handles the connections of pages. It is safe for concurrent use.
type Pages struct {
	Rule        Rule
	Keys        credentials.KeyStore // of accounts; see credentials.Cached
	Connections Connections
	Gateway     Gateway
	Now         func() time.Time
	Log         *slog.Logger

	mu    sync.Mutex
	pings map[string]int // by connection, in this span
	span  time.Time      // start of the span
}

// Connect starts a connection with a ticket. It returns PERMISSION_DENIED if the ticket is forged,
// used or expired, and the errors of Rule.Check. It returns RESOURCE_EXHAUSTED if there are too
// many connections; concurrent ones may all fail. A forged ticket costs only the call that reads
// its account's keys.
func (p *Pages) Connect(ctx context.Context, connection, ticket string) error {
	account, id, err := credentials.OpenTicket(ctx, p.Keys, ticket)
	if err != nil {
		return err
	}
	w, ok, err := p.Connections.TakeTicket(ctx, account.Account, id)
	if err != nil {
		return err
	}
	if !ok {
		return collab.Errorf(collab.PermissionDenied, "the ticket was used before, or has expired")
	}
	if account.Disabled {
		return collab.Errorf(collab.PermissionDenied, "the account is disabled")
	}
	if err := p.Rule.Check(ctx, account.Settings, w); err != nil {
		return err
	}
	var connected collab.Connected
	if err = p.Connections.Connect(ctx, collab.Connection{ID: connection, Watch: w, At: p.Now().UnixMilli()}); err == nil {
		connected, err = p.Connections.Connected(ctx, account.Settings, w, true)
	}
	if err == nil {
		err = connected.Check(account.Settings, 0)
	}
	if err != nil {
		p.Disconnect(context.WithoutCancel(ctx), connection)
	}
	return err
}

// Message answers a page's ping. Other messages, too many pings, and old age end the connection.
func (p *Pages) Message(ctx context.Context, id string, began time.Time, text string) {
	var err error
	switch {
	case !isPing(text) || !p.mayPing(id):
		err = p.Gateway.Close(ctx, id)
	case p.Now().Sub(began) < maxAge:
		err = p.Gateway.Post(ctx, id, pong)
	default:
		err = errors.Join(p.Gateway.Post(ctx, id, bye), p.Gateway.Close(ctx, id))
	}
	if err != nil && !errors.Is(err, ErrGone) { // the page notices the silence
		p.Log.LogAttrs(ctx, slog.LevelWarn, "a message is not answered", slog.String("connection", id), slog.Any("cause", err))
	}
}

func isPing(text string) bool {
	var message map[string]any
	return len(text) <= maxMessage && json.Unmarshal([]byte(text), &message) == nil && len(message) == 1 && message["ping"] == true
}

// mayPing reports whether a connection pings as rarely as pages do.
func (p *Pages) mayPing(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.Now(); now.Sub(p.span) >= pingSpan {
		p.pings, p.span = map[string]int{}, now
	}
	p.pings[id]++
	return p.pings[id] <= maxPings
}

// Disconnect deletes an ended connection. It logs a failure, and the connection is deleted later:
// see Hints.
func (p *Pages) Disconnect(ctx context.Context, id string) {
	if err := p.Connections.Disconnect(ctx, id, 0); err != nil {
		p.Log.LogAttrs(ctx, slog.LevelWarn, "ended connection not deleted", slog.String("connection", id), slog.Any("cause", err))
	}
}
