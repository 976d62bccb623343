package webhook

import (
	"bytes"
	"encoding/json"

	"collabdata/shared/collab"
)

// MaxPayload is the size of the largest payload, in bytes.
const MaxPayload = 20_000

// EventTypes returns every event type that an endpoint may ask for.
func EventTypes() []collab.EventType {
	return []collab.EventType{
		collab.AnnotationAdded, collab.AnnotationUpdated, collab.AnnotationStatusChanged, collab.AnnotationAssigned,
		collab.CommentAdded, collab.CommentUpdated,
		collab.NotificationAdded, collab.NotificationClicked,
		collab.WebhookDisabled,
	}
}

type payload struct {
	Type      collab.EventType `json:"type"`
	Timestamp collab.Timestamp `json:"timestamp"`
	Data      payloadData      `json:"data"`
}

type payloadData struct {
	OrganizationID *string              `json:"organizationId"`
	DocumentID     *string              `json:"documentId"`
	AnnotationID   *string              `json:"annotationId"`
	CommentID      *int64               `json:"commentId"`
	Truncated      bool                 `json:"truncated"`
	ActionUser     *collab.User         `json:"actionUser,omitempty"`
	Annotation     *payloadAnnotation   `json:"annotation,omitempty"`
	Previous       *payloadAnnotation   `json:"previous,omitempty"`
	Comments       []payloadComment     `json:"comments,omitempty"`
	Notification   *payloadNotification `json:"notification,omitempty"`
	Webhook        *collab.EventWebhook `json:"webhook,omitempty"`
}

type payloadAnnotation struct {
	From       collab.JSON      `json:"from,omitempty"`
	Location   collab.JSON      `json:"location,omitempty"`
	Status     collab.JSON      `json:"status,omitempty"`
	AssignedTo collab.JSON      `json:"assignedTo,omitempty"`
	Priority   collab.JSON      `json:"priority,omitempty"`
	Context    collab.JSON      `json:"context,omitempty"`
	CreatedAt  collab.Timestamp `json:"createdAt,omitzero"`
}

type payloadComment struct {
	CommentID          int64            `json:"commentId"`
	Text               *string          `json:"commentText,omitempty"`
	HTML               *string          `json:"commentHtml,omitempty"`
	From               collab.JSON      `json:"from,omitempty"`
	TaggedUserContacts collab.JSON      `json:"taggedUserContacts,omitempty"`
	CreatedAt          collab.Timestamp `json:"createdAt,omitzero"`
}

type payloadNotification struct {
	NotificationID string                 `json:"notificationId"`
	ActionUser     *collab.User           `json:"actionUser,omitempty"`
	Headline       string                 `json:"displayHeadlineMessageTemplate,omitempty"`
	TemplateData   map[string]collab.JSON `json:"displayHeadlineMessageTemplateData,omitempty"`
	Body           string                 `json:"displayBodyMessage,omitempty"`
	SourceData     collab.JSON            `json:"notificationSourceData,omitempty"`
	NotifyAll      bool                   `json:"notifyAll,omitempty"`
	NotifyUsers    []collab.User          `json:"notifyUsers,omitempty"`
	CreatedAt      collab.Timestamp       `json:"createdAt,omitzero"`
}

// Payload returns the body that tells endpoints of an event, at most MaxPayload bytes: the same bytes for the same event. An event too
// large for it gives a thin one, with ids alone and `truncated: true`.
func Payload(ev *collab.Event) ([]byte, error) {
	body, err := encode(ev, fullData(ev))
	if err != nil || len(body) <= MaxPayload {
		return body, err
	}
	return encode(ev, thinData(ev))
}

func encode(ev *collab.Event, data payloadData) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(payload{Type: ev.Type, Timestamp: collab.Timestamp(ev.Time), Data: data}); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func fullData(ev *collab.Event) payloadData {
	data := ids(ev)
	data.Truncated = ev.Truncated
	data.ActionUser = ev.Actor
	data.Annotation = annotationOf(ev.Annotation)
	data.Previous = annotationOf(ev.Previous)
	for _, c := range ev.Comments {
		data.Comments = append(data.Comments, payloadComment{
			CommentID: c.CommentID, Text: c.Text, HTML: c.HTML, From: c.From, TaggedUserContacts: c.TaggedUserContacts,
			CreatedAt: collab.Timestamp(c.CreatedAt),
		})
	}
	if n := ev.Notification; n != nil {
		data.Notification = &payloadNotification{
			NotificationID: n.ID, ActionUser: &n.ActionUser, Headline: n.Headline, TemplateData: n.TemplateData, Body: n.Body,
			SourceData: n.SourceData, CreatedAt: collab.Timestamp(n.CreatedAt),
		}
		if ev.Type == collab.NotificationAdded {
			data.Notification.NotifyAll, data.Notification.NotifyUsers = ev.NotifyAll, ev.People
		}
	}
	return data
}

func thinData(ev *collab.Event) payloadData {
	data := ids(ev)
	data.Truncated = true
	if ev.Actor != nil {
		data.ActionUser = &collab.User{UserID: ev.Actor.UserID}
	}
	for _, c := range ev.Comments {
		data.Comments = append(data.Comments, payloadComment{CommentID: c.CommentID})
	}
	if ev.Notification != nil {
		data.Notification = &payloadNotification{NotificationID: ev.Notification.ID}
	}
	return data
}

// ids returns what every payload has.
func ids(ev *collab.Event) payloadData {
	data := payloadData{
		OrganizationID: orNull(ev.OrganizationID), DocumentID: orNull(ev.DocumentID), AnnotationID: orNull(ev.AnnotationID),
		Webhook: ev.Webhook,
	}
	if len(ev.Comments) == 1 {
		data.CommentID = &ev.Comments[0].CommentID
	}
	return data
}

func annotationOf(a *collab.EventAnnotation) *payloadAnnotation {
	if a == nil {
		return nil
	}
	return &payloadAnnotation{
		From: a.From, Location: a.Location, Status: a.Status, AssignedTo: a.AssignedTo, Priority: a.Priority, Context: a.Context,
		CreatedAt: collab.Timestamp(a.CreatedAt),
	}
}

func orNull(id string) *string {
	if id == "" {
		return nil
	}
	return &id
}
