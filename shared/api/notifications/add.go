package notifications

import (
	"context"
	"fmt"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

type AddRequest struct {
	AddV1Request
	VerifyUserPermissions bool        `json:"verifyUserPermissions" doc:"Notify only users who can see the document"`
	BodyTemplate          string      `json:"displayBodyMessageTemplate"`
	BodyTemplateData      collab.JSON `json:"displayBodyMessageTemplateData" rule:"object"`
	Source                string      `json:"notificationSource" rule:"max=200" doc:"Its source, such as custom, or your own name"`
	ResolverUsed          bool        `json:"isNotificationResolverUsed" doc:"Your application provides the texts: they are optional"`
	Location              collab.JSON `json:"location" rule:"object" doc:"Its place in the document: an object with an id"`
	Metadata              collab.JSON `json:"metadata" rule:"object"`
}

// Validate checks the fields of version 1, and the values of the body's template.
func (r *AddRequest) Validate(m *rpc.Violations) {
	r.check(m, r.ResolverUsed)
	checkTemplateData(m, "displayBodyMessageTemplateData", r.BodyTemplateData)
}

type AddV1Request struct {
	OrganizationID       string        `json:"organizationId" rule:"required,id"`
	CreateOrganization   bool          `json:"createOrganization"`
	DocumentID           string        `json:"documentId" rule:"required,docid"`
	CreateDocument       bool          `json:"createDocument"`
	ActionUser           collab.User   `json:"actionUser" rule:"required"`
	NotificationID       *string       `json:"notificationId" rule:"notificationid" doc:"Generated if absent. If it already exists, the request succeeds and sends nothing"`
	HeadlineTemplate     *string       `json:"displayHeadlineMessageTemplate" doc:"The headline. {name} is a value; unknown names remain. Optional if isNotificationResolverUsed is true"`
	HeadlineTemplateData collab.JSON   `json:"displayHeadlineMessageTemplateData" rule:"object"`
	Body                 string        `json:"displayBodyMessage"`
	NotifyUsers          []collab.User `json:"notifyUsers" rule:"max=1000"`
	NotifyAll            *bool         `json:"notifyAll"`
	SourceData           collab.JSON   `json:"notificationSourceData" rule:"object"`
}

// maxUserText is the maximum size of a user's name and email together, in bytes.
const maxUserText = 1_000

func (r *AddV1Request) Validate(m *rpc.Violations) { r.check(m, false) }

func (r *AddV1Request) check(m *rpc.Violations, resolved bool) {
	if collab.Deref(r.HeadlineTemplate) == "" && !resolved {
		m.Add("displayHeadlineMessageTemplate", "is required")
	}
	checkUserSize(m, "actionUser", r.ActionUser)
	for i, u := range r.NotifyUsers {
		checkUserSize(m, fmt.Sprintf("notifyUsers[%d]", i), u)
	}
	if !r.notifyAll() && len(r.NotifyUsers) == 0 {
		m.Add("notifyUsers", "is required if notifyAll is false")
	}
	checkTemplateData(m, "displayHeadlineMessageTemplateData", r.HeadlineTemplateData)
}

func checkUserSize(m *rpc.Violations, field string, u collab.User) {
	if len(collab.Deref(u.Name))+len(collab.Deref(u.Email)) > maxUserText {
		m.Add(field, "must have a name and email of at most %d bytes together", maxUserText)
	}
}

// checkTemplateData rejects values that a template cannot show.
func checkTemplateData(m *rpc.Violations, field string, data collab.JSON) {
	for name, value := range data.Members() {
		checkTemplateValue(m, rpc.PathOf(field, name), name, value)
	}
}

func checkTemplateValue(m *rpc.Violations, field, name string, value collab.JSON) {
	var user collab.User
	switch kind := value[0]; {
	case kind == 'n': // same as absent
	case kind == '{':
		m.Decode(field, value, &user)
	case name == collab.ActionUser:
		m.Add(field, "must be a user object")
	case kind == '"':
	case name == collab.RecipientUser:
		m.Add(field, "must be a user object or a string")
	case kind == '[':
		m.Add(field, "must be a string, a number, a boolean or a user object")
	}
}

func (r *AddV1Request) notifyAll() bool { return r.NotifyAll == nil || *r.NotifyAll }

type AddResult struct {
	Success        bool   `json:"success"`
	NotificationID string `json:"notificationId" doc:"The notification"`
	Message        string `json:"message"`
}

// Add is POST /v2/notifications/add.
func Add() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/notifications/add", Grants: rpc.ReadTable | rpc.WriteTable | rpc.SendEvents,
		Operation: rpc.Method((*Service).Add), Description: `
Notify users.

Notifies everyone in the organization, or if notifyAll is false, the users in notifyUsers. They
are notified in the app and by email, according to their preferences, and by webhook, within
moments. actionUser is not notified.

In the headline, {name} is a value from displayHeadlineMessageTemplateData: a user (shown by name,
else id), a string, a number or a boolean. {recipientUser} is the recipient, unless it has a
value. A name without a value remains. Headline and body are plain text.

If a notification with this id already exists, the request succeeds and sends nothing. A user's
name and email have at most 1,000 bytes together, and a stored notification at most 350,000 bytes.
The request fails with NOT_FOUND if the organization or the document does not exist and is not to
be created. It fails with FAILED_PRECONDITION if the organization is disabled.`}
}

// Add stores a notification, and the event that sends it to everyone in the organization or to the
// given users.
func (s *Service) Add(ctx context.Context, call *rpc.Call, req *AddRequest) (AddResult, error) {
	if err := call.Raises(true); err != nil {
		return AddResult{}, err
	}
	create := collab.CreateFlags{Organization: req.CreateOrganization, Document: req.CreateDocument}
	doc, err := s.Directory.OpenDocument(ctx, call.Account, req.OrganizationID, req.DocumentID, create)
	if err != nil {
		return AddResult{}, err
	}
	n := req.notification(call)
	n.Incarnation = doc.Incarnation
	ev := collab.In(doc)
	ev.ID, ev.Type, ev.Time, ev.Actor, ev.Notify = call.IDs.Next(), collab.NotificationAdded, n.CreatedAt, n.ActionUser.Acting(), true
	ev.NotificationID, ev.NotifyAll, ev.VerifyAccess = n.ID, req.notifyAll(), req.VerifyUserPermissions
	var users []collab.User
	if !ev.NotifyAll {
		users = rpc.DistinctBy(req.NotifyUsers, func(u collab.User) string { return u.UserID })
	}
	created, err := s.Inbox.AddNotification(ctx, call.Request, doc.OrganizationRef, n, users, &ev)
	if err != nil {
		return AddResult{}, err
	}
	if !created {
		call.Message = "a notification with this id already exists: nothing is sent again"
		return AddResult{Success: true, NotificationID: n.ID, Message: call.Message}, nil
	}
	call.Items = 1
	call.Message = "the notification was added"
	return AddResult{Success: true, NotificationID: n.ID, Message: call.Message}, nil
}

// AddV1 is POST /v1/notifications/add.
func AddV1() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v1/notifications/add", Grants: rpc.ReadTable | rpc.WriteTable | rpc.SendEvents,
		Operation: rpc.Method((*Service).AddV1), Description: `
Notify users (v1).

As in version 2, without verifyUserPermissions.`}
}

// AddV1 is Add without verifyUserPermissions.
func (s *Service) AddV1(ctx context.Context, call *rpc.Call, req *AddV1Request) (AddResult, error) {
	return s.Add(ctx, call, &AddRequest{AddV1Request: *req})
}

func (r *AddRequest) notification(call *rpc.Call) collab.Notification {
	n := collab.Notification{
		ID:         collab.Deref(r.NotificationID),
		DocumentID: r.DocumentID,
		ActionUser: r.ActionUser,
		Headline:   collab.Deref(r.HeadlineTemplate),
		Body:       r.Body,
		SourceData: r.SourceData,
		CreatedAt:  call.Millis(),
	}
	if n.ID == "" {
		n.ID = call.IDs.Next()
	}
	n.TemplateData = templateData(r.HeadlineTemplateData)
	n.BodyTemplate, n.BodyData = r.BodyTemplate, templateData(r.BodyTemplateData)
	n.Source, n.ResolverUsed, n.Location, n.Metadata = r.Source, r.ResolverUsed, r.Location, r.Metadata
	return n
}

// templateData returns the values of a template by name, or nil.
func templateData(object collab.JSON) map[string]collab.JSON {
	var data map[string]collab.JSON
	for name, value := range object.Members() {
		if string(value) == "null" {
			continue
		}
		if data == nil {
			data = map[string]collab.JSON{}
		}
		data[name] = value
	}
	return data
}
