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
	"collabdata/shared/store/task"
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
	o.PageSize = cmp.Or(o.PageSize, PageSize)
	return &Deliverer{
		Options: o, postTime: cmp.Or(o.Client.Timeout, webhook.DefaultTimeout),
		poster: webhook.NewClient(o.Guard, o.Client), access: access.New(o.Directory, o.Accounts, o.Guard, o.Client, o.Now, o.Log),
		known:  cache.New[string, collab.Account](mostAccounts),
		sentTo: cache.New[string, []collab.User](mostNamed), secrets: cache.New[string, []byte](mostAccounts),
		ledger:    &quota.Ledger{Store: o.Accounts, Now: o.Now, Log: o.Log},
		rendering: make(chan struct{}, renderings),
	}
}

// handler does the steps of a kind of task. Concurrent runs of a task are prevented by a lease, or
// harmless.
type handler struct {
	lease time.Duration
	run   func(*Deliverer, context.Context, *task.Task) (task.Outcome, error)
}

var handlers = map[collab.TaskKind]handler{
	collab.EventTask:   {run: (*Deliverer).event},
	collab.NoticeTask:  {noticeLease, (*Deliverer).notice},
	collab.WebhookTask: {endpointLease, (*Deliverer).endpoint},
	collab.JobTask:     {run: (*Deliverer).job},
}

const endTime = 10 * time.Second // left to settle a task when its run is stopped

// Take handles a message about a task, or an event of SES. If it returns an error, the message must
// be received again.
func (d *Deliverer) Take(ctx context.Context, text string) error {
	if r, ok := mail.ReadReport(text); ok {
		return d.undeliverable(ctx, r)
	}
	ref, err := queue.Decode(text)
	if err != nil {
		return err
	}
	h, ok := handlers[ref.Kind]
	if !ok {
		return fmt.Errorf("delivery: no kind of task: %q", ref.Kind)
	}
	return d.take(ctx, ref, h)
}

func (d *Deliverer) take(ctx context.Context, ref collab.TaskRef, h handler) error {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-endTime))
		defer cancel()
	}
	ctx, charge := d.metered(ctx)
	account := collab.Later(ctx, func() (collab.Account, error) { return d.account(ctx, ref.Account) })
	r, err := d.Outbox.Run(ctx, ref, h.lease, func(ctx context.Context, t *task.Task) (o task.Outcome, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
				d.Log.LogAttrs(ctx, slog.LevelError, "panic", slog.String("cause", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
			}
		}()
		if _, err := account(); err != nil && collab.CodeOf(err) != collab.NotFound {
			return o, err
		}
		return h.run(d, ctx, t) // account is remembered
	})
	charge(ref.Account)
	if r.Failure != nil {
		level, text := slog.LevelWarn, "task to be repeated"
		if r.Failed {
			level, text = slog.LevelError, "task failed: an operator can retry it"
			d.Metrics.Add(metrics.TasksFailed, "", 1)
		}
		d.Log.LogAttrs(ctx, level, text, slog.String("account", ref.Account), slog.String("kind", string(ref.Kind)),
			slog.String("id", ref.ID), slog.Any("cause", r.Failure))
	}
	if r.Message && err == nil {
		wait := max(time.UnixMilli(r.Due).Sub(d.Now()), 0)
		err = d.Queue.SendIn(context.WithoutCancel(ctx), wait, ref)
	}
	return err
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
