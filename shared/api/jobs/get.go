// Package jobs has the operation on jobs: what deletions have left to be carried out.
package jobs

import (
	"collabdata/shared/store/outbox"
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// Service carries out the operation.
type Service struct{ Jobs *outbox.Store }

// GetRequest is the data of POST /v2/jobs/get.
type GetRequest struct {
	OrganizationID string `json:"organizationId" rule:"id" doc:"Taken, and not looked at: a job belongs to the account"`
	JobID          string `json:"jobId" rule:"required,id" doc:"As the deletion answered it"`
}

// Job is a job as it is answered.
type Job struct {
	JobID     string           `json:"jobId" doc:"The job"`
	State     collab.JobState  `json:"state" doc:"waiting: it sweeps from two minutes after the deletion on; running; done: nothing is left of what was deleted"`
	Done      int64            `json:"done" doc:"Items that were swept"`
	Left      int64            `json:"left" doc:"Threads, notifications, documents, folders or organizations that are left to be swept"`
	StartedAt collab.Timestamp `json:"startedAt" doc:"When the deletion was answered"`
}

// Get is POST /v2/jobs/get.
func Get() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/jobs/get", Grants: rpc.ReadTable,
		Operation: rpc.Method((*Service).Get), Description: `
Says how far a job has come: what a deletion has left to be done. Where the call did not delete all that it means, as it was too much, the
job does so first, at once: it is running then. Else what was deleted is out of reach since the deletion was answered. The job sweeps what
is still stored of it, two to three minutes later, and is waiting until then. Data that it deletes itself is swept by further jobs, as long after
that. NOT_FOUND for a job that does not exist, or has been done for 30 days.`}
}

// Get returns how far a job has come. It fails with NOT_FOUND for one that does not exist, or that has been done for 30 days.
func (s *Service) Get(ctx context.Context, call *rpc.Call, req *GetRequest) (Job, error) {
	job, err := s.Jobs.JobStatus(ctx, call.Account, req.JobID)
	if err != nil {
		return Job{}, err
	}
	call.Items, call.Message = 1, "the job is "+string(job.State)
	return Job{JobID: req.JobID, State: job.State, Done: job.Done, Left: job.Left, StartedAt: collab.Timestamp(job.StartedAt)}, nil
}
