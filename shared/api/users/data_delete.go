package users

import (
	"context"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

type DataDeleteRequest struct {
	UserIDs         []string `json:"userIds" rule:"required,nonempty,max=30,each=id" doc:"At most 30"`
	OrganizationIDs []string `json:"organizationIds" rule:"notnull,nonempty,max=30,each=id" doc:"Only in these organizations, at most 30. Default: all of the account"`
}

// DataDeletion is a deletion of personal data that has begun.
type DataDeletion struct {
	JobID      string    `json:"jobId" doc:"See users/data/delete/status; kept for 30 days"`
	TasksCount int64     `json:"tasksCount" doc:"Number of parts: 1"`
	Remains    []Remnant `json:"remains" doc:"Data that it does not delete, with an expiry"`
}

// Remnant is data that a deletion does not reach.
type Remnant struct {
	Where   string           `json:"where" doc:"events, answers, backups, logs or audit"`
	Until   collab.Timestamp `json:"until" doc:"Expiry of the last item, unless the operator has other settings"`
	Message string           `json:"message" doc:"A description for people"`
}

// deletionTime is the maximum duration of a deletion.
const deletionTime = 24 * time.Hour

// remains returns the data left after a deletion that ends at a time.
func remains(end collab.Millis) []Remnant {
	const day = 24 * time.Hour
	until := func(d time.Duration) collab.Timestamp { return collab.Timestamp(end + d.Milliseconds()) }
	return []Remnant{
		{"events", until(30 * day), "ids, and the actor's name, in events, deliveries to webhooks and jobs"},
		{"answers", until(day), "stored responses for an Idempotency-Key"},
		{"backups", until(35 * day), "backups of the table; delete the person again after restoring one"},
		{"logs", until(30 * day), "logs name organizations and requests; the record of a failure can contain an item by its key"},
		{"audit", until(collab.DefaultAuditDays * day), "ids in the operator's audit log, which proves this deletion, and who changed access"},
	}
}

// DataDelete is POST /v2/users/data/delete.
func DataDelete() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/users/data/delete", Grants: rpc.ReadTable | rpc.WriteTable | rpc.WriteAudit | rpc.SendEvents,
		Operation: rpc.Method((*Service).DataDelete), LeavesJob: true, Accepted: true, Description: `
Delete personal data.

Deletes the personal data of users. When the request returns, they are no longer members, have no
grants, belong to no groups, and are no longer notified. A job then removes their content and
identity from annotations, comments and notifications, within minutes: see Personal data above,
and 'users/data/delete/status' for its progress. A comment without later replies is deleted;
others remain without content, as comments of 'erased-user'.

Later data with the user's id is new, and remains. Each deletion is posted to webhooks as
'user.erased'. A user without data is no error. The request fails with NOT_FOUND if an
organization does not exist; it can be disabled.`}
}

// DataDelete begins to delete the data of users.
func (s *Service) DataDelete(ctx context.Context, call *rpc.Call, req *DataDeleteRequest) (DataDeletion, error) {
	if err := call.Raises(true); err != nil {
		return DataDeletion{}, err
	}
	var organizations []collab.OrganizationRef // nil means all
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

type DataDeleteStatusRequest struct {
	JobID string `json:"jobId" rule:"required,id" doc:"The id that users/data/delete returned"`
}

// DataDeletionStatus is the progress of a deletion of personal data.
type DataDeletionStatus struct {
	IsDeleteCompleted     bool          `json:"isDeleteCompleted" doc:"Everything is deleted, except remains"`
	TasksLeft             int64         `json:"tasksLeft" doc:"Number of unfinished parts: 1 or 0"`
	LastTaskCompletedTime collab.Millis `json:"lastTaskCompletedTime,omitzero" doc:"In milliseconds since epoch; absent until done"`
	Remains               []Remnant     `json:"remains" doc:"Data that it does not delete, with an expiry"`
}

// DataDeleteStatus is POST /v2/users/data/delete/status.
func DataDeleteStatus() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/users/data/delete/status", Grants: rpc.ReadTable,
		Operation: rpc.Method((*Service).DataDeleteStatus), Description: `
Get deletion status.

Returns the progress of a deletion of personal data. The deletion begins a minute after
'users/data/delete', and reads all data once. The request fails with NOT_FOUND if the job does not
exist, or was done more than 30 days ago.`}
}

// DataDeleteStatus returns the progress of a deletion.
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
