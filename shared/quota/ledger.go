package quota

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/platform"
)

// Store keeps until when accounts are paid, for all processes.
type Store interface {
	// Paid returns until when the account is paid.
	Paid(ctx context.Context, acct string) (Paid, error)

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
	accounts map[string]*use
}

// use is what a process knows of the use of one account.
type use struct {
	paid      Paid      // as the table had it
	uncharged Costs     // used by this process since
	charged   time.Time // the last time
	charging  bool      // a charge is under way
	heard     time.Time // when the table said what others used
}

// When a process charges an account for what it used. A small request costs no call of its own; what is lost with a process is small.
const (
	chargeShare  = 100         // of the span, at least
	chargeEarly  = 10          // of the span: it does not wait for
	chargePeriod = time.Second // since the last time
	knownFor     = time.Minute // then the table is asked what others used
	mostAccounts = 10_000      // that are remembered: with one more all are forgotten
)

func (l *Ledger) account(id string) *use {
	if a := l.accounts[id]; a != nil {
		return a
	}
	if l.accounts == nil || len(l.accounts) >= mostAccounts {
		l.accounts = map[string]*use{}
	}
	a := new(use)
	l.accounts[id] = a
	return a
}

// Account is one account as this process knows it, with the limits that its settings say. The methods of a nil Account admit everything and
// count nothing.
type Account struct {
	ledger *Ledger
	id     string
	limits Limits
}

// Account returns an account, once the process has heard of it within knownFor: from the table, or by a charge of its own. A nil Ledger has
// none that is limited: nil. Where the table does not answer, what the process knows counts.
func (l *Ledger) Account(ctx context.Context, id string, s collab.Settings) *Account {
	if l == nil {
		return nil
	}
	a := &Account{l, id, Of(s)}
	l.mu.Lock()
	known, now := l.account(id), l.Now()
	ask := now.Sub(known.heard) >= knownFor
	if ask {
		known.heard = now // one of many requests asks
	}
	l.mu.Unlock()
	if !ask || a.limits == (Limits{}) {
		return a
	}
	paid, err := l.Store.Paid(ctx, id)
	if err != nil {
		l.Log.LogAttrs(ctx, slog.LevelWarn, "quota not read", slog.String("account", id), slog.Any("cause", err))
		return a
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known.paid = known.paid.later(paid)
	return a
}

// Admit fails with RESOURCE_EXHAUSTED where the account has used so much of one of the kinds that it must wait, as far as the process
// knows.
func (a *Account) Admit(kinds ...Kind) error {
	if a == nil {
		return nil
	}
	l := a.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	known, now := l.account(a.id), l.Now()
	for _, k := range kinds {
		paid := time.UnixMilli(known.paid[k])
		if paid.Before(now) {
			paid = now
		}
		if w := a.limits[k].Wait(paid.Add(known.uncharged[k]), now); w > 0 {
			return exhausted(w, names[k], a.limits[k])
		}
	}
	return nil
}

func exhausted(wait time.Duration, what string, l Limit) error {
	seconds := int64((wait + time.Second - 1) / time.Second)
	return &collab.Error{
		Code: collab.ResourceExhausted,
		Message: fmt.Sprintf(
			"the account has used more than its quota of %d %s in %d s: send this again in %d s", l.Most, what, int64(l.Per.Seconds()), seconds,
		),
		RetryAfter: time.Duration(seconds) * time.Second,
	}
}

// Amounts is what was used, by kind.
type Amounts [Kinds]float64

// Spend counts what an account used whatever the table says of it: see Account.Spend. A nil Ledger counts nothing.
func (l *Ledger) Spend(ctx context.Context, id string, s collab.Settings, used Amounts) {
	if l != nil {
		(&Account{l, id, Of(s)}).Spend(ctx, used)
	}
}

// Spend counts what a request used, and charges the account where that has become enough. It takes platform.ChargeTime at most.
func (a *Account) Spend(ctx context.Context, used Amounts) {
	if a == nil {
		return
	}
	l := a.ledger
	l.mu.Lock()
	known := l.account(a.id)
	for k, amount := range used {
		known.uncharged[k] += a.limits[k].Cost(amount)
	}
	before, costs, now := known.paid, known.uncharged, l.Now()
	due := !known.charging && known.due(a.limits, now)
	known.charging = known.charging || due
	l.mu.Unlock()
	if !due {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), platform.ChargeTime)
	defer cancel()
	paid, err := l.Store.Charge(ctx, a.id, before, costs)
	if err != nil {
		l.Log.LogAttrs(
			ctx, slog.LevelWarn, "quota not charged: it will be with a later request", slog.String("account", a.id), slog.Any("cause", err),
		)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known.charging, known.charged = false, now
	if err != nil {
		return
	}
	known.heard = now
	known.paid = known.paid.later(paid)
	for k := range costs {
		known.uncharged[k] -= costs[k]
	}
}

// due reports whether what is not charged is enough to be.
func (u *use) due(limits Limits, now time.Time) bool {
	for k, cost := range u.uncharged {
		per := limits[k].Per
		if cost > 0 && (cost >= per/chargeEarly || cost >= per/chargeShare && now.Sub(u.charged) >= chargePeriod) {
			return true
		}
	}
	return false
}
