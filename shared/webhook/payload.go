package webhook

import (
	"collabdata/shared/collab"
)

// MaxPayload is the size of the largest payload, in bytes, but for what a clicked notification sends back.
const MaxPayload = 20_000

// shortPayload is what an event too large for a payload is shortened to: times and names of members take more room in the payload.
const shortPayload = 15_000

type payload struct {
	Type      collab.EventType `json:"type"`
	Timestamp collab.Timestamp `json:"timestamp"`
	Data      EventData        `json:"data"`
}

// EventData is what a payload says of its event.
type EventData struct {
	OrganizationID *string              `json:"organizationId" doc:"The organization; null for an event that is about the account"`
	DocumentID     *string              `json:"documentId" doc:"The document; null for an event that is about none"`
	AnnotationID   *string              `json:"annotationId" doc:"The comment annotation; null for an event that is about none"`
	CommentID      *int64               `json:"commentId" doc:"The comment; null for an event that is about none or several: see comments"`
	FolderID       string               `json:"folderId,omitempty" doc:"The folder that was deleted"`
	Truncated      bool                 `json:"truncated"`
	ActionUser     *collab.User         `json:"actionUser,omitempty" doc:"Who acted, where the request said so"`
	Annotation     *EventAnnotation     `json:"annotation,omitempty"`
	Previous       *EventAnnotation     `json:"previous,omitempty" doc:"The fields of the annotation that changed, as they were; without assignedTo where nobody was"`
	Comments       []EventComment       `json:"comments,omitempty" doc:"The comments that were added or changed"`
	Notification   *EventNotification   `json:"notification,omitempty"`
	Webhook        *collab.EventWebhook `json:"webhook,omitempty"`
	Erased         *collab.EventErased  `json:"erased,omitempty" doc:"Whose data are being deleted"`
}

// EventAnnotation is an annotation in a payload, without its comments.
type EventAnnotation struct {
	collab.AnnotationObjects
	CreatedAt collab.Timestamp `json:"createdAt,omitzero"`
}

// EventComment is a comment in a payload.
type EventComment struct {
	CommentID          int64            `json:"commentId"`
	Text               *string          `json:"commentText,omitempty"`
	HTML               *string          `json:"commentHtml,omitempty"`
	From               collab.JSON      `json:"from,omitempty" schema:"User"`
	TaggedUserContacts collab.JSON      `json:"taggedUserContacts,omitempty" schema:"[]Tag"`
	CreatedAt          collab.Timestamp `json:"createdAt,omitzero"`
}

// EventNotification is a notification in a payload.
type EventNotification struct {
	NotificationID string                 `json:"notificationId"`
	ActionUser     *collab.User           `json:"actionUser,omitempty"`
	Headline       string                 `json:"displayHeadlineMessageTemplate,omitempty"`
	TemplateData   map[string]collab.JSON `json:"displayHeadlineMessageTemplateData,omitempty"`
	Body           string                 `json:"displayBodyMessage,omitempty"`
	SourceData     collab.JSON            `json:"notificationSourceData,omitempty" rule:"object"`
	NotifyAll      bool                   `json:"notifyAll,omitempty" doc:"It is for everyone of the organization"`
	NotifyUsers    []collab.User          `json:"notifyUsers,omitempty" doc:"Whom it is for"`
	CreatedAt      collab.Timestamp       `json:"createdAt,omitzero"`
}

// Payload returns the body of an event's posts, the same bytes for the same event: at most MaxPayload bytes, without what a clicked
// notification sends back, which is whole. An event too large for it is shortened, without those it notifies, and says `truncated:
// true`.
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
	short.Truncated, short.People = true, nil
	if err := short.Shorten(shortPayload); err != nil {
		return nil, err
	}
	shortData := dataOf(&short)
	shortData.CommentID = data.CommentID
	if sentBack != nil {
		shortData.Notification.SourceData = sentBack
	}
	return encode(ev, shortData)
}

func encode(ev *collab.Event, data EventData) ([]byte, error) {
	return collab.EncodeJSON(payload{Type: ev.Type, Timestamp: collab.Timestamp(ev.Time), Data: data})
}

// dataOf returns what a payload says of an event.
func dataOf(ev *collab.Event) EventData {
	data := EventData{
		OrganizationID: orNull(ev.OrganizationID), DocumentID: orNull(ev.DocumentID), AnnotationID: orNull(ev.AnnotationID),
		FolderID: ev.FolderID, Truncated: ev.Truncated, ActionUser: ev.Actor, Annotation: annotationOf(ev.Annotation), Previous: annotationOf(ev.Previous),
		Webhook: ev.Webhook, Erased: ev.Erased,
	}
	if len(ev.Comments) == 1 {
		data.CommentID = &ev.Comments[0].CommentID
	}
	for _, c := range ev.Comments {
		data.Comments = append(data.Comments, EventComment{
			CommentID: c.CommentID, Text: c.Text, HTML: c.HTML, From: c.From, TaggedUserContacts: c.TaggedUserContacts,
			CreatedAt: collab.Timestamp(c.CreatedAt),
		})
	}
	if n := ev.Notification; n != nil {
		data.Notification = &EventNotification{
			NotificationID: n.ID, ActionUser: &n.ActionUser, Headline: n.Headline, TemplateData: n.TemplateData, Body: n.Body,
			SourceData: n.SourceData, CreatedAt: collab.Timestamp(n.CreatedAt),
		}
		if ev.Type == collab.NotificationAdded {
			data.Notification.NotifyAll, data.Notification.NotifyUsers = ev.NotifyAll, ev.People
		}
	}
	return data
}

func annotationOf(a *collab.EventAnnotation) *EventAnnotation {
	if a == nil {
		return nil
	}
	return &EventAnnotation{a.AnnotationObjects, collab.Timestamp(a.CreatedAt)}
}

func orNull(id string) *string {
	if id == "" {
		return nil
	}
	return &id
}

// Fields returns the fields of EventData that payloads of a type may have in addition to those that all have.
func Fields(t collab.EventType) []string {
	switch t {
	case collab.AnnotationAdded, collab.CommentAdded:
		return []string{"annotation", "comments", "actionUser"}
	case collab.AnnotationUpdated, collab.AnnotationDeleted:
		return []string{"annotation"}
	case collab.AnnotationStatusChanged, collab.AnnotationAssigned:
		return []string{"annotation", "previous"}
	case collab.CommentUpdated, collab.CommentDeleted:
		return []string{"annotation", "comments"}
	case collab.NotificationAdded, collab.NotificationClicked:
		return []string{"notification", "actionUser"}
	case collab.FolderDeleted:
		return []string{"folderId"}
	case collab.UserErased:
		return []string{"erased"}
	case collab.DocumentDeleted, collab.OrganizationDeleted:
		return nil
	}
	return []string{"webhook"}
}
