package collab

import (
	"cmp"
	"context"
	"maps"
	"slices"
)

// Preference selects a user's notifications on a channel.
type Preference string

const (
	PreferAll Preference = "ALL" // everything in the organization or document
	// Events that concern the user: tagged, assigned, taking part, named.
	PreferMine Preference = "MINE"
	PreferNone Preference = "NONE"
)

func (Preference) Values() []string { return texts(PreferAll, PreferMine, PreferNone) }

// Preferences are a user's preferences by channel.
type Preferences struct {
	Inbox Preference `dynamodbav:"inb,omitempty"`
	Email Preference `dynamodbav:"eml,omitempty"`
	// Channels of the application, served by webhooks: see NotificationDue.
	Further map[string]Preference `dynamodbav:"chn,omitempty"`
}

// EmailChannel is the name of the channel of emails.
const EmailChannel = "email"

// Of returns the preference for a channel, "" if none.
func (p Preferences) Of(channel string) Preference {
	if channel == EmailChannel {
		return p.Email
	}
	return p.Further[channel]
}

// Channels returns the preferences that are set, by channel.
func (p Preferences) Channels() map[string]Preference {
	all := map[string]Preference{}
	maps.Copy(all, p.Further)
	for channel, set := range map[string]Preference{"inbox": p.Inbox, EmailChannel: p.Email} {
		if set != "" {
			all[channel] = set
		}
	}
	return all
}

// DefaultPreferences apply if neither the document nor the organization has the user's preference.
var DefaultPreferences = Preferences{Inbox: PreferAll, Email: PreferMine}

// EffectivePreferences returns the preferences in effect for a user: for each channel the
// document's, else the organization's, else the default. Further channels have no default.
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

// UserPreferences are a user's preferences for a document or the organization.
type UserPreferences struct {
	User, Document string // Document is "" for the organization
	Preferences
	Mail MailTimes // of the organization
}

// PreferencePosition is a position in the list of all preferences of an organization.
type PreferencePosition struct {
	Documents bool   // in the part for documents, which comes last
	After     string // sort key
}

// PreferencesSet are the preferences that a user has set, "" if none.
type PreferencesSet struct {
	Document, Organization Preferences
	Mail                   MailTimes
}

// Effective returns the preferences in effect: see EffectivePreferences.
func (p PreferencesSet) Effective() Preferences {
	return EffectivePreferences(p.Document, p.Organization)
}

// Notification is a notification of notifications/add, or of a comment event. The latter has ids
// and facts, and texts only from notifications/update: others are rendered when they are read.
type Notification struct {
	ID          string `json:"notificationId"`
	DocumentID  string `json:"documentId"`
	Incarnation int64  `json:"incarnation,omitempty"` // of the document
	ActionUser  User   `json:"actionUser"`
	Headline    string `json:"displayHeadlineMessageTemplate,omitempty"`
	// Strings, numbers, booleans, user objects.
	TemplateData map[string]JSON `json:"displayHeadlineMessageTemplateData,omitempty"`
	Body         string          `json:"displayBodyMessage,omitempty"`
	BodyTemplate string          `json:"displayBodyMessageTemplate,omitempty"` // instead of Body
	BodyData     map[string]JSON `json:"displayBodyMessageTemplateData,omitempty"`
	Source       string          `json:"notificationSource,omitempty"` // such as custom or comment
	SourceData   JSON            `json:"notificationSourceData,omitempty"`
	Location     JSON            `json:"location,omitempty"` // an object
	Metadata     JSON            `json:"metadata,omitempty"` // free-form
	// The application shows the texts.
	ResolverUsed bool   `json:"isNotificationResolverUsed,omitempty"`
	PersistRead  bool   `json:"persistReadForUsers,omitempty"`
	CreatedAt    Millis `json:"createdAt"`

	// Fields of a comment event.
	Event        EventType `json:"event,omitempty"`
	AnnotationID string    `json:"annotationId,omitempty"`
	// Its first comments, at most MaxNotified. Body is the text of the first existing one.
	CommentIDs []int64      `json:"commentIds,omitempty"`
	Status     *EventStatus `json:"status,omitempty"`     // status_changed
	AssignedTo *User        `json:"assignedTo,omitempty"` // assigned: by id; nil for nobody
	LocationID string       `json:"locationId,omitempty"` // of the annotation at the time
	SharedWith []string     `json:"sharedWithUserIds,omitempty"`
	Emoji      string       `json:"emoji,omitempty"` // of a reaction

	Names map[string]string `json:"-"` // present names of users by id, for its texts
}

// maxTemplateUsers is the number of users in template data that have present names.
const maxTemplateUsers = 20

// Users returns the ids of the acting user, of the assignee, and of the first 20 users in its
// template data, by name.
func (n *Notification) Users() []string {
	users := []string{n.ActionUser.UserID, Deref(n.AssignedTo).UserID}
	for _, data := range []map[string]JSON{n.TemplateData, n.BodyData} {
		for _, name := range slices.Sorted(maps.Keys(data)) {
			if id := data[name].Text("userId"); id != "" && len(users) < maxTemplateUsers+2 {
				users = append(users, id)
			}
		}
	}
	return users
}

// NotificationOf returns the notification of an event on a thread. Repeated calls differ only in
// LocationID.
func NotificationOf(ev *Event, locationID string) Notification {
	n := Notification{
		ID: ev.Notification(), DocumentID: ev.DocumentID, Incarnation: ev.Incarnation[1], Source: "comment", CreatedAt: ev.Time,
		Event: ev.Type, AnnotationID: ev.AnnotationID, Status: ev.After.Status, LocationID: locationID, SharedWith: ev.SharedWith,
		Emoji: ev.Emoji,
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

// MaxNotified is the number of comments of an event that its notification names. Deleting all of
// them removes it.
const MaxNotified = 3

// Document returns the document of a notification of the organization.
func (n *Notification) Document(org OrganizationRef) DocumentRef {
	return DocumentRef{OrganizationRef: org, Document: n.DocumentID, Incarnation: n.Incarnation}
}

// Wants reports whether a user with this preference is notified. mine reports whether the event
// concerns the user.
func (p Preference) Wants(mine bool) bool { return p == PreferAll || p == PreferMine && mine }

// MaxAudience is the maximum of recipients that a notification lists.
const MaxAudience = 200

// Placement puts a notification into a user's inbox.
type Placement struct {
	User      string
	Mentioned bool
	Following bool // reached only as a follower
	Hidden    bool // not in the inbox, only for notices

	// Ids of the notices that include it, by channel.
	Notices map[string]string
	Address string // for the email, if not the member's
	Verify  bool   // shown only while the user can see its document
}

// InboxEntry is a notification with its Placement and one user's actions. In a document's list, the
// actions are empty.
type InboxEntry struct {
	Notification
	To        []string // recipients, at most MaxAudience
	ToAll     bool     // sent to everyone in the organization
	Mentioned bool
	Following bool
	Address   string
	Verify    bool
	ReadAt    Millis // 0 for not yet
	ClickedAt Millis // 0 for not yet
	Position  string // in the inbox

	// Present values, set when the entry is read.
	DocumentName string
	TargetText   string // of the thread: see Annotation.TargetText
}

// NotificationFilter selects notifications; "" is any.
type NotificationFilter struct {
	Document string
	Location string // an id
	User     string // owner of the inbox
}

// Matches reports whether a notification is of the document and location. It ignores the user.
func (f NotificationFilter) Matches(n Notification) bool {
	if f.Document != "" && n.DocumentID != f.Document {
		return false
	}
	return f.Location == "" || cmp.Or(n.Location.Text("id"), n.LocationID) == f.Location
}

// NotificationQuery selects notifications of a user, or else of a document.
type NotificationQuery struct {
	NotificationFilter
	Of       DocumentRef // if there is no user
	IDs      []string    // only these; nil for all
	After    Millis      // created then or later
	Earliest bool        // earliest first instead of newest
	Unread   bool        // only unread ones
}

// OfAny reports whether the query selects notifications of any document by id, without a user.
func (q *NotificationQuery) OfAny() bool { return q.User == "" && q.Of.Document == "" }

// NotificationChange is a change of one notification, with actions of users. Check receives the
// notification with ToAll if Of.User has no own entry.
type NotificationChange struct {
	ID string
	// A notification that does not match is NOT_FOUND.
	Of      NotificationFilter
	Check   func(ctx context.Context, e InboxEntry) error // can refuse the change; may be nil
	Edit    func(*Notification)                           // changes the content; may be nil
	Read    []string                                      // users that read it
	Clicked []string                                      // includes reading
	Unread  bool                                          // marks it as unread for the user of Of
	Click   func(n Notification, user string) *Event      // of a first click
}
