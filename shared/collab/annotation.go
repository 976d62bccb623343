// Package collab holds the words of the domain: comment annotations, comments, organizations, folders, documents, users,
// notifications, events, and the error codes. It imports the standard library only.
package collab

import (
	"cmp"
	"encoding/json"
	"slices"
)

// JSON is the text of a JSON value, kept as it was sent: numbers are not converted. nil is absence.
type JSON = json.RawMessage

// Millis is a time in milliseconds since the Unix epoch, 0 to MaxMillis.
type Millis = int64

// MaxMillis is the last millisecond of the year 9999: the largest time accepted.
const MaxMillis Millis = 253402300799999

// Limits on what is stored and on what one request may hold.
const (
	MaxItemBytes      = 350_000 // one stored comment, or the head of one annotation
	MaxAnnotations    = 500     // annotations in one add
	MaxComments       = 500     // comments per annotation in an add, and per comments add
	MaxRequestComment = 5_000   // comments in one request in all
	MaxUpdated        = 10_000  // annotations that one update may select
	MaxIDsPerFilter   = 30      // ids in an array, where the contract says so
	MaxPageSize       = 1_000   // annotations or organizations on a page; also the default
	MaxAuthors        = 50      // authors whom the head of an annotation remembers
)

// OrganizationRef names an organization of an account.
type OrganizationRef struct {
	Account      string // the account behind the API key: never from a request's body
	Organization string
}

// Document names a document of the organization.
func (r OrganizationRef) Document(id string) DocumentRef {
	return DocumentRef{OrganizationRef: r, Document: id}
}

// DocumentRef names a document of an organization.
type DocumentRef struct {
	OrganizationRef
	Document string
}

// Annotation is the head of a comment annotation: all of it but its comments. Its objects are kept as the JSON text that was sent;
// beside them stand the ids that filters look at, which must agree with the text.
type Annotation struct {
	ID            string
	From          JSON // user object: the creator; nil until the first comment
	Location      JSON
	TargetElement JSON
	Status        JSON // never nil
	AssignedTo    JSON
	Context       JSON
	Priority      JSON
	CreatedAt     Millis
	LastUpdated   Millis // the latest of its own and of every comment written

	CreatorID  string // From.userId, "" for none
	LocationID string // Location.id, "" for none
	StatusID   string // Status.id

	LastComment int64             // the largest comment id so far, 0 for none
	Authors     map[string]Millis // the last MaxAuthors authors by user id, with the time of their latest comment
	Rev         int64             // 1 when added, one more with every write
}

// Comment is one comment of an annotation.
type Comment struct {
	ID                 int64
	Text               *string
	HTML               *string // as sent: clean it where it is rendered
	Context            JSON
	ResolverUsed       *bool // isCommentResolverUsed
	TextAvailable      *bool // isCommentTextAvailable
	From               JSON  // user object: the author
	TaggedUserContacts JSON  // array of {userId, contact, text}
	Attachments        JSON  // array of attachment objects
	CreatedAt          Millis
	LastUpdated        Millis
	Rev                int64 // 1 when added, one more with every write
}

// HasContent reports whether the comment has what a comment needs: a text, HTML, an attachment, or a comment resolver that knows it.
func (c *Comment) HasContent() bool {
	return c.Text != nil && *c.Text != "" || c.HTML != nil && *c.HTML != "" ||
		c.ResolverUsed != nil && *c.ResolverUsed || len(c.Attachments) > len("[]")
}

// Thread is an annotation with its comments by comment id.
type Thread struct {
	Document string
	Annotation
	Comments  []Comment
	Truncated bool // Comments ends before the thread does: it is larger than a page
}

// AnnotationQuery selects annotations of an organization. All filters combine; nil or "" is no filter. Slices but IDs hold no repeats.
type AnnotationQuery struct {
	Documents     []string // in the order asked; nil for all of the organization
	Folder        string   // only documents directly in this folder; RootFolder for those in none
	IDs           []string // annotation ids
	Locations     []string
	Creators      []string
	Statuses      []string
	UpdatedAfter  *Millis // bounds are inclusive
	UpdatedBefore *Millis
	CreatedAfter  *Millis
	CreatedBefore *Millis
}

// Selector narrows an update within its document; nil slices are no selector.
type Selector struct {
	IDs       []string
	Locations []string
	Creators  []string
}

// ForgetAuthors drops the authors of the oldest comments until MaxAuthors are left.
func (a *Annotation) ForgetAuthors() {
	if len(a.Authors) <= MaxAuthors {
		return
	}
	ids := make([]string, 0, len(a.Authors))
	for id := range a.Authors {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(x, y string) int {
		return cmp.Or(cmp.Compare(a.Authors[x], a.Authors[y]), cmp.Compare(x, y))
	})
	for _, id := range ids[:len(ids)-MaxAuthors] {
		delete(a.Authors, id)
	}
}

// NewComments is what one call adds to an annotation.
type NewComments struct {
	Comments []Comment // an id of 0 is generated; the other ids are distinct
	IDs      *IDs
	// Event makes the event to record from the head before the comments and the comments with their ids; nil for none.
	Event func(head *Annotation, comments []Comment) (*Event, error)
}

// CommentChange is what one call does to comments of an annotation.
type CommentChange struct {
	IDs  []int64 // distinct
	Mark string  // of the request
	// Change changes a comment. It depends on its argument alone, and may be called again. An error of its is that comment's failure.
	Change func(*Comment) error
	// Event makes the event to record from the head and the comments as changed; nil for none. Many comments are several events.
	Event func(head *Annotation, comments []Comment) (*Event, error)
}
