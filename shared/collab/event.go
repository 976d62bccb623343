package collab

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"slices"
	"strings"
)

// MaxPeople is the maximum of users that one event notifies: the tagged users of an annotation in
// one request, or notifyUsers.
const MaxPeople = 1_000

// EventType is the type of an event in webhooks.
type EventType string

const (
	AnnotationAdded         EventType = "comment_annotation.added"
	AnnotationUpdated       EventType = "comment_annotation.updated"
	AnnotationStatusChanged EventType = "comment_annotation.status_changed"
	AnnotationAssigned      EventType = "comment_annotation.assigned"
	SuggestionAccepted      EventType = "comment_annotation.suggestion_accepted"
	SuggestionRejected      EventType = "comment_annotation.suggestion_rejected"
	CommentAdded            EventType = "comment.added"
	CommentUpdated          EventType = "comment.updated"
	AnnotationDeleted       EventType = "comment_annotation.deleted"
	CommentDeleted          EventType = "comment.deleted"
	DocumentDeleted         EventType = "document.deleted"
	FolderDeleted           EventType = "folder.deleted"
	OrganizationDeleted     EventType = "organization.deleted"
	NotificationAdded       EventType = "notification.added"
	NotificationClicked     EventType = "notification.clicked"
	NotificationDue         EventType = "notification.due"
	WebhookDisabled         EventType = "webhook.disabled"
	UserErased              EventType = "user.erased"
	EmailUndeliverable      EventType = "email.undeliverable"
	ReactionAdded           EventType = "comment.reaction_added"
	ReactionDeleted         EventType = "comment.reaction_deleted"
)

func EventTypes() []EventType {
	return []EventType{
		AnnotationAdded, AnnotationUpdated, AnnotationStatusChanged, AnnotationAssigned, SuggestionAccepted, SuggestionRejected,
		CommentAdded, CommentUpdated, ReactionAdded, ReactionDeleted, NotificationAdded, NotificationClicked, NotificationDue, EmailUndeliverable, WebhookDisabled,
		AnnotationDeleted, CommentDeleted, DocumentDeleted, FolderDeleted, OrganizationDeleted, UserErased,
	}
}

func (EventType) Values() []string { return texts(EventTypes()...) }

// Event refers to something that happened. It has ids, and facts that cannot be read later.
// Everything else is rendered when it is read, emailed or posted.
type Event struct {
	ID             string    `json:"id"`
	Type           EventType `json:"type"`
	Account        string    `json:"account"`
	OrganizationID string    `json:"organizationId,omitempty"`
	DocumentID     string    `json:"documentId,omitempty"`
	Incarnation    [2]int64  `json:"incarnation,omitzero"` // of organization and document
	AnnotationID   string    `json:"annotationId,omitempty"`
	CommentIDs     []int64   `json:"commentIds,omitempty"` // notifying ones come first
	Notifying      int       `json:"notifying,omitempty"`  // number of CommentIDs that notify
	FolderID       string    `json:"folderId,omitempty"`   // folder.deleted
	NotificationID string    `json:"notificationId,omitempty"`
	Time           Millis    `json:"time"`
	// Actor has only id and name, see Acting. It is never notified.
	Actor *User `json:"actor,omitempty"`
	// A person made the request with a token: the service filled in the tags.
	ByPerson bool `json:"byPerson,omitempty"`
	// Notify sends in-app notifications and emails as well as webhooks.
	Notify bool `json:"notify,omitempty"`
	// notification.added: everyone in the organization.
	NotifyAll bool `json:"notifyAll,omitempty"`
	// Only users with access to the document (verifyUserPermissions).
	VerifyAccess bool `json:"verifyAccess,omitempty"`

	// The event notifies only users that it newly mentions or shares the annotation with.
	NamedAlone bool `json:"namedAlone,omitempty"`
	// Users newly named by the annotation's visibility.
	SharedWith []string `json:"sharedWith,omitempty"`
	Emoji      string   `json:"emoji,omitempty"` // of a reaction
	// Id of the notification, if events share one; otherwise it is that of the event.
	NotifiedAs string `json:"notifiedAs,omitempty"`

	Before  EventFacts    `json:"before,omitzero"`   // status_changed, assigned, comment.updated
	After   EventFacts    `json:"after,omitzero"`    // of events about an annotation
	Webhook *EventWebhook `json:"webhook,omitempty"` // webhook.disabled
	Erased  *EventErased  `json:"erased,omitempty"`  // user.erased
	Due     *EventDue     `json:"due,omitempty"`     // notification.due

	Undeliverable *Undeliverable `json:"undeliverable,omitempty"` // email.undeliverable
}

// EventFacts are facts about an annotation at the time of an event.
type EventFacts struct {
	Status     *EventStatus `json:"status,omitempty"` // status_changed
	AssigneeID string       `json:"assigneeId,omitempty"`
	Priority   bool         `json:"priority,omitempty"` // updated: the priority changed
	Mentions   Mentions     `json:"mentions,omitzero"`  // comment.updated: see Event.Mentioned
}

type EventStatus struct {
	ID   string `json:"id"`
	Type string `json:"type,omitempty"`
}

// In returns an event in a document. The caller sets its ID, Type and Time.
func In(doc DocumentRef) Event {
	return Event{
		Account: doc.Account, OrganizationID: doc.Organization, DocumentID: doc.Document,
		Incarnation: [2]int64{doc.OrganizationRef.Incarnation, doc.Incarnation},
	}
}

// Document returns the document of the event.
func (e *Event) Document() DocumentRef {
	org := OrganizationRef{Account: e.Account, Organization: e.OrganizationID, Incarnation: e.Incarnation[0]}
	return DocumentRef{OrganizationRef: org, Document: e.DocumentID, Incarnation: e.Incarnation[1]}
}

// Describe sets the event's type and annotation.
func (e *Event) Describe(kind EventType, a *Annotation) {
	e.Type, e.AnnotationID = kind, a.ID
	e.After.AssigneeID = a.AssigneeID()
}

// AddComments adds comments. If notify is true, they notify users; such comments must be added
// first.
func (e *Event) AddComments(notify bool, comments ...Comment) {
	for _, c := range comments {
		e.CommentIDs = append(e.CommentIDs, c.ID)
	}
	if notify {
		e.Notify, e.Notifying = true, len(e.CommentIDs)
	}
}

// AddChanges adds comments before and after a change. If notify is true, the event notifies users
// that the change newly mentions, and that none of the comments has mentioned before.
func (e *Event) AddChanges(notify bool, were, comments []Comment) {
	before := MentionsOf(were...)
	for _, c := range were {
		before = before.with(Deref(c.Removed))
	}
	fresh := MentionsOf(comments...).without(before, MaxPeople)
	e.NamedAlone = true
	if !notify || fresh.Len() == 0 {
		e.AddComments(false, comments...)
		return
	}
	mentions := func(c Comment) bool { return MentionsOf(c).without(before, 1).Len() > 0 }
	e.AddComments(true, Where(comments, mentions)...)
	e.AddComments(false, Where(comments, func(c Comment) bool { return !mentions(c) })...)
	e.Before.Mentions, e.After.Mentions = before.without(Mentions{}, MaxPeople-fresh.Len()), fresh
}

// Mentioned returns the mentions in a comment for which the event notifies users. Before.Mentions
// is still part of it.
func (e *Event) Mentioned(now Mentions) Mentions {
	switch e.Type {
	case AnnotationAdded, CommentAdded:
		return now
	case CommentUpdated:
		in := func(list []string) func(string) bool {
			return func(id string) bool { return slices.Contains(list, id) }
		}
		return Mentions{Where(now.Users, in(e.After.Mentions.Users)), Where(now.Groups, in(e.After.Mentions.Groups))}
	}
	return Mentions{}
}

// Share records the users that the annotation's visibility newly names. before is nil for a new
// annotation. The creator is excluded.
func (e *Event) Share(before, after *Annotation) {
	var were []string
	if before != nil {
		were = before.Visibility.Users()
	}
	e.SharedWith = Where(after.Visibility.Users(), func(id string) bool {
		return id != after.CreatorID && id != ErasedUser && !slices.Contains(were, id)
	})
}

// Notification returns the id of the event's notification.
func (e *Event) Notification() string { return cmp.Or(e.NotificationID, e.NotifiedAs, e.ID) }

// NotifyingIDs returns the ids of the comments that notify users.
func (e *Event) NotifyingIDs() []int64 { return e.CommentIDs[:e.Notifying] }

// Deletes reports whether events of the type are about a deletion: they have only ids.
func (t EventType) Deletes() bool { return strings.HasSuffix(string(t), ".deleted") }

// Acting returns the user with only id and name, for events.
func (u User) Acting() *User {
	short := u.Short()
	short.Email = nil
	return &short
}

func (a *Annotation) StatusRef() *EventStatus {
	s := &EventStatus{}
	_ = json.Unmarshal(a.Status, s) // checked before it was stored
	return s
}

// EventWebhook names a disabled webhook endpoint and the reason.
type EventWebhook struct {
	WebhookID string `json:"webhookId"`
	Reason    string `json:"reason" doc:"Reason for disabling"`
}

// EventDue names the user to notify, the channel, and the notifications.
type EventDue struct {
	UserID    string   `json:"userId"`
	Channel   string   `json:"channel"`
	Positions []string `json:"positions"`           // in the user's inbox, newest first
	More      int      `json:"more,omitempty"`      // number of further notifications
	Mentioned bool     `json:"mentioned,omitempty"` // one of the notifications mentions the user
}

// EventRef names an event of the outbox.
type EventRef struct{ Account, ID string }

// TaskKind is a kind of background work. Each has its own partitions and a handler in package
// delivery.
type TaskKind string

const (
	EventTask   TaskKind = "event"   // delivers an event, by its id
	NoticeTask  TaskKind = "notice"  // sends an email or a notification.due event
	WebhookTask TaskKind = "webhook" // posts to a webhook endpoint, by its id
	JobTask     TaskKind = "job"     // continues a deletion, by the job's id
)

// TaskKinds returns all kinds.
func TaskKinds() []TaskKind { return []TaskKind{EventTask, NoticeTask, WebhookTask, JobTask} }

// TaskRef names a task.
type TaskRef struct {
	Kind        TaskKind
	Account, ID string
}

// React describes a reaction to a comment. Its events share one notification of the comment's
// author for each thread, which a later one replaces if no reaction to its comment is left.
func (e *Event) React(kind EventType, a *Annotation, c *Comment, emoji string) {
	e.Describe(kind, a)
	e.Emoji = emoji
	sum := sha256.Sum256([]byte(strings.Join([]string{e.DocumentID, a.ID, c.AuthorID}, "\x00")))
	e.NotifiedAs = "reactions-" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
}

// EventErased names a user whose data is being deleted.
type EventErased struct {
	UserID          string   `json:"userId" doc:"User whose data is deleted"`
	OrganizationIDs []string `json:"organizationIds,omitempty" doc:"Organizations of the erasure; if absent, the whole account"`
}
