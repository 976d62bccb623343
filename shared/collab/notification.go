package collab

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
)

// Preference is which notifications a person wants on a channel.
type Preference string

// The preferences.
const (
	PreferAll  Preference = "ALL"  // everything in the organization or document
	PreferMine Preference = "MINE" // what concerns the person: tagged, assigned, taking part, named
	PreferNone Preference = "NONE"
)

// Values returns all preferences.
func (Preference) Values() []string { return texts(PreferAll, PreferMine, PreferNone) }

// Preferences are a person's preferences by channel.
type Preferences struct {
	Inbox   Preference            `dynamodbav:"inb,omitempty"`
	Email   Preference            `dynamodbav:"eml,omitempty"`
	Further map[string]Preference `dynamodbav:"chn,omitempty"` // by channels of the application's own: nothing is sent on them
}

// Channels are the preferences that are set, by channel.
func (p Preferences) Channels() map[string]Preference {
	all := map[string]Preference{}
	maps.Copy(all, p.Further)
	for channel, set := range map[string]Preference{"inbox": p.Inbox, "email": p.Email} {
		if set != "" {
			all[channel] = set
		}
	}
	return all
}

// DefaultPreferences hold where neither the document nor the organization has a preference of the person.
var DefaultPreferences = Preferences{Inbox: PreferAll, Email: PreferMine}

// EffectivePreferences returns what holds for a person who has preferences for a document and for its organization, "" where none was set:
// for each channel the document's, else the organization's, else the default, which further channels do not have.
func EffectivePreferences(document, organization Preferences) Preferences {
	p := Preferences{
		Inbox: cmp.Or(document.Inbox, organization.Inbox, DefaultPreferences.Inbox),
		Email: cmp.Or(document.Email, organization.Email, DefaultPreferences.Email),
	}
	if len(document.Further)+len(organization.Further) > 0 {
		p.Further = map[string]Preference{}
		maps.Copy(p.Further, organization.Further)
		maps.Copy(p.Further, document.Further)
	}
	return p
}

// UserPreferences are what a user has set for a document, or for the organization.
type UserPreferences struct {
	User, Document string // Document is "" for the organization
	Preferences
	Mail MailTimes // of the organization
}

// PreferencePosition is a place in the list of all preferences of an organization.
type PreferencePosition struct {
	Documents bool   // among those for documents, which come after those for the organization
	After     string // sort key
}

// PreferencesSet are what a person has set, "" where nothing.
type PreferencesSet struct {
	Document, Organization Preferences
	Mail                   MailTimes
}

// Effective returns what holds: see EffectivePreferences.
func (p PreferencesSet) Effective() Preferences {
	return EffectivePreferences(p.Document, p.Organization)
}

// Notification is what notifications add stores, or what `deliver` makes of a comment event. The latter holds ids and facts, besides what
// notifications update set: its texts are rendered when they are read.
type Notification struct {
	ID           string          `json:"notificationId"`
	DocumentID   string          `json:"documentId"`
	Incarnation  int64           `json:"incarnation,omitempty"` // of the document
	ActionUser   User            `json:"actionUser"`
	Headline     string          `json:"displayHeadlineMessageTemplate,omitempty"`
	TemplateData map[string]JSON `json:"displayHeadlineMessageTemplateData,omitempty"` // text, numbers, booleans, user objects
	Body         string          `json:"displayBodyMessage,omitempty"`
	BodyTemplate string          `json:"displayBodyMessageTemplate,omitempty"` // in the place of Body
	BodyData     map[string]JSON `json:"displayBodyMessageTemplateData,omitempty"`
	Source       string          `json:"notificationSource,omitempty"` // such as custom or comment
	SourceData   JSON            `json:"notificationSourceData,omitempty"`
	Location     JSON            `json:"location,omitempty"`                   // an object
	Metadata     JSON            `json:"metadata,omitempty"`                   // an object, free-form
	ResolverUsed bool            `json:"isNotificationResolverUsed,omitempty"` // the application shows the texts
	PersistRead  bool            `json:"persistReadForUsers,omitempty"`
	CreatedAt    Millis          `json:"createdAt"`

	// Of a comment event.
	Event        EventType    `json:"event,omitempty"`
	AnnotationID string       `json:"annotationId,omitempty"`
	CommentIDs   []int64      `json:"commentIds,omitempty"` // its first comments, at most MaxNotified: Body is of the first that is there
	Status       *EventStatus `json:"status,omitempty"`     // status_changed
	AssignedTo   *User        `json:"assignedTo,omitempty"` // assigned: by id; nil for nobody
	LocationID   string       `json:"locationId,omitempty"` // of the annotation when people were notified
	SharedWith   []string     `json:"sharedWithUserIds,omitempty"`
}

// NotificationOf returns the notification of an event on a thread, which is always the same except for its LocationID.
func NotificationOf(ev *Event, locationID string) Notification {
	n := Notification{
		ID: ev.ID, DocumentID: ev.DocumentID, Incarnation: ev.Incarnation[1], Source: "comment", CreatedAt: ev.Time,
		Event: ev.Type, AnnotationID: ev.AnnotationID, Status: ev.After.Status, LocationID: locationID, SharedWith: ev.SharedWith,
	}
	if ev.Actor != nil {
		n.ActionUser = *ev.Actor
	}
	if ev.Type == AnnotationAssigned && ev.After.AssigneeID != "" {
		n.AssignedTo = &User{UserID: ev.After.AssigneeID}
	}
	n.CommentIDs = ev.NotifyingIDs()[:min(ev.Notifying, MaxNotified)]
	return n
}

// MaxNotified is how many comments of an event its notification names: it goes when all of these are deleted.
const MaxNotified = 3

// Document is the document of a notification of the organization.
func (n *Notification) Document(org OrganizationRef) DocumentRef {
	return DocumentRef{OrganizationRef: org, Document: n.DocumentID, Incarnation: n.Incarnation}
}

// Wants reports whether a person with this preference is notified; mine says that it concerns the person.
func (p Preference) Wants(mine bool) bool { return p == PreferAll || p == PreferMine && mine }

// MaxAudience is the most users that a notification names as those it is for.
const MaxAudience = 200

// Placement puts a notification into the inbox of a user.
type Placement struct {
	User      string
	Mentioned bool   // a comment of its event mentions the user
	Following bool   // it concerns the user only as a follower of the document
	Hidden    bool   // the inbox does not show it: it is there for the email alone
	Email     string // the ID of the email that is to tell of it; "" for none
	Address   string // for the email, if it is not that of the member; "" for none
	Verify    bool   // it is shown while the user may see its document
}

// InboxEntry is a notification as one user has it, or as the list of its document has it: then nobody has done anything with it.
type InboxEntry struct {
	Notification
	To        []string // whom it is for, the first MaxAudience of them
	ToAll     bool     // it was sent to everyone of the organization
	Mentioned bool     // a comment of its event mentions the user
	Following bool     // see Placement
	Address   string   // for the email: see Placement
	Verify    bool     // see Placement
	ReadAt    Millis   // 0 for not yet
	ClickedAt Millis   // 0 for not yet
	Position  string   // of it in the inbox

	// As they are when the entry is read.
	DocumentName string
	TargetText   string // of the thread: see Annotation.TargetText
}

// NotificationFilter says which notifications are meant; "" is any.
type NotificationFilter struct {
	Document string
	Location string // an id
	User     string // who has it in the inbox
}

// Matches reports whether a notification is of the document and the location. It ignores the user.
func (f NotificationFilter) Matches(n Notification) bool {
	if f.Document != "" && n.DocumentID != f.Document {
		return false
	}
	at := struct {
		ID string `json:"id"`
	}{n.LocationID}
	if len(n.Location) > 0 {
		_ = json.Unmarshal(n.Location, &at) // what is stored was checked
	}
	return f.Location == "" || at.ID == f.Location
}

// NotificationQuery says which notifications of an organization to list: those of a user, else those of a document.
type NotificationQuery struct {
	NotificationFilter
	Of       DocumentRef // where there is no user
	IDs      []string    // these alone; nil for all
	After    Millis      // those made then or later
	Earliest bool        // first, not the newest
	Unread   bool        // what the user has not read alone
}

// OfAny reports whether the query names notifications of any document by their ids, and no user.
func (q *NotificationQuery) OfAny() bool { return q.User == "" && q.Of.Document == "" }

// NotificationChange is a change of one notification, and what users did with it.
// Check gets the notification with ToAll if Of.User has no entry of their own.
type NotificationChange struct {
	ID      string
	Of      NotificationFilter                            // a notification that does not match is NOT_FOUND
	Check   func(ctx context.Context, e InboxEntry) error // may refuse the change; nil refuses none
	Edit    func(*Notification)                           // changes what it says; nil for nothing
	Read    []string                                      // these users read it
	Clicked []string                                      // these clicked it, which is reading it too
	Unread  bool                                          // the user of Of marks it as unread
	Click   func(n Notification, user string) *Event      // of a first click
}
