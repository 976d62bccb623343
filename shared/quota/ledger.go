package quota

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/deadline"
)

// Store keeps until when accounts are paid, for all processes.
type Store interface {
	// Charge moves on until when the account is paid, and returns that as it is then. known is what was seen of it last. A charge whose
	// answer was lost may count twice.
	Charge(ctx context.Context, acct string, known Paid, costs Costs) (Paid, error)
}

// Ledger is what a process knows of the accounts that it serves. Safe for concurrent use.
type Ledger struct {
	Store Store
	Now   func() time.Time
	Log   *slog.Logger

	mu       sync.Mutex
	accounts map[string]*account
}

// account is what a process knows of one account.
type account struct {
	paid      Paid      // as the table had it
	uncharged Costs     // used by this process since
	charged   time.Time // the last time
	charging  bool      // a charge is under way
}

// When a process charges an account for what it used. A small request costs no call of its own; what is lost with a process is small.
const (
	chargeShare  = 100         // of the span, at least
	chargeEarly  = 10          // of the span: it does not wait for
	chargePeriod = time.Second // since the last time
	mostAccounts = 10_000      // that are remembered: with one more all are forgotten
)

func (l *Ledger) account(id string) *account {
	if a := l.accounts[id]; a != nil {
		return a
	}
	if l.accounts == nil || len(l.accounts) >= mostAccounts {
		l.accounts = map[string]*account{}
	}
	a := new(account)
	l.accounts[id] = a
	return a
}

// Request is a request that writes. The methods of a nil Request admit everything and count nothing.
type Request struct {
	ledger *Ledger
	id     string // of the account
	limits Limits

	mu     sync.Mutex
	raises bool // it is to record events
}

type requestKey struct{}

// Begin returns a context that carries a Request of an account. It fails with RESOURCE_EXHAUSTED where the account has used so much that it
// must wait. A nil Ledger has no limits.
func (l *Ledger) Begin(ctx context.Context, acct string, s collab.Settings) (context.Context, *Request, error) {
	if l == nil {
		return ctx, nil, nil
	}
	r := &Request{ledger: l, id: acct, limits: Of(s)}
	return context.WithValue(ctx, requestKey{}, r), r, r.check()
}

// RequestOf returns the context's Request, or nil.
func RequestOf(ctx context.Context) *Request {
	r, _ := ctx.Value(requestKey{}).(*Request)
	return r
}

// Learn takes note of until when the account is paid, as the table has it, and fails as Begin.
func (r *Request) Learn(paid Paid) error {
	if r == nil {
		return nil
	}
	l := r.ledger
	l.mu.Lock()
	a := l.account(r.id)
	a.paid = a.paid.later(paid)
	l.mu.Unlock()
	return r.check()
}

// Raise says whether the request is to record events. If so it fails with RESOURCE_EXHAUSTED, and Learn does, where the account has recorded
// so many that it must wait. It comes before the request's first call to the table.
func (r *Request) Raise(events bool) error {
	if r == nil || !events {
		return nil
	}
	r.mu.Lock()
	r.raises = true
	r.mu.Unlock()
	return r.check()
}

// check fails where the account must wait.
func (r *Request) check() error {
	r.mu.Lock()
	raises := r.raises
	r.mu.Unlock()
	l := r.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	a, now := l.account(r.id), l.Now()
	wait := func(k Kind) time.Duration {
		paid := time.UnixMilli(a.paid[k])
		if paid.Before(now) {
			paid = now
		}
		return r.limits[k].Wait(paid.Add(a.uncharged[k]), now)
	}
	if w := wait(Writes); w > 0 {
		return exhausted(w, "write units", r.limits[Writes])
	}
	if w := wait(Events); raises && w > 0 {
		return exhausted(w, "events", r.limits[Events])
	}
	return nil
}

func exhausted(wait time.Duration, what string, l Limit) error {
	seconds := int64((wait + time.Second - 1) / time.Second)
	return &collab.Error{
		Code:       collab.ResourceExhausted,
		Message:    fmt.Sprintf("the account has used more than its quota of %d %s in %d s: send this again in %d s", l.Most, what, int64(l.Per.Seconds()), seconds),
		RetryAfter: time.Duration(seconds) * time.Second,
	}
}

// End counts what the request used and the events that it recorded, and charges the account where that has become enough. It takes deadline.Charge at most.
func (r *Request) End(ctx context.Context, writeUnits float64, events int) {
	if r == nil {
		return
	}
	l := r.ledger
	l.mu.Lock()
	a := l.account(r.id)
	a.uncharged[Writes] += r.limits[Writes].Cost(writeUnits)
	a.uncharged[Events] += r.limits[Events].Cost(float64(events))
	known, costs, now := a.paid, a.uncharged, l.Now()
	due := !a.charging && a.due(r.limits, now)
	a.charging = a.charging || due
	l.mu.Unlock()
	if !due {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deadline.Charge)
	defer cancel()
	paid, err := l.Store.Charge(ctx, r.id, known, costs)
	if err != nil {
		l.Log.LogAttrs(ctx, slog.LevelWarn, "quota not charged: it will be with a later request", slog.String("account", r.id), slog.Any("cause", err))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a.charging, a.charged = false, now
	if err != nil {
		return
	}
	a.paid = a.paid.later(paid)
	for k := range costs {
		a.uncharged[k] -= costs[k]
	}
}

// due reports whether what is not charged is enough to be.
func (a *account) due(limits Limits, now time.Time) bool {
	for k, cost := range a.uncharged {
		per := limits[k].Per
		if cost > 0 && (cost >= per/chargeEarly || cost >= per/chargeShare && now.Sub(a.charged) >= chargePeriod) {
			return true
		}
	}
	return false
}
