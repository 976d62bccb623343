package quota

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"collabdata/shared/collab"

	"github.com/google/go-cmp/cmp"
)

// till is a Store that sums charges.
type till struct {
	now    func() time.Time
	paid   map[Payer]Paid
	reads  int
	calls  int
	during func() // called by the first charge
	err    error
}

func (t *till) Paid(_ context.Context, p Payer) (Paid, error) {
	t.reads++
	if t.err != nil {
		return Paid{}, t.err
	}
	return t.paid[p], nil
}

func (t *till) Charge(ctx context.Context, by Payer, _ Paid, costs Costs) (Paid, error) {
	t.calls++
	if during := t.during; during != nil {
		t.during = nil
		during()
	}
	if t.err != nil {
		return Paid{}, t.err
	}
	if ctx.Err() != nil || collab.UsageOf(ctx) != nil {
		return Paid{}, errors.New("the request's end or bound applies to the charge")
	}
	p := t.paid[by]
	for k, cost := range costs {
		if cost != 0 {
			p[k] = max(p[k], t.now().UnixMilli()) + cost.Milliseconds()
		}
	}
	t.paid[by] = p
	return p, nil
}

// TestLedger simulates requests of accounts with 10 write units a second and 60 events a minute.
func TestLedger(t *testing.T) {
	settings := collab.Settings{WriteUnitsPerSecond: 10, EventsPerMinute: 60}
	type request struct {
		after  time.Duration // since the previous request
		units  float64
		events int
		acct   string
		down   bool          // every charge fails
		wait   time.Duration // refused for this time
		calls  int           // charges so far
	}
	for _, test := range []struct {
		name     string
		requests []request
	}{
		{"small requests are charged together, once a second", []request{
			{units: 0.5}, {units: 0.4}, {units: 0.1, calls: 1}, {units: 5, calls: 1}, {units: 4, calls: 1}, {after: time.Second, units: 0.1, calls: 2},
		}},
		{"a large request is charged at once, and those behind it wait", []request{
			{units: 500, calls: 1}, {wait: 40 * time.Second, calls: 1}, {after: 39 * time.Second, wait: time.Second, calls: 1},
			{after: time.Second, calls: 1}, {acct: "other", units: 1, calls: 2},
		}},
		{"others do not wait", []request{{units: 500, calls: 1}, {acct: "other", units: 0.1, calls: 1}, {units: 1, wait: 40 * time.Second, calls: 1}}},
		{"the average may be used for ever", []request{
			{units: 100, calls: 1}, {after: time.Second, units: 10, calls: 2}, {after: time.Second, units: 10, calls: 3}, {after: time.Second, units: 10, calls: 4},
		}},
		{"what no charge tells of counts in its process", []request{
			{units: 150, down: true, calls: 1}, {wait: 5 * time.Second, down: true, calls: 2}, {wait: 5 * time.Second, calls: 3},
			{after: 5 * time.Second, units: 0.1, calls: 3},
		}},
		{"a part of a second is a second", []request{{units: 101, calls: 1}, {wait: time.Second, calls: 1}}},
		{"events", []request{
			{events: 61, calls: 1}, {events: 1, wait: time.Second, calls: 1}, {units: 0.1, calls: 1}, {after: time.Second, events: 1, calls: 2},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := noon
			store := &till{now: func() time.Time { return now }, paid: map[Payer]Paid{}}
			l := &Ledger{Store: store, Now: store.now, Log: slog.New(slog.DiscardHandler)}
			for i, r := range test.requests {
				now, store.err = now.Add(r.after), nil
				if r.down {
					store.err = errors.New("down")
				}
				acct := r.acct + "acct"
				kinds := []Kind{Writes}
				if r.events > 0 {
					kinds = append(kinds, Events)
				}
				account := l.Account(t.Context(), acct, settings)
				err := account.Admit(kinds...)
				var wait time.Duration
				if e, ok := errors.AsType[*collab.Error](err); ok && e.Code == collab.ResourceExhausted {
					wait = e.RetryAfter
				} else if err != nil {
					t.Fatal(err)
				}
				if wait > 0 {
					r.units, r.events = 0, 0
				}
				account.Spend(t.Context(), Amounts{Writes: r.units, Events: float64(r.events)})
				if diff := cmp.Diff([]any{r.wait, r.calls}, []any{wait, store.calls}); diff != "" {
					t.Errorf("request %d: wait and charges: %s", i, diff)
				}
			}
		})
	}
}

// TestPerson simulates users of an account with 100 write units a second: only a user that has used
// a tenth waits, also in another process.
func TestPerson(t *testing.T) {
	now := noon
	store := &till{now: func() time.Time { return now }, paid: map[Payer]Paid{}}
	settings := collab.Settings{WriteUnitsPerSecond: 100}
	processes := []*Ledger{}
	for range 3 {
		processes = append(processes, &Ledger{Store: store, Now: store.now, Log: slog.New(slog.DiscardHandler)})
	}
	wait := func(process int, user string) time.Duration {
		a := processes[process].Account(t.Context(), "acct", settings)
		if user != "" {
			a = a.UsedBy(user)
		}
		e, _ := errors.AsType[*collab.Error](a.Admit(Reads, Writes))
		return collab.Deref(e).RetryAfter
	}
	use := func(process int, user string, units float64) {
		processes[process].Account(t.Context(), "acct", settings).UsedBy(user).Spend(t.Context(), Amounts{Writes: units})
	}
	use(0, "ann", 9)
	if store.calls != 0 {
		t.Errorf("%d charges for a small request", store.calls)
	}
	use(0, "ann", 111)
	got := []time.Duration{wait(0, "ann"), wait(0, "bob"), wait(0, ""), wait(1, "ann")}
	if diff := cmp.Diff([]time.Duration{2 * time.Second, 0, 0, 0}, got); diff != "" {
		t.Errorf("after 120 units: ann, bob, the back end, ann elsewhere: %s", diff)
	}
	use(1, "ann", 10) // the charge informs the process
	if got := []time.Duration{wait(1, "ann"), wait(1, "bob"), wait(1, ""), wait(2, "ann")}; got[0] != 3*time.Second || got[1]+got[2]+got[3] != 0 {
		t.Errorf("after 130 units, elsewhere: %v", got)
	}
	now = now.Add(3 * time.Second)
	if got := wait(0, "ann"); got != 0 {
		t.Errorf("when she has waited: %v", got)
	}
}

// TestReadsInFlight simulates 60 reads of a user in as many processes at once, which use more than
// the account may: only the user waits, for all of it.
func TestReadsInFlight(t *testing.T) {
	now := noon
	store := &till{now: func() time.Time { return now }, paid: map[Payer]Paid{}}
	settings := collab.Settings{ReadUnitsPerSecond: 100}
	var requests []*Account
	for range 60 {
		l := &Ledger{Store: store, Now: store.now, Log: slog.New(slog.DiscardHandler)}
		requests = append(requests, l.Account(t.Context(), "acct", settings).UsedBy("ann"))
	}
	for _, a := range requests {
		if err := a.Admit(Reads); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range requests {
		a.Spend(t.Context(), Amounts{Reads: 30})
	}
	got := []time.Duration{}
	for _, user := range []string{"ann", ""} {
		got = append(got, time.UnixMilli(store.paid[Payer{"acct", user}][Reads]).Sub(now))
	}
	if want := 60 * 30 / 10 * time.Second; got[0] != want || got[1] > time.Second {
		t.Errorf("ann has paid for %v, and the account for %v; want %v and at most 1s", got[0], got[1], want)
	}
	a := requests[59]
	if ann, bob := a.Admit(Reads), a.ledger.Account(t.Context(), "acct", settings).UsedBy("bob").Admit(Reads); ann == nil || bob != nil {
		t.Errorf("afterwards ann gets %v, and bob %v", ann, bob)
	}
}

// TestReserve reserves write units of six requests of a user at once, with a share of 100 units in
// ten seconds. A refused one counts nothing, also for other processes.
func TestReserve(t *testing.T) {
	now := noon
	store := &till{now: func() time.Time { return now }, paid: map[Payer]Paid{}}
	l := &Ledger{Store: store, Now: store.now, Log: slog.New(slog.DiscardHandler)}
	settings := collab.Settings{WriteUnitsPerSecond: 100}
	ann := Payer{"acct", "ann"}
	request := func() *Account { return l.Account(t.Context(), "acct", settings).UsedBy("ann") }
	admitted := []*Account{}
	for range 6 {
		if a := request(); a.Reserve(t.Context(), 40, false) == nil {
			admitted = append(admitted, a)
		}
	}
	paid := func() time.Duration {
		return time.UnixMilli(store.paid[ann][Writes]).Sub(now)
	}
	if len(admitted) != 3 || paid() != 12*time.Second {
		t.Errorf("%d are admitted, and paid until %v; want 3 and 12s", len(admitted), paid())
	}
	a := request()
	if err := a.Reserve(t.Context(), 40, true); err != nil || paid() != 16*time.Second {
		t.Errorf("what cannot be refused: %v, paid until %v", err, paid())
	}
	a.Spend(t.Context(), Amounts{})
	for _, a := range admitted {
		a.Spend(t.Context(), Amounts{Writes: 1})
	}
	if left := l.use(ann).uncharged[Writes]; paid()+left != 300*time.Millisecond {
		t.Errorf("after 3 units, paid until %v, and %v are uncharged", paid(), left)
	}
	used := func() time.Duration {
		account := Payer{Account: "acct"}
		return time.UnixMilli(store.paid[account][Writes]).Sub(now) + l.use(account).uncharged[Writes]
	}
	if got := used(); got != 30*time.Millisecond {
		t.Errorf("after 3 units, the account has used %v", got)
	}
	if err := request().Reserve(t.Context(), 40, false); err != nil || paid() != 4300*time.Millisecond {
		t.Errorf("afterwards: %v, paid until %v", err, paid())
	}
	if got := used(); got != 430*time.Millisecond {
		t.Errorf("with 40 reserved units, the account has used %v", got)
	}
	store.paid[ann] = Paid{Writes: now.Add(time.Minute).UnixMilli()} // by another process
	err := request().Reserve(t.Context(), 40, false)
	if left := l.use(ann).uncharged[Writes]; collab.CodeOf(err) != collab.ResourceExhausted || paid()+left != time.Minute {
		t.Errorf("refused by the charge: %v, paid until %v, and %v are uncharged", err, paid(), left)
	}
	if got := used(); got != 430*time.Millisecond {
		t.Errorf("after a refusal, the account has used %v", got)
	}
}

// TestDuringCharge checks that use during a charge counts and is charged later, and that a charge
// survives its request and is not bounded by it.
func TestDuringCharge(t *testing.T) {
	store := &till{now: func() time.Time { return noon }, paid: map[Payer]Paid{}}
	l := &Ledger{Store: store, Now: store.now, Log: slog.New(slog.DiscardHandler)}
	ctx, end := context.WithCancel(collab.WithUsage(t.Context(), &collab.Usage{}))
	a := l.Account(ctx, "acct", collab.Settings{WriteUnitsPerSecond: 10})
	store.during = func() { a.Spend(ctx, Amounts{Writes: 50}) }
	end()
	a.Spend(ctx, Amounts{Writes: 100})
	paid := time.UnixMilli(store.paid[a.payer][Writes]).Sub(noon)
	if left := l.use(a.payer).uncharged[Writes]; store.calls != 1 || paid != 10*time.Second || left != 5*time.Second {
		t.Errorf("%d charges, paid until %v, and %v are uncharged", store.calls, paid, left)
	}
}

// TestMostPayers checks that the payers that a process remembers are bounded.
func TestMostPayers(t *testing.T) {
	l := &Ledger{}
	for i := range mostPayers + 1 {
		l.use(Payer{Account: strconv.Itoa(i)})
	}
	if n := len(l.uses); n != 1 {
		t.Errorf("%d payers are remembered after one more than fit", n)
	}
}

// TestLearn: a process learns of other processes' use within a minute, and never returns to older
// values.
func TestLearn(t *testing.T) {
	now := noon
	store := &till{now: func() time.Time { return now }, paid: map[Payer]Paid{}}
	l := &Ledger{Store: store, Now: store.now, Log: slog.New(slog.DiscardHandler)}
	admit := func(kinds ...Kind) collab.Code {
		return collab.CodeOf(l.Account(t.Context(), "acct", collab.Settings{}).Admit(kinds...))
	}
	if code := admit(Writes, Reads, Events); code != "" {
		t.Errorf("at first %s", code)
	}
	var debt Paid
	debt[Events] = noon.Add(time.Hour).UnixMilli()
	store.paid[Payer{Account: "acct"}] = debt
	now = now.Add(knownFor)
	if admit(Writes, Reads) != "" || admit(Events) != collab.ResourceExhausted {
		t.Errorf("of events: %s, %s", admit(Writes, Reads), admit(Events))
	}
	debt[Reads], debt[Events] = noon.Add(time.Hour).UnixMilli(), 0
	store.paid[Payer{Account: "acct"}] = debt
	now = now.Add(knownFor)
	if admit(Writes) != "" || admit(Reads) != collab.ResourceExhausted || admit(Events) != collab.ResourceExhausted {
		t.Errorf("of reads: %s, %s, %s", admit(Writes), admit(Reads), admit(Events))
	}
	store.err = errors.New("down")
	now = now.Add(knownFor)
	if admit(Writes) != "" || admit(Reads) != collab.ResourceExhausted {
		t.Errorf("while the table does not answer: %s, %s", admit(Writes), admit(Reads))
	}
	if store.reads != 4 {
		t.Errorf("%d reads in four minutes", store.reads)
	}
}

// TestNone: a nil ledger admits everything.
func TestNone(t *testing.T) {
	a := (*Ledger)(nil).Account(t.Context(), "acct", collab.Settings{WriteUnitsPerSecond: 1})
	if a.Admit(Writes, Reads, Events) != nil {
		t.Error("refused")
	}
	a.Spend(t.Context(), Amounts{1e9})
}
