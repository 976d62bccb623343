package collab

import "encoding/json"

// PersonalData is a piece of what an organization has of a person: one of its fields is set.
type PersonalData struct {
	Member       *Member        // the person as a member
	Grant        *PersonalGrant // on a folder or a document
	Group        string         // that the person is in
	Preferences  *PersonalPreferences
	Annotation   *Thread // that the person made, or is assigned to, without its comments
	Comment      *PersonalComment
	Notification *InboxEntry
}

// PersonalGrant is a grant of a person on a folder, or else on a document.
type PersonalGrant struct {
	Folder, Document string
	Member           // the person as they were added there
}

// PersonalPreferences are what a person has set for a document, or for "" for the organization.
type PersonalPreferences struct {
	Document string
	Preferences
}

// PersonalComment is a comment that a person wrote or is tagged in, and where it is.
type PersonalComment struct {
	Document, Annotation string
	Comment
}

// PersonalPosition is where a list of a person's data goes on: in its walk, or once that has ended after a notification.
type PersonalPosition struct {
	Walk   json.RawMessage `json:"w,omitempty"`
	Walked bool            `json:"n,omitempty"`
	After  string          `json:"a,omitempty"`
}
