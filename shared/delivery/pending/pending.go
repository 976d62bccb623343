// Package pending resends pending work to the queues: events with lost messages or failed
// deliveries, due notices, and webhook endpoints with due deliveries.
package pending

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/metrics"
	"collabdata/shared/queue"
	"collabdata/shared/store/hooks"
	"collabdata/shared/store/outbox"

	"golang.org/x/sync/errgroup"
)

const (
	portion     = 200             // entries per read; accounts with more take turns
	portionTime = 5 * time.Second // to postpone a portion, so that a hanging call costs no more
	sendTime    = 5 * time.Second // to send a portion
	concurrency = 16              // concurrent calls for a portion

	endsBefore = 12 * time.Second // time left when a run starts no further portion
	longest    = time.Minute      // duration of a run

	// between the first two messages about the same work; doubles each time
	firstWait  = 2 * time.Minute
	lastWait   = time.Hour
	failedWait = 24 * time.Hour  // between attempts at a notice that has failed for hours
	parkedWait = 9 * time.Minute // between checks of parked work, in every tenth minute

	longQueue = 1_000 // waiting messages
	longShare = 50    // messages to a long queue per run, account and kind
)

// Store is the relay's part of package outbox, which documents the methods.
type Store interface {
	Work(
		ctx context.Context, kind collab.WorkKind, shard int, from string, limit int, skip func(error),
	) (list []outbox.Work, next string, err error)
	Postpone(ctx context.Context, w outbox.Work, to collab.Millis) (bool, error)
	DueNotices(ctx context.Context, shard int, from string, limit int, skip func(error)) (list []outbox.DueNotice, next string, err error)
	PostponeNotice(ctx context.Context, d outbox.DueNotice, to collab.Millis) (minute collab.Millis, err error)
	Fail(ctx context.Context, w outbox.Work, failure string) error
	Advance(ctx context.Context, from, to outbox.Work) (bool, error)
	Finish(ctx context.Context, w outbox.Work) error
	Beat(ctx context.Context) error
}

// Lanes wakes the lanes of webhook endpoints. See package hooks.
type Lanes interface {
	WakeLane(ctx context.Context, l hooks.Lane) (token string, err error)
}

// Events is the queue of events.
type Events interface {
	Waiting(ctx context.Context) (int, error)
	SendEvents(ctx context.Context, events ...queue.Event) error
}

// Webhooks is the queue of webhook endpoints with work.
type Webhooks interface {
	Waiting(ctx context.Context) (int, error)
	SendLanes(ctx context.Context, delay time.Duration, lanes ...queue.Lane) error
}

// Relay resends pending work. Several relays may run concurrently.
type Relay struct {
	Store    Store
	Lanes    Lanes
	Events   Events
	Webhooks Webhooks
	Metrics  *metrics.Metrics // may be nil
	Log      *slog.Logger
	Now      func() time.Time
}

// kinds of pending work run concurrently, so that none waits for another.
var kinds = [...]collab.WorkKind{
	collab.EventWork, collab.LaneWork, collab.ParkedWork, collab.JobWork, collab.NoticeWork,
}

// Run sends messages about due work, accounts in turn, until nothing is due or its time is over. It
// reports the age of the oldest work. It sends a long queue at most longShare messages per account;
// the rest stays due. It postpones work before it sends it, so a run that dies loses none. First it
// writes the heartbeat that shows that the stream works.
func (r *Relay) Run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	errs := []error{r.Store.Beat(ctx)}
	events, err := r.share(ctx, r.Events)
	if err != nil {
		return err
	}
	webhooks, err := r.share(ctx, r.Webhooks)
	if err != nil {
		return err
	}
	runs := make([]kindRun, len(kinds))
	var wg sync.WaitGroup
	for i, kind := range kinds {
		runs[i] = kindRun{Relay: r, kind: kind, share: events, sentOf: map[string]int{}}
		switch {
		case kind == collab.LaneWork:
			runs[i].share = webhooks
		case kind == collab.ParkedWork && r.Now().Minute()%10 != 0:
			continue
		}
		if kind == collab.NoticeWork {
			wg.Go(func() { runs[i].notices(ctx) })
		} else {
			wg.Go(func() { runs[i].run(ctx) })
		}
	}
	wg.Wait()
	var oldest time.Duration
	for _, k := range runs {
		errs = append(errs, k.errs...)
		if k.kind != collab.ParkedWork { // parked work waits
			oldest = max(oldest, k.oldest)
		}
		if k.sent > 0 {
			r.Log.LogAttrs(ctx, slog.LevelInfo, "sent again", slog.String("kind", string(k.kind)), slog.Int("messages", k.sent))
		}
	}
	r.Metrics.Set(metrics.PendingEventAge, oldest.Seconds())
	return errors.Join(errs...)
}

// inTime reports whether there is time for a further portion.
func inTime(ctx context.Context) bool {
	deadline, _ := ctx.Deadline()
	return ctx.Err() == nil && time.Until(deadline) > endsBefore
}

// kindRun is a run's part for one kind of work.
type kindRun struct {
	*Relay
	kind  collab.WorkKind
	share int // limit of messages per account

	sentOf map[string]int // by account

	oldest time.Duration
	sent   int
	errs   []error
}

// turn is a position in a shard.
type turn struct {
	shard int
	from  string
	acct  string // limits the read to an account; "" for all
}

// run reads the shards in portions until nothing is left or the time is over. If a portion ends
// within an account, the rest of that account waits for the other turns.
func (k *kindRun) run(ctx context.Context) {
	var turns []turn
	for shard := range keys.DueShards {
		turns = append(turns, turn{shard: shard})
	}
	for len(turns) > 0 && inTime(ctx) {
		t := turns[0]
		turns = turns[1:]
		list, next, err := k.Store.Work(ctx, k.kind, t.shard, t.from, portion, k.Metrics.PassOver(ctx, k.Log))
		if err != nil {
			k.errs = append(k.errs, err)
			continue
		}
		others := slices.IndexFunc(list, func(w outbox.Work) bool { return w.Account != t.acct })
		switch {
		case t.acct != "" && others >= 0:
			list = list[:others]
		case next == "":
		case t.acct != "" || len(list) == 0:
			turns = append(turns, turn{t.shard, next, t.acct})
		default:
			last := list[len(list)-1].Account
			turns = append([]turn{{t.shard, keys.AfterAccount(last), ""}}, append(turns, turn{t.shard, next, last})...)
		}
		k.send(ctx, k.due(list))
	}
}

// notices reads due notices in portions, earliest minute of each shard first, until nothing is left
// or the time is over.
func (k *kindRun) notices(ctx context.Context) {
	type turn struct {
		shard int
		from  string
	}
	var turns []turn
	for shard := range keys.DueShards {
		turns = append(turns, turn{shard: shard})
	}
	for len(turns) > 0 && inTime(ctx) {
		t := turns[0]
		turns = turns[1:]
		list, next, err := k.Store.DueNotices(ctx, t.shard, t.from, portion, k.Metrics.PassOver(ctx, k.Log))
		if err != nil {
			k.errs = append(k.errs, err)
			continue
		}
		if next != "" {
			turns = append(turns, turn{t.shard, next})
		}
		k.sendNotices(ctx, list)
	}
}

// sendNotices postpones notices and sends messages about them.
func (k *kindRun) sendNotices(ctx context.Context, list []outbox.DueNotice) {
	now := k.Now()
	moving, cancel := context.WithTimeout(ctx, portionTime)
	defer cancel()
	var mu sync.Mutex
	var events []queue.Event
	var moves errgroup.Group
	moves.SetLimit(concurrency)
	for _, d := range list {
		k.oldest = max(k.oldest, now.Sub(time.UnixMilli(d.Since)))
		if k.sentOf[d.For.Account]++; k.sentOf[d.For.Account] > k.share {
			continue
		}
		moves.Go(func() error {
			wait := waitAfter(d.Postponed)
			if d.Postponed >= outbox.MostPostponed {
				wait = failedWait
				k.failed(ctx, "notice failed", slog.String("account", d.For.Account), slog.String("notice", d.Ref().ID))
			}
			minute, err := k.Store.PostponeNotice(moving, d, now.Add(wait).UnixMilli())
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				k.errs = append(k.errs, err)
			} else if minute != 0 {
				events = append(events, queue.Event{EventRef: d.Ref(), Kind: collab.NoticeWork, Due: minute})
			}
			return nil
		})
	}
	_ = moves.Wait() // errors are in errs
	sending, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	if len(events) > 0 {
		k.errs = append(k.errs, k.Events.SendEvents(sending, events...))
	}
	k.sent += len(events)
}

// failed counts and logs work that failed at every attempt.
func (k *kindRun) failed(ctx context.Context, text string, of ...slog.Attr) {
	k.Metrics.Add(metrics.EventsFailed, "", 1)
	k.Log.LogAttrs(ctx, slog.LevelError, text, of...)
}

// waitAfter returns the wait before the next message after n postponements.
func waitAfter(n int64) time.Duration {
	if n < 5 {
		return firstWait << n
	}
	return lastWait
}

// due returns the entries to send now, earliest due first.
func (k *kindRun) due(list []outbox.Work) []outbox.Work {
	now := k.Now().UnixMilli()
	var due []outbox.Work
	for _, w := range slices.SortedStableFunc(slices.Values(list), func(a, b outbox.Work) int { return cmp.Compare(a.Since, b.Since) }) {
		k.oldest = max(k.oldest, time.Duration(now-w.Since)*time.Millisecond)
		if w.Next <= now && k.sentOf[w.Account] < k.share {
			k.sentOf[w.Account]++
			due = append(due, w)
		}
	}
	return due
}

// send postpones work and sends messages about the postponed work, even if other calls failed.
func (k *kindRun) send(ctx context.Context, due []outbox.Work) {
	var mu sync.Mutex
	var events []queue.Event
	var lanes []queue.Lane
	moving, cancel := context.WithTimeout(ctx, portionTime)
	defer cancel()
	var moves errgroup.Group
	moves.SetLimit(concurrency)
	for _, w := range due {
		moves.Go(func() error {
			lane := queue.Lane{LaneRef: collab.LaneRef{Account: w.Account, WebhookID: w.ID}}
			var moved bool
			var err error
			if k.kind == collab.LaneWork {
				lane.Token, err = k.Lanes.WakeLane(moving, hooks.Lane{LaneRef: lane.LaneRef})
			} else {
				moved, err = k.postpone(moving, w)
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				k.errs = append(k.errs, err)
			case lane.Token != "":
				lanes = append(lanes, lane)
			case moved:
				events = append(events, queue.Event{EventRef: w.EventRef, Kind: w.Kind, Again: true})
			}
			return nil
		})
	}
	_ = moves.Wait() // errors are in errs
	sending, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	if len(events) > 0 {
		k.errs = append(k.errs, k.Events.SendEvents(sending, events...))
	}
	if len(lanes) > 0 {
		k.errs = append(k.errs, k.Webhooks.SendLanes(sending, 0, lanes...))
	}
	k.sent += len(events) + len(lanes)
}

// postpone sets the next time of work, and reports whether to send it now. It deletes expired work,
// and parks an event that failed at every attempt.
func (k *kindRun) postpone(ctx context.Context, w outbox.Work) (bool, error) {
	now := k.Now()
	if w.Expires != 0 && w.Expires <= now.Unix() {
		return false, k.Store.Finish(ctx, w)
	}
	wait := waitAfter(w.Postponed)
	switch {
	case k.kind == collab.ParkedWork:
		wait = parkedWait
	case k.kind == collab.EventWork && w.Postponed > outbox.MostPostponed:
		const failure = "no attempt at it has ended"
		k.failed(ctx, "delivery failed: "+failure, slog.String("account", w.Account), slog.String("event", w.ID))
		return false, k.Store.Fail(ctx, w, failure)
	}
	return k.Store.Postpone(ctx, w, now.Add(wait).UnixMilli())
}

// share returns the number of messages per account and kind that a run sends to a queue. It is
// small if the queue is long, because most pending work then has a message in it.
func (r *Relay) share(ctx context.Context, q interface {
	Waiting(ctx context.Context) (int, error)
}) (int, error) {
	waiting, err := q.Waiting(ctx)
	if waiting >= longQueue {
		return longShare, err
	}
	return math.MaxInt, err
}
