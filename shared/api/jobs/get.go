// Package jobs implements the operation on deletion jobs.
package jobs

import (
	"collabdata/shared/store/outbox"
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// Service runs the operation.
type Service struct{ Jobs *outbox.Store }

type GetRequest struct {
	OrganizationID string `json:"organizationId" rule:"id" doc:"Ignored: a job belongs to the account"`
	JobID          string `json:"jobId" rule:"required,id" doc:"The id that the deletion returned"`
}

// Job is a job in a response.
type Job struct {
	JobID     string           `json:"jobId" doc:"The job"`
	State     collab.JobState  `json:"state" doc:"waiting: for two minutes after the deletion; running; done: nothing is left"`
	Done      int64            `json:"done" doc:"Number of removed items"`
	Left      int64            `json:"left" doc:"Number of threads, notifications, documents, folders or organizations still to be removed"`
	StartedAt collab.Timestamp `json:"startedAt" doc:"Time of the deletion"`
}

// Get is POST /v2/jobs/get.
func Get() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/jobs/get", Grants: rpc.ReadTable,
		Operation: rpc.Method((*Service).Get), Description: `
Get a job.

Returns the progress of a deletion job. Deleted data is unavailable once the deletion has
returned. If the deletion exceeded the limits of one request, the job first deletes the rest at
once; its state is 'running'. Two to three minutes later, the job removes the stored remains;
until then its state is 'waiting'. Data that the job itself deletes is removed by further jobs
after the same time.

The request fails with NOT_FOUND if the job does not exist, or was done more than 30 days ago.`}
}

// Get returns the progress of a job.
func (s *Service) Get(ctx context.Context, call *rpc.Call, req *GetRequest) (Job, error) {
	job, err := s.Jobs.JobStatus(ctx, call.Account, req.JobID)
	if err != nil {
		return Job{}, err
	}
	call.Items, call.Message = 1, "the job is "+string(job.State)
	return Job{JobID: req.JobID, State: job.State, Done: job.Done, Left: job.Left, StartedAt: collab.Timestamp(job.StartedAt)}, nil
}
