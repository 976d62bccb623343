package collab

import (
	"encoding/json"
	"slices"
	"strings"
)

// MaxPeople is how many users one event may notify: the tagged users of an annotation in one request, or notifyUsers.
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
	AnnotationDeleted       EventType = "comment_annotation.deleted"
	CommentDeleted          EventType = "comment.deleted"
	DocumentDeleted         EventType = "document.deleted"
	FolderDeleted           EventType = "folder.deleted"
	OrganizationDeleted     EventType = "organization.deleted"
	NotificationAdded       EventType = "notification.added"
	NotificationClicked     EventType = "notification.clicked"
	WebhookDisabled         EventType = "webhook.disabled"
	UserErased              EventType = "user.erased"
)

// EventTypes returns all event types.
func EventTypes() []EventType {
	return []EventType{
		AnnotationAdded, AnnotationUpdated, AnnotationStatusChanged, AnnotationAssigned,
		CommentAdded, CommentUpdated, NotificationAdded, NotificationClicked, WebhookDisabled,
		AnnotationDeleted, CommentDeleted, DocumentDeleted, FolderDeleted, OrganizationDeleted, UserErased,
	}
}

// Values returns all event types.
func (EventType) Values() []string { return texts(EventTypes()...) }

func texts[T ~string](values ...T) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return list
}

// Event is a reference to something that happened. It holds ids and what cannot be read later: what people read of it is rendered when it is
// read, mailed or posted.
type Event struct {
	ID             string    `json:"id"`
	Type           EventType `json:"type"`
	Account        string    `json:"account"`
	OrganizationID string    `json:"organizationId,omitempty"`
	DocumentID     string    `json:"documentId,omitempty"`
	Incarnation    [2]int64  `json:"incarnation,omitzero"` // of organization and document
	AnnotationID   string    `json:"annotationId,omitempty"`
	CommentIDs     []int64   `json:"commentIds,omitempty"`     // those that notify come first
	Notifying      int       `json:"notifying,omitempty"`      // how many of CommentIDs notify
	FolderID       string    `json:"folderId,omitempty"`       // folder.deleted
	NotificationID string    `json:"notificationId,omitempty"` // notification.added, notification.clicked
	Time           Millis    `json:"time"`
	Actor          *User     `json:"actor,omitempty"`        // id and name, see Acting; never notified
	ByPerson       bool      `json:"byPerson,omitempty"`     // with a token: the service filled in the tags
	Notify         bool      `json:"notify,omitempty"`       // in-app notifications and mail as well as webhooks
	NotifyAll      bool      `json:"notifyAll,omitempty"`    // notification.added: everyone of the organization
	VerifyAccess   bool      `json:"verifyAccess,omitempty"` // only those who may see the document (verifyUserPermissions)

	// Only those are notified whom the event newly mentions, or shares the annotation with.
	NamedAlone bool     `json:"namedAlone,omitempty"`
	SharedWith []string `json:"sharedWith,omitempty"` // users whom the annotation's visibility names, and did not before

	Before  EventFacts    `json:"before,omitzero"`   // status_changed, assigned, comment.updated
	After   EventFacts    `json:"after,omitzero"`    // of events about an annotation
	Webhook *EventWebhook `json:"webhook,omitempty"` // webhook.disabled
	Erased  *EventErased  `json:"erased,omitempty"`  // user.erased
}

// EventFacts are the state of an annotation at the time of an event.
type EventFacts struct {
	Status     *EventStatus `json:"status,omitempty"` // status_changed
	AssigneeID string       `json:"assigneeId,omitempty"`
	Priority   bool         `json:"priority,omitempty"` // updated: the priority changed
	Mentions   Mentions     `json:"mentions,omitzero"`  // comment.updated: see Event.Mentioned
}

// Mentions are the ids of users and groups whom comments mention, each once.
type Mentions struct {
	Users  []string `json:"users,omitempty"`
	Groups []string `json:"groups,omitempty"`
}

// MentionsOf returns whom comments mention.
func MentionsOf(comments ...Comment) (m Mentions) {
	seen := map[Tag]bool{}
	for _, c := range comments {
		for _, t := range Tags(c.TaggedUserContacts) {
			t = Tag{UserID: t.UserID, GroupID: t.GroupID}
			switch {
			case seen[t]:
			case t.GroupID != "":
				m.Groups = append(m.Groups, t.GroupID)
			case t.UserID != "":
				m.Users = append(m.Users, t.UserID)
			}
			seen[t] = true
		}
	}
	return m
}

// Len is how many there are.
func (m Mentions) Len() int { return len(m.Users) + len(m.Groups) }

// without returns those of m that are not in other, at most most of them, groups first.
func (m Mentions) without(other Mentions, most int) Mentions {
	among := func(list, others []string) []string {
		list = Where(list, func(id string) bool { return !slices.Contains(others, id) })
		list = list[:min(len(list), most)]
		most -= len(list)
		return list
	}
	groups := among(m.Groups, other.Groups)
	return Mentions{among(m.Users, other.Users), groups}
}

// EventStatus is a status by its id.
type EventStatus struct {
	ID   string `json:"id"`
	Type string `json:"type,omitempty"`
}

// In returns an event of a document. The caller sets its ID, Type and Time.
func In(doc DocumentRef) Event {
	return Event{
		Account: doc.Account, OrganizationID: doc.Organization, DocumentID: doc.Document,
		Incarnation: [2]int64{doc.OrganizationRef.Incarnation, doc.Incarnation},
	}
}

// Document is where the event happened.
func (e *Event) Document() DocumentRef {
	org := OrganizationRef{Account: e.Account, Organization: e.OrganizationID, Incarnation: e.Incarnation[0]}
	return DocumentRef{OrganizationRef: org, Document: e.DocumentID, Incarnation: e.Incarnation[1]}
}

// Describe sets the event's type, and the annotation that it is about.
func (e *Event) Describe(kind EventType, a *Annotation) {
	e.Type, e.AnnotationID = kind, a.ID
	e.After.AssigneeID = a.AssigneeID()
}

// AddComments adds comments; notify says that people are notified of them. Those that notify must be added first.
func (e *Event) AddComments(notify bool, comments ...Comment) {
	for _, c := range comments {
		e.CommentIDs = append(e.CommentIDs, c.ID)
	}
	if notify {
		e.Notify, e.Notifying = true, len(e.CommentIDs)
	}
}

// AddChanges adds comments as they were and as they are changed. With notify those whom the change
// mentions, and the comments did not mention before, are notified of it.
func (e *Event) AddChanges(notify bool, were, comments []Comment) {
	before := MentionsOf(were...)
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

// Mentioned returns whom of those that a comment of the event mentions now the event notifies of
// that, before those are left out whom Before.Mentions has already notified.
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

// Share says that the annotation's visibility names users whom it did not name before, nil for a new
// annotation. Its creator sees it anyway.
func (e *Event) Share(before, after *Annotation) {
	var were []string
	if before != nil {
		were = before.Visibility.Users()
	}
	e.SharedWith = Where(after.Visibility.Users(), func(id string) bool {
		return id != after.CreatorID && id != ErasedUser && !slices.Contains(were, id)
	})
}

// NotifyingIDs returns the ids of the comments that people are notified of.
func (e *Event) NotifyingIDs() []int64 { return e.CommentIDs[:e.Notifying] }

// Deletes reports whether events of the type tell of a deletion: they hold ids alone.
func (t EventType) Deletes() bool { return strings.HasSuffix(string(t), ".deleted") }

// Acting returns the user as an event names who acted: by id and name.
func (u User) Acting() *User {
	short := u.Short()
	short.Email = nil
	return &short
}

// AssigneeID is the id of the user whom the annotation is assigned to, "" for nobody.
func (a *Annotation) AssigneeID() string {
	var u User
	if len(a.AssignedTo) > 0 {
		_ = json.Unmarshal(a.AssignedTo, &u) // what is stored was checked
	}
	return u.UserID
}

// StatusRef is the annotation's status by its id.
func (a *Annotation) StatusRef() *EventStatus {
	s := &EventStatus{}
	_ = json.Unmarshal(a.Status, s) // what is stored was checked
	return s
}

// EventWebhook names the webhook endpoint that was disabled and why.
type EventWebhook struct {
	WebhookID string `json:"webhookId"`
	Reason    string `json:"reason" doc:"Why it was disabled"`
}

// EventRef names an event of the outbox.
type EventRef struct{ Account, ID string }

// WorkKind is a kind of pending work.
type WorkKind string

// The kinds. Each has partitions of its own, so that no backlog of one hides another.
const (
	EventWork  WorkKind = "event"  // events whose delivery is not done
	LaneWork   WorkKind = "lane"   // webhook endpoints with deliveries that wait
	ParkedWork WorkKind = "parked" // events of accounts and organizations that are disabled
	FailedWork WorkKind = "failed" // events whose delivery has failed for hours: an operator retries them
	JobWork    WorkKind = "job"    // jobs of deletions: the ID is the job's

	EmailWork WorkKind = "email" // emails that wait: see outbox.Email
)
