package collab

import "encoding/json"

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

// maxTargetText is how much an event keeps of the text that its annotation is anchored on, in bytes.
const maxTargetText = 300

// MaxEventBytes is the size of a stored event: longer texts in its snapshot are cut.
const MaxEventBytes = 32_000

// Event is something that happened, as the outbox keeps it: an immutable snapshot, so that no delivery depends on what was written
// later. It is stored as JSON of at most MaxEventBytes, as EncodeJSON writes it.
type Event struct {
	ID             string    `json:"id"`
	Type           EventType `json:"type"`
	Account        string    `json:"account"`
	OrganizationID string    `json:"organizationId"`
	DocumentID     string    `json:"documentId,omitempty"`
	Incarnation    [2]int64  `json:"incarnation,omitzero"` // of organization and document
	AnnotationID   string    `json:"annotationId,omitempty"`
	FolderID       string    `json:"folderId,omitempty"` // folder.deleted
	Time           Millis    `json:"time"`
	Actor          *User     `json:"actor,omitempty"` // who acted: never notified
	Notify         bool      `json:"notify"`          // in-app notifications and mail as well as webhooks

	Annotation *EventAnnotation `json:"annotation,omitempty"`
	Previous   *EventAnnotation `json:"previous,omitempty"` // status_changed, assigned: what it was before; only the fields that changed
	Comments   []EventComment   `json:"comments,omitempty"` // added or updated, those that triggered the event
	// tagged users, or notifyUsers, each once, at most MaxPeople; the store keeps a long list in items of its own
	People []User `json:"people,omitempty"`

	Notification *Notification `json:"notification,omitempty"` // notification.added, notification.clicked
	NotifyAll    bool          `json:"notifyAll,omitempty"`    // notification.added: everyone of the organization
	VerifyAccess bool          `json:"verifyAccess,omitempty"` // only those who may see the document (verifyUserPermissions)
	Webhook      *EventWebhook `json:"webhook,omitempty"`      // webhook.disabled
	Erased       *EventErased  `json:"erased,omitempty"`       // user.erased

	Truncated bool `json:"truncated,omitempty"` // texts were cut, or comments left out
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
	visibility, err := EncodeJSON(a.Visibility.Answered())
	if err != nil {
		panic(err) // it has a JSON form, whatever it holds
	}
	objects := AnnotationObjects{a.From, a.Location, a.Status, a.AssignedTo, a.Priority, a.Context, visibility}
	e.Annotation = &EventAnnotation{objects, a.CreatedAt, a.TargetText()}
}

// TargetText is the beginning of the text that the annotation is anchored on, "" for none.
func (a *Annotation) TargetText() string {
	var element struct {
		TargetText string `json:"targetText"`
	}
	if a.TargetElement != nil {
		_ = json.Unmarshal(a.TargetElement, &element) // what is stored was checked
	}
	return Cut(element.TargetText, maxTargetText)
}

// AnnotationObjects are the objects of an annotation that its events hold.
type AnnotationObjects struct {
	From       JSON `json:"from,omitempty" schema:"User"`
	Location   JSON `json:"location,omitempty" schema:"Location"`
	Status     JSON `json:"status,omitempty" schema:"AnnotationStatus"`
	AssignedTo JSON `json:"assignedTo,omitempty" schema:"User"`
	Priority   JSON `json:"priority,omitempty" schema:"Priority"`
	Context    JSON `json:"context,omitempty" rule:"object"`
	Visibility JSON `json:"visibility,omitempty" schema:"Visibility"`
}

// EventAnnotation is an annotation's head in an event.
type EventAnnotation struct {
	AnnotationObjects
	CreatedAt  Millis `json:"createdAt,omitempty"`
	TargetText string `json:"targetText,omitempty"` // that of the target element: its beginning
}

// short returns the annotation without its context and long members, and with short names.
func (a *EventAnnotation) short() *EventAnnotation {
	if a == nil {
		return nil
	}
	short := AnnotationObjects{
		From: shortUser(a.From), AssignedTo: shortUser(a.AssignedTo),
		Location: shortObject(a.Location), Status: shortObject(a.Status), Priority: shortObject(a.Priority),
		Visibility: shortObject(a.Visibility),
	}
	return &EventAnnotation{short, a.CreatedAt, CutEncoded(a.TargetText, maxTargetText)}
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
	JobWork    WorkKind = "job"    // jobs of deletions: the ID is the job's
)
