package users

import (
	"context"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// DataDeleteRequest is the data of POST /v2/users/data/delete.
type DataDeleteRequest struct {
	UserIDs         []string `json:"userIds" rule:"required,nonempty,max=30,each=id" doc:"At most 30"`
	OrganizationIDs []string `json:"organizationIds" rule:"notnull,nonempty,max=30,each=id" doc:"In these organizations alone, at most 30; left out: in all of the account"`
}

// DataDeletion is a deletion of personal data that has begun.
type DataDeletion struct {
	JobID      string    `json:"jobId" doc:"See users/data/delete/status; kept for 30 days"`
	TasksCount int64     `json:"tasksCount" doc:"How many parts it has: 1"`
	Remains    []Remnant `json:"remains" doc:"The data that it does not reach, and until when these are there"`
}

// Remnant is what a deletion of personal data does not reach.
type Remnant struct {
	Where   string           `json:"where" doc:"events, answers, backups or logs"`
	Until   collab.Timestamp `json:"until" doc:"When the last of it is gone, unless the operator has other settings"`
	Message string           `json:"message" doc:"A description for people"`
}

// deletionTime is how long a deletion takes at most.
const deletionTime = 24 * time.Hour

// remains says what is left of personal data whose deletion ends at a time.
func remains(end collab.Millis) []Remnant {
	const day = 24 * time.Hour
	until := func(d time.Duration) collab.Timestamp { return collab.Timestamp(end + d.Milliseconds()) }
	return []Remnant{
		{"events", until(30 * day), "ids, and the name of who acted, in events, deliveries to webhooks and jobs"},
		{"answers", until(day), "answers that were kept for an Idempotency-Key"},
		{"backups", until(35 * day), "the table's backups have it; delete the person again after restoring one"},
		{"logs", until(30 * day), "logs name organizations and requests; the record of a failure may name an item by its key"},
	}
}

// DataDelete is POST /v2/users/data/delete.
func DataDelete() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/users/data/delete", Grants: rpc.ReadTable | rpc.WriteTable | rpc.SendEvents,
		Operation: rpc.Method((*Service).DataDelete), LeavesJob: true, Accepted: true, Description: `
Deletes the personal data of users. When it answers, they are no longer members, and have no grants and no place in groups; nobody tells them
anything more. A job takes out of annotations, comments and notifications what they wrote and who they are: see Personal data above, and
users/data/delete/status for when it is done, some minutes later. A comment of theirs is deleted where nobody answered after it; else it stays
as one of erased-user, without content. Data added under the id of such a user after the response is new, and stays. Posted to webhooks as
user.erased, once for each user. A user of whom there is nothing is no error. NOT_FOUND when an organization does not exist; it may be
disabled.`}
}

// DataDelete begins to delete the data of users. It fails with NOT_FOUND when an organization does not exist.
func (s *Service) DataDelete(ctx context.Context, call *rpc.Call, req *DataDeleteRequest) (DataDeletion, error) {
	if err := call.Raises(true); err != nil {
		return DataDeletion{}, err
	}
	var organizations []collab.OrganizationRef // nil for all
	for _, id := range rpc.Distinct(req.OrganizationIDs) {
		org, err := s.Directory.FindOrganization(ctx, call.Account, id, false)
		if err != nil {
			return DataDeletion{}, err
		}
		organizations = append(organizations, org)
	}
	users := rpc.Distinct(req.UserIDs)
	job, err := s.Erasure.Erase(ctx, call.Request, users, organizations)
	if err != nil {
		return DataDeletion{}, err
	}
	call.Items, call.JobID, call.Message = len(users), job, "Data deletion process has been initiated."
	return DataDeletion{job, 1, remains(call.Millis() + deletionTime.Milliseconds())}, nil
}

// DataDeleteStatusRequest is the data of POST /v2/users/data/delete/status.
type DataDeleteStatusRequest struct {
	JobID string `json:"jobId" rule:"required,id" doc:"As users/data/delete answered it"`
}

// DataDeletionStatus is how far a deletion of personal data has come.
type DataDeletionStatus struct {
	IsDeleteCompleted     bool          `json:"isDeleteCompleted" doc:"Nothing that it reaches is left"`
	TasksLeft             int64         `json:"tasksLeft" doc:"How many parts are not done: 1 or 0"`
	LastTaskCompletedTime collab.Millis `json:"lastTaskCompletedTime,omitzero" doc:"In milliseconds since epoch; absent before"`
	Remains               []Remnant     `json:"remains" doc:"The data that it does not reach, and until when these are there"`
}

// DataDeleteStatus is POST /v2/users/data/delete/status.
func DataDeleteStatus() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/users/data/delete/status", Grants: rpc.ReadTable,
		Operation: rpc.Method((*Service).DataDeleteStatus), Description: `
Says how far a deletion of personal data has come. It begins a minute after users/data/delete, and reads all there is once. NOT_FOUND for a
job that does not exist, or has been done for 30 days.`}
}

// DataDeleteStatus returns how far a deletion has come. It fails with NOT_FOUND for a job that does not exist, or deletes other things.
func (s *Service) DataDeleteStatus(ctx context.Context, call *rpc.Call, req *DataDeleteStatusRequest) (DataDeletionStatus, error) {
	job, err := s.Jobs.JobStatus(ctx, call.Account, req.JobID)
	if err == nil && !job.Erasure {
		err = collab.Errorf(collab.NotFound, "job %q does not exist", req.JobID)
	}
	if err != nil {
		return DataDeletionStatus{}, err
	}
	call.Items, call.Message = 1, "Data fetched successfully."
	end := job.StartedAt + deletionTime.Milliseconds()
	if job.State == collab.JobDone {
		end = job.LastAt
	}
	return DataDeletionStatus{job.State == collab.JobDone, job.Left, job.LastAt, remains(end)}, nil
}
