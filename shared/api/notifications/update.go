package notifications

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// UpdateRequest is the data of POST /v2/notifications/update.
type UpdateRequest struct {
	OrganizationID  string                      `json:"organizationId" rule:"required,id"`
	UserID          string                      `json:"userId" rule:"required,id"`
	NotificationIDs []string                    `json:"notificationIds" rule:"required,nonempty,max=30,each=id" doc:"Notifications"`
	UpdatedData     rpc.One[NotificationChange] `json:"updatedData" rule:"required,nonempty" doc:"What the user did: read, clicked or both"`
}

// NotificationChange is what the user did with the notifications. A click is reading, too; nothing undoes either.
type NotificationChange struct {
	Read    *bool `json:"read" rule:"notnull,true"`
	Clicked *bool `json:"clicked" rule:"notnull,true"`
}

// UpdateResult is what became of one notification.
type UpdateResult struct {
	rpc.Outcome
	ID string `json:"id"`
}

// Update records what a user did with notifications: read or clicked them. The first click of each raises notification.clicked, which carries
// the notification's source data. The answer has them by id in the order sent, repeats once; one that the user does not have fails with
// NOT_FOUND. A call that fails may be sent again: what it did is not done twice.
func (s *Service) Update(ctx context.Context, call *rpc.Call, req *UpdateRequest) (rpc.Keyed[UpdateResult], error) {
	if err := call.Raises(req.UpdatedData.Value.Clicked != nil); err != nil {
		return nil, err
	}
	org, err := s.Directory.OpenOrganization(ctx, call.Account, req.OrganizationID)
	if err != nil {
		return nil, err
	}
	var results rpc.Keyed[UpdateResult]
	for i, id := range rpc.Distinct(req.NotificationIDs) {
		err := s.mark(ctx, call, org, req, i, id)
		if code := collab.CodeOf(err); err != nil && code != collab.NotFound && code != collab.Aborted {
			return nil, err
		}
		results = append(results, rpc.Member[UpdateResult]{Key: id, Value: UpdateResult{call.Outcome(err, "the notification was updated"), id}})
	}
	call.Sum("notification", "updated")
	return results, nil
}

// mark records what the user did with the i-th notification, and the event of a first click.
func (s *Service) mark(ctx context.Context, call *rpc.Call, org collab.OrganizationRef, req *UpdateRequest, i int, id string) error {
	ev := collab.In(collab.DocumentRef{OrganizationRef: org})
	ev.ID, ev.Type, ev.Time, ev.Actor = call.IDs.For(i, id), collab.NotificationClicked, call.Millis(), &collab.User{UserID: req.UserID}
	click := func(n collab.Notification) *collab.Event {
		ev.DocumentID, ev.Incarnation[1], ev.AnnotationID, ev.Notification = n.DocumentID, n.Incarnation, n.AnnotationID, &n
		return &ev
	}
	if req.UpdatedData.Value.Clicked == nil {
		click = nil
	}
	return s.Outbox.MarkNotification(ctx, call.Tx, org, req.UserID, id, click)
}
