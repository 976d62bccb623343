package notifications

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// GetRequest is the data of POST /v2/notifications/get.
type GetRequest struct {
	OrganizationID string `json:"organizationId" rule:"required,id"`
	UserID         string `json:"userId" rule:"required,id"`
	rpc.PageRequest
}

// Notification is a notification as one user reads it.
type Notification struct {
	NotificationID string                 `json:"notificationId"`
	DocumentID     string                 `json:"documentId"`
	AnnotationID   string                 `json:"annotationId,omitempty" doc:"Of one that a comment made"`
	ActionUser     collab.User            `json:"actionUser"`
	Headline       string                 `json:"displayHeadlineMessage" doc:"The headline for this user, as plain text"`
	Template       string                 `json:"displayHeadlineMessageTemplate"`
	TemplateData   map[string]collab.JSON `json:"displayHeadlineMessageTemplateData,omitempty"`
	Body           string                 `json:"displayBodyMessage"`
	SourceData     collab.JSON            `json:"notificationSourceData,omitempty" rule:"object"`
	NotifyAll      bool                   `json:"notifyAll" doc:"It is for everyone of the organization"`
	CreatedAt      collab.Timestamp       `json:"createdAt"`
	Read           bool                   `json:"read"`
	ReadAt         collab.Timestamp       `json:"readAt,omitzero" doc:"When the user first read it"`
	Clicked        bool                   `json:"clicked"`
	ClickedAt      collab.Timestamp       `json:"clickedAt,omitzero" doc:"When the user first clicked it"`
}

func show(e collab.InboxEntry, recipient collab.User) Notification {
	return Notification{
		NotificationID: e.ID, DocumentID: e.DocumentID, AnnotationID: e.AnnotationID, ActionUser: e.ActionUser,
		Headline: e.RenderHeadline().For(recipient), Template: e.Headline, TemplateData: e.TemplateData, Body: e.Body, SourceData: e.SourceData,
		NotifyAll: e.ToAll, CreatedAt: collab.Timestamp(e.CreatedAt),
		Read: e.ReadAt != 0, ReadAt: collab.Timestamp(e.ReadAt), Clicked: e.ClickedAt != 0, ClickedAt: collab.Timestamp(e.ClickedAt),
	}
}

// chunk is how many notifications are in memory beside the page, each collab.MaxItemBytes at most.
const chunk = 100

// Get returns a page of a user's notifications, newest first: the user's own, and those to everyone of the organization that the user did not
// cause and wants. A page ends at pageSize, or before its answer is larger than 5 MB. Whether the user is a member does not matter.
func (s *Service) Get(ctx context.Context, call *rpc.Call, req *GetRequest) (*rpc.Page[Notification], error) {
	var at string // behind which the page begins
	page, err := rpc.NewPage[Notification](call, "notification", req.PageRequest, &at)
	if err != nil {
		return nil, err
	}
	org, err := s.Directory.OpenOrganization(ctx, call.Account, req.OrganizationID)
	if err != nil {
		return nil, err
	}
	recipient := collab.User{UserID: req.UserID}
	members, err := s.Directory.Members(ctx, org, []string{req.UserID})
	if err != nil {
		return nil, err
	}
	if m, ok := members[req.UserID]; ok {
		recipient = m.User
	}
	return page, s.fill(ctx, page, org, recipient, at)
}

// fill fills a page with the notifications behind a position. It may end earlier where many in a row are not for the user.
func (s *Service) fill(ctx context.Context, page *rpc.Page[Notification], org collab.OrganizationRef, recipient collab.User, at string) error {
	for {
		entries, behind, err := s.Outbox.Inbox(ctx, org, recipient.UserID, at, min(page.Most(), chunk))
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !page.Add(show(e, recipient)) {
				page.Next(at)
				return nil
			}
			at = e.Position
		}
		if behind == "" {
			return nil
		}
		at = behind
		if page.Most() == 0 || len(entries) == 0 {
			page.Next(at)
			return nil
		}
	}
}
