// Local serves the whole interface on this machine: the handlers of the functions, on the stand-ins for AWS that package localstack
// starts, or on those that the SDK's own variables name (AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL_SQS). The port is
// 8080 unless PORT says otherwise; 0 is a free one.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"collabdata/localstack"
	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/queue"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// name is that of the table, and begins those of the queues.
const name = "collabdata"

// accounts are made at the first start.
var accounts = []struct{ id, key, token string }{
	{"dev", "dev-key", "dev-token"},
	{"dev-2", "dev-key-2", "dev-token-2"},
}

func main() {
	data := flag.String("data", "", "folder that keeps the data between runs (default .local/data of the repository)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := run(ctx, *data, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves until the context ends.
func run(ctx context.Context, data string, out io.Writer) (err error) {
	start := time.Now()
	listener, err := listen(os.Getenv("PORT"))
	if err != nil {
		return err
	}
	defer listener.Close()
	if data == "" {
		local, err := localstack.Dir()
		if err != nil {
			return err
		}
		data = filepath.Join(local, "data")
	}
	unlock, err := lock(data)
	if err != nil {
		return err
	}
	defer unlock()

	clouds, err := startClouds(ctx, data, out)
	defer func() { err = errors.Join(err, clouds.stop()) }()
	if err != nil {
		return unlessStopped(ctx, err)
	}
	service, err := prepare(ctx, clouds, slog.New(slog.NewTextHandler(out, nil)))
	if err != nil {
		return unlessStopped(ctx, err)
	}
	server := &http.Server{Handler: service.Handler(), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	welcome(out, "http://"+listener.Addr().String(), data, time.Since(start))

	select {
	case err := <-served:
		return err
	case <-clouds.dynamoDB.ended():
		return fmt.Errorf("the DynamoDB emulator has ended by itself: see its log %s, and run this again", clouds.dynamoDB.server.Log)
	case <-clouds.sqs.ended():
		return fmt.Errorf("MiniStack has ended by itself: see its log %s, and run this again", clouds.sqs.server.Log)
	case <-ctx.Done():
	}
	fmt.Fprintln(out, "Stopping ...")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return server.Shutdown(ctx)
}

// unlessStopped returns nil for an error that is due to the end of the context.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// listen listens on the port of 127.0.0.1 that PORT names.
func listen(port string) (net.Listener, error) {
	if port == "" {
		port = "8080"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil, fmt.Errorf("PORT is %q, which is no port: use a number from 1 to 65535", port)
	} else if n > 0 && n < 1024 && os.Getuid() != 0 {
		return nil, fmt.Errorf("PORT is %d, which only root may use: use a number from 1024 to 65535", n)
	}
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("port %s is taken: stop what listens there, or choose another port, as in PORT=8081 make run", port)
	}
	return l, err
}

// lock makes the folder and keeps other servers out of it until unlock is called or the process ends.
func lock(data string) (unlock func() error, err error) {
	if err := os.MkdirAll(data, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(data, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another server uses the data in %s (%w): stop it first", data, err)
	}
	return f.Close, nil
}

// prepare makes the queues, the table and the accounts where they are missing, and puts the service together.
func prepare(ctx context.Context, c *clouds, log *slog.Logger) (*app.Service, error) {
	urls, err := queue.Create(ctx, c.sqs.config, name+"-")
	if err != nil {
		return nil, fmt.Errorf("making the queues: %w", err)
	}
	service := app.New(app.Config{
		DynamoDB:  c.dynamoDB.config,
		SQS:       c.sqs.config,
		Table:     name,
		EventsURL: urls[table.EventsQueue],
		Log:       log,
	})
	if err := service.Store.CreateTable(ctx); err != nil {
		return nil, fmt.Errorf("making the table: %w", err)
	}
	for _, a := range accounts {
		if err := makeAccount(ctx, service.Store, a.id, a.key, a.token); err != nil {
			return nil, fmt.Errorf("making the account %s: %w", a.id, err)
		}
	}
	return service, nil
}

// makeAccount makes an account and its key where they are missing: what was changed since then stays.
func makeAccount(ctx context.Context, s *store.Store, id, key, token string) error {
	now := time.Now().UnixMilli()
	_, err := s.Account(ctx, id)
	if collab.CodeOf(err) == collab.NotFound {
		err = s.PutAccount(ctx, collab.Account{ID: id, Name: id, CreatedAt: now})
	}
	if err != nil {
		return err
	}
	_, err = s.APIKey(ctx, key)
	if collab.CodeOf(err) == collab.NotFound {
		err = s.PutAPIKey(ctx, key, id, []collab.Token{{Hash: sha256.Sum256([]byte(token)), CreatedAt: now}})
	}
	return err
}

func welcome(out io.Writer, url, data string, took time.Duration) {
	fmt.Fprintf(out, `
Serving on %s after %.1f s, for the accounts %s / %s and %s / %s. Try:

  curl -s %s/v2/commentannotations/add \
    -H 'x-service-api-key: %s' -H 'x-service-auth-token: %s' -H 'Content-Type: application/json' \
    -d '{"data": {"organizationId": "acme", "createOrganization": true, "documentId": "plan", "createDocument": true,
         "commentAnnotations": [{"commentData": [{"commentText": "Hello", "from": {"userId": "ann"}}]}]}}'

The data is kept in %s (make clean removes it). Ctrl-C stops.

`, url, took.Seconds(), accounts[0].key, accounts[0].token, accounts[1].key, accounts[1].token,
		url, accounts[0].key, accounts[0].token, data)
}
