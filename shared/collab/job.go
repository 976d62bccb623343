package collab

type JobState string

const (
	JobWaiting JobState = "waiting"
	JobRunning JobState = "running"
	JobDone    JobState = "done"
)

func (JobState) Values() []string { return texts(JobWaiting, JobRunning, JobDone) }

// JobStatus is a job in the form of the API.
type JobStatus struct {
	State     JobState
	StartedAt Millis // when the deletion was answered
	Done      int64  // swept items
	Left      int64  // threads, documents and others to sweep
	Erasure   bool   // it deletes personal data
	LastAt    Millis // when the erasure was done, 0 for not yet
}

// Thing is a kind with a Lifetime.
type Thing string

const (
	AnOrganization Thing = "organization"
	AFolder        Thing = "folder"
	ADocument      Thing = "document"
)
