package main

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"collabdata/scripts/local/sockets"
	"collabdata/shared/app/live"
	rules "collabdata/shared/live"
	"collabdata/shared/store/stream"
)

// livePath is where pages connect.
const livePath = "/live"

// connected is what tells pages of changes, in the place of the functions live and hints.
type connected struct {
	hub    *sockets.Hub
	hints  *rules.Hints
	stream *stream.Stream
	log    *slog.Logger
}

// prepareConnected puts it together on a table, which is given a stream.
func prepareConnected(ctx context.Context, c *clouds, log *slog.Logger) (*connected, error) {
	l := &connected{hub: &sockets.Hub{}, log: log}
	l.hub.Pages, l.hints = live.New(live.Config{DynamoDB: c.dynamoDB.config, Table: name, Gateway: l.hub, PrivateRanges: private, Log: log})
	var err error
	l.stream, err = stream.Open(ctx, c.dynamoDB.config, name)
	return l, err
}

// follow tells pages of what is written until the context ends.
func (l *connected) follow(ctx context.Context) {
	defer l.hub.End()
	for ctx.Err() == nil {
		written, err := l.stream.Next(ctx)
		if err == nil {
			err = l.hints.Take(ctx, written)
		}
		if err != nil && ctx.Err() == nil {
			l.log.LogAttrs(ctx, slog.LevelWarn, "pages are not told of changes", slog.Any("cause", err))
			pause := time.NewTimer(time.Second)
			select {
			case <-pause.C:
			case <-ctx.Done():
			}
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
