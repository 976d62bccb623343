package notifications

import (
	"context"
	"fmt"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// AddRequest is the data of POST /v2/notifications/add.
type AddRequest struct {
	AddV1Request
	VerifyUserPermissions bool        `json:"verifyUserPermissions" doc:"Tell only users who may see the document; false where it is left out"`
	BodyTemplate          string      `json:"displayBodyMessageTemplate"`
	BodyTemplateData      collab.JSON `json:"displayBodyMessageTemplateData" rule:"object"`
	Source                string      `json:"notificationSource" rule:"max=200" doc:"Its source, such as custom or a name of your own"`
	ResolverUsed          bool        `json:"isNotificationResolverUsed" doc:"Your application shows the texts: they may be left out"`
	Location              collab.JSON `json:"location" rule:"object" doc:"Where in the document it belongs: an object with an id"`
	Metadata              collab.JSON `json:"metadata" rule:"object"`
}

// Validate checks what version 1 has, and the values of the body's template.
func (r *AddRequest) Validate(m *rpc.Violations) {
	r.check(m, r.ResolverUsed)
	checkTemplateData(m, "displayBodyMessageTemplateData", r.BodyTemplateData)
}

// AddV1Request is the data of POST /v1/notifications/add.
type AddV1Request struct {
	OrganizationID       string        `json:"organizationId" rule:"required,id"`
	CreateOrganization   bool          `json:"createOrganization"`
	DocumentID           string        `json:"documentId" rule:"required,docid"`
	CreateDocument       bool          `json:"createDocument"`
	ActionUser           collab.User   `json:"actionUser" rule:"required"`
	NotificationID       *string       `json:"notificationId" rule:"notificationid" doc:"Generated where it is left out; one that is there already is a success, and nothing is sent twice"`
	HeadlineTemplate     *string       `json:"displayHeadlineMessageTemplate" doc:"The headline, in which {name} stands for the value of that name, and an unknown name stays as it is; required unless isNotificationResolverUsed is true"`
	HeadlineTemplateData collab.JSON   `json:"displayHeadlineMessageTemplateData" rule:"object"`
	Body                 string        `json:"displayBodyMessage"`
	NotifyUsers          []collab.User `json:"notifyUsers" rule:"max=1000"`
	NotifyAll            *bool         `json:"notifyAll"`
	SourceData           collab.JSON   `json:"notificationSourceData" rule:"object"`
}

// maxUserText is the most that name and e-mail address of a user take together, in bytes.
const maxUserText = 1_000

// Validate checks the users' sizes, that someone is notified, and the values of the template.
func (r *AddV1Request) Validate(m *rpc.Violations) { r.check(m, false) }

func (r *AddV1Request) check(m *rpc.Violations, resolved bool) {
	if r.HeadlineTemplate == nil && !resolved {
		m.Add("displayHeadlineMessageTemplate", "is required")
	}
	checkUserSize(m, "actionUser", r.ActionUser)
	for i, u := range r.NotifyUsers {
		checkUserSize(m, fmt.Sprintf("notifyUsers[%d]", i), u)
	}
	if !r.notifyAll() && len(r.NotifyUsers) == 0 {
		m.Add("notifyUsers", "must name someone when notifyAll is false")
	}
	checkTemplateData(m, "displayHeadlineMessageTemplateData", r.HeadlineTemplateData)
}

func checkUserSize(m *rpc.Violations, field string, u collab.User) {
	if len(collab.Deref(u.Name))+len(collab.Deref(u.Email)) > maxUserText {
		m.Add(field, "must have a name and email of at most %d bytes together", maxUserText)
	}
}

// checkTemplateData notes a mistake where a template could not show a value.
func checkTemplateData(m *rpc.Violations, of string, data collab.JSON) {
	for name, value := range rpc.Members(data) {
		checkTemplateValue(m, rpc.PathOf(of, name), name, value)
	}
}

func checkTemplateValue(m *rpc.Violations, field, name string, value collab.JSON) {
	var user collab.User
	switch kind := value[0]; {
	case kind == 'n': // as absent
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

// AddResult is the answer to an add.
type AddResult struct {
	Success        bool   `json:"success"`
	NotificationID string `json:"notificationId" doc:"The notification, as generated where it was left out"`
	Message        string `json:"message"`
}

// Add is POST /v2/notifications/add.
func Add() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/notifications/add", Grants: rpc.ReadTable | rpc.WriteTable | rpc.SendEvents,
		Operation: rpc.Method((*Service).Add), Description: `
Notifies users. It notifies everyone of the organization, or with notifyAll false those of notifyUsers: in the app and by mail, as they
want it, and by webhook. It is delivered within moments. actionUser is not notified.

In the headline {name} stands for the value of that name in displayHeadlineMessageTemplateData: a user (shown by name,
else id), a string, a number or a boolean. {recipientUser} is the recipient, unless a value is given. A name without a value stays as it
is. Headline and body are plain text.

Where a notification with its id is there already, it succeeds and nothing is sent again. Name and e-mail address of a user have at most
1,000 bytes together, the notification 350,000 bytes as stored. NOT_FOUND when the organization or the document does not exist and is not
to be made; FAILED_PRECONDITION when the organization is disabled.`}
}

// Add records a notification and the event that sends it to everyone of the organization, or to the users named. Where a notification
// with its id is there, it succeeds and nothing is sent twice.
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
		call.Message = "a notification with this id was added before: nothing is sent again"
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
Notifies users in version 1. As version 2, without verifyUserPermissions.`}
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

// templateData returns the values for a template by name, nil for none.
func templateData(object collab.JSON) map[string]collab.JSON {
	var data map[string]collab.JSON
	for name, value := range rpc.Members(object) {
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
