// Package pending sends pending work to the queues again: events whose message was lost or whose delivery failed, mails that have waited long
// enough, and webhook endpoints with deliveries whose time has come.
package pending

import (
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
	"collabdata/shared/store/outbox"

	"golang.org/x/sync/errgroup"
)

const (
	portion     = 200             // entries that are read at once; an account that has more goes on when the others have had their turn
	portionTime = 5 * time.Second // for which a portion is moved on: a call that is never answered costs no more
	sendTime    = 5 * time.Second // for which it is sent
	concurrency = 16              // calls for a portion that are under way

	endsBefore = 12 * time.Second // before the run's time is over no further portion is begun
	longest    = time.Minute      // a run

	firstMove  = 2 * time.Minute // until what was sent is sent again; twice as long each time
	lastMove   = time.Hour
	parkedMove = 9 * time.Minute // what is parked, or due later, is looked at in every tenth minute

	longQueue = 1_000 // messages that wait
	longShare = 50    // messages that a run sends to a long queue, of each account and kind
)

// Store is what the relay needs of the table. Package outbox documents the methods.
type Store interface {
	Work(
		ctx context.Context, kind collab.WorkKind, shard int, from string, most int, skip func(error),
	) (list []outbox.Work, next string, err error)
	MoveWork(ctx context.Context, w outbox.Work, to collab.Millis) (bool, error)
	Advance(ctx context.Context, from, to outbox.Work) (bool, error)
	Finish(ctx context.Context, w outbox.Work) error
	WakeLane(ctx context.Context, l outbox.Lane) (token string, err error)
}

// Events is the queue of events.
type Events interface {
	Waiting(ctx context.Context) (int, error)
	SendEvents(ctx context.Context, events ...queue.Event) error
}

// Webhooks is the queue of lanes of webhook endpoints that have work.
type Webhooks interface {
	Waiting(ctx context.Context) (int, error)
	SendLanes(ctx context.Context, delay time.Duration, lanes ...queue.Lane) error
}

// Relay sends pending work again. Several may run at the same time.
type Relay struct {
	Store    Store
	Events   Events
	Webhooks Webhooks
	Metrics  *metrics.Metrics // nil for none
	Log      *slog.Logger
	Now      func() time.Time
}

// kinds of pending work. They are worked on side by side, so that none waits for another.
var kinds = [...]collab.WorkKind{collab.EventWork, collab.LaneWork, collab.ParkedWork, collab.JobWork, collab.LaterWork}

// Run sends what is due until nothing is, or its time is used, accounts in turn, and reports the age of the oldest pending work. To a queue
// in which many messages wait it sends a few of each account: their others stay due. Work is moved on before it is sent, so it is lost by
// nobody's end.
func (r *Relay) Run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	events, err := r.share(ctx, r.Events)
	if err != nil {
		return err
	}
	webhooks, err := r.share(ctx, r.Webhooks)
	if err != nil {
		return err
	}
	var errs []error
	runs := make([]kindRun, len(kinds))
	var wg sync.WaitGroup
	for i, kind := range kinds {
		runs[i] = kindRun{Relay: r, kind: kind, share: events, sentOf: map[string]int{}}
		switch {
		case kind == collab.LaneWork:
			runs[i].share = webhooks
		case kind != collab.ParkedWork && kind != collab.LaterWork:
		case r.Now().Minute()%10 != 0:
			continue
		}
		wg.Go(func() { runs[i].run(ctx) })
	}
	wg.Wait()
	var oldest time.Duration
	for _, k := range runs {
		errs = append(errs, k.errs...)
		if k.kind != collab.ParkedWork && k.kind != collab.LaterWork { // these are to wait
			oldest = max(oldest, k.oldest)
		}
		if k.sent > 0 {
			r.Log.LogAttrs(ctx, slog.LevelInfo, "sent again", slog.String("kind", string(k.kind)), slog.Int("messages", k.sent))
		}
	}
	r.Metrics.Set(metrics.PendingEventAge, oldest.Seconds())
	return errors.Join(errs...)
}

// inTime reports whether a further portion may be begun.
func inTime(ctx context.Context) bool {
	deadline, _ := ctx.Deadline()
	return ctx.Err() == nil && time.Until(deadline) > endsBefore
}

// kindRun is what a run does of one kind of work.
type kindRun struct {
	*Relay
	kind  collab.WorkKind
	share int // messages of an account at most

	sentOf map[string]int // by account

	oldest time.Duration
	sent   int
	errs   []error
}

// turn is a position in a shard from which there is more.
type turn struct {
	shard int
	from  string
	acct  string // of this account alone; "" for all accounts
}

// run goes through the shards, portion by portion, until nothing is left or the time is used. Where a portion ends within an account, what
// is left of that waits until all others have had their turn.
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
		case t.acct != "" || len(list) == 0 || k.kind == collab.LaterWork:
			turns = append(turns, turn{t.shard, next, t.acct})
		default:
			last := list[len(list)-1].Account
			turns = append([]turn{{t.shard, keys.BehindAccount(last), ""}}, append(turns, turn{t.shard, next, last})...)
		}
		k.send(ctx, k.due(list))
	}
}

// due returns what of a list is to be sent.
func (k *kindRun) due(list []outbox.Work) []outbox.Work {
	now := k.Now().UnixMilli()
	var due []outbox.Work
	for _, w := range list {
		k.oldest = max(k.oldest, time.Duration(now-w.Since)*time.Millisecond)
		if w.Next <= now && k.sentOf[w.Account] < k.share {
			k.sentOf[w.Account]++
			due = append(due, w)
		}
	}
	return due
}

// send moves work on, and sends what was moved, even where other calls have failed or were not answered.
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
				lane.Token, err = k.Store.WakeLane(moving, outbox.Lane{LaneRef: lane.LaneRef})
			} else {
				moved, err = k.move(moving, w)
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				k.errs = append(k.errs, err)
			case lane.Token != "":
				lanes = append(lanes, lane)
			case moved && k.kind != collab.LaterWork: // of its new kind it is sent in its account's turn
				events = append(events, queue.Event{EventRef: w.EventRef, Kind: w.Kind, Again: true})
			}
			return nil
		})
	}
	_ = moves.Wait() // they note their errors
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

// move moves an event on before it is sent, and reports whether it is to be. Work that has expired is dropped.
func (k *kindRun) move(ctx context.Context, w outbox.Work) (bool, error) {
	now := k.Now()
	if w.Expires != 0 && w.Expires <= now.Unix() {
		return false, k.Store.Finish(ctx, w)
	}
	wait := lastMove
	switch {
	case k.kind == collab.LaterWork:
		to := w
		to.Kind, to.Since, to.Next = collab.JobWork, now.UnixMilli(), now.UnixMilli()
		return k.Store.Advance(ctx, w, to)
	case k.kind == collab.ParkedWork:
		wait = parkedMove
	case w.Moves < 5:
		wait = firstMove << w.Moves
	}
	return k.Store.MoveWork(ctx, w, now.Add(wait).UnixMilli())
}

// share is how many messages of each account and kind a run sends to a queue: few while that is long, as most of what is pending has a
// message in it then, which its account waits for.
func (r *Relay) share(ctx context.Context, q interface {
	Waiting(ctx context.Context) (int, error)
}) (int, error) {
	waiting, err := q.Waiting(ctx)
	if waiting >= longQueue {
		return longShare, err
	}
	return math.MaxInt, err
}
