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
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"collabdata/localstack"
	"collabdata/shared/app"
	"collabdata/shared/app/deliver"
	"collabdata/shared/collab"
	"collabdata/shared/mail"
	"collabdata/shared/queue"
	"collabdata/shared/table"
)

const (
	name     = "collabdata" // of the table; begins those of the queues
	mailFrom = "collabdata@localhost.example"
)

// private is where webhooks and permission providers of this machine are.
var private = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

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
	log := slog.New(slog.NewTextHandler(out, nil))
	queues, err := queue.Create(ctx, clouds.sqs.config, name+"-")
	if err != nil {
		return unlessStopped(ctx, fmt.Errorf("making the queues: %w", err))
	}
	service, err := prepare(ctx, clouds, queues, log)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	delivery, err := prepareDelivery(ctx, clouds, queues, log)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	environment, err := writeEnvironment(ctx, data, clouds, queues)
	if err != nil {
		return err
	}
	delivering, stop := context.WithCancel(ctx)
	delivered := make(chan struct{})
	go func() {
		defer close(delivered)
		delivery.Run(delivering)
	}()
	defer func() {
		stop()
		<-delivered
	}()
	server := &http.Server{Handler: service.Handler(), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	welcome(out, "http://"+listener.Addr().String(), data, environment, clouds.mails(), time.Since(start))

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
	unlock, err = localstack.TryLock(filepath.Join(data, "lock"))
	if err == nil && unlock == nil {
		err = fmt.Errorf("another server uses the data in %s: stop it first", data)
	}
	return unlock, err
}

// prepare makes the table and the accounts where they are missing, and puts the service together.
func prepare(ctx context.Context, c *clouds, queues map[string]string, log *slog.Logger) (*app.Service, error) {
	service := app.New(app.Config{
		DynamoDB:      c.dynamoDB.config,
		SQS:           c.sqs.config,
		Table:         name,
		EventsURL:     queues[table.EventsQueue],
		PrivateRanges: private,
		Log:           log,
	})
	if err := service.Store.CreateTable(ctx); err != nil {
		return nil, fmt.Errorf("making the table: %w", err)
	}
	now := time.Now().UnixMilli()
	for _, a := range accounts {
		err := service.Store.EnsureAccount(ctx, collab.Account{ID: a.id, Name: a.id, CreatedAt: now},
			a.key, []collab.Token{{Hash: sha256.Sum256([]byte(a.token)), CreatedAt: now}})
		if err != nil {
			return nil, fmt.Errorf("making the account %s: %w", a.id, err)
		}
	}
	return service, nil
}

// prepareDelivery makes the sender of mail known where there is a mail service, and puts the delivery together.
func prepareDelivery(ctx context.Context, c *clouds, queues map[string]string, log *slog.Logger) (*deliver.Local, error) {
	d := deliver.Config{
		DynamoDB:      c.dynamoDB.config,
		SQS:           c.sqs.config,
		Table:         name,
		EventsURL:     queues[table.EventsQueue],
		WebhooksURL:   queues[table.WebhooksQueue],
		PrivateRanges: private,
		Log:           log,
	}
	if c.ses != nil {
		if err := mail.CreateIdentity(ctx, c.ses.config, mailFrom); err != nil {
			return nil, fmt.Errorf("making the mail's sender known: %w", err)
		}
		d.SES, d.Mail.From = c.ses.config, mailFrom
	}
	return deliver.NewLocal(d)
}

// writeEnvironment writes a file that a shell reads in order to reach this deployment by scripts/admin and the AWS CLI.
func writeEnvironment(ctx context.Context, data string, c *clouds, queues map[string]string) (path string, err error) {
	identity, err := c.dynamoDB.config.Credentials.Retrieve(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, v := range []struct{ name, value string }{
		{"AWS_ENDPOINT_URL_DYNAMODB", c.dynamoDB.url("AWS_ENDPOINT_URL_DYNAMODB")},
		{"AWS_ENDPOINT_URL_SQS", c.sqs.url("AWS_ENDPOINT_URL_SQS")},
		{"AWS_REGION", c.dynamoDB.config.Region},
		{"AWS_ACCESS_KEY_ID", identity.AccessKeyID},
		{"AWS_SECRET_ACCESS_KEY", identity.SecretAccessKey},
		{"TABLE_NAME", name},
		{"EVENTS_QUEUE_URL", queues[table.EventsQueue]},
		{"WEBHOOKS_QUEUE_URL", queues[table.WebhooksQueue]},
		{"ALLOWED_PRIVATE_CIDRS", private[0].String()},
	} {
		fmt.Fprintf(&b, "export %s='%s'\n", v.name, v.value)
	}
	path = filepath.Join(data, "env")
	return path, os.WriteFile(path, []byte(b.String()), 0o600)
}

func welcome(out io.Writer, url, data, environment, mails string, took time.Duration) {
	fmt.Fprintf(out, `
Serving on %s after %.1f s, for the accounts %s / %s and %s / %s. Try:

  curl -s %s/v2/commentannotations/add \
    -H 'x-service-api-key: %s' -H 'x-service-auth-token: %s' -H 'Content-Type: application/json' \
    -d '{"data": {"organizationId": "acme", "createOrganization": true, "documentId": "plan", "createDocument": true,
         "commentAnnotations": [{"commentData": [{"commentText": "Hello", "from": {"userId": "ann"}}]}]}}'

Mails that were sent: %s
The operator's commands: . %s && go run ./scripts/admin --help
The data is kept in %s (make clean removes it). Ctrl-C stops.

`, url, took.Seconds(), accounts[0].key, accounts[0].token, accounts[1].key, accounts[1].token,
		url, accounts[0].key, accounts[0].token, mails, environment, data)
}
