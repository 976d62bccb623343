package live

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/credentials"
)

// Pages handles the connections of pages. It is safe for concurrent use.
type Pages struct {
	Rule        Rule
	Keys        credentials.KeyStore // of accounts; see credentials.Cached
	Connections Connections
	Gateway     Gateway
	Now         func() time.Time
	Log         *slog.Logger
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

// Message ends the connection: the gateway itself answers pings, and pages send nothing else. It
// logs a failure.
func (p *Pages) Message(ctx context.Context, id string) {
	if err := p.Gateway.Close(ctx, id); err != nil && !errors.Is(err, ErrGone) {
		p.Log.LogAttrs(ctx, slog.LevelWarn, "a connection is not ended", slog.String("connection", id), slog.Any("cause", err))
	}
}

// Disconnect deletes an ended connection. It logs a failure, and the connection is deleted later:
// see Hints.
func (p *Pages) Disconnect(ctx context.Context, id string) {
	if err := p.Connections.Disconnect(ctx, id, 0); err != nil {
		p.Log.LogAttrs(ctx, slog.LevelWarn, "ended connection not deleted", slog.String("connection", id), slog.Any("cause", err))
	}
}
