package collab

import "slices"

// ReadState is a user's read state for a document or thread. The zero value is none.
type ReadState struct {
	Before Millis `dynamodbav:"seen"` // comments added before this are read; 0 for none
	At     Millis `dynamodbav:"at"`   // time at which it was set
}

// UserReadState records when a user last read a document or an annotation.
type UserReadState struct {
	User, Annotation string // Annotation is "" for the document
	ReadState
}

// ReadStateAt returns a read state at a time: all comments until then are read, or none.
func ReadStateAt(at Millis, read bool) ReadState {
	if !read {
		return ReadState{At: at}
	}
	return ReadState{At: at, Before: at + 1}
}

// LastOf returns the time of each author's last comment. Until then the author has read the thread.
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

// ReadBefore returns the time before which comments of a thread are read, by the read states of its
// document and its own. It returns 0 if the later one means unread, and otherwise the later time
// of both.
func ReadBefore(document, thread ReadState) Millis {
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

// AnnotationCount is the number of annotations of a document, and of those with comments unread by
// a user.
type AnnotationCount struct {
	Total, Unread                 int64
	TotalIsAtLeast, UnreadAtLeast bool // the count stopped early
}
