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

// Payer is an account, or a person of one, who may use a share of what the account may use.
type Payer struct {
	Account string
	User    string // "" for the account itself
}

// Store keeps until when payers are paid, for all processes.
type Store interface {
	// Paid returns until when the payer is paid.
	Paid(ctx context.Context, p Payer) (Paid, error)

	// Charge moves on until when the payer is paid, and returns that as it is then. known is what was seen of it last. A charge whose
	// answer was lost may count twice.
	Charge(ctx context.Context, p Payer, known Paid, costs Costs) (Paid, error)
}

// Ledger is what a process knows of the accounts that it serves. Safe for concurrent use.
type Ledger struct {
	Store Store
	Now   func() time.Time
	Log   *slog.Logger

	mu    sync.Mutex
	known map[Payer]*use
}

// use is what a process knows of the use of one payer.
type use struct {
	paid      Paid      // as the table had it
	uncharged Costs     // used by this process since
	charged   time.Time // the last time
	charging  bool      // a charge is under way
	heard     time.Time // when the table said what others used
}

// When a process charges an account for what it used. A small request costs no call of its own; what is lost with a process is small.
// It charges a person only early: that much, once for each process, is what a person may use beyond the share.
const (
	chargeShare  = 100         // of the span, at least
	chargeEarly  = 10          // of the span: it does not wait for
	chargePeriod = time.Second // since the last time
	knownFor     = time.Minute // then the table is asked what others used
	mostPayers   = 20_000      // that are remembered: with one more all are forgotten
)

func (l *Ledger) use(p Payer) *use {
	if u := l.known[p]; u != nil {
		return u
	}
	if l.known == nil || len(l.known) >= mostPayers {
		l.known = map[Payer]*use{}
	}
	u := new(use)
	l.known[p] = u
	return u
}

// Account is one account as this process knows it, with the limits that its settings say. The methods of a nil Account admit everything and
// count nothing.
type Account struct {
	ledger *Ledger
	payer  Payer
	limits Limits
	person *Account // who uses it; nil for a back end
}

// Account returns an account, once the process has heard of it within knownFor: from the table, or by a charge of its own. A nil Ledger has
// none that is limited: nil. Where the table does not answer, what the process knows counts.
func (l *Ledger) Account(ctx context.Context, id string, s collab.Settings) *Account {
	if l == nil {
		return nil
	}
	a := &Account{ledger: l, payer: Payer{Account: id}, limits: Of(s)}
	l.mu.Lock()
	known, now := l.use(a.payer), l.Now()
	ask := now.Sub(known.heard) >= knownFor
	if ask {
		known.heard = now // one of many requests asks
	}
	l.mu.Unlock()
	if !ask || a.limits == (Limits{}) {
		return a
	}
	paid, err := l.Store.Paid(ctx, a.payer)
	if err != nil {
		l.Log.LogAttrs(ctx, slog.LevelWarn, "quota not read", slog.String("account", id), slog.Any("cause", err))
		return a
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known.paid = known.paid.later(paid)
	return a
}

// UsedBy returns the account as one of its persons uses it: what the person uses counts for both.
func (a *Account) UsedBy(user string) *Account {
	if a == nil {
		return nil
	}
	of := *a
	of.person = &Account{ledger: a.ledger, payer: Payer{a.payer.Account, user}, limits: a.limits.share()}
	return &of
}

// Admit fails with RESOURCE_EXHAUSTED if the person or the account has used so much of one of the kinds that it must wait, as far as
// the process knows.
func (a *Account) Admit(kinds ...Kind) error {
	if a == nil {
		return nil
	}
	if err := a.person.Admit(kinds...); err != nil {
		return err
	}
	l := a.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	known, now := l.use(a.payer), l.Now()
	for _, k := range kinds {
		paid := time.UnixMilli(known.paid[k])
		if paid.Before(now) {
			paid = now
		}
		if w := a.limits[k].Wait(paid.Add(known.uncharged[k]), now); w > 0 {
			return a.payer.exhausted(w, names[k], a.limits[k])
		}
	}
	return nil
}

func (p Payer) exhausted(wait time.Duration, what string, l Limit) error {
	who := "the account has used more than its quota"
	if p.User != "" {
		who = "the person has used more than a person's share"
	}
	seconds := int64((wait + time.Second - 1) / time.Second)
	return &collab.Error{
		Code: collab.ResourceExhausted,
		Message: fmt.Sprintf(
			"%s of %d %s in %d s: send this again in %d s", who, l.Most, what, int64(l.Per.Seconds()), seconds,
		),
		RetryAfter: time.Duration(seconds) * time.Second,
	}
}

// Amounts is what was used, by kind.
type Amounts [Kinds]float64

// Spend counts what an account used whatever the table says of it: see Account.Spend. A nil Ledger counts nothing.
func (l *Ledger) Spend(ctx context.Context, id string, s collab.Settings, used Amounts) {
	if l != nil {
		(&Account{ledger: l, payer: Payer{Account: id}, limits: Of(s)}).Spend(ctx, used)
	}
}

// Spend counts what a request used, and charges the account and the person if that has become enough. It takes
// platform.ChargeTime at most.
func (a *Account) Spend(ctx context.Context, used Amounts) {
	if a == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), platform.ChargeTime)
	defer cancel()
	a.spend(ctx, used)
	if a.person != nil {
		a.person.spend(ctx, used)
	}
}

func (a *Account) spend(ctx context.Context, used Amounts) {
	l := a.ledger
	l.mu.Lock()
	known := l.use(a.payer)
	for k, amount := range used {
		known.uncharged[k] += a.limits[k].Cost(amount)
	}
	before, costs, now := known.paid, known.uncharged, l.Now()
	due := !known.charging && known.due(a.limits, now, a.payer.User != "")
	known.charging = known.charging || due
	l.mu.Unlock()
	if !due {
		return
	}
	paid, err := l.Store.Charge(ctx, a.payer, before, costs)
	if err != nil {
		l.Log.LogAttrs(
			ctx, slog.LevelWarn, "quota not charged: it will be with a later request", slog.String("account", a.payer.Account), slog.Any("cause", err),
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
func (u *use) due(limits Limits, now time.Time, early bool) bool {
	for k, cost := range u.uncharged {
		per := limits[k].Per
		if cost > 0 && (cost >= per/chargeEarly || !early && cost >= per/chargeShare && now.Sub(u.charged) >= chargePeriod) {
			return true
		}
	}
	return false
}
