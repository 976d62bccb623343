package api

import "collabdata/shared/api/jobs"

// V2JobsGet is POST /v2/jobs/get.
func V2JobsGet() Endpoint {
	return Endpoint{
		Path:    "/v2/jobs/get",
		Summary: "Tells how far a job has come",
		Description: `
Returns how far a job has come: what a deletion has left to be swept. What was deleted is out of reach since the deletion was answered; the
job takes away what is still stored of it, from about two minutes later on: of organizations, folders and documents once the operator
cannot restore them any more, 24 hours later unless the operator says otherwise. Until then it is waiting; of what was restored it leaves
everything. NOT_FOUND for a job that does not exist, or has been done for 30 days.`,
		Grants:    ReadTable,
		Operation: operation(job, (*jobs.Service).Get),
	}
}
