package deletion

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/task"
)

// reserve is the time that must remain to start another step.
const reserve = 8 * time.Second

// RunJob runs a job until it is done, has to wait, or the time is nearly up. Steps are idempotent.
// Of concurrent runs only one continues.
func (s *Store) RunJob(ctx context.Context, t *task.Task) (task.Outcome, error) {
	job, err := s.Outbox.Job(ctx, t.Account, t.ID)
	if collab.CodeOf(err) == collab.NotFound {
		return task.Outcome{}, nil // it has expired
	}
	if err != nil {
		return task.Outcome{}, err
	}
	p, err := outbox.ProgressOf(t)
	for err == nil && p.State != collab.JobDone && p.Due <= s.Millis() {
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < reserve {
			p.Due = s.Millis()
			break
		}
		if err = s.step(ctx, &job, &p); err != nil {
			break
		}
		saved := false
		if saved, err = s.Outbox.Advance(ctx, t, p.Text()); err == nil && !saved {
			return task.Outcome{}, nil // another run goes on, and Settle changes nothing
		}
	}
	if err != nil {
		return task.Outcome{}, err
	}
	return s.Outbox.JobOutcome(ctx, &job, p)
}

func (s *Store) step(ctx context.Context, job *outbox.Job, p *outbox.JobProgress) (err error) {
	p.State = collab.JobRunning
	switch {
	case p.Deleting:
		if err = s.deleteRest(ctx, job, p); !p.Deleting {
			p.State, p.Due, p.From = collab.JobWaiting, job.SweepAt, ""
		}
	case job.Erasure != nil:
		err = s.Erasure.Step(ctx, job, p)
	case p.Next < job.Size():
		err = s.sweep(ctx, job, p)
	}
	if !p.Deleting && p.Next >= job.Size() {
		p.State = collab.JobDone
	}
	return err
}

func (s *Store) deleteRest(ctx context.Context, job *outbox.Job, p *outbox.JobProgress) (err error) {
	switch {
	case job.Erasure != nil:
		p.Deleting, err = s.Erasure.EndRest(ctx, job, p)
	case job.Contents:
		err = s.deleteContents(ctx, job, p)
	case job.Rest != nil:
		p.From, err = s.Threads.DeleteRest(ctx, job, p.From)
		p.Deleting = err != nil || p.From != ""
	default:
		err = s.deleteMoreNotifications(ctx, job, p)
	}
	return err
}

// sweep removes part of the stored remains, and records the progress.
func (s *Store) sweep(ctx context.Context, job *outbox.Job, p *outbox.JobProgress) (err error) {
	var n int
	var done bool
	switch {
	case job.Threads != nil:
		n, done, err = s.Threads.Sweep(ctx, job.Document(job.Things[0]), job.Threads[p.Next].ID, s.bounds.swept)
	default:
		n, done, err = s.sweepThing(ctx, job, p)
	}
	if p.Done += int64(n); done && err == nil {
		p.Next++
	}
	return err
}

// sweepThing removes part of the contents of a thing, and finally its item. It waits until
// SweepAfter has passed since the deletion. It does nothing if the thing is not deleted.
func (s *Store) sweepThing(ctx context.Context, job *outbox.Job, p *outbox.JobProgress) (n int, done bool, err error) {
	th := job.Things[p.Next]
	k := keys.Thing(job.In, th.Kind, th.ID)
	it, life, err := s.lifetime(ctx, k)
	if exists := it != nil && life.Incarnation == th.Incarnation; err != nil || exists && life.DeletedAt == 0 {
		return 0, true, err
	} else if at := life.DeletedAt + outbox.SweepAfter.Milliseconds(); exists && at > s.Millis() {
		p.State, p.Due = collab.JobWaiting, at
		return 0, false, nil
	}
	at := store.From(keys.KindNamed(string(th.Kind)), keys.PartsOf(job.In, th.Kind, th.ID, th.Incarnation))
	if p.From != "" {
		if err := json.Unmarshal([]byte(p.From), &at); err != nil {
			return 0, false, store.Unreadable(keys.Job(job.Account, job.ID), err)
		}
	}
	at, err = s.Step(ctx, &store.Walk{Want: swept, Last: true}, at, func(ctx context.Context, found []store.Found) (int, error) {
		n += len(found)
		return len(found), store.Each(ctx, len(found), func(ctx context.Context, i int) error {
			f := found[i]
			if f.Kind != nil && f.Kind == keys.APreference && th.Kind == collab.ADocument {
				if f.Number(keys.Incarnation) != th.Incarnation {
					return nil // it precedes the document, and stays
				}
				_, err := s.Write(ctx, store.DeleteRead(f.Item, keys.Incarnation))
				return err
			}
			return s.Delete(ctx, f.Key())
		})
	})
	if p.From = ""; err != nil || len(at) > 0 {
		text, failed := collab.EncodeJSON(at)
		p.From = string(text)
		return n, false, cmp.Or(err, failed)
	}
	err = s.endSweep(ctx, k, th.Incarnation)
	return n, err == nil, err
}

// swept reports whether a sweep removes items of a kind. Items that expire are removed only if they
// contain user data.
func swept(k *keys.Kind) bool { return !k.Stays && (!k.Expires || k.Users != "") }

// endSweep deletes the item of an empty thing, unless the thing was added again.
func (s *Store) endSweep(ctx context.Context, k keys.Key, incarnation int64) error {
	it, life, err := s.lifetime(ctx, k)
	if err != nil || life.DeletedAt == 0 || life.Incarnation != incarnation {
		return err
	}
	_, err = s.Write(ctx, store.DeleteRead(it, keys.DeletedAt, keys.Incarnation))
	return err
}
