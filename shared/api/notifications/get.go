package notifications

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// GetRequest is the data of POST /v2/notifications/get.
type GetRequest struct {
	OrganizationID string `json:"organizationId" rule:"required,id"`
	UserID         string `json:"userId" rule:"required,id"`
	PageSize       *int64 `json:"pageSize" rule:"notnull,min=1,max=1000"`
	PageToken      string `json:"pageToken"`
}

// Notification is a notification as one user reads it.
type Notification struct {
	NotificationID string                 `json:"notificationId"`
	DocumentID     string                 `json:"documentId"`
	AnnotationID   string                 `json:"annotationId,omitempty"` // of one that a comment made
	ActionUser     collab.User            `json:"actionUser"`
	Headline       string                 `json:"displayHeadlineMessage"` // the template with its values, for this user: plain text
	Template       string                 `json:"displayHeadlineMessageTemplate"`
	TemplateData   map[string]collab.JSON `json:"displayHeadlineMessageTemplateData,omitempty"`
	Body           string                 `json:"displayBodyMessage"`
	SourceData     collab.JSON            `json:"notificationSourceData,omitempty"`
	NotifyAll      bool                   `json:"notifyAll"` // it was sent to everyone of the organization
	CreatedAt      string                 `json:"createdAt"`
	Read           bool                   `json:"read"`
	ReadAt         string                 `json:"readAt,omitempty"`
	Clicked        bool                   `json:"clicked"`
	ClickedAt      string                 `json:"clickedAt,omitempty"`
}

func show(e collab.InboxEntry, recipient collab.User) Notification {
	return Notification{
		NotificationID: e.ID, DocumentID: e.DocumentID, AnnotationID: e.AnnotationID, ActionUser: e.ActionUser,
		Headline: e.HeadlineFor(recipient), Template: e.Headline, TemplateData: e.TemplateData, Body: e.Body, SourceData: e.SourceData,
		NotifyAll: e.ToAll, CreatedAt: timestamp(e.CreatedAt),
		Read: e.ReadAt != 0, ReadAt: timestamp(e.ReadAt), Clicked: e.ClickedAt != 0, ClickedAt: timestamp(e.ClickedAt),
	}
}

// timestamp is a time as ISO 8601 in UTC with milliseconds, "" for none.
func timestamp(ms collab.Millis) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

const (
	// maxPage is the most that the notifications of a page take, in bytes as Lambda wraps them: 5 MB less what stands around them.
	maxPage = 4_990_000

	// chunk is how many notifications are in memory beside the page, each collab.MaxItemBytes at most.
	chunk = 100
)

// inboxPosition is a place in a user's inbox: behind the notification that was made at At with the id ID, which stands before or in what is
// behind Chunk.
type inboxPosition struct {
	Chunk string        `json:"c,omitempty"`
	At    collab.Millis `json:"t,omitempty"`
	ID    string        `json:"n,omitempty"` // "" for none
}

// passed reports whether an entry stands before the position.
func (p inboxPosition) passed(e collab.InboxEntry) bool {
	return p.ID != "" && cmp.Or(cmp.Compare(e.CreatedAt, p.At), cmp.Compare(e.ID, p.ID)) >= 0
}

// Get returns a page of a user's notifications, newest first: the user's own, and those to everyone of the organization that the user did not
// cause and wants. A page ends at pageSize, or before its answer is larger than 5 MB. Whether the user is a member does not matter.
func (s *Service) Get(ctx context.Context, call *rpc.Call, req *GetRequest) ([]collab.JSON, error) {
	var at inboxPosition
	if err := call.Position(req.PageToken, &at); err != nil {
		return nil, err
	}
	org := collab.OrganizationRef{Account: call.Account, Organization: req.OrganizationID}
	if err := s.Store.CheckOrganization(ctx, org); err != nil {
		return nil, err
	}
	recipient := collab.User{UserID: req.UserID}
	members, err := s.Store.Members(ctx, org, []string{req.UserID})
	if err != nil {
		return nil, err
	}
	if m, ok := members[req.UserID]; ok {
		recipient = m.User
	}
	most := collab.MaxPageSize
	if req.PageSize != nil {
		most = int(*req.PageSize)
	}
	page, next, err := s.page(ctx, org, recipient, at, most)
	if err != nil {
		return nil, err
	}
	if next != nil {
		call.NextPageToken = call.PageToken(next)
	}
	call.Items = len(page)
	call.Message = rpc.Count(call.Items, "notification")
	return page, nil
}

// page returns up to most notifications behind a position, as many as fit into an answer, and the position behind them, nil where the list
// ends. It may end earlier where many in a row are not for the user.
func (s *Service) page(ctx context.Context, org collab.OrganizationRef, recipient collab.User, at inboxPosition, most int) (page []collab.JSON, next *inboxPosition, err error) {
	for left := maxPage; ; {
		entries, behind, err := s.Store.Inbox(ctx, org, recipient.UserID, at.Chunk, min(most, chunk))
		if err != nil {
			return nil, nil, err
		}
		for _, e := range entries {
			if at.passed(e) {
				continue
			}
			text, err := encode(show(e, recipient))
			if err != nil {
				return nil, nil, err
			}
			if left -= rpc.WrappedLen(text) + len(","); len(page) == most || left < 0 {
				return page, &at, nil
			}
			page = append(page, text)
			at.At, at.ID = e.CreatedAt, e.ID
		}
		if behind == "" {
			return page, nil, nil
		}
		at.Chunk = behind
		if len(page) == most || len(entries) == 0 {
			return page, &at, nil
		}
	}
}

// encode returns the JSON of a notification without HTML escaping.
func encode(n Notification) (collab.JSON, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(n)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
