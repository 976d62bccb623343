package collab

import "encoding/json"

// PersonalData is a part of a user's data in an organization. One of its fields is set.
type PersonalData struct {
	Member       *Member        // the user as a member
	Grant        *PersonalGrant // on a folder or document
	Group        string         // group of the user
	Preferences  *PersonalPreferences
	Annotation   *Thread // created by or assigned to the user, without comments
	Comment      *PersonalComment
	Reactions    []PersonalReaction // to one comment; can be set beside Comment
	Level        *PersonalLevel     // can be set beside Annotation
	ReadState    *PersonalReadState
	Notification *InboxEntry
}

// PersonalLevel is a user's level for a thread, or for the document if Annotation is "".
type PersonalLevel struct {
	Document, Annotation string
	Level                Level
}

// PersonalReadState is a user's read state of a thread, or of the document if its Annotation is "".
type PersonalReadState struct {
	Document string
	UserReadState
}

// PersonalGrant is a user's grant on a folder or document.
type PersonalGrant struct {
	Folder, Document string
	Member           // the user as added there
}

// PersonalPreferences are a user's preferences for a document, or for the organization if the
// document is "". The times of emails are those of the organization.
type PersonalPreferences struct {
	Document string
	Preferences
	MailTimes
}

// PersonalComment is a comment that the user wrote or is tagged in, with its location.
type PersonalComment struct {
	Document, Annotation string
	Comment
}

// PersonalReaction is a reaction of the user to a comment.
type PersonalReaction struct {
	Document, Annotation string
	Comment              int64
	Emoji                string
}

// PersonalPosition is a position in a user's data: in its walk, or afterwards after a notification.
type PersonalPosition struct {
	Walk   json.RawMessage `json:"w,omitempty"`
	Walked bool            `json:"n,omitempty"`
	After  string          `json:"a,omitempty"`
}
