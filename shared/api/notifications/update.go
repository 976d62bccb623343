package notifications

import (
	"context"
	"fmt"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

type UpdateRequest struct {
	OrganizationID        string               `json:"organizationId" rule:"required,id" person:"in"`
	DocumentID            string               `json:"documentId" rule:"notnull,docid" doc:"Only of this document"`
	LocationID            string               `json:"locationId" rule:"notnull,id" doc:"Only at this location"`
	UserID                string               `json:"userId" rule:"notnull,id" person:"self" doc:"Only in the inbox of this user"`
	VerifyUserPermissions bool                 `json:"verifyUserPermissions" doc:"Require that readers can see the document"`
	Notifications         []NotificationUpdate `json:"notifications" rule:"notnull,nonempty,max=500" person:"in" doc:"The changes, with at most 1,000 users in total; this or readUntil is required"`
	ReadUntil             *collab.Millis       `json:"readUntil" rule:"notnull,time" person:"in" doc:"Mark everything up to this time, at most now, as read for the user of userId"`
}

const (
	maxReaders    = 30    // users of one notification in an update: with their events they fit in a transaction
	maxAllReaders = 1_000 // users of all notifications in an update
)

// NotificationUpdate changes the content and the readers of a notification.
type NotificationUpdate struct {
	ID                   string               `json:"id" rule:"required,id" person:"in"`
	ActionUser           rpc.Opt[collab.User] `json:"actionUser" rule:"notnull"`
	HeadlineTemplate     rpc.Opt[string]      `json:"displayHeadlineMessageTemplate"`
	HeadlineTemplateData rpc.Opt[collab.JSON] `json:"displayHeadlineMessageTemplateData" rule:"object"`
	Body                 rpc.Opt[string]      `json:"displayBodyMessage"`
	BodyTemplate         rpc.Opt[string]      `json:"displayBodyMessageTemplate"`
	BodyTemplateData     rpc.Opt[collab.JSON] `json:"displayBodyMessageTemplateData" rule:"object"`
	SourceData           rpc.Opt[collab.JSON] `json:"notificationSourceData" rule:"object"`
	Location             rpc.Opt[collab.JSON] `json:"location" rule:"object" doc:"Its place in the document: an object with an id"`
	Metadata             rpc.Opt[collab.JSON] `json:"metadata" rule:"object"`
	ReadByUserIDs        []string             `json:"readByUserIds" rule:"notnull,each=id" person:"in" doc:"These users read it; an empty list marks it as unread for the user of userId"`
	ClickedByUserIDs     []string             `json:"clickedByUserIds" rule:"notnull,each=id" person:"in" doc:"These users clicked it, and thereby read it; this cannot be undone"`
	PersistReadForUsers  rpc.Opt[bool]        `json:"persistReadForUsers" rule:"notnull" doc:"Stored for your application"`
}

// Validate checks users and template values, and requires a change.
func (u *NotificationUpdate) Validate(m *rpc.Violations) {
	checkUserSize(m, "actionUser", u.ActionUser.Value)
	checkTemplateData(m, "displayHeadlineMessageTemplateData", u.HeadlineTemplateData.Value)
	checkTemplateData(m, "displayBodyMessageTemplateData", u.BodyTemplateData.Value)
	switch n := len(u.users()); {
	case u.unread() && n > 0:
		m.Add("clickedByUserIds", "cannot be combined with an empty readByUserIds")
	case n > maxReaders:
		m.Add("", "must name at most %d users, not %d", maxReaders, n)
	case n == 0 && !u.edits() && !u.unread():
		m.Add("", "requires a field to change")
	}
}

// users returns the distinct users who read or clicked it.
func (u *NotificationUpdate) users() []string {
	return rpc.Distinct(slices.Concat(u.ReadByUserIDs, u.ClickedByUserIDs))
}

// unread reports whether the update marks the notification as unread.
func (u *NotificationUpdate) unread() bool {
	return u.ReadByUserIDs != nil && len(u.ReadByUserIDs) == 0
}

// edits reports whether the update changes the content.
func (u *NotificationUpdate) edits() bool {
	return u.ActionUser.Sent() || u.HeadlineTemplate.Sent() || u.HeadlineTemplateData.Sent() || u.Body.Sent() || u.BodyTemplate.Sent() ||
		u.BodyTemplateData.Sent() || u.SourceData.Sent() || u.Location.Sent() || u.Metadata.Sent() || u.PersistReadForUsers.Sent()
}

// edit changes the content; null clears a field.
func (u *NotificationUpdate) edit(n *collab.Notification) {
	replace(&n.ActionUser, u.ActionUser)
	replace(&n.Headline, u.HeadlineTemplate)
	replace(&n.Body, u.Body)
	replace(&n.BodyTemplate, u.BodyTemplate)
	replace(&n.SourceData, u.SourceData)
	replace(&n.Location, u.Location)
	replace(&n.Metadata, u.Metadata)
	replace(&n.PersistRead, u.PersistReadForUsers)
	if u.HeadlineTemplateData.Sent() {
		n.TemplateData = templateData(u.HeadlineTemplateData.Value)
	}
	if u.BodyTemplateData.Sent() {
		n.BodyData = templateData(u.BodyTemplateData.Value)
	}
}

func replace[T any](value *T, by rpc.Opt[T]) {
	if by.Sent() {
		*value = by.Value
	}
}

func (r *UpdateRequest) Validate(m *rpc.Violations) {
	rpc.Unique(m, "notifications[%d].id", r.Notifications, func(u *NotificationUpdate) *string {
		if u.ID == "" {
			return nil
		}
		return &u.ID
	})
	if r.Notifications == nil && r.ReadUntil == nil {
		m.Add("notifications", "is required without readUntil")
	}
	if r.ReadUntil != nil && r.UserID == "" {
		m.Add("readUntil", "requires userId")
	}
	users := 0
	for i := range r.Notifications {
		users += len(r.Notifications[i].users())
		if r.Notifications[i].unread() && r.UserID == "" {
			m.Add(fmt.Sprintf("notifications[%d].readByUserIds", i), "requires userId if it is empty")
		}
	}
	if users > maxAllReaders {
		m.Add("notifications", "must name at most %d users in all, not %d", maxAllReaders, users)
	}
}

// Update is POST /v2/notifications/update.
func Update() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/notifications/update", Grants: rpc.ReadTable | rpc.ReadProviders | rpc.WriteTable | rpc.SendEvents,
		Person:    rpc.PersonInbox,
		Operation: rpc.Method((*Service).Update), Description: `
Update notifications.

Updates up to 500 notifications, and marks them as read, unread or clicked. Absent fields are
unchanged; 'null' clears a field, and a cleared text of a comment's notification is again that of
its thread. An empty readByUserIds marks a notification as unread for the user of userId; a later
readUntil marks it as read again. The first click of each user raises 'notification.clicked',
which sends notificationSourceData to webhooks. No one is notified again: notifyUsers is refused,
and sent emails do not change. A notification can have at most 30 users. readUntil marks
everything up to this time as read for the user of userId: use the createdAt of the newest
notification shown, because others can be on their way.

documentId, locationId and userId narrow the notifications. The response has an item for each
notification by id, in the order sent; each is changed completely or not at all. An item fails
with NOT_FOUND if it is excluded or one of the users does not have it, and with PERMISSION_DENIED
if verifyUserPermissions is true and a user cannot see its document. It fails with ABORTED if it
can be retried.

The request fails with NOT_FOUND if the organization does not exist, and with FAILED_PRECONDITION
if it is disabled.`}
}

// Update changes the content of notifications, and records reads and clicks.
func (s *Service) Update(ctx context.Context, call *rpc.Call, req *UpdateRequest) (rpc.Keyed[rpc.Item], error) {
	clicks := slices.ContainsFunc(req.Notifications, func(u NotificationUpdate) bool { return len(u.ClickedByUserIDs) > 0 })
	if err := call.Raises(clicks); err != nil {
		return nil, err
	}
	org, err := s.Directory.OpenOrganization(ctx, call.Account, req.OrganizationID)
	if err != nil {
		return nil, err
	}
	if req.ReadUntil != nil {
		if err := s.Inbox.ReadUntil(ctx, org, req.UserID, min(*req.ReadUntil, call.Millis())); err != nil {
			return nil, err
		}
	}
	ids, errs, failed := make([]string, len(req.Notifications)), make([]error, len(req.Notifications)), 0
	for i := range req.Notifications {
		ids[i] = req.Notifications[i].ID
		err := s.Inbox.ChangeNotification(ctx, call.Request, org, s.change(call, org, req, i))
		switch collab.CodeOf(err) {
		case "":
			continue
		case collab.NotFound:
			errs[i] = collab.Errorf(collab.NotFound, "Failed to update notification.")
		case collab.Aborted, collab.InvalidArgument, collab.PermissionDenied, collab.FailedPrecondition:
			errs[i] = err
		default:
			return nil, err
		}
		failed++
	}
	results := call.Outcomes(ids, errs, "Notification updated.")
	call.Message = "Notification(s) updated successfully."
	if failed > 0 {
		call.Sum("notification", "updated")
	}
	return results, nil
}

// change returns the change of the i-th notification.
func (s *Service) change(call *rpc.Call, org collab.OrganizationRef, req *UpdateRequest, i int) collab.NotificationChange {
	u := &req.Notifications[i]
	c := collab.NotificationChange{
		ID: u.ID, Of: collab.NotificationFilter{Document: req.DocumentID, Location: req.LocationID, User: req.UserID},
		Read: u.ReadByUserIDs, Clicked: u.ClickedByUserIDs, Unread: u.unread(),
		Click: func(n collab.Notification, user string) *collab.Event {
			ev := collab.In(n.Document(org))
			ev.ID, ev.Type, ev.Time, ev.Actor = call.IDs.For(i, user), collab.NotificationClicked, call.Millis(), &collab.User{UserID: user}
			ev.AnnotationID, ev.NotificationID = n.AnnotationID, n.ID
			return &ev
		},
	}
	if u.edits() {
		c.Edit = u.edit
	}
	if call.Person != nil {
		c.Check = func(ctx context.Context, e collab.InboxEntry) error {
			visible, _, _, err := s.refresh(ctx, call, org, []collab.InboxEntry{e}, &GetRequest{UserID: req.UserID, AsUserID: &req.UserID})
			if err == nil && len(visible) == 0 {
				err = collab.Errorf(collab.NotFound, "the notification is hidden")
			}
			return err
		}
	}
	if users := u.users(); req.VerifyUserPermissions && len(users) > 0 {
		c.Check = func(ctx context.Context, e collab.InboxEntry) error {
			may, err := s.Access.MaySee(ctx, call.Settings, e.Document(org), users)
			if err != nil {
				return err
			}
			for _, user := range users {
				if !may[user] {
					return collab.Errorf(collab.PermissionDenied, "user %q cannot see document %q", user, e.DocumentID)
				}
			}
			return nil
		}
	}
	return c
}
