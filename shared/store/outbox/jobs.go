package outbox

import (
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
)

// SweepAfter is how long a job waits after a deletion before it sweeps: nothing that began before it then writes below what was deleted.
// The directory's cache lasts 5 s, a request 29, and a run of deliver 90.
const SweepAfter = 2 * time.Minute

// JobExpiry is how long a job is remembered once it is done.
const JobExpiry = 30 * 24 * time.Hour

// Job is what a deletion means, so that a repeat of its request deletes the same, and what the request leaves to be done: first to delete
// the rest of what it means, at once; then, from SweepAt on, to sweep what is still stored of all that. It never changes.
type Job struct {
	ID            string                 `json:"id"`
	Account       string                 `json:"account"`
	In            collab.OrganizationRef `json:"in"`               // what all of it is in, but organizations
	Things        []JobThing             `json:"things,omitempty"` // swept whole, unless there are Threads or a Rest
	SweepAt       collab.Millis          `json:"sweepAt,omitempty"`
	Threads       []JobThread            `json:"threads,omitempty"`  // of the one thing, a document: swept alone
	Comments      []JobComment           `json:"comments,omitempty"` // nothing is left of them
	Notifications *JobNotifications      `json:"notifications,omitempty"`

	// Things that the request may not have deleted: one of these, or Notifications.Rest.
	Rest     *collab.AnnotationDeletion `json:"rest,omitempty"`     // of the one thing, a document
	Contents bool                       `json:"contents,omitempty"` // of the one thing, a folder

	Erasure *JobErasure `json:"erasure,omitempty"`
}

// JobErasure says whose data are deleted: see package erasure.
type JobErasure struct {
	Users         []string                 `json:"users"`
	Organizations []collab.OrganizationRef `json:"organizations,omitempty"` // in these; nil for all of the account
	Before        collab.Millis            `json:"before"`                  // what was added later is new, and stays
	CutOff        bool                     `json:"cutOff,omitempty"`        // the request itself has ended their access everywhere
	Events        []string                 `json:"events"`                  // that tell of each user
}

// JobThing is an organization, a folder or a document that is deleted.
type JobThing struct {
	Kind        collab.Thing `json:"kind"`
	ID          string       `json:"id"`
	Incarnation int64        `json:"incarnation,omitempty"`
}

// JobThread is a thread that is deleted.
type JobThread struct {
	ID    string `json:"id"`
	Birth string `json:"birth"` // the mark of the request that had added it
}

// JobComment is a comment that is deleted.
type JobComment struct {
	ID   int64  `json:"id"`
	Mark string `json:"mark"` // of the request that had added it
}

// JobNotifications are notifications that are deleted: for everyone, or out of the inbox of a user.
type JobNotifications struct {
	User string                    `json:"user,omitempty"`
	List []JobNotification         `json:"list"`
	Rest *collab.NotificationQuery `json:"rest,omitempty"` // what else is to be deleted, from a position on
	From string                    `json:"from,omitempty"`
}

// JobNotification is a notification that is deleted.
type JobNotification struct {
	ID string        `json:"id"`
	At collab.Millis `json:"at"` // when it was added
}

// Document is the document that a thing of the job is.
func (j *Job) Document(th JobThing) collab.DocumentRef {
	return collab.DocumentRef{OrganizationRef: j.In, Document: th.ID, Incarnation: th.Incarnation}
}

// Size is how many threads or things the job has to sweep.
func (j *Job) Size() int {
	switch {
	case j.Erasure != nil:
		return 1
	case j.Threads != nil:
		return len(j.Threads)
	}
	return len(j.Things)
}

// HasRest reports whether the job has to delete anything before it sweeps.
func (j *Job) HasRest() bool {
	return j.Rest != nil || j.Contents || j.Erasure != nil && !j.Erasure.CutOff || j.Notifications != nil && j.Notifications.Rest != nil
}

// JobProgress is how far a job has come, and where it goes on.
type JobProgress struct {
	State     collab.JobState `dynamodbav:"sta"`
	StartedAt collab.Millis   `dynamodbav:"at"`
	Due       collab.Millis   `dynamodbav:"due"`           // when it goes on, not before
	Deleting  bool            `dynamodbav:"dlg,omitempty"` // the rest is not all deleted
	From      string          `dynamodbav:"from"`          // where in the rest it goes on
	Next      int             `dynamodbav:"next"`          // which of what it has to sweep comes next, from 0
	Done      int64           `dynamodbav:"n"`             // items that were swept
	Expires   int64           `dynamodbav:"ttl,omitempty"` // in seconds; 0 until it is done
	LastAt    collab.Millis   `dynamodbav:"lu,omitempty"`  // when an erasure was done

	Mark string `dynamodbav:"w"` // of the last writes: two runs do not undo each other's
}

// jobItem is the item of a job.
type jobItem struct {
	Body    store.Encoded[Job] `dynamodbav:"body"`
	Expires int64              `dynamodbav:"ttl,omitempty"` // 0 until it is done
}

// AddJob stores a job with its pending work and what else is written, and returns its progress. A job of its id begins anew. It fails with INVALID_ARGUMENT where
// the ids and selectors that the job names are larger than collab.MaxItemBytes.
func (s *Store) AddJob(ctx context.Context, job Job, more ...store.Write) (JobProgress, error) {
	now := s.Millis()
	p := JobProgress{State: collab.JobWaiting, StartedAt: now, Due: job.SweepAt, Deleting: job.HasRest(), Mark: s.NewMark()}
	due := job.SweepAt
	if p.Deleting { // at once, by the message that the request sends; where that is lost, by the relay
		p.Due, due = now, now+firstDue.Milliseconds()
	}
	work := Work{EventRef: collab.EventRef{Account: job.Account, ID: job.ID}, Kind: collab.JobWork, Since: due, Next: due}
	it := store.ItemOf(keys.Job(job.Account, job.ID), jobItem{Body: store.Encoded[Job]{Value: job}})
	if err := store.CheckSize(it, "data"); err != nil {
		return p, err
	}
	_, err := s.Write(ctx, append(more, store.Put(it), store.Put(store.ItemOf(keys.JobProgress(job.Account, job.ID), p)),
		store.Put(store.ItemOf(workKey(work), work)))...)
	return p, err
}

func jobMissing(id string) error { return collab.Errorf(collab.NotFound, "job %q does not exist", id) }

// Remember stores, as long as its request may be repeated, what a deletion means that leaves nothing to be done.
func (s *Store) Remember(ctx context.Context, job Job) error {
	_, err := s.Write(ctx, s.Remembered(job))
	return err
}

// Remembered is the write of Remember, for a transaction.
func (s *Store) Remembered(job Job) store.Write {
	expires := s.Millis()/1000 + int64(request.KeyExpiry.Seconds())
	return store.Put(store.ItemOf(keys.Job(job.Account, job.ID), jobItem{store.Encoded[Job]{Value: job}, expires}))
}

// EarlierJob returns the job that an earlier attempt at a request has stored, with its progress; nil where none has. It puts the job off,
// as if it were added now: it may have run before what it sweeps was deleted, or would run before what this attempt deletes is safe to
// sweep.
func (s *Store) EarlierJob(ctx context.Context, req *request.Request) (*Job, JobProgress, error) {
	if !req.Repeat {
		return nil, JobProgress{}, nil
	}
	job, err := s.Job(ctx, req.Account, req.JobID())
	if collab.CodeOf(err) == collab.NotFound {
		return nil, JobProgress{}, nil
	}
	if err != nil || job.SweepAt == 0 { // it was remembered alone
		return &job, JobProgress{}, err
	}
	job.SweepAt = s.Millis() + SweepAfter.Milliseconds()
	p, err := s.AddJob(ctx, job)
	return &job, p, err
}

// JobRequest is the request in whose name a step of a job writes.
func (s *Store) JobRequest(job *Job) *request.Request {
	return &request.Request{Identity: collab.Identity{Account: job.Account}, Now: s.Now(), IDs: collab.NewIDs(s.Now(), []byte(s.NewMark()))}
}

// Job reads a job; NOT_FOUND when it does not exist, or was done JobExpiry ago.
func (s *Store) Job(ctx context.Context, acct, id string) (Job, error) {
	it, exists, err := store.Read[jobItem](ctx, s.Table, keys.Job(acct, id))
	if err == nil && !exists {
		err = jobMissing(id)
	}
	return it.Body.Value, err
}

// JobProgress reads how far a job has come; NOT_FOUND as Job.
func (s *Store) JobProgress(ctx context.Context, acct, id string) (JobProgress, error) {
	p, exists, err := store.Read[JobProgress](ctx, s.Table, keys.JobProgress(acct, id))
	if err == nil && !exists {
		err = jobMissing(id)
	}
	return p, err
}

// JobStatus returns a job as callers see it; NOT_FOUND as Job.
func (s *Store) JobStatus(ctx context.Context, acct, id string) (collab.JobStatus, error) {
	job, err := s.Job(ctx, acct, id)
	if err != nil {
		return collab.JobStatus{}, err
	}
	p, err := s.JobProgress(ctx, acct, id)
	if err != nil {
		return collab.JobStatus{}, err
	}
	status := collab.JobStatus{State: p.State, StartedAt: p.StartedAt, Done: p.Done, Erasure: job.Erasure != nil, LastAt: p.LastAt}
	if p.State != collab.JobDone {
		status.Left = int64(job.Size() - p.Next)
	}
	return status, nil
}

// SaveJobProgress updates how far a job has come from was to p. Once the job is done it deletes the pending work and lets the job expire.
// It reports false, and nothing has changed, where another run was faster, or the job began anew.
func (s *Store) SaveJobProgress(ctx context.Context, job *Job, was JobProgress, p *JobProgress) (bool, error) {
	k, mark := keys.JobProgress(job.Account, job.ID), s.NewMark()
	var writes []store.Write
	if p.State == collab.JobDone {
		p.Expires = s.Millis()/1000 + int64(JobExpiry.Seconds())
		ref := collab.EventRef{Account: job.Account, ID: job.ID}
		writes = append(writes,
			store.Put(store.ItemOf(keys.Job(job.Account, job.ID), jobItem{Body: store.Encoded[Job]{Value: *job}, Expires: p.Expires})),
			store.Delete(workKey(Work{EventRef: ref, Kind: collab.JobWork})))
	}
	before := store.ItemOf(k, was)
	p.Mark = before.Writers(mark) // as it is stored: the next step of this run is compared with it
	refused, err := s.Write(ctx, append(writes, store.Change(before, store.ItemOf(k, p), mark, keys.Writer))...)
	return err == nil && (refused == nil || refused.By(mark)), err
}
