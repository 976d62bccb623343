package webhook

import (
	"collabdata/shared/collab"
)

// MaxPayload is the size of the largest payload, in bytes, but for what a clicked notification sends back.
const MaxPayload = 20_000

// shortPayload is what an event too large for a payload is shortened to: times and names of members take more room in the payload.
const shortPayload = 15_000

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

// Payload returns the body that tells endpoints of an event, the same bytes for the same event: at most MaxPayload bytes, and what a clicked
// notification sends back besides, whole. An event too large for it is shortened, without those it notifies, and says `truncated: true`.
func Payload(ev *collab.Event) ([]byte, error) {
	var sentBack collab.JSON
	if ev.Type == collab.NotificationClicked && ev.Notification != nil {
		sentBack = ev.Notification.SourceData
	}
	data := dataOf(ev)
	body, err := encode(ev, data)
	if err != nil || len(body)-len(sentBack) <= MaxPayload {
		return body, err
	}
	short := *ev
	short.Truncated, short.People, short.Participants = true, nil, nil
	if err := short.ShortenTo(shortPayload); err != nil {
		return nil, err
	}
	shortData := dataOf(&short)
	shortData.CommentID = data.CommentID
	if sentBack != nil {
		shortData.Notification.SourceData = sentBack
	}
	return encode(ev, shortData)
}

func encode(ev *collab.Event, data payloadData) ([]byte, error) {
	return collab.EncodeJSON(payload{Type: ev.Type, Timestamp: collab.Timestamp(ev.Time), Data: data})
}

// dataOf returns what a payload says of an event.
func dataOf(ev *collab.Event) payloadData {
	data := payloadData{
		OrganizationID: orNull(ev.OrganizationID), DocumentID: orNull(ev.DocumentID), AnnotationID: orNull(ev.AnnotationID),
		Truncated: ev.Truncated, ActionUser: ev.Actor, Annotation: annotationOf(ev.Annotation), Previous: annotationOf(ev.Previous), Webhook: ev.Webhook,
	}
	if len(ev.Comments) == 1 {
		data.CommentID = &ev.Comments[0].CommentID
	}
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
