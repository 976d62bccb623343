// Package collab defines the domain: comment annotations, comments, organizations, folders,
// documents, users, notifications, events, and error codes. It imports only text modules. Types
// with dynamodbav tags are stored under the attributes that the tags name: see package keys.
package collab

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
)

// JSON is unchanged JSON text: numbers are not converted. nil means absent. It is stored as a
// string.
type JSON json.RawMessage

func (j JSON) MarshalJSON() ([]byte, error) { return json.RawMessage(j).MarshalJSON() }

func (j *JSON) UnmarshalJSON(text []byte) error { return (*json.RawMessage)(j).UnmarshalJSON(text) }

func (j JSON) MarshalText() ([]byte, error) { return j, nil }

func (j *JSON) UnmarshalText(text []byte) error { return j.UnmarshalJSON(text) }

// Millis is a time in milliseconds since the Unix epoch, 0 to MaxMillis.
type Millis = int64

// MaxMillis is the last millisecond of the year 9999, the maximum accepted time.
const MaxMillis Millis = 253402300799999

// Limits of stored items and requests.
const (
	MaxItemBytes = 350_000 // one comment, or the head of one annotation
	// Comments of an annotation in an add, and in one comments/add: the limit of a transaction.
	MaxComments       = 90
	MaxRequestComment = 5_000  // comments in one request
	MaxUpdated        = 10_000 // annotations of one update
	// Annotations, or comments of one, that a call deletes without naming them.
	MaxDeleted      = 1_000
	MaxIDsPerFilter = 30    // ids in an array
	MaxPageSize     = 1_000 // annotations or organizations on a page; also the default
)

// OrganizationRef names an existing organization of an account: see directory.Store.Open.
type OrganizationRef struct {
	Account      string // the account of the API key, never from a request's body
	Organization string
	// Incarnation distinguishes the organization from earlier ones with its id: see Lifetime. All
	// keys below it contain the incarnation, so one write on its item makes everything unreachable,
	// and an organization that is added again is empty.
	Incarnation int64
}

// Document returns a reference of a document without an incarnation, as its item's key needs.
func (r OrganizationRef) Document(id string) DocumentRef {
	return DocumentRef{OrganizationRef: r, Document: id}
}

type DocumentRef struct {
	// Without the tag, its incarnation would not be in the JSON.
	OrganizationRef `json:"organization"`
	Document        string
	Incarnation     int64 // like that of the organization
}

type FolderRef struct {
	OrganizationRef `json:"organization"` // see DocumentRef
	Folder          string
	Incarnation     int64 // part of the keys of grants on it
}

// Annotation is the head of a comment annotation: everything except its comments. Its objects are
// JSON text as sent. Ids for filters are separate fields, and must agree with that text.
type Annotation struct {
	ID string `dynamodbav:"-"`
	// User object of the creator; nil until the first comment.
	From          JSON `dynamodbav:"from,omitempty"`
	Location      JSON `dynamodbav:"loc,omitempty"`
	TargetElement JSON `dynamodbav:"tgt,omitempty"`
	Status        JSON `dynamodbav:"sts,omitempty"` // never nil
	AssignedTo    JSON `dynamodbav:"asg,omitempty"`
	Context       JSON `dynamodbav:"ctx,omitempty"`
	Priority      JSON `dynamodbav:"pri,omitempty"`
	Suggestion    JSON `dynamodbav:"sug,omitempty"` // with a status; nil if the annotation is none
	// Object of fields returned unchanged, or nil.
	Kept        JSON   `dynamodbav:"kept,omitempty"`
	CreatedAt   Millis `dynamodbav:"ca"`
	LastUpdated Millis `dynamodbav:"lu"` // the head's own; see Thread.Latest

	CreatorID  string `dynamodbav:"cr,omitempty"`  // From.userId, or ""
	LocationID string `dynamodbav:"lo,omitempty"`  // Location.id, or ""
	StatusID   string `dynamodbav:"si,omitempty"`  // Status.id
	ResolvedBy string `dynamodbav:"rby,omitempty"` // id of the user who resolved it, or ""
	ResolvedAt Millis `dynamodbav:"rat,omitempty"` // when ResolvedBy was set, or 0
	ByAgent    bool   `dynamodbav:"agt,omitempty"` // an agent wrote its first comment
	// A person set Context: persons see it.
	ContextShown bool `dynamodbav:"cxp,omitempty"`

	Visibility *Visibility `dynamodbav:"vis,omitempty"` // nil for public
	Follows    *Follows    `dynamodbav:"flw,omitempty"` // nil if nobody has a level
}

// Level selects the events of a thread for which a user is notified.
type Level string

// The levels. By default, users are notified if they wrote in the thread, are mentioned or
// assigned.
const (
	LevelDefault  Level = "default" // none is set
	LevelAll      Level = "all"
	LevelMentions Level = "mentions"
	LevelNone     Level = "none"
)

func (Level) Values() []string { return texts(LevelAll, LevelMentions, LevelNone, LevelDefault) }

// Follows lists the ids of users with a level for a thread; each is in one list. A nil Follows is
// empty.
type Follows struct {
	All      []string `dynamodbav:"all,omitempty"`
	Mentions []string `dynamodbav:"mentions,omitempty"`
	None     []string `dynamodbav:"none,omitempty"`
}

// MaxFollows is the maximum of users with a level for a thread.
const MaxFollows = 500

const MaxFollowers = 1_000

// followBytes is the maximum of bytes of an id with a level that a person adds, on average of
// MaxFollows or MaxFollowers.
const followBytes = 64

// Of returns a user's level.
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

// Mutes reports whether a user is not told of new comments, except mentions.
func (f *Follows) Mutes(user string) bool {
	level := f.Of(user)
	return level == LevelNone || level == LevelMentions
}

// Set returns a copy of f with a user's level changed.
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

func (f *Follows) Len() int {
	if f == nil {
		return 0
	}
	return len(f.All) + len(f.Mentions) + len(f.None)
}

// CheckFollows returns RESOURCE_EXHAUSTED if a change adds users with a level to a thread or a
// document, so that there are more than most. For a person's change, it also does so beyond 64
// bytes of ids for each of most.
func CheckFollows(before, after *Follows, most int, person bool) error {
	if after.Len() <= before.Len() {
		return nil
	}
	bytes := 0
	for _, id := range slices.Concat(after.All, after.Mentions, after.None) {
		bytes += len(id)
	}
	switch {
	case after.Len() > most:
		return Errorf(ResourceExhausted, "at most %d users may follow or mute it", most)
	case person && bytes > followBytes*most:
		return Errorf(ResourceExhausted, "the users who follow or mute it may have ids of at most %d bytes in all", followBytes*most)
	}
	return nil
}

// Sources of annotations.
const (
	SourceAgent = "agent"
	SourceREST  = "rest-api"
)

// SourceType returns SourceAgent if the first comment had an agent when added, else SourceREST.
func (a *Annotation) SourceType() string {
	if a.ByAgent {
		return SourceAgent
	}
	return SourceREST
}

// The types of annotations.
const (
	TypeComment    = "comment"
	TypeSuggestion = "suggestion"
)

// Type returns TypeSuggestion if the annotation has a suggestion, else TypeComment.
func (a *Annotation) Type() string {
	if a.Suggestion != nil {
		return TypeSuggestion
	}
	return TypeComment
}

const maxTargetText = 200

// TargetText returns the text that the annotation is anchored on, shortened, or "".
func (a *Annotation) TargetText() string {
	var element struct {
		TargetText string `json:"targetText"`
	}
	if a.TargetElement != nil {
		_ = json.Unmarshal(a.TargetElement, &element) // checked before it was stored
	}
	return Shorten(element.TargetText, maxTargetText)
}

// Tag is a user or group that a comment tags.
type Tag struct {
	UserID  string `json:"userId"`
	Contact *User  `json:"contact,omitempty"`                 // the user as sent
	GroupID string `json:"organizationUserGroupId,omitempty"` // instead of a user
	// Name of the group when the comment was written.
	Text string `json:"text,omitempty"`
}

// Tags returns the tags of a comment, nil for none.
func Tags(taggedUserContacts JSON) (tags []Tag) {
	if len(taggedUserContacts) == 0 || json.Unmarshal(taggedUserContacts, &tags) != nil {
		return nil
	}
	return tags
}

type Comment struct {
	ID                 int64   `dynamodbav:"-"`
	Text               *string `dynamodbav:"txt,omitempty"`
	HTML               *string `dynamodbav:"htm,omitempty"` // as sent: clean it before rendering
	Context            JSON    `dynamodbav:"ctx,omitempty"`
	ResolverUsed       *bool   `dynamodbav:"rsv,omitempty"`  // isCommentResolverUsed
	TextAvailable      *bool   `dynamodbav:"tav,omitempty"`  // isCommentTextAvailable
	From               JSON    `dynamodbav:"from,omitempty"` // user object of the author
	AuthorID           string  `dynamodbav:"cr,omitempty"`   // From.userId
	TaggedUserContacts JSON    `dynamodbav:"tag,omitempty"`  // array of {userId, contact, text}
	// Mentions that updates have removed: see Retag. nil for none.
	Removed     *Mentions `dynamodbav:"rmv,omitempty"`
	Attachments JSON      `dynamodbav:"att,omitempty"` // array of attachment objects
	Agent       JSON      `dynamodbav:"agn,omitempty"` // that wrote it, or nil
	// Object of fields returned unchanged, or nil.
	Kept      JSON      `dynamodbav:"kept,omitempty"`
	Reactions Reactions `dynamodbav:"rea,omitempty"`
	// A person set Context: persons see it.
	ContextShown bool   `dynamodbav:"cxp,omitempty"`
	CreatedAt    Millis `dynamodbav:"ca"`
	LastUpdated  Millis `dynamodbav:"lu"`
	AddedAt      Millis `dynamodbav:"ada,omitempty"` // see SetAdded; 0 for CreatedAt
}

// MaxLate is how many milliseconds a comment's CreatedAt can precede its addition. Older comments
// count as history.
const MaxLate Millis = 24 * 60 * 60 * 1000

// SetAdded sets the time at which the comment was added, if CreatedAt is later, or up to MaxLate
// earlier.
func (c *Comment) SetAdded(at Millis) {
	c.AddedAt = 0
	if at != c.CreatedAt && at-c.CreatedAt <= MaxLate {
		c.AddedAt = at
	}
}

// Added returns the time from which the comment is visible.
func (c *Comment) Added() Millis { return cmp.Or(c.AddedAt, c.CreatedAt) }

// Moved returns the time to which the comment moves the lastUpdated of its annotation.
func (c *Comment) Moved() Millis { return max(c.LastUpdated, c.AddedAt) }

// maxRemoved limits the removed mentions that a comment remembers.
const maxRemoved = 200

// Retag replaces the tags of the comment. It remembers the mentions that are no longer in it, the
// latest first, because a mention that comes back notifies nobody again: see Event.AddChanges.
func (c *Comment) Retag(tags JSON) {
	were := MentionsOf(*c).with(Deref(c.Removed))
	c.TaggedUserContacts, c.Removed = tags, nil
	if removed := were.without(MentionsOf(*c), maxRemoved); removed.Len() > 0 {
		c.Removed = &removed
	}
}

// HasContent reports whether the comment has a text, HTML, an attachment, or a comment resolver
// that knows it.
func (c *Comment) HasContent() bool {
	return c.Text != nil && *c.Text != "" || c.HTML != nil && *c.HTML != "" ||
		c.ResolverUsed != nil && *c.ResolverUsed || len(c.Attachments) > len("[]")
}

// Written returns the text and HTML for responses: if only one of them is set, the other is empty
// instead of absent.
func (c *Comment) Written() (text, html *string) {
	text, html = c.Text, c.HTML
	if text == nil && html != nil {
		text = new("")
	} else if html == nil && text != nil {
		html = new("")
	}
	return text, html
}

// Content returns the approximate bytes that the comment adds to a response.
func (c *Comment) Content() int {
	return len(Deref(c.Text)) + len(Deref(c.HTML)) + len(c.Context) + len(c.From) +
		len(c.TaggedUserContacts) + len(c.Attachments) + len(c.Agent) + len(c.Kept) + c.Reactions.size()
}

// Thread is an annotation with its comments by comment id.
type Thread struct {
	Document string
	Annotation
	Comments  []Comment
	Unread    *bool // nil unless requested: see AnnotationQuery.UnreadFor
	Deleted   bool  // deleted, without comments
	Truncated bool  // the thread exceeds a page: its last comments are missing
}

// ThreadPart names some comments of a thread.
type ThreadPart struct {
	Document   DocumentRef
	Annotation string
	Comments   []int64 // none for only the head
	// A time at which the thread existed; a later one with its id does not count. 0 means any.
	At Millis
}

// AnnotationQuery selects annotations of an organization. All filters combine; nil or "" is no
// filter. Slices except IDs have no repeats.
type AnnotationQuery struct {
	Documents []string // in the order requested; nil for the whole organization
	// The existing ones of Documents, in Folder; nil if Documents is nil.
	Found []DocumentRef
	// Only documents directly in this folder; RootFolder for those outside folders.
	Folder        string
	IDs           []string // annotation ids
	Locations     []string
	Creators      []string
	Statuses      []string
	Mentioned     []string // tagged in a comment
	ResolvedBy    []string
	Agent         *AgentFilter
	UnreadFor     string  // user id: threads report whether they have comments unread by this user
	UnreadOnly    bool    // only threads with unread comments
	Order         Order   // by lastUpdated; "" is the order implied by the other fields
	UpdatedAfter  *Millis // bounds are inclusive
	UpdatedBefore *Millis
	CreatedAfter  *Millis
	CreatedBefore *Millis
	Sight         Sight // only visible annotations; nil for all
}

// Order is a direction of lists.
type Order string

const (
	Ascending  Order = "asc"
	Descending Order = "desc"
)

func (Order) Values() []string { return texts(Ascending, Descending) }

// Selector limits an update or deletion within its document. A nil slice selects all.
type Selector struct {
	IDs       []string
	Locations []string
	Creators  []string
	Agent     *AgentFilter `json:",omitempty"`
	Before    string       // only annotations added by requests with a lower mark; "" for all
}

// Users returns the ids of the creator, the assignee, and the authors and tagged users of the
// comments.
func (t *Thread) Users() []string {
	users := []string{t.CreatorID}
	var assignee User
	if len(t.AssignedTo) > 0 && json.Unmarshal(t.AssignedTo, &assignee) == nil {
		users = append(users, assignee.UserID)
	}
	for i := range t.Comments {
		users = append(users, t.Comments[i].Users()...)
	}
	return users
}

// Users returns the ids of the author and the tagged users.
func (c *Comment) Users() []string {
	users := []string{c.AuthorID}
	for _, tag := range Tags(c.TaggedUserContacts) {
		if tag.UserID != "" {
			users = append(users, tag.UserID)
		}
	}
	return users
}

// Narrows reports whether it excludes annotations by their content.
func (s Selector) Narrows() bool { return s.Locations != nil || s.Creators != nil || s.Agent != nil }

// Latest returns the latest lastUpdated of the head and comments.
func (t *Thread) Latest() Millis {
	latest := t.LastUpdated
	for i := range t.Comments {
		latest = max(latest, t.Comments[i].LastUpdated)
	}
	return latest
}

// NewAnnotation is the input of adding an annotation, apart from the thread.
type NewAnnotation struct {
	Field    string // path such as data.commentAnnotations[0], for errors
	Comments string // field in it with the comments, for errors
	Event    *Event // to record; nil for none
	Moved    bool   // comments were added elsewhere: does not mark them as read
	Import   bool   // an import adds it: see threads.Imported
}

// NewComments is the input of adding 1 to MaxComments comments to an annotation.
type NewComments struct {
	Field    string    // path such as data.commentData, for errors
	Comments []Comment // an id of 0 is generated; the others are distinct
	Moved    bool      // see NewAnnotation
	Import   bool      // see NewAnnotation
	First    bool      // the annotation has no creator; set for a person
	// Event returns the event to record, nil for none. It receives the head before, and the
	// comments with their ids.
	Event func(head *Annotation, comments []Comment) *Event
}

type CommentChange struct {
	IDs []int64 // distinct
	At  Millis  // time of the change; 0 keeps the lastUpdated of the annotation: see Store.Left
	// Change changes a comment. It may be called several times, so it must depend only on its
	// argument. Its error fails only that comment.
	Change func(*Comment) error
	// Event returns the event to record, nil for none. It receives the head, and the comments
	// before and after. Many comments produce several events.
	Event func(head *Annotation, were, comments []Comment) *Event
}

// AnnotationChange is a change of annotations. Its functions may be called several times, so they
// must depend only on their arguments. Their errors fail only that annotation, and leave its head
// unchanged.
type AnnotationChange struct {
	// Select returns an error if an annotation must not change; nil selects all.
	Select func(*Annotation) error
	// Comment changes a comment of the annotation, except its id, and reports whether it did; nil
	// changes none.
	Comment func(*Comment) (changed bool, err error)
	// Head changes the head of the i-th annotation and returns the events to record.
	// commentsChanged reports whether some of its comments changed.
	Head func(i int, a *Annotation, commentsChanged bool) ([]*Event, error)
	// Narrow can refuse a change of visibility that may hide the annotation from users who saw it;
	// nil refuses none. The change succeeds only if nothing has touched the thread since.
	Narrow func(ctx context.Context, was, is *Annotation) error
}

// AnnotationDeletion limits the deletion of annotations.
type AnnotationDeletion struct {
	// Annotations that it excludes are kept, and fail with NOT_FOUND. Its IDs are ignored.
	Selector Selector
	// Annotations with comments by anyone except their creator are kept, and fail with
	// FAILED_PRECONDITION.
	Unanswered bool
	// Annotations with any comment are kept, and fail with FAILED_PRECONDITION.
	Empty  bool
	Notify bool // record an event for each
}

// Excludes reports whether the selector's locations and creators exclude an annotation.
func (s Selector) Excludes(a *Annotation) bool {
	return s.Locations != nil && !slices.Contains(s.Locations, a.LocationID) || s.Creators != nil && !slices.Contains(s.Creators, a.CreatorID)
}

// SetCreator makes the author of a comment the creator of an annotation that has none.
func (a *Annotation) SetCreator(c *Comment) {
	if a.From == nil {
		a.From, a.CreatorID = c.From, c.AuthorID
	}
}
