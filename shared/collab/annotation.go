// Package collab holds the words of the domain: comment annotations, comments, organizations, folders, documents, users,
// notifications, events, and the error codes. Of other modules it imports those of texts alone. Types with dynamodbav tags are stored as they are,
// under the attributes that the tags name: see package keys.
package collab

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
)

// JSON is the text of a JSON value, kept as it was sent: numbers are not converted. nil is absence. It is stored as a text.
type JSON json.RawMessage

// MarshalJSON returns the text, `null` for nil.
func (j JSON) MarshalJSON() ([]byte, error) { return json.RawMessage(j).MarshalJSON() }

// UnmarshalJSON keeps a copy of the text.
func (j *JSON) UnmarshalJSON(text []byte) error { return (*json.RawMessage)(j).UnmarshalJSON(text) }

// MarshalText returns the text.
func (j JSON) MarshalText() ([]byte, error) { return j, nil }

// UnmarshalText keeps a copy of the text.
func (j *JSON) UnmarshalText(text []byte) error { return j.UnmarshalJSON(text) }

// Millis is a time in milliseconds since the Unix epoch, 0 to MaxMillis.
type Millis = int64

// MaxMillis is the last millisecond of the year 9999: the largest time accepted.
const MaxMillis Millis = 253402300799999

// Limits on what is stored and on what one request may hold.
const (
	MaxItemBytes      = 350_000 // one stored comment, or the head of one annotation
	MaxComments       = 90      // comments per annotation in an add, and per comments add: what one transaction takes
	MaxRequestComment = 5_000   // comments in one request in all
	MaxUpdated        = 10_000  // annotations that one update may select
	MaxDeleted        = 1_000   // annotations, or comments of one, that a call deletes without naming them
	MaxIDsPerFilter   = 30      // ids in an array, where the contract says so
	MaxPageSize       = 1_000   // annotations or organizations on a page; also the default
)

// OrganizationRef names an organization of an account. The directory makes it, of an organization that is there: see directory.Store.Open.
type OrganizationRef struct {
	Account      string // the account of the API key: never from a request's body
	Organization string
	// Incarnation tells the organization from those that had its id before: see Lifetime. It is in the keys of all that is in it. So one
	// write on its item puts all of that out of reach, and what is added again is new and empty.
	Incarnation int64
}

// Document names a document of the organization without an incarnation, as the keys of its item do.
func (r OrganizationRef) Document(id string) DocumentRef {
	return DocumentRef{OrganizationRef: r, Document: id}
}

// DocumentRef names a document of an organization.
type DocumentRef struct {
	OrganizationRef `json:"organization"` // else its incarnation would not be in the JSON
	Document        string
	Incarnation     int64 // as that of the organization
}

// FolderRef names a folder of an organization.
type FolderRef struct {
	OrganizationRef `json:"organization"` // else its incarnation would not be in the JSON
	Folder          string
	Incarnation     int64 // as that of the organization: part of the keys of grants on it
}

// Annotation is the head of a comment annotation: all of it except its comments. Its objects are kept as the JSON text that was sent. The
// ids that filters look at are fields of their own, and must agree with that text.
type Annotation struct {
	ID            string `dynamodbav:"-"`
	From          JSON   `dynamodbav:"from,omitempty"` // user object: the creator; nil until the first comment
	Location      JSON   `dynamodbav:"loc,omitempty"`
	TargetElement JSON   `dynamodbav:"tgt,omitempty"`
	Status        JSON   `dynamodbav:"sts,omitempty"` // never nil
	AssignedTo    JSON   `dynamodbav:"asg,omitempty"`
	Context       JSON   `dynamodbav:"ctx,omitempty"`
	Priority      JSON   `dynamodbav:"pri,omitempty"`
	Kept          JSON   `dynamodbav:"kept,omitempty"` // object of fields that are given back as they are, or nil
	CreatedAt     Millis `dynamodbav:"ca"`
	LastUpdated   Millis `dynamodbav:"lu"` // as stored with the head, of its own; that of a Thread is the latest of head and comments

	CreatorID  string `dynamodbav:"cr,omitempty"`  // From.userId, "" for none
	LocationID string `dynamodbav:"lo,omitempty"`  // Location.id, "" for none
	StatusID   string `dynamodbav:"si,omitempty"`  // Status.id
	ResolvedBy string `dynamodbav:"rby,omitempty"` // id of the user who resolved it, "" for none
	ByAgent    bool   `dynamodbav:"agt,omitempty"` // an agent wrote its first comment

	Visibility *Visibility `dynamodbav:"vis,omitempty"` // nil for public
	Follows    *Follows    `dynamodbav:"flw,omitempty"` // nil where nobody set anything
}

// Level is of which of a thread's events a person is notified.
type Level string

// The levels. By default a person is notified who wrote in the thread, is mentioned or assigned.
const (
	LevelDefault  Level = "default" // none is set
	LevelAll      Level = "all"
	LevelMentions Level = "mentions"
	LevelNone     Level = "none"
)

// Values returns all levels.
func (Level) Values() []string { return texts(LevelAll, LevelMentions, LevelNone, LevelDefault) }

// Follows are the ids of the users who have set a level for a thread, each in one of the lists. Nil has none.
type Follows struct {
	All      []string `dynamodbav:"all,omitempty"`
	Mentions []string `dynamodbav:"mentions,omitempty"`
	None     []string `dynamodbav:"none,omitempty"`
}

// MaxFollows is how many users may set a level for a thread.
const MaxFollows = 500

// MaxFollowers is how many users may follow a document.
const MaxFollowers = 1_000

// Of returns the level that a user has set.
func (f *Follows) Of(user string) Level {
	switch {
	case f == nil:
	case slices.Contains(f.All, user):
		return LevelAll
	case slices.Contains(f.Mentions, user):
		return LevelMentions
	case slices.Contains(f.None, user):
		return LevelNone
	}
	return LevelDefault
}

// Set returns the lists with the level of a user changed. f stays as it is.
func (f *Follows) Set(user string, level Level) *Follows {
	others := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(id string) bool { return id == user })
	}
	old := Deref(f)
	set := &Follows{others(old.All), others(old.Mentions), others(old.None)}
	switch level {
	case LevelAll:
		set.All = append(set.All, user)
	case LevelMentions:
		set.Mentions = append(set.Mentions, user)
	case LevelNone:
		set.None = append(set.None, user)
	}
	if set.Len() == 0 {
		return nil
	}
	return set
}

// Len is how many users have set a level.
func (f *Follows) Len() int {
	if f == nil {
		return 0
	}
	return len(f.All) + len(f.Mentions) + len(f.None)
}

// maxTargetText is how many characters are shown of the text that an annotation is anchored on.
const maxTargetText = 200

// TargetText returns the text that the annotation is anchored on, shortened; "" for none.
func (a *Annotation) TargetText() string {
	var element struct {
		TargetText string `json:"targetText"`
	}
	if a.TargetElement != nil {
		_ = json.Unmarshal(a.TargetElement, &element) // what is stored was checked
	}
	return Shorten(element.TargetText, maxTargetText)
}

// Tag is a user whom a comment tags, or a group of users.
type Tag struct {
	UserID  string `json:"userId"`
	Contact *User  `json:"contact,omitempty"`                 // as the request named the user
	GroupID string `json:"organizationUserGroupId,omitempty"` // in the place of a user
	Text    string `json:"text,omitempty"`                    // of a group: its name where the comment was written
}

// Tags reads the tags of a comment; nil for none.
func Tags(taggedUserContacts JSON) (tags []Tag) {
	if len(taggedUserContacts) == 0 || json.Unmarshal(taggedUserContacts, &tags) != nil {
		return nil
	}
	return tags
}

// Comment is one comment of an annotation.
type Comment struct {
	ID                 int64   `dynamodbav:"-"`
	Text               *string `dynamodbav:"txt,omitempty"`
	HTML               *string `dynamodbav:"htm,omitempty"` // as sent: clean it where it is rendered
	Context            JSON    `dynamodbav:"ctx,omitempty"`
	ResolverUsed       *bool   `dynamodbav:"rsv,omitempty"`  // isCommentResolverUsed
	TextAvailable      *bool   `dynamodbav:"tav,omitempty"`  // isCommentTextAvailable
	From               JSON    `dynamodbav:"from,omitempty"` // user object: the author
	AuthorID           string  `dynamodbav:"cr,omitempty"`   // From.userId
	TaggedUserContacts JSON    `dynamodbav:"tag,omitempty"`  // array of {userId, contact, text}
	Attachments        JSON    `dynamodbav:"att,omitempty"`  // array of attachment objects
	Kept               JSON    `dynamodbav:"kept,omitempty"` // object of fields that are given back as they are, or nil
	CreatedAt          Millis  `dynamodbav:"ca"`
	LastUpdated        Millis  `dynamodbav:"lu"`
	AddedAt            Millis  `dynamodbav:"ada,omitempty"` // see SetAdded; 0 for CreatedAt
}

// MaxLate is by how many milliseconds CreatedAt may be earlier than the addition of a comment whose
// addition counts: what is older is history.
const MaxLate Millis = 24 * 60 * 60 * 1000

// SetAdded sets the time when the comment was added. It is kept if CreatedAt is later, or up to
// MaxLate earlier.
func (c *Comment) SetAdded(at Millis) {
	c.AddedAt = 0
	if at != c.CreatedAt && at-c.CreatedAt <= MaxLate {
		c.AddedAt = at
	}
}

// Added returns the time since which the comment can have been seen.
func (c *Comment) Added() Millis { return cmp.Or(c.AddedAt, c.CreatedAt) }

// Moved returns the time to which the comment moves the lastUpdated of its annotation.
func (c *Comment) Moved() Millis { return max(c.LastUpdated, c.AddedAt) }

// HasContent reports whether the comment has what a comment needs: a text, HTML, an attachment, or a comment resolver that knows it.
func (c *Comment) HasContent() bool {
	return c.Text != nil && *c.Text != "" || c.HTML != nil && *c.HTML != "" ||
		c.ResolverUsed != nil && *c.ResolverUsed || len(c.Attachments) > len("[]")
}

// Written returns the text and the HTML as they are answered: if a comment has one of them alone, the other one is empty, not absent.
func (c *Comment) Written() (text, html *string) {
	text, html = c.Text, c.HTML
	if text == nil && html != nil {
		text = new("")
	} else if html == nil && text != nil {
		html = new("")
	}
	return text, html
}

// Content is about how many bytes the comment adds to an answer.
func (c *Comment) Content() int {
	return len(Deref(c.Text)) + len(Deref(c.HTML)) + len(c.Context) + len(c.From) +
		len(c.TaggedUserContacts) + len(c.Attachments) + len(c.Kept)
}

// Thread is an annotation with its comments by comment id.
type Thread struct {
	Document string
	Annotation
	Comments  []Comment
	Unread    *bool // nil unless the query asked: see AnnotationQuery.UnreadFor
	Deleted   bool  // it is gone, and has no comments
	Truncated bool  // the thread is larger than a page: its last comments are missing
}

// ThreadPart names some comments of a thread.
type ThreadPart struct {
	Document   DocumentRef
	Annotation string
	Comments   []int64 // none for the head alone
	At         Millis  // when it was there: one that was added later under its id is another; 0 for whichever is there
}

// AnnotationQuery selects annotations of an organization. All filters combine; nil or "" is no filter. Slices but IDs hold no repeats.
type AnnotationQuery struct {
	Documents     []string      // in the order asked; nil for all of the organization
	Found         []DocumentRef // those of Documents that are there, and in the folder; nil where Documents is
	Folder        string        // only documents directly in this folder; RootFolder for those in none
	IDs           []string      // annotation ids
	Locations     []string
	Creators      []string
	Statuses      []string
	Mentioned     []string // tagged in a comment
	ResolvedBy    []string
	UnreadFor     string  // id of a user: threads say whether they have comments that this user has not seen
	UnreadOnly    bool    // only those that have
	Order         Order   // by lastUpdated; "" is the order that the other fields imply, and IDs have theirs
	UpdatedAfter  *Millis // bounds are inclusive
	UpdatedBefore *Millis
	CreatedAfter  *Millis
	CreatedBefore *Millis
	Sight         Sight // only what it lets see; nil for everything
}

// Order is a direction of lists.
type Order string

// The directions.
const (
	Ascending  Order = "asc"
	Descending Order = "desc"
)

// Values returns both.
func (Order) Values() []string { return texts(Ascending, Descending) }

// Selector narrows an update or a deletion within its document; nil slices are no selector.
type Selector struct {
	IDs       []string
	Locations []string
	Creators  []string
	Before    string // only annotations that were added by requests with a lesser mark; "" for all
}

// Latest returns when the thread was last updated: the latest lastUpdated of its head and comments.
func (t *Thread) Latest() Millis {
	latest := t.LastUpdated
	for i := range t.Comments {
		latest = max(latest, t.Comments[i].LastUpdated)
	}
	return latest
}

// NewAnnotation is what an add of an annotation needs besides the thread.
type NewAnnotation struct {
	Field    string // of the request, such as data.commentAnnotations[0], for errors
	Comments string // the field in it that has the comments, for errors
	Event    *Event // to record; nil for none
	Moved    bool   // its comments were added elsewhere: what their authors have seen is said apart
}

// NewComments is what one call adds to an annotation: 1 to MaxComments comments.
type NewComments struct {
	Field    string    // of the request, such as data.commentData, for errors
	Comments []Comment // an id of 0 is generated; the other ids are distinct
	Moved    bool      // as of NewAnnotation
	// Event returns the event to record, of the head as it was and the comments with their ids; nil for none.
	Event func(head *Annotation, comments []Comment) *Event
}

// CommentChange is what one call does to comments of an annotation, at the time of the request.
type CommentChange struct {
	IDs []int64 // distinct
	At  Millis  // when they change: no comment is later afterwards, unless it was before
	// Change changes a comment. It depends on its argument alone, as it may be called several times. Its error fails that comment alone.
	Change func(*Comment) error
	// Event returns the event to record, of the head and the comments as they were and as changed; nil for none. Many comments make several
	// events.
	Event func(head *Annotation, were, comments []Comment) *Event
}

// AnnotationChange is what one call does to annotations, at the time of the request. Its functions depend on their arguments alone, as they
// may be called several times. Their errors fail that annotation alone, and leave its head unchanged.
type AnnotationChange struct {
	// Select fails for an annotation that must not change; nil selects all.
	Select func(*Annotation) error
	// Comment changes a comment of the annotation, except its id, and reports whether it did; nil changes none.
	Comment func(*Comment) (changed bool, err error)
	// Head changes the head of the i-th annotation and returns the events to record. commentsChanged: some of its comments changed.
	Head func(i int, a *Annotation, commentsChanged bool) ([]*Event, error)
	// Narrow may refuse a change of visibility that may hide the annotation from people who saw it; nil refuses none. The change holds only if
	// nothing has touched the thread since.
	Narrow func(ctx context.Context, was, is *Annotation) error
}

// AnnotationDeletion says what a call deletes of the annotations that it names.
type AnnotationDeletion struct {
	Selector   Selector // annotations that it excludes stay, and fail with NOT_FOUND; its IDs are ignored
	Unanswered bool     // annotations stay if anybody except their creator has commented, and fail with FAILED_PRECONDITION
	Notify     bool     // each records an event
}

// Excludes reports whether the selector's locations and creators leave an annotation out.
func (s Selector) Excludes(a *Annotation) bool {
	return s.Locations != nil && !slices.Contains(s.Locations, a.LocationID) || s.Creators != nil && !slices.Contains(s.Creators, a.CreatorID)
}

// SetCreator makes the author of a comment the creator of an annotation that has none.
func (a *Annotation) SetCreator(c *Comment) {
	if a.From == nil {
		a.From, a.CreatorID = c.From, c.AuthorID
	}
}
