package delivery

import (
	"context"
	"strconv"

	"collabdata/shared/queue"
)

// job does one run of a job, and sends a message for the next. After maxHops messages, and where one is lost, the relay does. Of several
// runs at the same time one goes on.
func (d *Deliverer) job(ctx context.Context, m queue.Event) error {
	w, err := d.Outbox.Pending(ctx, m.EventRef, m.Kind)
	if err != nil || w == nil {
		return err
	}
	if err := d.Threads.RunJob(ctx, m.Account, m.ID); err != nil {
		return err
	}
	now, last := d.millis(), m.Hops >= maxHops
	to := *w
	if to.Cursor, to.Since, to.Next = strconv.FormatInt(now, 10), now, 0; last {
		to.Next = now
	}
	moved, err := d.Outbox.Advance(ctx, *w, to) // not where the job is done
	if err != nil || !moved || last {
		return err
	}
	return d.Events.SendEventsIn(ctx, 0, queue.Event{EventRef: m.EventRef, Kind: m.Kind, Hops: m.Hops + 1})
}
