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

// Payer is an account, or a user with a share of the account's quotas.
type Payer struct {
	Account string
	User    string // "" for the account itself
}

// Store keeps the paid-until times of payers for all processes.
type Store interface {
	// Paid returns the paid-until times of the payer.
	Paid(ctx context.Context, p Payer) (Paid, error)

	// Charge moves the payer's paid-until times forward, or back for negative costs, and returns them.
	// last are the times last seen. A charge whose answer was lost may count twice.
	Charge(ctx context.Context, p Payer, last Paid, costs Costs) (Paid, error)
}

// Ledger is the use of accounts that a process knows. It is safe for concurrent use.
type Ledger struct {
	Store Store
	Now   func() time.Time
	Log   *slog.Logger

	mu   sync.Mutex
	uses map[Payer]*use
}

type use struct {
	paid      Paid      // as in the table
	uncharged Costs     // used by this process since
	charged   time.Time // last charge
	charging  bool      // a charge is in progress
	heard     time.Time // last news of other processes' use
}

// When a process charges an account. A small request costs no extra call, and little is lost with a
// process. A user is only charged early: that much, for each process, is the use beyond the share.
const (
	chargeShare  = 100         // at least this part of the span
	chargeEarly  = 10          // part of the span that is charged at once
	chargePeriod = time.Second // since the last charge
	knownFor     = time.Minute // then the table is read again
	// Payers to remember; with one more, all are forgotten.
	mostPayers = 20_000
)

func (l *Ledger) use(p Payer) *use {
	if u := l.uses[p]; u != nil {
		return u
	}
	if l.uses == nil || len(l.uses) >= mostPayers {
		l.uses = map[Payer]*use{}
	}
	u := new(use)
	l.uses[p] = u
	return u
}

// Account is an account as this process knows it, with the limits of its settings. A nil Account
// admits everything and counts nothing.
type Account struct {
	ledger *Ledger
	payer  Payer
	limits Limits
	person *Account // the user; nil for a back end

	reserved *float64 // write units of the request, under the ledger's lock
}

// Account returns an account with its use by all processes, at most knownFor old. If the table does
// not answer, it returns the use that the process knows. A nil Ledger returns nil, which has no
// limits.
func (l *Ledger) Account(ctx context.Context, id string, s collab.Settings) *Account {
	if l == nil {
		return nil
	}
	a := &Account{ledger: l, payer: Payer{Account: id}, limits: Of(s)}
	l.mu.Lock()
	use, now := l.use(a.payer), l.Now()
	ask := now.Sub(use.heard) >= knownFor
	if ask {
		use.heard = now // only one of many requests reads
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
	use.paid = use.paid.later(paid)
	return a
}

// UsedBy returns the account for one of its users. The user's use counts for both.
func (a *Account) UsedBy(user string) *Account {
	if a == nil {
		return nil
	}
	account := *a
	account.person = &Account{ledger: a.ledger, payer: Payer{a.payer.Account, user}, limits: a.limits.share()}
	account.reserved = new(float64)
	return &account
}

// Reserve counts write units of a user's request before they are used, so that requests in flight
// count. It charges the user if much is in flight, so that other processes know. It returns
// RESOURCE_EXHAUSTED, and counts nothing, if the user must wait, unless force is set. Spend
// corrects the amount.
func (a *Account) Reserve(ctx context.Context, units float64, force bool) error {
	if a == nil || a.person == nil {
		return nil
	}
	p, l := a.person, a.ledger
	if !force {
		if err := p.Admit(Writes); err != nil {
			return err
		}
	}
	add := func(units float64) {
		l.mu.Lock()
		*a.reserved += units
		l.use(a.payer).uncharged[Writes] += a.limits[Writes].Cost(units)
		l.mu.Unlock()
		p.spend(ctx, Amounts{Writes: units})
	}
	add(units)
	if force {
		return nil
	}
	err := p.admit(p.limits[Writes].Cost(units), Writes)
	if err != nil {
		add(-units)
	}
	return err
}

// Admit returns RESOURCE_EXHAUSTED if the user or the account must wait before using more of one of
// the kinds, as far as the process knows.
func (a *Account) Admit(kinds ...Kind) error {
	if a == nil {
		return nil
	}
	if err := a.person.Admit(kinds...); err != nil {
		return err
	}
	return a.admit(0, kinds...)
}

// admit is Admit for the payer alone, without a cost that is counted already.
func (a *Account) admit(own time.Duration, kinds ...Kind) error {
	l := a.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	use, now := l.use(a.payer), l.Now()
	for _, k := range kinds {
		paid := time.UnixMilli(use.paid[k])
		if paid.Before(now) {
			paid = now
		}
		if w := a.limits[k].Wait(paid.Add(use.uncharged[k]-own), now); w > 0 {
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

// Amounts are used amounts by kind.
type Amounts [Kinds]float64

// Spend counts an account's use without reading the table: see Account.Spend. A nil Ledger counts
// nothing.
func (l *Ledger) Spend(ctx context.Context, id string, s collab.Settings, used Amounts) {
	if l != nil {
		(&Account{ledger: l, payer: Payer{Account: id}, limits: Of(s)}).Spend(ctx, used)
	}
}

// Spend counts a request's use, and charges the account and the user if it is due. Reads count only
// afterwards: those in flight that exceed the user's share wait for the user alone, and do not
// count for the account. It takes at most platform.ChargeTime.
func (a *Account) Spend(ctx context.Context, used Amounts) {
	if a == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), platform.ChargeTime)
	defer cancel()
	if a.reserved != nil {
		a.ledger.mu.Lock()
		used[Writes] -= *a.reserved
		a.ledger.mu.Unlock()
	}
	if a.person != nil {
		a.person.spend(ctx, used)
		used[Reads] -= a.person.beyond(Reads, used[Reads])
	}
	a.spend(ctx, used)
}

// beyond returns the part of a counted use that exceeds the payer's limit, as far as the process
// knows.
func (a *Account) beyond(k Kind, used float64) float64 {
	l, limit := a.ledger, a.limits[k]
	l.mu.Lock()
	defer l.mu.Unlock()
	use, now := l.use(a.payer), l.Now()
	paid := time.UnixMilli(max(use.paid[k], now.UnixMilli()))
	over := limit.Wait(paid.Add(use.uncharged[k]), now)
	if over == 0 {
		return 0
	}
	return min(used, over.Seconds()/limit.Per.Seconds()*float64(limit.Most))
}

func (a *Account) spend(ctx context.Context, used Amounts) {
	l := a.ledger
	l.mu.Lock()
	use := l.use(a.payer)
	for k, amount := range used {
		use.uncharged[k] += a.limits[k].Cost(amount)
	}
	before, costs, now := use.paid, use.uncharged, l.Now()
	due := !use.charging && use.due(a.limits, now, a.payer.User != "")
	use.charging = use.charging || due
	l.mu.Unlock()
	if !due {
		return
	}
	paid, err := l.Store.Charge(collab.WithUsage(ctx, nil), a.payer, before, costs) // a bound is not asked
	if err != nil {
		l.Log.LogAttrs(
			ctx, slog.LevelWarn, "quota not charged: a later request charges it", slog.String("account", a.payer.Account), slog.Any("cause", err),
		)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	use.charging, use.charged = false, now
	if err != nil {
		return
	}
	use.heard = now
	use.paid = paid // lower after a credit
	for k := range costs {
		use.uncharged[k] -= costs[k]
	}
}

func (u *use) due(limits Limits, now time.Time, early bool) bool {
	for k, cost := range u.uncharged {
		per := limits[k].Per
		cost = max(cost, -cost) // also of a credit
		if cost > 0 && (cost >= per/chargeEarly || !early && cost >= per/chargeShare && now.Sub(u.charged) >= chargePeriod) {
			return true
		}
	}
	return false
}
