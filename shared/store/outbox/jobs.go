package outbox

import (
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
)

// jobItem is a job: what it is about never changes.
type jobItem struct {
	Body    store.Encoded[collab.Job] `dynamodbav:"body"`
	Expires int64                     `dynamodbav:"ttl,omitempty"`
}

// longWait is a time that pending work is not looked at in every minute.
const longWait = 10 * time.Minute

// AddJob keeps a job that is due after a time, with its pending work. One that is there begins anew. It fails with INVALID_ARGUMENT where
// the ids and selectors that the job names are larger than collab.MaxItemBytes.
func (s *Store) AddJob(ctx context.Context, job collab.Job, after time.Duration) error {
	now := s.Millis()
	due := now + after.Milliseconds()
	work := Work{
		EventRef: collab.EventRef{Account: job.Account, ID: job.ID},
		Kind:     collab.JobWork,
		Since:    due,
		Next:     due,
		Expires:  expiry(due),
	}
	if after >= longWait {
		work.Kind = collab.LaterWork
	}
	it := store.ItemOf(keys.Job(job.Account, job.ID), jobItem{Body: store.Encoded[collab.Job]{Value: job}})
	if err := store.CheckSize(it, "data"); err != nil {
		return err
	}
	_, err := s.Write(ctx,
		store.Put(it),
		store.Put(store.ItemOf(keys.JobProgress(job.Account, job.ID), collab.JobProgress{State: collab.JobWaiting, StartedAt: now})),
		store.Put(store.ItemOf(workKey(work), work)))
	return err
}

func jobMissing(id string) error { return collab.Errorf(collab.NotFound, "job %q does not exist", id) }

// Remember keeps what a deletion means that leaves nothing to be done, as long as its request may be repeated.
func (s *Store) Remember(ctx context.Context, job collab.Job) error {
	return s.Put(ctx, s.remembered(job))
}

func (s *Store) remembered(job collab.Job) store.Item {
	expires := s.Millis()/1000 + int64(request.KeyExpiry.Seconds())
	return store.ItemOf(keys.Job(job.Account, job.ID), jobItem{store.Encoded[collab.Job]{Value: job}, expires})
}

// Begun returns a job of a request, as an earlier attempt at it has kept it; nil where none has. One that is done is due again after a
// time: it may have run before what it sweeps was deleted.
func (s *Store) Begun(ctx context.Context, req *request.Request, id string, after time.Duration) (*collab.Job, error) {
	if !req.Repeat {
		return nil, nil
	}
	job, err := s.Job(ctx, req.Account, id)
	if collab.CodeOf(err) == collab.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p, exists, err := store.Read[collab.JobProgress](ctx, s.Table, keys.JobProgress(req.Account, id))
	if exists && p.State == collab.JobDone {
		err = s.AddJob(ctx, job, after)
	}
	return &job, err
}

// JobRequest is the work of a step of a job.
func (s *Store) JobRequest(job *collab.Job) *request.Request {
	return &request.Request{Identity: collab.Identity{Account: job.Account}, Now: s.Now(), IDs: collab.NewIDs(s.Now(), []byte(s.NewMark()))}
}

// Job reads a job; NOT_FOUND when it does not exist, or is done for collab.JobExpiry.
func (s *Store) Job(ctx context.Context, acct, id string) (collab.Job, error) {
	it, exists, err := store.Read[jobItem](ctx, s.Table, keys.Job(acct, id))
	if err == nil && !exists {
		err = jobMissing(id)
	}
	return it.Body.Value, err
}

// JobProgress reads how far a job has come; NOT_FOUND as Job.
func (s *Store) JobProgress(ctx context.Context, acct, id string) (collab.JobProgress, error) {
	p, exists, err := store.Read[collab.JobProgress](ctx, s.Table, keys.JobProgress(acct, id))
	if err == nil && !exists {
		err = jobMissing(id)
	}
	return p, err
}

// SaveJobProgress keeps how far a job has come. Once it is done, its pending work is gone, and the job expires.
func (s *Store) SaveJobProgress(ctx context.Context, acct, id string, p collab.JobProgress) error {
	k := keys.JobProgress(acct, id)
	if p.State != collab.JobDone {
		return s.Put(ctx, store.ItemOf(k, p))
	}
	job, err := s.Job(ctx, acct, id)
	if err != nil {
		return err
	}
	p.Expires = s.Millis()/1000 + int64(collab.JobExpiry.Seconds())
	_, err = s.Write(ctx, store.Put(store.ItemOf(k, p)),
		store.Put(store.ItemOf(keys.Job(acct, id), jobItem{Body: store.Encoded[collab.Job]{Value: job}, Expires: p.Expires})),
		store.Delete(workKey(Work{EventRef: collab.EventRef{Account: acct, ID: id}, Kind: collab.JobWork})))
	return err
}
