package collab

import (
	"cmp"
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

// Notification is what notifications add stores, and what `deliver` makes of a comment event.
type Notification struct {
	ID           string          `json:"notificationId"`
	DocumentID   string          `json:"documentId"`
	Incarnation  int             `json:"incarnation,omitempty"` // of the document
	ActionUser   User            `json:"actionUser"`
	Headline     string          `json:"displayHeadlineMessageTemplate"`
	TemplateData map[string]JSON `json:"displayHeadlineMessageTemplateData,omitempty"` // text, numbers, booleans, user objects
	Body         string          `json:"displayBodyMessage,omitempty"`
	SourceData   JSON            `json:"notificationSourceData,omitempty"`
	AnnotationID string          `json:"annotationId,omitempty"` // of a comment event
	CreatedAt    Millis          `json:"createdAt"`
}

// Wants reports whether a person with this preference is told of something; mine says that it concerns the person.
func (p Preference) Wants(mine bool) bool { return p == PreferAll || p == PreferMine && mine }

// InboxEntry is a notification as one user has it.
type InboxEntry struct {
	Notification
	ToAll     bool   // it was sent to everyone of the organization
	ReadAt    Millis // 0 for not yet
	ClickedAt Millis // 0 for not yet
	Position  string // of it in the inbox
}
