package collab

import (
	"encoding/json"
	"unicode/utf8"
)

// MaxPeople is how many users one event may name: the tagged users of an annotation in one request, or notifyUsers.
const MaxPeople = 1_000

// EventType is the type of an event, as webhooks carry it.
type EventType string

// The event types.
const (
	AnnotationAdded         EventType = "comment_annotation.added"
	AnnotationUpdated       EventType = "comment_annotation.updated"
	AnnotationStatusChanged EventType = "comment_annotation.status_changed"
	AnnotationAssigned      EventType = "comment_annotation.assigned"
	CommentAdded            EventType = "comment.added"
	CommentUpdated          EventType = "comment.updated"
	NotificationAdded       EventType = "notification.added"
	NotificationClicked     EventType = "notification.clicked"
	WebhookDisabled         EventType = "webhook.disabled"
)

// MaxEventBytes is the size of a stored event: longer texts in its snapshot are cut.
const MaxEventBytes = 32_000

// Event is something that happened, as the outbox keeps it: an immutable snapshot, so that no delivery depends on what was written
// later. It is stored as JSON of at most MaxEventBytes.
type Event struct {
	ID             string    `json:"id"`
	Type           EventType `json:"type"`
	Account        string    `json:"account"`
	OrganizationID string    `json:"organizationId"`
	DocumentID     string    `json:"documentId,omitempty"`
	AnnotationID   string    `json:"annotationId,omitempty"`
	Time           Millis    `json:"time"`
	Actor          *User     `json:"actor,omitempty"` // who acted: never notified
	Notify         bool      `json:"notify"`          // in-app notifications and mail as well as webhooks

	Annotation     *EventAnnotation `json:"annotation,omitempty"`
	Previous       *EventAnnotation `json:"previous,omitempty"` // status_changed, assigned: what it was before; only the fields that changed
	Comments       []EventComment   `json:"comments,omitempty"` // added or updated, those that triggered the event
	RecentComments []EventComment   `json:"recentComments,omitempty"`
	Participants   []string         `json:"participants,omitempty"` // user ids of the thread's earlier authors, at most MaxAuthors
	People         []User           `json:"people,omitempty"`       // tagged users, or notifyUsers, each once, at most MaxPeople; the store keeps a long list beside the event

	Notification *Notification `json:"notification,omitempty"` // notification.added, notification.clicked
	NotifyAll    bool          `json:"notifyAll,omitempty"`    // notification.added: everyone of the organization
	VerifyAccess bool          `json:"verifyAccess,omitempty"` // only those who may see the document (verifyUserPermissions)
	Webhook      *EventWebhook `json:"webhook,omitempty"`      // webhook.disabled

	Truncated bool `json:"truncated,omitempty"` // texts were cut, or comments left out
}

// EventAnnotation is an annotation's head in an event.
type EventAnnotation struct {
	From       JSON   `json:"from,omitempty"`
	Location   JSON   `json:"location,omitempty"`
	Status     JSON   `json:"status,omitempty"`
	AssignedTo JSON   `json:"assignedTo,omitempty"`
	Priority   JSON   `json:"priority,omitempty"`
	Context    JSON   `json:"context,omitempty"`
	CreatedAt  Millis `json:"createdAt,omitempty"`
}

// EventComment is a comment in an event.
type EventComment struct {
	CommentID          int64   `json:"commentId"`
	Text               *string `json:"commentText,omitempty"`
	HTML               *string `json:"commentHtml,omitempty"`
	From               JSON    `json:"from,omitempty"`
	TaggedUserContacts JSON    `json:"taggedUserContacts,omitempty"`
	CreatedAt          Millis  `json:"createdAt,omitempty"`
}

// EventWebhook names the webhook endpoint that was disabled and why.
type EventWebhook struct {
	WebhookID string `json:"webhookId"`
	Reason    string `json:"reason"`
}

// EventRef names an event of the outbox.
type EventRef struct{ Account, ID string }

// Shorten makes the event's JSON fit into MaxEventBytes. What it cuts it says in Truncated: first the recent comments and metadata go,
// then texts are cut, last comments are left out. What the event points to is copied before it is changed.
func (e *Event) Shorten() error {
	fits := func() (bool, error) {
		body, err := json.Marshal(e)
		return len(body) <= MaxEventBytes, err
	}
	if ok, err := fits(); ok || err != nil {
		return err
	}
	e.Truncated = true
	e.RecentComments = nil
	if e.Actor != nil {
		actor := e.Actor.Short()
		e.Actor = &actor
	}
	for _, a := range []**EventAnnotation{&e.Annotation, &e.Previous} {
		if *a != nil {
			c := **a
			c.Context = nil
			*a = &c
		}
	}
	if e.Notification != nil { // the notification itself is stored whole
		n := *e.Notification
		n.ActionUser = n.ActionUser.Short()
		n.Headline, n.Body, n.TemplateData = cut(n.Headline, 2_000), cut(n.Body, 2_000), nil
		if len(n.SourceData) > 8_000 {
			n.SourceData = nil
		}
		e.Notification = &n
	}
	e.Comments = append([]EventComment(nil), e.Comments...)
	for limit := 16_000; ; limit /= 2 {
		for i := range e.Comments {
			c := &e.Comments[i]
			c.Text, c.HTML = cutOpt(c.Text, limit), cutOpt(c.HTML, limit)
			if len(c.TaggedUserContacts) > limit {
				c.TaggedUserContacts = nil
			}
			c.From = shortUser(c.From)
		}
		if limit < 100 {
			e.Comments = e.Comments[:len(e.Comments)/2]
		}
		if limit == 0 && e.Annotation != nil {
			e.Annotation = &EventAnnotation{CreatedAt: e.Annotation.CreatedAt}
			e.Previous = nil
		}
		if ok, err := fits(); ok || err != nil || limit == 0 {
			return err
		}
	}
}

// shortUser returns a user object with short texts.
func shortUser(object JSON) JSON {
	var u User
	if len(object) <= 1_000 || json.Unmarshal(object, &u) != nil {
		return object
	}
	text, err := json.Marshal(u.Short())
	if err != nil {
		return object
	}
	return text
}

// Short returns the user with a name of at most 200 bytes and an address of at most 320, which no real one exceeds.
func (u User) Short() User {
	u.Name, u.Email = cutOpt(u.Name, 200), cutOpt(u.Email, 320)
	return u
}

// cut returns at most limit bytes of s, whole characters only.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

func cutOpt(s *string, limit int) *string {
	if s == nil {
		return nil
	}
	short := cut(*s, limit)
	return &short
}
