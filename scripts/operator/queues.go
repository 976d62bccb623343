package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/queue"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"
)

// waiting are the kinds of pending work, with the page of each.
var waiting = []struct {
	kind       collab.WorkKind
	name, page string
}{
	{collab.EventWork, "Events whose delivery is not done", "event"}, {collab.LaneWork, "Webhooks with deliveries that wait", "webhook"},
	{collab.ParkedWork, "Events of what is disabled", "event"}, {collab.JobWork, "What deletions have left to be swept", "job"},
}

// looked is how many entries of each shard of pending work are looked at.
const looked = 10

func listPending(ctx context.Context, r *Run, _ *struct{}) error {
	r.Title = "Pending"
	for _, kind := range waiting {
		part := &Part{Title: kind.name, Columns: []string{"Since", "For", "Account", "Id", "Stage", "Tried again", "Postponed"}}
		r.add(part)
		var mu sync.Mutex
		var all []outbox.Work
		err := store.Each(ctx, keys.DueShards, func(ctx context.Context, shard int) error {
			list, next, err := r.outbox.Work(ctx, kind.kind, shard, "", looked, func(err error) {
				mu.Lock()
				defer mu.Unlock()
				part.Bad = "One cannot be read: " + err.Error()
			})
			mu.Lock()
			defer mu.Unlock()
			if all = append(all, list...); next != "" {
				part.Note = fmt.Sprintf("There are more: the first %d by account of each of %d parts are looked at.", looked, keys.DueShards)
			}
			return err
		})
		if err != nil {
			return err
		}
		slices.SortFunc(all, func(a, b outbox.Work) int { return cmp.Compare(a.Since, b.Since) })
		for _, w := range all {
			id := link(w.ID, address("/"+kind.page, "account", w.Account, kind.page, w.ID))
			age := span(max(0, r.directory.Now().Sub(time.UnixMilli(w.Since))))
			part.Rows = append(part.Rows, row(Time(w.Since), age, accountLink(w.Account), id, stage(w), Time(w.Next), w.Postponed))
		}
	}
	return nil
}

// stage is how far the delivery of something has come; of a lane or a job there is none.
func stage(w outbox.Work) string {
	if w.Kind == collab.LaneWork || w.Kind == collab.JobWork {
		return ""
	}
	return cmp.Or(string(w.Stage), "new")
}

type aJob struct {
	inAccount
	Job id `arg:"" help:"Job."`
}

func showJob(ctx context.Context, r *Run, p *aJob) error {
	r.aboveAccount(p.Account)
	r.Title = "Job " + string(p.Job)
	progress, err := r.outbox.JobProgress(ctx, string(p.Account), string(p.Job))
	if err == nil {
		r.facts("State", string(progress.State), "Started", Time(progress.StartedAt), "Items swept", progress.Done)
	}
	return err
}

func listQuarantine(ctx context.Context, r *Run, _ *struct{}) error {
	r.Title = "Quarantine"
	part := &Part{
		Columns: []string{"Account", "Event", "Since", "Reason"},
		Note:    "Events whose handling ended the process, or that cannot be read. The logs of deliver say why. They are kept for 30 days.",
	}
	read := func(after string, n int) ([]outbox.Quarantined, string, error) {
		return r.outbox.Quarantined(ctx, after, n, func(err error) { part.Bad = "One cannot be read: " + err.Error() })
	}
	r.next("Once the cause is mended, `admin quarantine retry ACCOUNT EVENT` delivers one again.")
	return list(r, "quarantine", part, pageSize, read, always(func(q outbox.Quarantined) []Cell {
		retry := r.offer("quarantine retry", "Retry …", "", "account", q.Account, "event", q.ID)
		return row(accountLink(q.Account), link(q.ID, eventAt(q.Account, q.ID)), Time(q.At), q.Reason, Cell{Offer: retry})
	}))
}

func retryQuarantined(ctx context.Context, r *Run, p *inEvent) error {
	if err := r.outbox.Retry(ctx, p.ref()); err != nil {
		return err
	}
	r.facts("Retried", p.Event)
	r.done("Event %q is delivered within a minute or so. The quarantine shows it again should that fail.", p.Event)
	return nil
}

// EmptyAfter is how long a queue must stay silent to be taken for empty: long polling asks all of SQS's servers.
const EmptyAfter = time.Second

// whichQueues are the queues that an operation is for.
type whichQueues struct {
	Queue string `enum:"events,webhooks,both" default:"both" help:"Whose dead letters: events, webhooks or both."`
}

func (w whichQueues) names() []string {
	if w.Queue == "both" {
		return []string{keys.EventsQueue, keys.WebhooksQueue}
	}
	return []string{w.Queue}
}

type deadLettersOf struct {
	whichQueues
	Most int `default:"1000" help:"The most to list of each queue."`
}

// mostDead is how many dead letters of a queue a page lists: reading them keeps others from them for the while.
const mostDead = 50

func listDeadLetters(ctx context.Context, r *Run, p *deadLettersOf) error {
	r.Title = "Dead letters"
	if r.values != nil {
		p.Most = mostDead
	}
	part := &Part{
		Columns: []string{"Queue", "Sent", "Account", "Event", "Webhook"},
		Note:    "Messages that delivery has given up. The logs of deliver say why they failed.",
	}
	r.add(part)
	for _, name := range p.names() {
		if err := r.addDeadLetters(ctx, part, name, p.Most); err != nil {
			return err
		}
	}
	if len(part.Rows) > 0 {
		r.next("Once the cause is mended, `admin dead-letters redrive` sends them again.")
	}
	return nil
}

// addDeadLetters lists up to most dead letters of a queue. They cannot be taken while they are listed, and are given back then.
func (r *Run) addDeadLetters(ctx context.Context, part *Part, name string, most int) (err error) {
	dead, _, err := r.deadLetters(ctx, name)
	if err != nil {
		return err
	}
	var taken []queue.Message
	defer func() {
		if failed := release(ctx, dead, taken); failed != nil {
			part.Bad = "Some of them can be redriven in 30 s only: " + failed.Error()
		}
	}()
	for len(taken) < most {
		messages, err := dead.Receive(ctx, min(queue.MaxReceive, most-len(taken)), EmptyAfter)
		if err != nil {
			return err
		}
		if len(messages) == 0 {
			break
		}
		taken = append(taken, messages...)
		for _, m := range messages {
			part.Rows = append(part.Rows, deadLetter(name, m))
		}
	}
	if len(taken) == most {
		part.Note += fmt.Sprintf(" There may be more of the queue %s than these %d.", name, most)
	}
	if len(taken) > 0 {
		part.Offers = append(part.Offers, r.offer("dead-letters redrive", "Send those of "+name+" again …", "", "queue", name))
	}
	return nil
}

// deadLetter is a dead letter as a row.
func deadLetter(name string, m queue.Message) []Cell {
	events, lanes := letter(name, m)
	sent := Time(m.Sent.UnixMilli())
	if len(events) > 0 {
		e := events[0]
		return row(name, sent, accountLink(e.Account), link(e.ID, eventAt(e.Account, e.ID)), "")
	}
	if len(lanes) > 0 {
		l := lanes[0]
		hook := link(l.WebhookID, address("/webhook", "account", l.Account, "webhook", l.WebhookID))
		return row(name, sent, accountLink(l.Account), "", hook)
	}
	return row(name, sent, bad("unreadable"), fmt.Sprintf("%.200q", m.Text), "")
}

// deadLetters returns the dead-letter queue of a queue, and that queue.
func (r *Run) deadLetters(ctx context.Context, name string) (dead, live *queue.Queue, err error) {
	if live, err = r.Queue(ctx, name); err == nil {
		dead, err = live.DeadLetters(ctx)
	}
	return dead, live, err
}

// release gives messages back to their queue, after the context's end, too.
func release(ctx context.Context, q *queue.Queue, messages []queue.Message) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return q.Release(ctx, messages...)
}

func redriveDeadLetters(ctx context.Context, r *Run, p *whichQueues) error {
	total, unreadable := 0, 0
	for _, name := range p.names() {
		moved, left, err := r.redrive(ctx, name)
		if err == nil || moved > 0 {
			r.facts(name, moved)
		}
		if err != nil {
			return fmt.Errorf("%d were sent again. Nothing is lost: do it again: %w", moved, err)
		}
		total += moved
		unreadable += left
	}
	r.done("%d were sent again, and are delivered within moments. Those that fail again come back after some minutes.", total)
	if unreadable > 0 {
		return collab.Errorf(
			collab.FailedPrecondition, "%d messages are not of a form that this version knows, and stay: list them, and upgrade", unreadable,
		)
	}
	return nil
}

// redrive sends what is in the dead-letter queue of a queue to that queue, until nothing comes any more, and returns how many messages it
// has moved, and how many cannot be read and stay. A message is deleted after it was sent: where this ends in between, it is in both, and
// its delivery finds that it was done before.
func (r *Run) redrive(ctx context.Context, name string) (moved, unreadable int, err error) {
	dead, live, err := r.deadLetters(ctx, name)
	if err != nil {
		return 0, 0, err
	}
	var left []queue.Message
	defer func() { err = errors.Join(err, release(ctx, dead, left)) }()
	for {
		messages, err := dead.Receive(ctx, queue.MaxReceive, EmptyAfter)
		if err != nil || len(messages) == 0 {
			return moved, len(left), err
		}
		var readable []queue.Message
		var events []queue.Event
		var lanes []queue.Lane
		for _, m := range messages {
			e, l := letter(name, m)
			if events, lanes = append(events, e...), append(lanes, l...); len(e)+len(l) > 0 {
				readable = append(readable, m)
			} else {
				left = append(left, m)
			}
		}
		if err = live.SendEvents(ctx, events...); err == nil {
			err = live.SendLanes(ctx, 0, lanes...)
		}
		if err == nil {
			err = dead.Delete(ctx, readable...)
		}
		if err != nil {
			left = append(left, readable...)
			return moved, 0, err
		}
		moved += len(readable)
	}
}

// letter is what a message of a queue says: an event or a lane; neither where it cannot be read.
func letter(name string, m queue.Message) (events []queue.Event, lanes []queue.Lane) {
	if name == keys.EventsQueue {
		if e, err := queue.DecodeEvent(m.Text); err == nil {
			events = []queue.Event{e}
		}
	} else if l, err := queue.DecodeLane(m.Text); err == nil {
		lanes = []queue.Lane{l}
	}
	return events, lanes
}
