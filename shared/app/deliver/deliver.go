// Package deliver assembles the function that runs tasks. It handles the messages of both
// queues. It is separate from package app because it links the renderer of emails, which no
// endpoint needs.
package deliver

import (
	"crypto/rand"
	"log/slog"
	"net/netip"
	"time"
	_ "time/tzdata" // Lambda has no time zones

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

// Config configures the delivery.
type Config struct {
	DynamoDB  aws.Config // access to the table
	SQS       aws.Config // access to the queues
	SES       aws.Config // access to SES
	Table     string     // name of the table
	EventsURL string     // URL of the events queue
	CallsURL  string     // URL of the calls queue

	Mail mail.Options // sends no email if From is ""
	// allowed targets of webhooks and permission providers besides public addresses
	PrivateRanges []netip.Prefix
	Calls         webhook.ClientOptions // the zero value for use, others for tests

	Metrics *metrics.Metrics // may be nil
	Log     *slog.Logger
	Now     func() time.Time // time.Now if nil
}

// New assembles the delivery. It makes no calls. It returns an error if c.Mail is invalid.
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
		Queue: queue.Tasks{Events: queue.New(c.SQS, c.EventsURL, c.Log), Calls: queue.New(c.SQS, c.CallsURL, c.Log)},
		Guard: webhook.NewGuard(c.PrivateRanges), Client: c.Calls, MailLink: c.Mail.Look.Link,
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
