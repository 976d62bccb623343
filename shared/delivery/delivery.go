// Package delivery is what becomes of an event: who is concerned, what each of them is told over which channel, and how webhook endpoints
// get their posts. Every step may be repeated: it is kept what was worked out and what was done, so that a run which ends anywhere is
// finished by another.
//
// An event's delivery goes through the stages of outbox.Stage, which its pending work tells: once it is done there is none. First a
// delivery to each webhook endpoint is added to the endpoint's lane, and lanes that nobody works on are woken by a message. Then recipients
// are worked out page by page, outbox.RecipientPageSize at a time: preferences and permissions are asked once, what they gave is kept, and
// the page's inboxes are served; a message of its own asks for the next page. Last, in the same pages, come the mails. Those about a thread
// wait for others on it, unless the account wants none of that; the relay brings the event back when it is time.
//
// Messages only wake: the pending work, the recipients, the claims on mails, the lanes and the deliveries in the table say what there is to
// do, so doubled, late and disordered messages do no harm.
package delivery

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"runtime/debug"
	"time"

	"collabdata/shared/cache"
	"collabdata/shared/collab"
	"collabdata/shared/mail"
	"collabdata/shared/metrics"
	"collabdata/shared/queue"
	"collabdata/shared/quota"
	"collabdata/shared/store/outbox"
	"collabdata/shared/webhook"

	"golang.org/x/sync/errgroup"
)

// Directory is what deliveries need to know of accounts and organizations. Package directory documents the methods.
type Directory interface {
	Account(ctx context.Context, id string) (collab.Account, error)
	CheckOrganization(ctx context.Context, org collab.OrganizationRef) error
	OpenDocument(ctx context.Context, acct, organization, id string, create collab.CreateFlags) (collab.DocumentRef, error)
	PermissionProvider(ctx context.Context, acct string) (*collab.PermissionProvider, error)
	Document(ctx context.Context, doc collab.DocumentRef) (collab.Document, error)
	Members(ctx context.Context, org collab.OrganizationRef, users []string) (map[string]collab.Member, error)
	MaySee(ctx context.Context, doc collab.DocumentRef, byDefault collab.Access, users []string) (map[string]bool, error)
	ListMembers(ctx context.Context, org collab.OrganizationRef, after string, most int) iter.Seq2[collab.Member, error]
	UserPreferences(ctx context.Context, doc collab.DocumentRef, users []string) (map[string]collab.Preferences, error)
	Unsubscribed(ctx context.Context, org collab.OrganizationRef, users []collab.User) (map[string]bool, error)
	MailSecret(ctx context.Context, acct string) ([]byte, error)
	KeepMailSecret(ctx context.Context, acct string, secret []byte) ([]byte, error)
	quota.Store
}

// Threads is what deliveries need to know of annotations. Package threads documents the method.
type Threads interface {
	RunJob(ctx context.Context, acct, id string) error
	RecentComments(ctx context.Context, doc collab.DocumentRef, ann string, before int64, most int) ([]collab.Comment, error)
}

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

// Options are what a Deliverer is made of.
type Options struct {
	Directory Directory
	Threads   Threads
	Outbox    *outbox.Store
	Events    Events
	Webhooks  Webhooks
	Mailer    Mailer // nil: no mail is sent

	MailWindow time.Duration // 0 is the constant MailWindow

	Guard   *webhook.Guard        // what webhooks and permission providers may be reached at
	Client  webhook.ClientOptions // how they are called; the time-out is the webhooks', that of permission providers is fixed
	Metrics *metrics.Metrics      // nil for none
	Log     *slog.Logger
	Now     func() time.Time
	Random  io.Reader
}

// Deliverer delivers events. Safe for concurrent use.
type Deliverer struct {
	Options
	poster   *webhook.Client
	provider *webhook.Client
	postTime time.Duration
	accounts *cache.Cache[string, collab.Account]
	ledger   *quota.Ledger
}

// How long what was read is taken for what it was, and how much of it.
const (
	accountFor = time.Second
	mostKnown  = 1_000
)

// New returns a Deliverer.
func New(o Options) *Deliverer {
	o.MailWindow = cmp.Or(o.MailWindow, MailWindow)
	provider := o.Client
	provider.Timeout, provider.Answer, provider.Posted = providerTimeout, providerAnswer, nil
	return &Deliverer{
		Options: o, postTime: cmp.Or(o.Client.Timeout, webhook.DefaultTimeout),
		poster: webhook.NewClient(o.Guard, o.Client), provider: webhook.NewClient(o.Guard, provider),
		accounts: cache.New[string, collab.Account](mostKnown),
		ledger:   &quota.Ledger{Store: o.Directory, Now: o.Now, Log: o.Log},
	}
}

// Take does what the message of either queue asks for; receives is how often it was taken, 1 for the first time. After an error the message
// is to come again. A panic is an error.
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

// maxHops bounds the messages that lead to one another, each sent by the taker of the one before: behind it the relay goes on, within a
// minute. Lambda does not invoke a function again that messages have made invoke itself about 16 times.
const maxHops = 12

// concurrency bounds the calls for one event that are under way.
const concurrency = 8

// each runs f for 0 to n-1, up to limit side by side, and returns the first error; the others go on.
func each(n, limit int, f func(i int) error) error {
	var g errgroup.Group
	g.SetLimit(limit)
	for i := range n {
		g.Go(func() error { return f(i) })
	}
	return g.Wait()
}
