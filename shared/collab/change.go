package collab

import "context"

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
	Narrow func(ctx context.Context, before, after *Annotation) error
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
