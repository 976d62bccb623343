package collab

import "slices"

// Seen is a user's read mark for a document or thread. The zero value is no mark.
type Seen struct {
	Before Millis `dynamodbav:"seen"` // comments added before this are seen; 0 for none
	At     Millis `dynamodbav:"at"`   // time of the mark
}

// ReadState records when a user last read a document or an annotation.
type ReadState struct {
	User, Annotation string // Annotation is "" for the document
	Seen
}

// SeenAt returns a mark at a time: all comments until then are seen, or none.
func SeenAt(at Millis, read bool) Seen {
	if !read {
		return Seen{At: at}
	}
	return Seen{At: at, Before: at + 1}
}

// LastOf returns the time of each author's last comment. Until then the author has seen the thread.
func LastOf(comments []Comment) map[string]Millis {
	last := map[string]Millis{}
	for _, c := range comments {
		if c.AuthorID != "" && c.AuthorID != ErasedUser {
			last[c.AuthorID] = max(last[c.AuthorID], c.Added())
		}
	}
	return last
}

// Alone reports whether comments have at most one author.
func Alone(comments []Comment) bool {
	return !slices.ContainsFunc(comments, func(c Comment) bool { return c.AuthorID != comments[0].AuthorID })
}

// SeenBefore returns the time before which comments of a thread are seen, by the marks of its
// document and its own. It returns 0 if the later mark means unseen, and otherwise the later time
// of both.
func SeenBefore(document, thread Seen) Millis {
	last := document
	if thread.At >= document.At {
		last = thread
	}
	if last.Before == 0 {
		return 0
	}
	return max(document.Before, thread.Before)
}

// UnreadBy reports whether the thread has a comment by another user that was added at a time or
// later: see Comment.Added. If its comments are truncated, the thread's lastUpdated decides.
func (t *Thread) UnreadBy(user string, since Millis) bool {
	for i := range t.Comments {
		if c := &t.Comments[i]; c.AuthorID != user && c.Added() >= since {
			return true
		}
	}
	return t.Truncated && t.LastUpdated >= since
}

// AnnotationCount is the number of annotations of a document, and of those with comments unseen by
// a user.
type AnnotationCount struct {
	Total, Unread                 int64
	TotalIsAtLeast, UnreadAtLeast bool // the count stopped early
}
