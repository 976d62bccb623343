package delivery

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/metrics"
	"collabdata/shared/queue"
	"collabdata/shared/store/outbox"
)

// eventRun handles one message about an event.
type eventRun struct {
	*Deliverer
	*thread
	stored   outbox.Work // the work in the table
	event    *collab.Event
	document collab.DocumentRef
	settings collab.Settings // of the account
	hops     int             // of the message
	again    bool            // an earlier attempt may have done a part
	portion  int             // comments per read when looking for people; 0 means threadPortion
}

func (d *Deliverer) about(ev *collab.Event, settings collab.Settings, of *thread) *eventRun {
	return &eventRun{Deliverer: d, thread: of, event: ev, document: ev.Document(), settings: settings}
}

// stages are the steps of a delivery. Each returns the work for the next step: another stage or
// page of the audience, at the time Next, or immediately if Next is 0. A stage may be repeated.
var stages = map[outbox.Stage]func(*eventRun, context.Context, outbox.Work) (outbox.Work, error){
	outbox.StageNew:        (*eventRun).webhooks,
	outbox.StageList:       (*eventRun).listForAll,
	outbox.StageRecipients: (*eventRun).inboxes,
	outbox.StageEnd:        (*eventRun).end,
}

// then returns the work at the start of the next stage.
func then(w outbox.Work, stage outbox.Stage) outbox.Work {
	w.Stage, w.Cursor, w.Next = stage, "", 0
	return w
}

const endTime = 5 * time.Second // time left to report an error when a run is stopped

// Event handles a message. It delivers an event up to the end of a page of its audience, sends a
// notice, or does one run of a job. The next page has its own message.
func (d *Deliverer) Event(ctx context.Context, m queue.Event) error {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-endTime))
		defer cancel()
	}
	switch m.Kind {
	case collab.JobWork:
		return d.job(ctx, m)
	case collab.NoticeWork:
		return d.notice(ctx, m)
	}
	w, err := d.Outbox.Pending(ctx, m.EventRef, cmp.Or(m.Kind, collab.EventWork))
	if err != nil || w == nil {
		return err
	}
	err = d.deliver(ctx, *w, m)
	if err != nil && w.Postponed >= outbox.MostPostponed {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime/2)
		defer cancel()
		err = errors.Join(err, d.fail(ending, *w, err.Error()))
	}
	return err
}

// deliver delivers an event. It fails an unreadable event, and parks an event of a disabled
// account.
func (d *Deliverer) deliver(ctx context.Context, w outbox.Work, m queue.Event) error {
	ctx, charge := d.metered(ctx)
	ev, err := w.Event()
	if err != nil {
		d.skip(ctx)(err)
		return d.fail(ctx, w, "it can't be read")
	}
	account, enabled, err := d.enabled(ctx, w.Account, ev.OrganizationID)
	r := d.about(ev, account.Settings, &thread{})
	r.stored, r.hops, r.again = w, m.Hops, m.Again
	switch {
	case err != nil:
		return err
	case !enabled:
		return r.leave(ctx, r.parked(w))
	case ev.Time < account.CreatedAt:
		d.Log.LogAttrs(ctx, slog.LevelWarn, "event of a deleted account", slog.String("account", w.Account), slog.String("event", w.ID))
		return d.Outbox.Finish(ctx, w)
	}
	defer charge(w.Account, r.settings, 0)
	if w.Kind == collab.ParkedWork {
		w.Kind, w.Since, w.Next = collab.EventWork, d.millis(), 0
		if moved, err := r.advance(ctx, w); err != nil || !moved {
			return err
		}
	}
	return r.goThrough(ctx)
}

// goThrough calls the stages until the work is done or waits.
func (r *eventRun) goThrough(ctx context.Context) error {
	for w := r.stored; w.Stage != outbox.StageDone; {
		next, err := stages[w.Stage](r, ctx, w)
		switch {
		case err != nil:
			return err
		case next.Next != 0:
			return r.leave(ctx, next)
		}
		w = next
	}
	return nil
}

// end is the last stage.
func (r *eventRun) end(ctx context.Context, w outbox.Work) (outbox.Work, error) {
	return then(w, outbox.StageDone), r.Outbox.Finish(ctx, r.stored)
}

// leave stores the work and sends a message for its next time. The relay sends the message instead
// after maxHops messages, if the time exceeds the maximum delay, or if the work is parked.
func (r *eventRun) leave(ctx context.Context, w outbox.Work) error {
	if w == r.stored {
		return nil // the message came too early
	}
	wait := max(time.UnixMilli(w.Next).Sub(r.Now()), 0)
	if wait > 0 {
		w.Since = w.Next
	}
	send := w.Kind != collab.ParkedWork && mayFollow(r.hops, wait)
	if send {
		w.Next += time.Minute.Milliseconds() // in case the message is lost
	}
	if moved, err := r.advance(ctx, w); err != nil || !moved || !send {
		return err
	}
	return r.Events.SendEventsIn(ctx, wait, queue.Event{EventRef: w.EventRef, Kind: w.Kind, Hops: r.hops + 1})
}

// advance stores the work. It returns false if another run has changed it.
func (r *eventRun) advance(ctx context.Context, w outbox.Work) (bool, error) {
	moved, err := r.Outbox.Advance(ctx, r.stored, w)
	if moved {
		r.stored = w
	}
	return moved, err
}

// parked returns the work of a disabled account or organization, which the relay checks regularly.
func (r *eventRun) parked(w outbox.Work) outbox.Work {
	if w.Kind != collab.ParkedWork {
		w.Kind, w.Next = collab.ParkedWork, r.millis()
	}
	return w
}

// fail parks an event until an operator retries it.
func (d *Deliverer) fail(ctx context.Context, w outbox.Work, failure string) error {
	d.Metrics.Add(metrics.EventsFailed, "", 1)
	d.Log.LogAttrs(
		ctx, slog.LevelError, "delivery failed: "+failure, slog.String("account", w.Account), slog.String("event", w.ID),
	)
	return d.Outbox.Fail(ctx, w, failure)
}
