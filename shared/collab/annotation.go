// Package collab holds the words of the domain: comment annotations, comments, organizations, folders, documents, users,
// notifications, events, and the error codes. It imports the standard library only.
package collab

import "encoding/json"

// JSON is the text of a JSON value, kept as it was sent: numbers are not converted. nil is absence.
type JSON = json.RawMessage

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
	MaxIDsPerFilter   = 30      // ids in an array, where the contract says so
	MaxPageSize       = 1_000   // annotations or organizations on a page; also the default
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
	LastUpdated   Millis // as stored with the head, of its own; that of a Thread is the latest of head and comments

	CreatorID  string // From.userId, "" for none
	LocationID string // Location.id, "" for none
	StatusID   string // Status.id

	Rev int64 // 1 when added, one more with every update
}

// Comment is one comment of an annotation.
type Comment struct {
	ID                 int64
	Text               *string
	HTML               *string // as sent: clean it where it is rendered
	Context            JSON
	ResolverUsed       *bool  // isCommentResolverUsed
	TextAvailable      *bool  // isCommentTextAvailable
	From               JSON   // user object: the author
	AuthorID           string // From.userId
	TaggedUserContacts JSON   // array of {userId, contact, text}
	Attachments        JSON   // array of attachment objects
	CreatedAt          Millis
	LastUpdated        Millis
	Rev                int64 // 1 when added, one more with every update
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
