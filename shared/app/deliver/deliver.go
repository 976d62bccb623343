// Package deliver puts together what delivers events: the function that takes the messages of both queues, and what does the same, and the
// relay's work too, in the local server. It is apart from package app as it links what renders mail, which no endpoint needs.
package deliver

import (
	"crypto/rand"
	"io"
	"log/slog"
	"net/netip"
	"time"

	"collabdata/shared/delivery"
	"collabdata/shared/mail"
	"collabdata/shared/metrics"
	"collabdata/shared/queue"
	"collabdata/shared/store"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/threads"
	"collabdata/shared/webhook"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Config is what the delivery is put together from.
type Config struct {
	DynamoDB    aws.Config // how to reach the table
	SQS         aws.Config // how to reach the queues
	SES         aws.Config // how to reach the mail service
	Table       string     // the table's name
	EventsURL   string     // URL of the events queue
	WebhooksURL string     // URL of the webhooks queue

	Mail          mail.Options          // a From of "" sends none
	MailWindow    time.Duration         // how long mails about one thread wait for one another; 0 for delivery.MailWindow
	PrivateRanges []netip.Prefix        // where webhooks may be posted to and permission providers asked, beside public addresses
	Calls         webhook.ClientOptions // how; the zero value is for use, others for tests

	Metrics *metrics.Metrics // nil for none
	Log     *slog.Logger
	Now     func() time.Time // nil for the clock
	Random  io.Reader        // nil for the system's
}

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Random == nil {
		c.Random = rand.Reader
	}
	return c
}

// tables returns the parts of the table that a delivery reads and writes.
func (c Config) tables() (*directory.Store, *threads.Store, *outbox.Store) {
	t := store.New(c.DynamoDB, c.Table, c.Now, c.Random)
	d := directory.New(t)
	o := outbox.New(t, d)
	return d, threads.New(t, d, o), o
}

func (c Config) events() *queue.Queue   { return queue.New(c.SQS, c.EventsURL, c.Log) }
func (c Config) webhooks() *queue.Queue { return queue.New(c.SQS, c.WebhooksURL, c.Log) }

// New puts the delivery together. It calls nothing. The error says what is wrong with Mail.
func New(c Config) (*delivery.Deliverer, error) {
	c = c.withDefaults()
	d, t, outbox := c.tables()
	o := delivery.Options{
		Directory: d, Threads: t, Outbox: outbox, Events: c.events(), Webhooks: c.webhooks(),
		Guard: webhook.NewGuard(c.PrivateRanges), Client: c.Calls, MailWindow: c.MailWindow,
		Metrics: c.Metrics, Log: c.Log, Now: c.Now, Random: c.Random,
	}
	if c.Mail.From != "" {
		mailer, err := mail.New(c.SES, c.Mail)
		if err != nil {
			return nil, err
		}
		o.Mailer = mailer
	}
	return delivery.New(o), nil
}
