package storetest

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/store/task"
)

// Run does a step of a task of a kind without leases, if it is due, and returns the time of the
// next, 0 for none. It stores no failure, as a run that dies.
func Run(ctx context.Context, s *task.Store, ref collab.TaskRef, handle task.Handler) (due collab.Millis, err error) {
	t, err := s.Task(ctx, ref)
	if err != nil || t == nil || t.Due == 0 || t.Due > s.Millis() {
		return collab.Deref(t).Due, err
	}
	o, err := handle(ctx, t)
	if err != nil {
		return 0, err
	}
	return s.Settle(ctx, t, o)
}
