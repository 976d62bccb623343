// Package deliver puts together what delivers events: the function that takes the messages of both queues. It is apart from package app as
// it links what renders mail, which no endpoint needs.
package deliver

import (
	"crypto/rand"
	"log/slog"
	"net/netip"
	"time"
	_ "time/tzdata" // Lambda has none

	"collabdata/shared/delivery"
	"collabdata/shared/mail"
	"collabdata/shared/metrics"
	"collabdata/shared/queue"
	"collabdata/shared/store"
	"collabdata/shared/store/accounts"
	"collabdata/shared/store/deletion"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/hooks"
	"collabdata/shared/store/inbox"
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
	MailDelay     time.Duration         // of accounts that set none; 0 for collab.MailDelay
	PrivateRanges []netip.Prefix        // where webhooks and permission providers may be, in addition to public addresses
	Calls         webhook.ClientOptions // how; the zero value is for use, others for tests

	Metrics *metrics.Metrics // nil for none
	Log     *slog.Logger
	Now     func() time.Time // nil for the clock
}

// New puts the delivery together. It calls nothing. The error says what is wrong with Mail.
func New(c Config) (*delivery.Deliverer, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	t := store.New(c.DynamoDB, c.Table, c.Now, rand.Reader)
	d := directory.New(t)
	pending := outbox.New(t)
	threads, inboxes := threads.New(d, pending), inbox.New(pending, d)
	o := delivery.Options{
		Accounts: accounts.New(t), Directory: d, Threads: threads, Deletion: deletion.New(threads, inboxes),
		Outbox: pending, Hooks: hooks.New(pending), Inbox: inboxes,
		Events: queue.New(c.SQS, c.EventsURL, c.Log), Webhooks: queue.New(c.SQS, c.WebhooksURL, c.Log),
		Guard: webhook.NewGuard(c.PrivateRanges), Client: c.Calls, MailDelay: c.MailDelay,
		Metrics: c.Metrics, Log: c.Log, Now: c.Now, Random: rand.Reader,
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
