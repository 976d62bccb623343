package notifications

import (
	"context"
	"fmt"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// UpdateRequest is the data of POST /v2/notifications/update.
type UpdateRequest struct {
	OrganizationID        string               `json:"organizationId" rule:"required,id" person:"in"`
	DocumentID            string               `json:"documentId" rule:"notnull,docid" doc:"Those of this document alone"`
	LocationID            string               `json:"locationId" rule:"notnull,id" doc:"Those at this location alone"`
	UserID                string               `json:"userId" rule:"notnull,id" person:"self" doc:"Those in the inbox of this user alone"`
	VerifyUserPermissions bool                 `json:"verifyUserPermissions" doc:"Each user who read or clicked must be one who may see the document; false where it is left out"`
	Notifications         []NotificationUpdate `json:"notifications" rule:"notnull,nonempty,max=500" person:"in" doc:"The changes; they name at most 1,000 users in all; required unless readUntil is there"`
	ReadUntil             *collab.Millis       `json:"readUntil" rule:"notnull,time" person:"in" doc:"The user of userId has read everything until then, and not later than now; one write, whatever was there"`
}

const (
	maxReaders    = 30    // users whom one notification of an update names: with their events they fit into a transaction
	maxAllReaders = 1_000 // users whom an update names in all
)

// NotificationUpdate changes a notification: what it says, and what users did with it.
type NotificationUpdate struct {
	ID                   string               `json:"id" rule:"required,id" person:"in"`
	ActionUser           rpc.Opt[collab.User] `json:"actionUser" rule:"notnull"`
	HeadlineTemplate     rpc.Opt[string]      `json:"displayHeadlineMessageTemplate"`
	HeadlineTemplateData rpc.Opt[collab.JSON] `json:"displayHeadlineMessageTemplateData" rule:"object"`
	Body                 rpc.Opt[string]      `json:"displayBodyMessage"`
	BodyTemplate         rpc.Opt[string]      `json:"displayBodyMessageTemplate"`
	BodyTemplateData     rpc.Opt[collab.JSON] `json:"displayBodyMessageTemplateData" rule:"object"`
	SourceData           rpc.Opt[collab.JSON] `json:"notificationSourceData" rule:"object"`
	Location             rpc.Opt[collab.JSON] `json:"location" rule:"object" doc:"Where in the document it belongs: an object with an id"`
	Metadata             rpc.Opt[collab.JSON] `json:"metadata" rule:"object"`
	ReadByUserIDs        []string             `json:"readByUserIds" rule:"notnull,each=id" person:"in" doc:"These users read it; an empty list marks it as unread for the user of userId"`
	ClickedByUserIDs     []string             `json:"clickedByUserIds" rule:"notnull,each=id" person:"in" doc:"These users clicked it, which is reading it too; it stays so"`
	PersistReadForUsers  rpc.Opt[bool]        `json:"persistReadForUsers" rule:"notnull" doc:"Kept for your application"`
}

// Validate checks users and template values, and that there is something to change.
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
		m.Add("", "must have something to change")
	}
}

// users are those who read or clicked it, each once.
func (u *NotificationUpdate) users() []string {
	return rpc.Distinct(slices.Concat(u.ReadByUserIDs, u.ClickedByUserIDs))
}

// unread reports whether it marks the notification as unread.
func (u *NotificationUpdate) unread() bool {
	return u.ReadByUserIDs != nil && len(u.ReadByUserIDs) == 0
}

// edits reports whether it changes what the notification says.
func (u *NotificationUpdate) edits() bool {
	return u.ActionUser.Sent() || u.HeadlineTemplate.Sent() || u.HeadlineTemplateData.Sent() || u.Body.Sent() || u.BodyTemplate.Sent() ||
		u.BodyTemplateData.Sent() || u.SourceData.Sent() || u.Location.Sent() || u.Metadata.Sent() || u.PersistReadForUsers.Sent()
}

// edit changes what a notification says: what was sent, to nothing where that is null.
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

// Validate checks that each notification is named once, and how many users there are.
func (r *UpdateRequest) Validate(m *rpc.Violations) {
	rpc.Unique(m, "notifications[%d].id", r.Notifications, func(u *NotificationUpdate) *string {
		if u.ID == "" {
			return nil
		}
		return &u.ID
	})
	if r.Notifications == nil && r.ReadUntil == nil {
		m.Add("notifications", "is required unless readUntil is there")
	}
	if r.ReadUntil != nil && r.UserID == "" {
		m.Add("readUntil", "needs userId")
	}
	users := 0
	for i := range r.Notifications {
		users += len(r.Notifications[i].users())
		if r.Notifications[i].unread() && r.UserID == "" {
			m.Add(fmt.Sprintf("notifications[%d].readByUserIds", i), "needs userId if it is empty")
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
Updates notifications, and marks them as read, unread or clicked. It changes up to 500. An empty readByUserIds marks a notification as unread
for the user of userId; a readUntil after that marks it as read again. Fields that are left out stay;
null clears it, and lets one that a comment made say what its thread says. The first click of each user raises notification.clicked, by which webhooks get the notificationSourceData back. Nobody is
notified again: notifyUsers is refused, and mails that went out stay as they were. A notification names at most 30 users. readUntil marks
all that the user of userId got until then as read, at once: send the createdAt of the newest one shown, as others may be on their way.

documentId, locationId and userId narrow which are meant. The response has an item for each by its id, in the order sent; each is changed
as a whole, or not at all. It fails with NOT_FOUND when it is not one of those meant, or when one of the users does not have it, with
PERMISSION_DENIED when one may not see its document and verifyUserPermissions is true; one that may be sent again fails with ABORTED.
NOT_FOUND when the organization does not exist, FAILED_PRECONDITION when it is disabled.`}
}

// Update changes what notifications say, and records what users did with them: read or clicked them. The first click of each user raises
// notification.clicked, which carries the notification's source data. Nobody is told again. The answer has the notifications by id in the
// order sent; each is changed as a whole or fails: with NOT_FOUND when it is not one that the request means, or one that a user named does
// not have. A call that fails may be sent again: what it did is not done twice.
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
		case collab.Aborted, collab.InvalidArgument, collab.PermissionDenied:
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

// change is what the request says of its i-th notification.
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
			seen, _, err := s.asItIs(ctx, call, org, []collab.InboxEntry{e}, req.UserID, "")
			if err == nil && len(seen) == 0 {
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
					return collab.Errorf(collab.PermissionDenied, "user %q may not see document %q", user, e.DocumentID)
				}
			}
			return nil
		}
	}
	return c
}
