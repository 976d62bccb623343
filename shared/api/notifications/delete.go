package notifications

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// DeleteRequest is the data of POST /v2/notifications/delete.
type DeleteRequest struct {
	OrganizationID  string   `json:"organizationId" rule:"required,id"`
	DocumentID      string   `json:"documentId" rule:"notnull,docid" doc:"Those of this document alone"`
	LocationID      string   `json:"locationId" rule:"notnull,id" doc:"Those at this location alone"`
	UserID          string   `json:"userId" rule:"notnull,id" doc:"Those in the inbox of this user, and out of that alone; where it is left out, for everyone"`
	NotificationIDs []string `json:"notificationIds" rule:"notnull,nonempty,max=500,each=id" doc:"These, at most 500; the answer is in their order"`
}

// Validate checks that the request says which notifications it means.
func (r *DeleteRequest) Validate(m *rpc.Violations) {
	if r.DocumentID == "" && r.UserID == "" && r.NotificationIDs == nil {
		m.Add("notificationIds", "is required unless documentId or userId is there")
	}
}

// Delete is POST /v2/notifications/delete.
func Delete() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/notifications/delete", Grants: rpc.ReadTable | rpc.WriteTable | rpc.SendEvents,
		Operation: rpc.Method((*Service).Delete), LeavesJob: true, Description: `
Deletes notifications for everyone, or out of the inbox of a user. It deletes those that documentId, locationId, userId and notificationIds
all mean; at least one of documentId, userId and notificationIds is there. With a userId they go out of the inbox of this user alone, who
gets no mail about them any more; else for everyone. Deleted notifications are out of reach at once, mails that wait are not sent, and the id may
be added again: new, and notified of again.

The response has a result for each by id: in the order of notificationIds, else newest first. An item fails with NOT_FOUND where it is not
one of those meant. Without notificationIds the call deletes and lists up to 1,000; where there are more, the job that jobId names deletes
the others, but none that is added later: see jobs/get.

NOT_FOUND when the organization does not exist, or without a userId the document; FAILED_PRECONDITION when one of them is disabled.`}
}

// Delete deletes notifications, each by itself: see deletion.Store.DeleteNotifications. The answer has them by id: in the order of
// notificationIds where those are given, else newest first, at most collab.MaxDeleted of them; a job deletes those beyond. An id that the
// request does not mean is that item's failure.
func (s *Service) Delete(ctx context.Context, call *rpc.Call, req *DeleteRequest) (rpc.Keyed[rpc.Item], error) {
	q := collab.NotificationQuery{
		NotificationFilter: collab.NotificationFilter{Document: req.DocumentID, Location: req.LocationID, User: req.UserID},
		IDs:                rpc.Distinct(req.NotificationIDs),
	}
	var err error
	if q.User == "" && q.Document != "" {
		q.Of, err = s.Directory.OpenDocument(ctx, call.Account, req.OrganizationID, req.DocumentID, collab.CreateFlags{})
	} else {
		q.Of.OrganizationRef, err = s.Directory.OpenOrganization(ctx, call.Account, req.OrganizationID)
	}
	if err != nil {
		return nil, err
	}
	ids, errs, job, err := s.Deletion.DeleteNotifications(ctx, call.Request, q.Of.OrganizationRef, q)
	if err != nil {
		return nil, err
	}
	for i, err := range errs {
		if collab.CodeOf(err) == collab.NotFound {
			errs[i] = collab.Errorf(collab.NotFound, "Failed to delete notification.")
		}
	}
	call.JobID, call.Message = job, "Notification(s) deleted successfully."
	return call.Outcomes(ids, errs, "Notification deleted."), nil
}
