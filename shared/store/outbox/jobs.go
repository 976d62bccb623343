package outbox

import (
	"context"
	"encoding/json"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
	"collabdata/shared/store/task"
)

// SweepAfter is the wait between a deletion and its sweep. After it, nothing writes below deleted
// data any more: the directory's cache lasts 5 s, a request 29 s, and a run of deliver 90 s.
const SweepAfter = 2 * time.Minute

// JobExpiry is how long a finished job is kept.
const JobExpiry = 30 * 24 * time.Hour

// Job records the deletion of one request, so that a retry deletes the same, and the remaining
// work. It first deletes the rest, at once, and from SweepAt on it sweeps the stored remains. A Job
// never changes.
type Job struct {
	ID      string                 `json:"id"`
	Account string                 `json:"account"`
	In      collab.OrganizationRef `json:"in"` // parent of everything, except organizations
	// Swept completely, unless there are Threads or a Rest.
	Things  []JobThing    `json:"things,omitempty"`
	SweepAt collab.Millis `json:"sweepAt,omitempty"`
	// Threads of the only thing, a document; only they are swept.
	Threads []JobThread `json:"threads,omitempty"`
	// Comments leave nothing to sweep.
	Comments      []JobComment      `json:"comments,omitempty"`
	Notifications *JobNotifications `json:"notifications,omitempty"`

	// Parts that the request may not have deleted: one of these, or Notifications.Rest.
	Rest     *collab.AnnotationDeletion `json:"rest,omitempty"`     // of the only thing, a document
	Contents bool                       `json:"contents,omitempty"` // of the only thing, a folder

	Erasure *JobErasure `json:"erasure,omitempty"`
}

// JobErasure selects the users and organizations of an erasure: see package erasure.
type JobErasure struct {
	Users         []string                 `json:"users"`
	Organizations []collab.OrganizationRef `json:"organizations,omitempty"` // nil for the account
	Before        collab.Millis            `json:"before"`                  // later data is kept
	// The request has already ended all access.
	CutOff bool     `json:"cutOff,omitempty"`
	Events []string `json:"events"` // one for each user
}

type JobThing struct {
	Kind        collab.Thing `json:"kind"`
	ID          string       `json:"id"`
	Incarnation int64        `json:"incarnation,omitempty"`
}

type JobThread struct {
	ID    string `json:"id"`
	Birth string `json:"birth"` // mark of the request that added it
}

type JobComment struct {
	ID   int64  `json:"id"`
	Mark string `json:"mark"` // of the request that added it
}

// JobNotifications are deleted notifications, for everyone or in a user's inbox.
type JobNotifications struct {
	User string            `json:"user,omitempty"`
	List []JobNotification `json:"list"`
	// Further notifications to delete, from a position on.
	Rest *collab.NotificationQuery `json:"rest,omitempty"`
	From string                    `json:"from,omitempty"`
}

type JobNotification struct {
	ID string        `json:"id"`
	At collab.Millis `json:"at"` // when it was added
}

// Document returns the reference of a thing that is a document.
func (j *Job) Document(th JobThing) collab.DocumentRef {
	return collab.DocumentRef{OrganizationRef: j.In, Document: th.ID, Incarnation: th.Incarnation}
}

// Size returns the number of threads or things to sweep.
func (j *Job) Size() int {
	switch {
	case j.Erasure != nil:
		return 1
	case j.Threads != nil:
		return len(j.Threads)
	}
	return len(j.Things)
}

// HasRest reports whether the job deletes anything before it sweeps.
func (j *Job) HasRest() bool {
	return j.Rest != nil || j.Contents || j.Erasure != nil && !j.Erasure.CutOff || j.Notifications != nil && j.Notifications.Rest != nil
}

// JobProgress is the progress of a job: the state of its task.
type JobProgress struct {
	State     collab.JobState `json:"state"`
	StartedAt collab.Millis   `json:"startedAt"`
	Due       collab.Millis   `json:"due,omitempty"`      // earliest time to continue
	Deleting  bool            `json:"deleting,omitempty"` // part of the rest is left
	From      string          `json:"from,omitempty"`     // position in the rest
	Next      int             `json:"next,omitempty"`     // index of the next thing to sweep
	Done      int64           `json:"done,omitempty"`     // swept items
	LastAt    collab.Millis   `json:"lastAt,omitempty"`   // when an erasure was done
}

// Text returns the progress as the state of a task.
func (p JobProgress) Text() string {
	text, err := collab.EncodeJSON(p)
	if err != nil {
		panic(err) // it always encodes
	}
	return string(text)
}

type jobItem struct {
	Body    store.Encoded[Job] `dynamodbav:"body"`
	Expires int64              `dynamodbav:"ttl,omitempty"` // 0 until it is done
}

// JobTask returns the reference of a job's task.
func JobTask(acct, id string) collab.TaskRef {
	return collab.TaskRef{Kind: collab.JobTask, Account: acct, ID: id}
}

// AddJob stores a job with its task and other writes, and returns both's beginning. It restarts a
// job that exists. It returns INVALID_ARGUMENT if the job exceeds collab.MaxItemBytes.
func (s *Store) AddJob(ctx context.Context, job Job, more ...store.Write) (*task.Task, JobProgress, error) {
	now := s.Millis()
	p := JobProgress{State: collab.JobWaiting, StartedAt: now, Due: job.SweepAt, Deleting: job.HasRest()}
	if p.Deleting {
		p.Due = now
	}
	t := &task.Task{TaskRef: JobTask(job.Account, job.ID), Due: p.Due, State: p.Text()}
	it := store.ItemOf(keys.Job(job.Account, job.ID), jobItem{Body: store.Encoded[Job]{Value: job}})
	if err := store.CheckSize(it, "data"); err != nil {
		return t, p, err
	}
	_, err := s.Write(ctx, append(more, store.Put(it), s.PutTask(t))...)
	return t, p, err
}

func jobMissing(id string) error { return collab.Errorf(collab.NotFound, "job %q does not exist", id) }

// Remember stores a job without work, as long as its request may be retried.
func (s *Store) Remember(ctx context.Context, job Job) error {
	_, err := s.Write(ctx, s.Remembered(job))
	return err
}

// Remembered returns the write of Remember, for a transaction.
func (s *Store) Remembered(job Job) store.Write {
	expires := s.Millis()/1000 + int64(request.KeyExpiry.Seconds())
	return store.Put(store.ItemOf(keys.Job(job.Account, job.ID), jobItem{store.Encoded[Job]{Value: job}, expires}))
}

// EarlierJob returns the job of an earlier attempt of a request with its task, nil if there is
// none. It restarts the job's wait, because the job may have run too early, or would sweep this
// attempt's deletions too soon.
func (s *Store) EarlierJob(ctx context.Context, req *request.Request) (*Job, *task.Task, JobProgress, error) {
	if !req.Repeat {
		return nil, nil, JobProgress{}, nil
	}
	job, err := s.Job(ctx, req.Account, req.JobID())
	if collab.CodeOf(err) == collab.NotFound {
		return nil, nil, JobProgress{}, nil
	}
	if err != nil || job.SweepAt == 0 { // stored by Remember
		return &job, nil, JobProgress{}, err
	}
	job.SweepAt = s.Millis() + SweepAfter.Milliseconds()
	t, p, err := s.AddJob(ctx, job)
	return &job, t, p, err
}

// JobRequest returns the request for the writes of a job's step.
func (s *Store) JobRequest(job *Job) *request.Request {
	return &request.Request{Identity: collab.Identity{Account: job.Account}, Now: s.Now(), IDs: collab.NewIDs(s.Now(), []byte(s.NewMark()))}
}

// Job returns a job. It returns NOT_FOUND if the job does not exist, or was done JobExpiry ago.
func (s *Store) Job(ctx context.Context, acct, id string) (Job, error) {
	it, exists, err := store.Read[jobItem](ctx, s.Table, keys.Job(acct, id))
	if err == nil && !exists {
		err = jobMissing(id)
	}
	return it.Body.Value, err
}

// JobProgress returns the progress of a job. It returns the errors of Job.
func (s *Store) JobProgress(ctx context.Context, acct, id string) (p JobProgress, err error) {
	t, err := s.Task(ctx, JobTask(acct, id))
	if err == nil && t == nil {
		err = jobMissing(id)
	}
	if err != nil {
		return p, err
	}
	return ProgressOf(t)
}

// ProgressOf returns the progress of a job by its task.
func ProgressOf(t *task.Task) (p JobProgress, err error) {
	if err := json.Unmarshal([]byte(t.State), &p); err != nil {
		return p, store.Unreadable(keys.Task(t.TaskRef), err)
	}
	return p, nil
}

// JobStatus returns a job in the form of the API. It returns the errors of Job.
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

// JobOutcome returns the outcome of a job's run with progress p. If the job is done, it sets the
// job's expiry before.
func (s *Store) JobOutcome(ctx context.Context, job *Job, p JobProgress) (o task.Outcome, err error) {
	o = task.Outcome{Due: p.Due, State: p.Text()}
	if p.State == collab.JobDone {
		o = task.Outcome{State: o.State, Keep: true, Expires: s.Millis()/1000 + int64(JobExpiry.Seconds())}
		err = s.Put(ctx, store.ItemOf(keys.Job(job.Account, job.ID), jobItem{Body: store.Encoded[Job]{Value: *job}, Expires: o.Expires}))
	}
	return o, err
}
