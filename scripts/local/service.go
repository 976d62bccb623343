package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"collabdata/localstack"
	"collabdata/scripts/admin/console"
	"collabdata/shared/app"
	"collabdata/shared/app/deliver"
	"collabdata/shared/app/local/worker"
	"collabdata/shared/app/operate"
	"collabdata/shared/collab"
	"collabdata/shared/keys"
	sender "collabdata/shared/mail"
	"collabdata/shared/mail/unsubscribe"
	"collabdata/shared/queue"
	"collabdata/shared/store"
	"collabdata/shared/webhook"
)

// parts are the parts of the server.
type parts struct {
	clouds      *clouds
	service     *app.Service
	delivery    *worker.Worker
	connected   *connected
	environment string // path of the file of writeEnvironment
	reference   string // path of the script that renders the reference
}

// prepare starts the stand-ins, creates missing resources, and assembles the service. After an
// error, started stand-ins still run.
func prepare(ctx context.Context, data string, log *slog.Logger, url string, out io.Writer) (p parts, err error) {
	if p.clouds, err = startClouds(ctx, data, out); err != nil {
		return p, err
	}
	p.connected = newConnected(p.clouds, log)
	p.clouds.dynamoDB.config = store.Observe(p.clouds.dynamoDB.config, p.connected.wrote)
	if p.reference, err = localstack.Reference(ctx, out); err != nil {
		return p, err
	}
	queues, err := queue.Create(ctx, p.clouds.sqs.config, name+"-")
	if err != nil {
		return p, fmt.Errorf("making the queues: %w", err)
	}
	if p.service, err = prepareService(ctx, p.clouds, queues, log, url); err != nil {
		return p, err
	}
	if p.delivery, err = prepareDelivery(ctx, p.clouds, queues, log, url); err != nil {
		return p, err
	}
	p.environment, err = writeEnvironment(ctx, data, url, p.clouds, queues)
	return p, err
}

func (p *parts) operator() *operate.Operator {
	return operate.New(operate.Config{App: p.service.Config(), CheckURL: webhook.NewGuard(private).CheckURL})
}

// consoleOf returns an operator's pages, with links to this server's pages.
func consoleOf(o *operate.Operator) http.Handler {
	links := make([]console.Link, 0, len(header))
	for _, l := range header {
		if l.Path != console.Path {
			links = append(links, console.Link(l))
		}
	}
	return console.New(console.Config{
		Header:   links,
		Explain:  func(_ context.Context, err error) string { return operate.Cause(err) },
		Operator: o,
	})
}

// prepareService creates the table and the accounts if missing, and assembles the service.
func prepareService(ctx context.Context, c *clouds, queues map[string]string, log *slog.Logger, url string) (*app.Service, error) {
	service := app.New(app.Config{
		Stage:         "local",
		DynamoDB:      c.dynamoDB.config,
		SQS:           c.sqs.config,
		Table:         name,
		EventsURL:     queues[keys.EventsQueue],
		LiveURL:       "ws" + strings.TrimPrefix(url, "http") + livePath,
		PrivateRanges: private,
		Headers:       headers,
		Log:           log,
	})
	if err := localstack.CreateTable(ctx, c.dynamoDB.config, name); err != nil {
		return nil, fmt.Errorf("making the table: %w", err)
	}
	now := time.Now().UnixMilli()
	settings := collab.Settings{AllowedOrigins: collab.LoopbackOrigins(), MailDelaySeconds: int64(mailDelay.Seconds())}
	for _, a := range devAccounts {
		err := service.Accounts.EnsureAccount(ctx, collab.Account{ID: a.id, Name: a.id, CreatedAt: now, Settings: settings},
			a.key, []collab.Token{{Hash: collab.HashToken(a.token), CreatedAt: now}})
		if err != nil {
			return nil, fmt.Errorf("making the account %s: %w", a.id, err)
		}
	}
	return service, nil
}

// prepareDelivery verifies the sender if there is an email service, and assembles the delivery,
// which logs each webhook with its page.
func prepareDelivery(ctx context.Context, c *clouds, queues map[string]string, log *slog.Logger, url string) (*worker.Worker, error) {
	d := deliver.Config{
		DynamoDB:      c.dynamoDB.config,
		SQS:           c.sqs.config,
		Table:         name,
		EventsURL:     queues[keys.EventsQueue],
		CallsURL:      queues[keys.CallsQueue],
		PrivateRanges: private,
		Log:           log,
	}
	if c.ses != nil {
		if err := sender.CreateIdentity(ctx, c.ses.config, mailFrom); err != nil {
			return nil, fmt.Errorf("verifying the sender of emails: %w", err)
		}
		d.SES, d.Mail = c.ses.config, sender.Options{
			From:        mailFrom,
			Unsubscribe: url + unsubscribe.Path,
			Look:        collab.MailLook{Link: url + mailLink},
		}
	}
	d.Calls.Posted = func(to string, a webhook.Answer, err error) {
		attrs := []any{slog.String("to", to), slog.Int("status", a.Status)}
		if err != nil {
			attrs[1] = slog.String("status", "not reached")
		}
		if name, ours := strings.CutPrefix(to, url+"/webhooks/"); ours {
			attrs = append(attrs, slog.String("see", url+"/webhooks#"+name))
		}
		log.Info("webhook", attrs...)
	}
	return worker.New(d)
}

// writeEnvironment writes a shell file with the variables for the API, scripts/admin and the AWS
// CLI.
func writeEnvironment(ctx context.Context, data, url string, c *clouds, queues map[string]string) (path string, err error) {
	identity, err := c.dynamoDB.config.Credentials.Retrieve(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, v := range []struct{ name, value string }{
		{"COLLABDATA_URL", url},
		{"AWS_ENDPOINT_URL_DYNAMODB", c.dynamoDB.url("AWS_ENDPOINT_URL_DYNAMODB")},
		{"AWS_ENDPOINT_URL_SQS", c.sqs.url("AWS_ENDPOINT_URL_SQS")},
		{"AWS_ENDPOINT_URL_STS", cmp.Or(os.Getenv("AWS_ENDPOINT_URL_STS"), c.sqs.url("AWS_ENDPOINT_URL_SQS"))}, // the operator's identity
		{"AWS_REGION", c.dynamoDB.config.Region},
		{"AWS_DEFAULT_REGION", c.dynamoDB.config.Region}, // for the AWS CLI version 1 and boto3
		{"AWS_ACCESS_KEY_ID", identity.AccessKeyID},
		{"AWS_SECRET_ACCESS_KEY", identity.SecretAccessKey},
		{"TABLE_NAME", name},
		{"EVENTS_QUEUE_URL", queues[keys.EventsQueue]},
		{"ALLOWED_PRIVATE_CIDRS", private[0].String()},
	} {
		fmt.Fprintf(&b, "export %s=%s\n", v.name, quote(v.value))
	}
	path = filepath.Join(data, "env")
	return path, os.WriteFile(path, []byte(b.String()), 0o600)
}

// adminCommand returns the shell command of the operator's program. The program is built at its
// first use, so the server starts sooner.
func adminCommand(local, environment string) string {
	return fmt.Sprintf(
		"make -C %s admin && . %s && %s --help", quote(filepath.Dir(local)), quote(environment), quote(filepath.Join(local, "bin", "admin")),
	)
}

// quote quotes a text for a shell.
func quote(text string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,@%+="
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
