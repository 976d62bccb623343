package collab

import "context"

// Later starts f, and returns a function that waits for its results. The request ends after f: see
// Usage.Wait.
func Later[T any](ctx context.Context, f func() (T, error)) func() (T, error) {
	var v T
	var err error
	done := make(chan struct{})
	u := UsageOf(ctx)
	if u == nil {
		u = new(Usage)
	}
	u.begun.Go(func() {
		defer close(done)
		v, err = f()
	})
	return func() (T, error) {
		<-done
		return v, err
	}
}
