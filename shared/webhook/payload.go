package webhook

import (
	"encoding/json"

	"collabdata/shared/collab"
)

// MaxPayload is the maximum size of a payload, in bytes. It exceeds the size of the largest
// annotation, comment or notification.
const MaxPayload = 400_000

type payload struct {
	Type      collab.EventType `json:"type"`
	Timestamp collab.Timestamp `json:"timestamp"`
	Data      EventData        `json:"data"`
}

// EventData describes an event in a payload.
type EventData struct {
	OrganizationID *string              `json:"organizationId" doc:"The organization; null for an event that is about the account"`
	DocumentID     *string              `json:"documentId" doc:"The document; null for an event that is about none"`
	AnnotationID   *string              `json:"annotationId" doc:"The comment annotation; null for an event that is about none"`
	CommentID      *int64               `json:"commentId" doc:"The comment; null for an event that is about none or several: see comments"`
	FolderID       string               `json:"folderId,omitempty" doc:"The folder that was deleted"`
	Emoji          string               `json:"emoji,omitempty" doc:"The reaction of actionUser to the comment"`
	ActionUser     *collab.User         `json:"actionUser,omitempty" doc:"The acting user, if the request named one: by id and name"`
	Annotation     *EventAnnotation     `json:"annotation,omitempty" doc:"The current annotation"`
	Previous       *EventPrevious       `json:"previous,omitempty" doc:"The fields that the event changed, as they were"`
	Current        *EventPrevious       `json:"current,omitempty" doc:"The fields that the event changed, as it left them"`
	Comments       []EventComment       `json:"comments,omitempty" doc:"The added, changed or deleted comments, in their current state"`
	Notification   *EventNotification   `json:"notification,omitempty" doc:"The current notification"`
	Webhook        *collab.EventWebhook `json:"webhook,omitempty"`
	UserID         string               `json:"userId,omitempty" doc:"The user to notify, or the user with the address"`
	Channel        string               `json:"channel,omitempty" doc:"The channel of the user's preference, or email"`
	Notifications  []DueNotification    `json:"notifications,omitempty" doc:"The notifications, newest first"`
	More           *int                 `json:"more,omitempty" doc:"Number of further notifications"`
	Recipient      *DueRecipient        `json:"recipient,omitempty" doc:"The user to notify, as stored now"`
	Erased         *collab.EventErased  `json:"erased,omitempty" doc:"The user with data being deleted"`
	Email          string               `json:"email,omitempty" doc:"The address that accepts no email"`
	Reason         collab.EmailState    `json:"reason,omitempty" doc:"bounced: its server refused an email for good; complained: the user reported an email as spam"`
	Time           collab.Timestamp     `json:"time,omitzero" doc:"When the email service reported it"`
}

// EventPrevious is the state before a change.
type EventPrevious struct {
	Status     *collab.EventStatus `json:"status,omitempty" doc:"Of status_changed"`
	AssigneeID *string             `json:"assigneeId,omitempty" doc:"Of assigned: the user's id, empty for none"`
}

// EventAnnotation is an annotation in a payload, without its comments.
type EventAnnotation struct {
	Deleted    bool             `json:"deleted,omitempty" doc:"It is gone, and the other fields with it"`
	From       collab.JSON      `json:"from,omitempty" schema:"User"`
	Location   collab.JSON      `json:"location,omitempty" schema:"Location"`
	Status     collab.JSON      `json:"status,omitempty" schema:"AnnotationStatus"`
	AssignedTo collab.JSON      `json:"assignedTo,omitempty" schema:"User"`
	Priority   collab.JSON      `json:"priority,omitempty" schema:"Priority"`
	Context    collab.JSON      `json:"context,omitempty" rule:"object"`
	Visibility collab.JSON      `json:"visibility,omitempty" schema:"Visibility"`
	CreatedAt  collab.Timestamp `json:"createdAt,omitzero"`

	TargetElement    collab.JSON      `json:"targetElement,omitempty" schema:"TargetElement"`
	SourceType       string           `json:"sourceType,omitempty" doc:"agent if the first comment had an agent when added, else rest-api"`
	ResolvedByUserID string           `json:"resolvedByUserId,omitempty" doc:"The resolver, if an update set one"`
	ResolvedAt       collab.Timestamp `json:"resolvedAt,omitzero" doc:"The time at which resolvedByUserId was set"`

	Type       string        `json:"type,omitempty" doc:"The kind of annotation: comment or suggestion"`
	Suggestion collab.JSON   `json:"suggestion,omitempty" rule:"object" doc:"The suggested change"`
	Actions    []collab.JSON `json:"actions,omitempty" rule:"each=object" doc:"Actions that your pages offer"`
}

// EventComment is a comment in a payload.
type EventComment struct {
	CommentID          int64            `json:"commentId"`
	Deleted            bool             `json:"deleted,omitempty" doc:"It is gone, and the other fields with it"`
	ContentOmitted     bool             `json:"contentOmitted,omitempty" doc:"The payload is full: comments/get returns the comment"`
	Text               *string          `json:"commentText,omitempty"`
	HTML               *string          `json:"commentHtml,omitempty"`
	From               collab.JSON      `json:"from,omitempty" schema:"User"`
	TaggedUserContacts collab.JSON      `json:"taggedUserContacts,omitempty" schema:"[]Tag"`
	Agent              collab.JSON      `json:"agent,omitempty" rule:"object" doc:"The agent that wrote it"`
	CreatedAt          collab.Timestamp `json:"createdAt,omitzero"`
}

// EventNotification is a notification in a payload.
type EventNotification struct {
	NotificationID string                 `json:"notificationId"`
	Deleted        bool                   `json:"deleted,omitempty" doc:"It is gone, and the other fields with it"`
	ActionUser     *collab.User           `json:"actionUser,omitempty"`
	Headline       string                 `json:"displayHeadlineMessageTemplate,omitempty"`
	TemplateData   map[string]collab.JSON `json:"displayHeadlineMessageTemplateData,omitempty"`
	Body           string                 `json:"displayBodyMessage,omitempty"`
	SourceData     collab.JSON            `json:"notificationSourceData,omitempty" rule:"object"`
	NotifyAll      bool                   `json:"notifyAll,omitempty" doc:"It is for everyone of the organization"`
	NotifyUsers    []collab.User          `json:"notifyUsers,omitempty" doc:"The recipients: at most 200, and none if the payload would be too large"`
	CreatedAt      collab.Timestamp       `json:"createdAt,omitzero"`
}

// MaxDueBody is the maximum size of the body of a DueNotification, in bytes.
const MaxDueBody = 8_000

// DueNotification is a notification that a person is to be notified of.
type DueNotification struct {
	NotificationID string       `json:"notificationId"`
	DocumentID     string       `json:"documentId,omitempty"`
	AnnotationID   string       `json:"annotationId,omitempty"`
	Headline       string       `json:"headline" doc:"The text in the user's language, at most 1,000 bytes"`
	Body           string       `json:"body" doc:"The text of the first comment, or of the notification: at most 8,000 bytes"`
	CommentIDs     []int64      `json:"commentIds,omitempty" doc:"The comments, at most 3"`
	ActionUser     *collab.User `json:"actionUser" doc:"The acting user, with all known fields"`
	DocumentName   string       `json:"documentName,omitempty" doc:"The document's name now; absent if it has none"`
	URL            string       `json:"url,omitempty" doc:"The address by the setting mailLink; absent without it"`
	// "" without an annotation
	Visibility collab.VisibilityType `json:"visibility,omitempty" doc:"Who can see the annotation now; absent without one. Show texts that are not public only to the recipient"`
}

// DueRecipient is the person to be notified.
type DueRecipient struct {
	UserID   string `json:"userId"`
	Name     string `json:"name,omitempty"`
	Email    string `json:"email,omitempty" doc:"The address that an email would go to"`
	Locale   string `json:"locale,omitempty" doc:"The language of the user; absent if none is stored"`
	TimeZone string `json:"timeZone,omitempty" doc:"That of the user's preferences, else of the user"`
}

// Subject is the current state of an event's subject.
type Subject struct {
	Annotation   *collab.Annotation        // nil if deleted
	Comments     map[int64]*collab.Comment // by id: nil if deleted; missing if the payload was full
	Notification *collab.Notification      // nil if deleted
	NotifyUsers  []collab.User
	Due          []DueNotification // of notification.due
	DueTo        *DueRecipient     // of notification.due
}

// Payload returns the body of an event's posts, of at most MaxPayload bytes.
func Payload(ev *collab.Event, s Subject) ([]byte, error) {
	data, err := render(ev, s)
	if err != nil {
		return nil, err
	}
	return encode(ev, data)
}

// render returns the description of an event, in at most MaxPayload bytes as Payload encodes it.
func render(ev *collab.Event, s Subject) (EventData, error) {
	data := EventData{
		OrganizationID: orNull(ev.OrganizationID), DocumentID: orNull(ev.DocumentID), AnnotationID: orNull(ev.AnnotationID),
		FolderID: ev.FolderID, Emoji: ev.Emoji, ActionUser: ev.Actor, Webhook: ev.Webhook, Erased: ev.Erased,
	}
	if len(ev.CommentIDs) == 1 {
		data.CommentID = &ev.CommentIDs[0]
	}
	switch {
	case ev.Due != nil:
		data.UserID, data.Channel, data.More, data.Notifications = ev.Due.UserID, ev.Due.Channel, &ev.Due.More, s.Due
		data.Recipient = s.DueTo
	case ev.NotificationID != "":
		data.Notification = notificationOf(ev, s)
	case ev.AnnotationID != "" && !ev.Type.Deletes():
		data.Annotation = annotationOf(s.Annotation)
	}
	if u := ev.Undeliverable; u != nil {
		data.UserID, data.Email, data.Reason, data.Time = u.UserID, u.Email, u.Reason, collab.Timestamp(u.Time)
	}
	switch ev.Type {
	case collab.AnnotationStatusChanged:
		data.Previous, data.Current = &EventPrevious{Status: ev.Before.Status}, &EventPrevious{Status: ev.After.Status}
	case collab.AnnotationAssigned:
		data.Previous, data.Current = &EventPrevious{AssigneeID: &ev.Before.AssigneeID}, &EventPrevious{AssigneeID: &ev.After.AssigneeID}
	}
	for _, id := range ev.CommentIDs {
		c, read := s.Comments[id]
		shown := EventComment{CommentID: id, Deleted: ev.Type.Deletes() || read && c == nil, ContentOmitted: !read && !ev.Type.Deletes()}
		data.Comments = append(data.Comments, shown)
	}
	body, err := encode(ev, data)
	if err == nil && len(body) > MaxPayload && data.Notification != nil {
		data.Notification.NotifyUsers = nil
		body, err = encode(ev, data)
	}
	left := MaxPayload - len(body)
	for i, id := range ev.CommentIDs {
		c := s.Comments[id]
		if err != nil || c == nil || ev.Type.Deletes() {
			continue
		}
		text, html := c.Written()
		shown := EventComment{
			Agent: c.Agent, CommentID: id, Text: text, HTML: html, From: c.From, TaggedUserContacts: c.TaggedUserContacts,
			CreatedAt: collab.Timestamp(c.CreatedAt),
		}
		encoded, encodeErr := json.Marshal(shown) // escapes more than EncodeJSON
		if err = encodeErr; len(encoded) <= left {
			data.Comments[i] = shown
			left -= len(encoded)
		} else {
			data.Comments[i].ContentOmitted = true
			left -= len(`,"contentOmitted":true`)
		}
	}
	return data, err
}

func encode(ev *collab.Event, data EventData) ([]byte, error) {
	return collab.EncodeJSON(payload{Type: ev.Type, Timestamp: collab.Timestamp(ev.Time), Data: data})
}

func annotationOf(a *collab.Annotation) *EventAnnotation {
	if a == nil {
		return &EventAnnotation{Deleted: true}
	}
	visibility, err := collab.EncodeJSON(a.Visibility.Answered())
	if err != nil {
		panic(err) // always encodes
	}
	return &EventAnnotation{
		TargetElement: a.TargetElement, SourceType: a.SourceType(), ResolvedByUserID: a.ResolvedBy, ResolvedAt: collab.Timestamp(a.ResolvedAt),
		Type: a.Type(), Suggestion: a.Suggestion, Actions: keptOf(a).Actions, From: a.From, Location: a.Location, Status: a.Status, AssignedTo: a.AssignedTo, Priority: a.Priority, Context: a.Context,
		Visibility: visibility, CreatedAt: collab.Timestamp(a.CreatedAt),
	}
}

// kept holds those fields of an annotation that are stored and returned unchanged.
type kept struct {
	PageInfo collab.JSON   `json:"pageInfo"`
	Actions  []collab.JSON `json:"actions"`
}

func keptOf(a *collab.Annotation) (k kept) {
	if a.Kept != nil {
		_ = json.Unmarshal(a.Kept, &k) // validated when stored
	}
	return k
}

func notificationOf(ev *collab.Event, s Subject) *EventNotification {
	n := s.Notification
	if n == nil {
		return &EventNotification{NotificationID: ev.NotificationID, Deleted: true}
	}
	return &EventNotification{
		NotificationID: n.ID, ActionUser: &n.ActionUser, Headline: n.Headline, TemplateData: n.TemplateData, Body: n.Body,
		SourceData: n.SourceData, CreatedAt: collab.Timestamp(n.CreatedAt), NotifyAll: ev.NotifyAll,
		NotifyUsers: s.NotifyUsers[:min(len(s.NotifyUsers), collab.MaxAudience)],
	}
}

func orNull(id string) *string {
	if id == "" {
		return nil
	}
	return &id
}

// Fields returns the fields of EventData that payloads of a type may have in addition to the common
// fields.
func Fields(t collab.EventType) []string {
	switch t {
	case collab.AnnotationAdded, collab.CommentAdded, collab.CommentUpdated:
		return []string{"annotation", "comments", "actionUser"}
	case collab.ReactionAdded, collab.ReactionDeleted:
		return []string{"annotation", "comments", "actionUser", "emoji"}
	case collab.AnnotationUpdated, collab.SuggestionAccepted, collab.SuggestionRejected:
		return []string{"annotation", "actionUser"}
	case collab.AnnotationStatusChanged, collab.AnnotationAssigned:
		return []string{"annotation", "previous", "current", "actionUser"}
	case collab.CommentDeleted:
		return []string{"comments"}
	case collab.NotificationAdded, collab.NotificationClicked:
		return []string{"notification", "actionUser"}
	case collab.NotificationDue:
		return []string{"userId", "channel", "notifications", "more", "recipient"}
	case collab.EmailUndeliverable:
		return []string{"userId", "email", "reason", "time"}
	case collab.FolderDeleted:
		return []string{"folderId"}
	case collab.UserErased:
		return []string{"erased"}
	case collab.AnnotationDeleted, collab.DocumentDeleted, collab.OrganizationDeleted:
		return nil
	}
	return []string{"webhook"}
}
