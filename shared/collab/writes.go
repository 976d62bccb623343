package collab

// NewAnnotation is what an add of an annotation brings beside its thread.
type NewAnnotation struct {
	Field string            // of the request that has it, such as data.commentAnnotations[0], for what is refused
	Mark  string            // of the request
	Event *Event            // to record; nil for none
	Claim *IdempotencyClaim // to make in the same transaction; nil for none
}

// NewComments is what one call adds to an annotation: 1 to MaxComments comments.
type NewComments struct {
	Field    string    // of the request that has them, such as data.commentData, for what is refused
	Comments []Comment // an id of 0 is generated; the other ids are distinct
	IDs      *IDs
	// Event makes the event to record from the head before the comments and the comments with their ids; nil for none.
	Event func(head *Annotation, comments []Comment) *Event
	Claim *IdempotencyClaim // to make in the same transaction; nil for none
}

// CommentChange is what one call does to comments of an annotation.
type CommentChange struct {
	IDs  []int64 // distinct
	Mark string  // of the request
	Now  Millis  // when the comments are changed
	// Change changes a comment. It depends on its argument alone, and may be called again. An error of its is that comment's failure.
	Change func(*Comment) error
	// Event makes the event to record from the head and the comments as changed; nil for none. Many comments are several events.
	Event func(head *Annotation, comments []Comment) *Event
}

// AnnotationChange is what one call does to annotations. Its functions depend on their arguments alone, and may be called again; an error of
// theirs is that annotation's failure, and leaves its head as it is.
type AnnotationChange struct {
	Mark string // of the request
	Now  Millis // when the annotations are changed
	// Select fails for an annotation that is not to be changed; nil for none such.
	Select func(*Annotation) error
	// Comment changes a comment of the annotation and reports whether it did; nil where no comment changes. Ids stay.
	Comment func(*Comment) (changed bool, err error)
	// Head changes the head of the i-th annotation, told whether any of its comments changed, and returns the events to record.
	Head func(i int, a *Annotation, commentsChanged bool) ([]*Event, error)
}

// SetCreator makes the author of a comment the creator of an annotation that has none.
func (a *Annotation) SetCreator(c *Comment) {
	if a.From == nil {
		a.From, a.CreatorID = c.From, c.AuthorID
	}
}
