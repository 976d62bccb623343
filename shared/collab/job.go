package collab

import "time"

// SweepAfter is how long a job waits after a deletion: nothing that began before it then writes below what was deleted. A belief of the
// directory lasts 5 s, a request 29, and a run of deliver 90.
const SweepAfter = 2 * time.Minute

// JobExpiry is how long a job is remembered once it is done.
const JobExpiry = 30 * 24 * time.Hour

// Job is what a deletion means, so that a repeat of its request deletes the same, and what it leaves to be done: to sweep what was made
// unreachable.
type Job struct {
	ID            string              `json:"id"`
	Account       string              `json:"account"`
	In            OrganizationRef     `json:"in"`                 // what all of it is in, but organizations
	Things        []JobThing          `json:"things,omitempty"`   // swept whole, unless there are Threads
	Deletion      string              `json:"deletion,omitempty"` // the mark of the request that deletes the things: see Lifetime
	Threads       []JobThread         `json:"threads,omitempty"`  // of the one thing, a document: swept alone
	Rest          *AnnotationDeletion `json:"rest,omitempty"`     // of the one thing, a document: what else is to be deleted
	Comments      []JobComment        `json:"comments,omitempty"` // nothing is left of them
	Notifications *JobNotifications   `json:"notifications,omitempty"`
}

// JobThing is an organization, a folder or a document that was deleted.
type JobThing struct {
	Kind        Thing  `json:"kind"`
	ID          string `json:"id"`
	Incarnation int64  `json:"incarnation,omitempty"`
}

// Thing is a kind of what has a Lifetime.
type Thing string

// The kinds.
const (
	AnOrganization Thing = "organization"
	AFolder        Thing = "folder"
	ADocument      Thing = "document"
)

// Document is the document that a thing of the job is.
func (j *Job) Document(th JobThing) DocumentRef {
	return DocumentRef{OrganizationRef: j.In, Document: th.ID, Incarnation: th.Incarnation}
}

// JobThread is a thread that was deleted.
type JobThread struct {
	ID    string `json:"id"`
	Birth string `json:"birth"` // the mark of the request that had added it
}

// JobComment is a comment that was deleted.
type JobComment struct {
	ID   int64  `json:"id"`
	Mark string `json:"mark"` // of the request that had added it
}

// JobNotifications are notifications that are deleted: for everyone, and swept, or out of the inbox of a user.
type JobNotifications struct {
	User string             `json:"user,omitempty"`
	List []JobNotification  `json:"list"`
	Rest *NotificationQuery `json:"rest,omitempty"` // what else is to be deleted, behind a position
	From string             `json:"from,omitempty"`
}

// JobNotification is a notification that was deleted.
type JobNotification struct {
	ID string `json:"id"`
	At Millis `json:"at"` // when it was made
}

// JobState is how far a job has come.
type JobState string

// The states.
const (
	JobWaiting JobState = "waiting"
	JobRunning JobState = "running"
	JobDone    JobState = "done"
)

// Values returns all states.
func (JobState) Values() []string { return texts(JobWaiting, JobRunning, JobDone) }

// Done reports whether nothing is left to be done from a part on, counted from 0.
func (j *Job) Done(next int) bool {
	return next >= j.Size() && j.Rest == nil && (j.Notifications == nil || j.Notifications.Rest == nil)
}

// JobProgress is how far a job has come, and where it goes on.
type JobProgress struct {
	State     JobState `dynamodbav:"sta"`
	StartedAt Millis   `dynamodbav:"at"`            // when the deletion was answered
	Next      int      `dynamodbav:"next"`          // which of its threads or documents comes next, counted from 0
	Done      int64    `dynamodbav:"n"`             // items that were swept
	Expires   int64    `dynamodbav:"ttl,omitempty"` // in seconds; 0 until it is done
}

// Size is how many threads, things or notifications the job has to sweep.
func (j *Job) Size() int {
	switch n := j.Notifications; {
	case j.Threads != nil:
		return len(j.Threads)
	case n != nil && n.User == "":
		return len(n.List)
	}
	return len(j.Things)
}
