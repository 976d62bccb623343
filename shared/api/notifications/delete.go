package notifications

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

type DeleteRequest struct {
	OrganizationID  string   `json:"organizationId" rule:"required,id"`
	DocumentID      string   `json:"documentId" rule:"notnull,docid" doc:"Only of this document"`
	LocationID      string   `json:"locationId" rule:"notnull,id" doc:"Only at this location"`
	UserID          string   `json:"userId" rule:"notnull,id" doc:"Only from the inbox of this user. Default: for everyone"`
	NotificationIDs []string `json:"notificationIds" rule:"notnull,nonempty,max=500,each=id" doc:"Only these, at most 500; the response has their order"`
}

// Validate requires documentId, userId or notificationIds.
func (r *DeleteRequest) Validate(m *rpc.Violations) {
	if r.DocumentID == "" && r.UserID == "" && r.NotificationIDs == nil {
		m.Add("notificationIds", "is required without documentId and userId")
	}
}

// Delete is POST /v2/notifications/delete.
func Delete() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/notifications/delete", Grants: rpc.ReadTable | rpc.WriteTable | rpc.SendEvents,
		Operation: rpc.Method((*Service).Delete), LeavesJob: true, Description: `
Delete notifications.

Deletes notifications for everyone, or from the inbox of a user. Selectors combine: documentId,
locationId, userId and notificationIds; documentId, userId or notificationIds is required. With
userId, notifications are deleted only from this user's inbox, and this user gets no more emails
about them. Deleted notifications are unavailable at once, and waiting emails are not sent. Their
ids can be reused, and notify again.

The response has a result for each notification by id, in the order of notificationIds, else
newest first. An item fails with NOT_FOUND if a selector excludes it. Without notificationIds, the
call deletes and lists up to 1,000 notifications; the job jobId deletes the others, but none added
later: see 'jobs/get'.

The request fails with NOT_FOUND if the organization, or without userId the document, does not
exist. It fails with FAILED_PRECONDITION if one of them is disabled.`}
}

// Delete deletes notifications.
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
