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

// livePath is the path of connections.
const livePath = "/live"

// gather is the time to collect writes, so that a request's writes become one hint, as in a batch
// of the table's stream.
const gather = 50 * time.Millisecond

// connected sends hints about this process's writes to pages, like the functions live and hints.
// Pages find writes of other processes when they poll.
type connected struct {
	hub   *sockets.Hub
	hints *rules.Hints
	log   *slog.Logger

	mu      sync.Mutex
	written []keys.Key    // not yet sent
	more    chan struct{} // has an element if keys may be waiting
}

func newConnected(c *clouds, log *slog.Logger) *connected {
	l := &connected{hub: &sockets.Hub{}, log: log, more: make(chan struct{}, 1)}
	l.hub.Pages, l.hints = live.New(live.Config{
		DynamoDB: c.dynamoDB.config, Table: name, Gateway: l.hub, PrivateRanges: private, Log: log,
	})
	return l
}

// wrote records keys of written items.
func (l *connected) wrote(written ...keys.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written = append(l.written, written...)
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// follow sends hints about writes until the context ends.
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
			l.log.LogAttrs(ctx, slog.LevelWarn, "pages get no hints", slog.Any("cause", err))
		}
	}
}

// before serves connections, and passes other requests to next.
func (l *connected) before(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+livePath, l.hub)
	mux.Handle("/", next)
	return mux
}
