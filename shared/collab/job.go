package collab

// JobState is how far a job has come: what a deletion has left to be done.
type JobState string

// The states.
const (
	JobWaiting JobState = "waiting"
	JobRunning JobState = "running"
	JobDone    JobState = "done"
)

// Values returns all states.
func (JobState) Values() []string { return texts(JobWaiting, JobRunning, JobDone) }

// JobStatus is a job as callers see it.
type JobStatus struct {
	State     JobState
	StartedAt Millis // when the deletion was answered
	Done      int64  // items that were swept
	Left      int64  // threads, documents and others whose items are to be swept
	Erasure   bool   // it deletes personal data
	LastAt    Millis // when it had done that, 0 for not yet
}

// Thing is a kind of what has a Lifetime.
type Thing string

// The kinds.
const (
	AnOrganization Thing = "organization"
	AFolder        Thing = "folder"
	ADocument      Thing = "document"
)
