package main

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"collabdata/shared/app/live"
	"collabdata/shared/app/local/sockets"
	"collabdata/shared/keys"
	rules "collabdata/shared/live"
)

// livePath is where pages connect.
const livePath = "/live"

// gather is how long writes are gathered, so that those of one request are one hint, as in most batches of a table's stream.
const gather = 50 * time.Millisecond

// connected tells pages of what this process writes, in the place of the functions live and hints. Pages find what another process writes
// when they look by themselves.
type connected struct {
	hub   *sockets.Hub
	hints *rules.Hints
	log   *slog.Logger

	mu      sync.Mutex
	written []keys.Key    // not yet told
	more    chan struct{} // holds one while there may be some
}

// newConnected puts it together on the table.
func newConnected(c *clouds, log *slog.Logger) *connected {
	l := &connected{hub: &sockets.Hub{}, log: log, more: make(chan struct{}, 1)}
	l.hub.Pages, l.hints = live.New(live.Config{
		DynamoDB: c.dynamoDB.config, Table: name, Gateway: l.hub, PrivateRanges: private, Log: log,
	})
	return l
}

// wrote notes the keys of items that were written.
func (l *connected) wrote(written ...keys.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written = append(l.written, written...)
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// follow tells pages of what is written until the context ends.
func (l *connected) follow(ctx context.Context) {
	defer l.hub.End()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.more:
			time.Sleep(gather)
		}
		l.mu.Lock()
		written := l.written
		l.written = nil
		l.mu.Unlock()
		if err := l.hints.Take(ctx, written); err != nil && ctx.Err() == nil {
			l.log.LogAttrs(ctx, slog.LevelWarn, "pages are not told of changes", slog.Any("cause", err))
		}
	}
}

// before serves connections, and all else as next does.
func (l *connected) before(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+livePath, l.hub)
	mux.Handle("/", next)
	return mux
}
