// Package delivery delivers events: to webhook endpoints, to the inboxes of people, by mail.
//
// An event goes through the stages of event.go, and the table holds at which it stands. First each webhook endpoint gets a delivery in its
// lane, and lanes without a holder are woken by a message. A notification to everyone goes into the list for all. Then, page by page, the
// rules of decide.go decide for each recipient which channels reach them: inboxes are served, and the event is added to the recipient's
// next mail. Each further page has a message of its own. When an event is done its work is deleted.
//
// A mail is work of its own: its recipient, its events, and when it is due. When it leaves, mails.go decides about each event again, and
// drops the events that the recipient has seen.
//
// An event is a reference. Recipients, their rights and the texts that they read are found at the time they are notified.
//
// A lane is posted to by one holder at a time (lane.go, post.go).
//
// Every stage may be repeated, and another run finishes one that ends anywhere. Pending work is in the table and messages only wake, so
// messages may be doubled, late or out of order.
package delivery

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	"collabdata/shared/access"
	"collabdata/shared/cache"
	"collabdata/shared/collab"
	"collabdata/shared/mail"
	"collabdata/shared/metrics"
	"collabdata/shared/queue"
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

// Events is the queue of events.
type Events interface {
	SendEventsIn(ctx context.Context, delay time.Duration, events ...queue.Event) error
}

// Webhooks is the queue of lanes of webhook endpoints that have work.
type Webhooks interface {
	SendLanes(ctx context.Context, delay time.Duration, lanes ...queue.Lane) error
}

// Mailer sends mails; mail.Mailer is one.
type Mailer interface {
	Send(ctx context.Context, n mail.Notice) error
}

// Options are what New makes a Deliverer of.
type Options struct {
	Accounts  *accounts.Store
	Directory *directory.Store
	Threads   *threads.Store
	Deletion  *deletion.Store // runs jobs
	Outbox    *outbox.Store
	Hooks     *hooks.Store
	Inbox     *inbox.Store
	Events    Events
	Webhooks  Webhooks
	Mailer    Mailer // nil: no mail is sent

	MailDelay time.Duration // of accounts that set none; 0 is collab.MailDelay
	PageSize  int           // most people that one message notifies; 0 is the constant PageSize

	Guard   *webhook.Guard        // the addresses that webhooks and permission providers may have
	Client  webhook.ClientOptions // how they are called; permission providers have a time-out of their own
	Metrics *metrics.Metrics      // nil for none
	Log     *slog.Logger
	Now     func() time.Time
	Random  io.Reader
}

// Deliverer delivers events. Safe for concurrent use.
type Deliverer struct {
	Options
	poster    *webhook.Client
	access    *access.Checker
	postTime  time.Duration
	known     *cache.Cache[string, collab.Account]
	sentTo    *cache.Cache[string, []collab.User] // the recipients of notifications, by event
	secrets   *cache.Cache[string, []byte]        // that sign tokens to unsubscribe, by account
	ledger    *quota.Ledger
	rendering chan struct{} // holds one for each payload that is being rendered
}

// PageSize is how many people one message notifies.
const PageSize = 200

// The cache of accounts.
const (
	accountTTL   = time.Second
	mostAccounts = 1_000
)

const secretTTL = time.Hour // an account's secret never changes

// The cache of recipients of notifications: each page of them and each mail to one of them asks for them.
const (
	namedTTL  = time.Minute
	mostNamed = 10 // of collab.MaxPeople each
)

// New returns a Deliverer.
func New(o Options) *Deliverer {
	o.MailDelay, o.PageSize = cmp.Or(o.MailDelay, collab.MailDelay*time.Second), cmp.Or(o.PageSize, PageSize)
	return &Deliverer{
		Options: o, postTime: cmp.Or(o.Client.Timeout, webhook.DefaultTimeout),
		poster: webhook.NewClient(o.Guard, o.Client), access: access.New(o.Directory, o.Accounts, o.Guard, o.Client, o.Now, o.Log),
		known:  cache.New[string, collab.Account](mostAccounts),
		sentTo: cache.New[string, []collab.User](mostNamed), secrets: cache.New[string, []byte](mostAccounts),
		ledger:    &quota.Ledger{Store: o.Accounts, Now: o.Now, Log: o.Log},
		rendering: make(chan struct{}, renderings),
	}
}

// Take handles a message of either queue. receives counts how often it was received, 1 for the first time. After an error, or a panic,
// which it returns as one, the message must be received again.
func (d *Deliverer) Take(ctx context.Context, text string, receives int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("delivery: panic: %v", p)
			d.Log.LogAttrs(ctx, slog.LevelError, "panic", slog.String("cause", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
		}
	}()
	l, err := queue.DecodeLane(text)
	if err == nil {
		return d.Lane(ctx, l)
	}
	ev, eventErr := queue.DecodeEvent(text)
	if eventErr != nil {
		return fmt.Errorf("%w; %w", eventErr, err)
	}
	ev.Again = ev.Again || receives > 1
	return d.Event(ctx, ev)
}

func (d *Deliverer) millis() collab.Millis { return d.Now().UnixMilli() }

// random returns a number from 0 on, less than 1.
func (d *Deliverer) random() (float64, error) {
	var b [8]byte
	if _, err := io.ReadFull(d.Random, b[:]); err != nil {
		return 0, err
	}
	return float64(binary.BigEndian.Uint64(b[:])>>11) / (1 << 53), nil
}

// maxHops bounds a chain of messages, each sent while the one before was handled. After that the relay goes on, within a minute: Lambda
// stops a function that has invoked itself through messages about 16 times.
const maxHops = 12

// mayFollow reports whether a message may be sent while one of a chain is handled, to be taken after a wait; otherwise the relay sends it.
func mayFollow(hops int, wait time.Duration) bool { return hops < maxHops && wait <= queue.MaxDelay }

// concurrency bounds the calls for one event at the same time.
const concurrency = 8

// each calls f for 0 to n-1, at most limit at the same time, and returns the first error. It does not stop at one.
func each(n, limit int, f func(i int) error) error {
	var g errgroup.Group
	g.SetLimit(limit)
	for i := range n {
		g.Go(func() error { return f(i) })
	}
	return g.Wait()
}
