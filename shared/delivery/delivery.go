// Package delivery is what becomes of an event: who is concerned, what each of them is told over which channel, and how webhook endpoints
// get their posts. Every step may be repeated: it is kept what was worked out and what was done, so that a run which ends anywhere is
// finished by another.
//
// An event's delivery goes through the stages of collab.Stage. First a delivery to each webhook endpoint is recorded and its message put
// on the webhook queue. Then recipients are worked out part by part, collab.MaxCircle at a time: preferences and permissions are asked
// once, what they gave is kept, and the part's inboxes are served; a message of its own with a cursor asks for the next part. Last, in the
// same parts, come the mails. Those about a thread wait for others on it, unless the account wants none of that; the relay brings the event
// back when it is time.
//
// Messages only wake: the progress, the circle, the claims on mails and the deliveries in the table say what there is to do, so doubled,
// late and disordered messages do no harm.
package delivery

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/mail"
	"collabdata/shared/metrics"
	"collabdata/shared/queue"
	"collabdata/shared/quota"
	"collabdata/shared/webhook"

	"golang.org/x/sync/errgroup"
)

// Directory is what deliveries need to know of accounts and organizations. Package directory documents the methods.
type Directory interface {
	Account(ctx context.Context, id string) (collab.Account, error)
	PermissionProvider(ctx context.Context, acct string) (*collab.PermissionProvider, error)
	Document(ctx context.Context, doc collab.DocumentRef) (collab.Document, error)
	Members(ctx context.Context, org collab.OrganizationRef, users []string) (map[string]collab.Member, error)
	ListMembers(ctx context.Context, org collab.OrganizationRef, after string, most int) ([]collab.Member, bool, error)
	UserPreferences(ctx context.Context, doc collab.DocumentRef, users []string) (map[string]collab.Preferences, error)
	Unsubscribed(ctx context.Context, org collab.OrganizationRef, users []collab.User) (map[string]bool, error)
	MailSecret(ctx context.Context, acct string) ([]byte, error)
	KeepMailSecret(ctx context.Context, acct string, secret []byte) ([]byte, error)
	Paid(ctx context.Context, acct string) (quota.Paid, error)
	Charge(ctx context.Context, acct string, known quota.Paid, costs quota.Costs) (quota.Paid, error)
}

// Threads is what deliveries need to know of annotations. Package threads documents the method.
type Threads interface {
	RecentComments(ctx context.Context, doc collab.DocumentRef, ann string, before int64, most int) ([]collab.Comment, error)
}

// Outbox is what there is to deliver, and how far it is. Package outbox documents the methods.
type Outbox interface {
	Pending(ctx context.Context, ref collab.EventRef) (*collab.Event, collab.Progress, error)
	Advance(ctx context.Context, ref collab.EventRef, from, to collab.Progress) (bool, error)
	Finish(ctx context.Context, ref collab.EventRef, p collab.Progress) error
	Circle(ctx context.Context, ref collab.EventRef, cursor string) (*collab.Circle, error)
	KeepCircle(ctx context.Context, ref collab.EventRef, cursor string, c *collab.Circle) (*collab.Circle, error)
	Event(ctx context.Context, acct, id string) (*collab.Event, error)

	Notification(ctx context.Context, org collab.OrganizationRef, id string) (collab.Notification, error)
	MakeNotification(ctx context.Context, org collab.OrganizationRef, n collab.Notification) error
	AddToInbox(ctx context.Context, org collab.OrganizationRef, n collab.Notification, users []string) error
	AddToInboxOfAll(ctx context.Context, org collab.OrganizationRef, n collab.Notification) error

	AddMail(ctx context.Context, t collab.MailThread, event string) error
	ClaimMail(ctx context.Context, t collab.MailThread, event string, alone bool, lease collab.Millis) ([]string, error)
	MailSent(ctx context.Context, t collab.MailThread, events []string) error
	FreeMail(ctx context.Context, t collab.MailThread, events []string) error

	Webhooks(ctx context.Context, acct string) ([]collab.Webhook, error)
	AddDelivery(ctx context.Context, acct string, d collab.Delivery) (collab.Delivery, error)
	DeliveryWork(ctx context.Context, acct, hook, event string) (*collab.Webhook, *collab.Delivery, error)
	SaveDelivery(ctx context.Context, acct string, before, after collab.Delivery) (collab.Delivery, error)
	CountFailure(ctx context.Context, acct, id string, now, nextProbe collab.Millis) (*collab.Webhook, error)
	ForgetFailures(ctx context.Context, acct, id string) error
	ClaimProbe(ctx context.Context, acct, id string, now, next collab.Millis) (bool, error)
	DisableWebhook(ctx context.Context, acct, id, reason string, ev *collab.Event) (bool, error)
}

// Events is the queue of events.
type Events interface {
	SendEvents(ctx context.Context, events ...queue.Event) error
}

// Webhooks is the queue of deliveries to webhook endpoints.
type Webhooks interface {
	SendWebhooks(ctx context.Context, delay time.Duration, webhooks ...queue.Webhook) error
}

// Mailer sends mails; mail.Mailer is one.
type Mailer interface {
	Send(ctx context.Context, n mail.Notice) error
}

// Options are what a Deliverer is made of.
type Options struct {
	Directory Directory
	Threads   Threads
	Outbox    Outbox
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
	poster    *webhook.Client
	provider  *webhook.Client
	postTime  time.Duration
	endpoints slots
}

// New returns a Deliverer.
func New(o Options) *Deliverer {
	if o.MailWindow == 0 {
		o.MailWindow = MailWindow
	}
	provider := o.Client
	provider.Timeout, provider.Posted = providerTimeout, nil
	d := &Deliverer{
		Options: o, postTime: o.Client.Timeout,
		poster: webhook.NewClient(o.Guard, o.Client), provider: webhook.NewClient(o.Guard, provider),
	}
	if d.postTime == 0 {
		d.postTime = webhook.DefaultTimeout
	}
	return d
}

// Take does what the message of either queue asks for. After an error the message is to come again.
func (d *Deliverer) Take(ctx context.Context, text string) error {
	w, err := queue.DecodeWebhook(text)
	if err == nil {
		return d.Webhook(ctx, w)
	}
	ev, eventErr := queue.DecodeEvent(text)
	if eventErr != nil {
		return fmt.Errorf("%w; %w", eventErr, err)
	}
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

// sideBySide bounds the calls for one event that are under way.
const sideBySide = 8

// each runs f for 0 to n-1, up to limit side by side, and returns the first error; the others go on.
func each(n, limit int, f func(i int) error) error {
	var g errgroup.Group
	g.SetLimit(limit)
	for i := range n {
		g.Go(func() error { return f(i) })
	}
	return g.Wait()
}

// slots bounds how many posts of one endpoint are under way.
type slots struct {
	mu sync.Mutex
	by map[string]*slot
}

type slot struct {
	free  chan struct{}
	users int // who have one of them, and who wait
}

// take waits up to slotWait for one of the postsAtOnce slots of a key, and returns what gives it back, nil when none was free in time or
// postsWait others wait for one, and whether it had to wait.
func (s *slots) take(ctx context.Context, key string) (release func(), waited bool) {
	s.mu.Lock()
	if s.by == nil {
		s.by = map[string]*slot{}
	}
	k := s.by[key]
	if k == nil {
		k = &slot{free: make(chan struct{}, postsAtOnce)}
		s.by[key] = k
	}
	if k.users == postsAtOnce+postsWait {
		s.mu.Unlock()
		return nil, true
	}
	k.users++
	s.mu.Unlock()
	leave := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(s.by, key)
		}
	}
	release = func() {
		<-k.free
		leave()
	}
	select {
	case k.free <- struct{}{}:
		return release, false
	default:
	}
	timer := time.NewTimer(slotWait)
	defer timer.Stop()
	select {
	case k.free <- struct{}{}:
		return release, true
	case <-timer.C:
	case <-ctx.Done():
	}
	leave()
	return nil, true
}
