// Package delivery runs background work: tasks, which messages name and package task stores. The
// table of handlers has a row for each kind.
//
// The task of an event adds a delivery to each webhook endpoint that wants the event, and wakes the
// endpoint's task. A notification to everyone goes into the list for all. Then, page by page, the
// rules in decide.go decide which channels reach each recipient. The event is added to inboxes, and
// to the notices of recipients: the tasks of emails and other channels. Before a notice is sent,
// notices.go decides about each entry again, and drops entries that the recipient has seen.
//
// An event is a reference. Recipients, their rights and their texts are read when they are
// notified.
//
// Every step can be repeated, and another run resumes one that ends early. Messages may be
// duplicated, late or out of order.
package delivery

import (
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"time"

	"collabdata/shared/access"
	"collabdata/shared/cache"
	"collabdata/shared/collab"
	"collabdata/shared/mail"
	"collabdata/shared/metrics"
	"collabdata/shared/quota"
	"collabdata/shared/store/accounts"
	"collabdata/shared/store/deletion"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/hooks"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/threads"
	"collabdata/shared/webhook"

	"golang.org/x/sync/errgroup"
)

// Queue sends messages about tasks. queue.Tasks implements it.
type Queue interface {
	SendIn(ctx context.Context, delay time.Duration, tasks ...collab.TaskRef) error
}

// Mailer sends emails. mail.Mailer implements it.
type Mailer interface {
	Send(ctx context.Context, n mail.Email) error
}

// Options configure a Deliverer.
type Options struct {
	Accounts  *accounts.Store
	Directory *directory.Store
	Threads   *threads.Store
	Deletion  *deletion.Store // runs jobs
	Outbox    *outbox.Store
	Hooks     *hooks.Store
	Inbox     *inbox.Store
	Queue     Queue
	Mailer    Mailer // nil sends no email

	MailLink string // default of accounts: see collab.MailLook
	PageSize int    // people per message; 0 means the constant PageSize

	Guard   *webhook.Guard        // allowed addresses of webhooks and permission providers
	Client  webhook.ClientOptions // permission providers have a separate timeout
	Metrics *metrics.Metrics      // may be nil
	Log     *slog.Logger
	Now     func() time.Time
	Random  io.Reader
}

// Deliverer delivers events. It is safe for concurrent use.
type Deliverer struct {
	Options
	poster    *webhook.Client
	access    *access.Checker
	postTime  time.Duration
	accounts  *cache.Cache[string, collab.Account]
	sentTo    *cache.Cache[string, []collab.User] // recipients of notifications, by event
	secrets   *cache.Cache[string, []byte]        // sign unsubscribe tokens, by account
	ledger    *quota.Ledger
	rendering chan struct{} // one element for each payload being rendered
}

// PageSize is the number of people that one message notifies.
const PageSize = 200

// Cache of accounts.
const (
	accountTTL   = time.Second
	mostAccounts = 1_000
)

const secretTTL = time.Hour // an account's secret never changes

// Cache of recipients of notifications, for each page of them and for their emails.
const (
	namedTTL  = time.Minute
	mostNamed = 10 // each up to collab.MaxPeople recipients
)

// New returns a Deliverer.
func New(o Options) *Deliverer {
	o.PageSize = cmp.Or(o.PageSize, PageSize)
	return &Deliverer{
		Options: o, postTime: cmp.Or(o.Client.Timeout, webhook.DefaultTimeout),
		poster: webhook.NewClient(o.Guard, o.Client), access: access.New(o.Directory, o.Accounts, o.Guard, o.Client, o.Now, o.Log),
		accounts: cache.New[string, collab.Account](mostAccounts),
		sentTo:   cache.New[string, []collab.User](mostNamed), secrets: cache.New[string, []byte](mostAccounts),
		ledger:    &quota.Ledger{Store: o.Accounts, Now: o.Now, Log: o.Log},
		rendering: make(chan struct{}, renderings),
	}
}

func (d *Deliverer) millis() collab.Millis { return d.Now().UnixMilli() }

// random returns a number in [0, 1).
func (d *Deliverer) random() (float64, error) {
	var b [8]byte
	if _, err := io.ReadFull(d.Random, b[:]); err != nil {
		return 0, err
	}
	return float64(binary.BigEndian.Uint64(b[:])>>11) / (1 << 53), nil
}

const concurrency = 8 // calls at once for one event

// each calls f for 0 to n-1, at most concurrency at a time, and returns the first error. Unlike
// store.Each, an error does not stop the other calls.
func each(n int, f func(i int) error) error {
	var g errgroup.Group
	g.SetLimit(concurrency)
	for i := range n {
		g.Go(func() error { return f(i) })
	}
	return g.Wait()
}

// Limits of the memory for payloads: a comment has at most collab.MaxItemBytes.
const (
	renderings      = 8  // concurrent renderings
	payloadComments = 10 // per read
)

// both runs two functions concurrently.
func both(a, b func() error) error {
	return each(2, func(i int) error { return []func() error{a, b}[i]() })
}

const parkFor = 10 * time.Minute // between checks of a disabled account or organization
