package delivery

import (
	"context"

	"collabdata/shared/store/task"
)

// job does steps of a deletion.
func (d *Deliverer) job(ctx context.Context, t *task.Task) (task.Outcome, error) {
	if _, err := d.account(ctx, t.Account); err != nil { // it pays
		return task.Outcome{}, err
	}
	return d.Deletion.RunJob(ctx, t)
}
