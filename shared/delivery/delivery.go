// Package delivery delivers events: to webhook endpoints, to the inboxes of people, and by email.
//
// An event goes through the stages in event.go; the table stores its stage. First, each webhook
// endpoint gets a delivery in its lane, and a message wakes each free lane. A notification to
// everyone goes into the list for all. Then, page by page, the rules in decide.go decide which
// channels reach each recipient. The event is added to inboxes and to the next emails of
// recipients. Each further page has its own message. Finally, the work of the event is deleted.
//
// An email is separate work with a recipient, events and a due time. Before it leaves, emails.go
// decides about each event again, and drops events that the recipient has seen.
//
// An event is a reference. Recipients, their rights and their texts are read when they are
// notified.
//
// One holder at a time posts to a lane (lane.go, post.go).
//
// Every stage can be repeated, and another run resumes a stage that ends early. Pending work is in
// the table, and messages only trigger it, so messages may be duplicated, late or out of order.
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

// Webhooks is the queue of webhook endpoints with work.
type Webhooks interface {
	SendLanes(ctx context.Context, delay time.Duration, lanes ...queue.Lane) error
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
	Events    Events
	Webhooks  Webhooks
	Mailer    Mailer // nil sends no email

	MailDelay time.Duration // default of accounts; 0 means collab.MailDelay
	PageSize  int           // people per message; 0 means the constant PageSize

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
	known     *cache.Cache[string, collab.Account]
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

// Take handles a message of either queue. receives is the number of times that it was received, at
// least 1. If Take returns an error, the message must be received again. It returns a panic as an
// error.
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

// random returns a number in [0, 1).
func (d *Deliverer) random() (float64, error) {
	var b [8]byte
	if _, err := io.ReadFull(d.Random, b[:]); err != nil {
		return 0, err
	}
	return float64(binary.BigEndian.Uint64(b[:])>>11) / (1 << 53), nil
}

// maxHops limits a chain of messages, each sent while handling the one before. Then the relay
// continues within a minute. Lambda stops a function that invokes itself through messages about 16
// times.
const maxHops = 12

// mayFollow reports whether a chain may continue with a message after a wait. If not, the relay
// sends it.
func mayFollow(hops int, wait time.Duration) bool { return hops < maxHops && wait <= queue.MaxDelay }

// concurrency is the number of concurrent calls for one event.
const concurrency = 8

// each calls f for 0 to n-1, at most limit concurrently, and returns the first error. An error does
// not stop the other calls.
func each(n, limit int, f func(i int) error) error {
	var g errgroup.Group
	g.SetLimit(limit)
	for i := range n {
		g.Go(func() error { return f(i) })
	}
	return g.Wait()
}
