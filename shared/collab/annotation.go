// Package collab defines the domain: comment annotations, comments, organizations, folders,
// documents, users, notifications, events, and error codes. It imports only text modules. Types
// with dynamodbav tags are stored under the attributes that the tags name: see package keys.
package collab

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
	return Shorten(a.TargetElement.Text("targetText"), maxTargetText)
}

// AssigneeID returns the id of the assigned user, or "".
func (a *Annotation) AssigneeID() string { return a.AssignedTo.Text("userId") }

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

// Users returns the ids of the creator, the assignee, and the authors and tagged users of the
// comments.
func (t *Thread) Users() []string {
	users := []string{t.CreatorID, t.AssigneeID()}
	for i := range t.Comments {
		users = append(users, t.Comments[i].Users()...)
	}
	return users
}

// Latest returns the latest lastUpdated of the head and comments.
func (t *Thread) Latest() Millis {
	latest := t.LastUpdated
	for i := range t.Comments {
		latest = max(latest, t.Comments[i].LastUpdated)
	}
	return latest
}

// SetCreator makes the author of a comment the creator of an annotation that has none.
func (a *Annotation) SetCreator(c *Comment) {
	if a.From == nil {
		a.From, a.CreatorID = c.From, c.AuthorID
	}
}
