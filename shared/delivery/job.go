package delivery

import (
	"context"

	"collabdata/shared/store/task"
)

// job does steps of a deletion.
func (d *Deliverer) job(ctx context.Context, t *task.Task) (task.Outcome, error) {
	return d.Deletion.RunJob(ctx, t)
}
