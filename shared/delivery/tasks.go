package delivery

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/mail"
	"collabdata/shared/metrics"
	"collabdata/shared/queue"
	"collabdata/shared/store/task"
)

// handler does the steps of a kind of task. Concurrent runs of a task are prevented by a lease, or
// harmless.
type handler struct {
	lease time.Duration
	run   func(*Deliverer, context.Context, *task.Task) (task.Outcome, error)
}

var handlers = map[collab.TaskKind]handler{
	collab.EventTask:   {run: (*Deliverer).event},
	collab.NoticeTask:  {noticeLease, (*Deliverer).notice},
	collab.WebhookTask: {endpointLease, (*Deliverer).endpoint},
	collab.JobTask:     {run: (*Deliverer).job},
}

const endTime = 10 * time.Second // left to settle a task when its run is stopped

// Take handles a message about a task, or an event of SES. If it returns an error, the message must
// be received again.
func (d *Deliverer) Take(ctx context.Context, text string) error {
	if r, ok := mail.ReadReport(text); ok {
		return d.undeliverable(ctx, r)
	}
	ref, err := queue.Decode(text)
	if err != nil {
		return err
	}
	h, ok := handlers[ref.Kind]
	if !ok {
		return fmt.Errorf("delivery: no kind of task: %q", ref.Kind)
	}
	return d.take(ctx, ref, h)
}

func (d *Deliverer) take(ctx context.Context, ref collab.TaskRef, h handler) error {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-endTime))
		defer cancel()
	}
	ctx, charge := d.metered(ctx)
	account := collab.Later(ctx, func() (collab.Account, error) { return d.account(ctx, ref.Account) })
	r, err := d.Outbox.Run(ctx, ref, h.lease, func(ctx context.Context, t *task.Task) (o task.Outcome, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
				d.Log.LogAttrs(ctx, slog.LevelError, "panic", slog.String("cause", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
			}
		}()
		if _, err := account(); err != nil && collab.CodeOf(err) != collab.NotFound {
			return o, err
		}
		return h.run(d, ctx, t) // account is remembered
	})
	charge(ref.Account)
	if r.Failure != nil {
		level, text := slog.LevelWarn, "task to be repeated"
		if r.Failed {
			level, text = slog.LevelError, "task failed: an operator can retry it"
			d.Metrics.Add(metrics.TasksFailed, "", 1)
		}
		d.Log.LogAttrs(ctx, level, text, slog.String("account", ref.Account), slog.String("kind", string(ref.Kind)),
			slog.String("id", ref.ID), slog.Any("cause", r.Failure))
	}
	if r.Message && err == nil {
		wait := max(time.UnixMilli(r.Due).Sub(d.Now()), 0)
		err = d.Queue.SendIn(context.WithoutCancel(ctx), wait, ref)
	}
	return err
}
