package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"collabdata/scripts/admin/console"
)

type consoleCommand struct {
	Port int `default:"8790" help:"Port on this machine; 0 for a free one. Links to pages only work on the same port."`
}

// run serves the pages until the context ends.
func (c *consoleCommand) run(ctx context.Context, a *admin) error {
	o, err := a.connect(ctx)
	if err != nil {
		return err
	}
	return a.serve(ctx, c.Port, func(port string) http.Handler {
		session := console.NewSession(console.New(console.Config{Operator: o, Explain: a.deployment.explain}), port)
		fmt.Fprintf(
			a.stderr, "Open this address once, in your browser, which then can read and change table %s.\n\n  %s\n\nCtrl-C ends it.\n", a.deployment.Table,
			session.Address(),
		)
		return session
	})
}

// serve serves the handler that open returns for a port of this machine, until the context ends.
// Port 0 is a free one.
func (a *admin) serve(ctx context.Context, port int, open func(port string) http.Handler) error {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("%w\nname another port", err)
	}
	defer listener.Close()
	_, taken, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           open(taken),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(slog.NewTextHandler(a.stderr, nil), slog.LevelWarn),
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
