package delivery

import (
	"context"
	"strconv"

	"collabdata/shared/queue"
)

// job does one run of a job. It sends a message for the next run, unless the job is done or waits.
// The relay continues after maxHops messages or a lost message. Of concurrent runs, one continues.
func (d *Deliverer) job(ctx context.Context, m queue.Event) error {
	w, err := d.Outbox.Pending(ctx, m.EventRef, m.Kind)
	if err != nil || w == nil {
		return err
	}
	account, _, err := d.enabled(ctx, m.Account, "")
	if err != nil {
		return err
	}
	ctx, charge := d.metered(ctx)
	defer charge(m.Account, account.Settings, 0)
	next, err := d.Deletion.RunJob(ctx, m.Account, m.ID)
	if err != nil {
		return err
	}
	if next == 0 {
		return d.Outbox.Finish(ctx, *w)
	}
	now, to := d.millis(), *w
	to.Cursor = strconv.FormatInt(now, 10)
	if next > now {
		to.Since, to.Next = next, next
		_, err := d.Outbox.Advance(ctx, *w, to)
		return err
	}
	last := m.Hops >= maxHops
	if to.Since, to.Next = now, 0; last {
		to.Next = now
	}
	moved, err := d.Outbox.Advance(ctx, *w, to)
	if err != nil || !moved || last {
		return err
	}
	return d.Events.SendEventsIn(ctx, 0, queue.Event{EventRef: m.EventRef, Kind: m.Kind, Hops: m.Hops + 1})
}
