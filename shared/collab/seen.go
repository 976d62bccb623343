package collab

import "slices"

// Seen is what a user has said about having seen the comments of a document, or of one thread in it. The zero one says nothing.
type Seen struct {
	Before Millis `dynamodbav:"seen"` // comments added before this are seen; 0 for none
	At     Millis `dynamodbav:"at"`   // when it was said
}

// ReadState is what a user has said of a document, or of one of its annotations.
type ReadState struct {
	User, Annotation string // "" for all of the document
	Seen
}

// SeenAt is what is said at a time: that all comments so far are seen, or none.
func SeenAt(at Millis, read bool) Seen {
	if !read {
		return Seen{At: at}
	}
	return Seen{At: at, Before: at + 1}
}

// LastOf returns when the authors of comments added their last one: until then they have seen the
// thread.
func LastOf(comments []Comment) map[string]Millis {
	last := map[string]Millis{}
	for _, c := range comments {
		if c.AuthorID != "" && c.AuthorID != ErasedUser {
			last[c.AuthorID] = max(last[c.AuthorID], c.Added())
		}
	}
	return last
}

// Alone reports whether comments have no more than one author.
func Alone(comments []Comment) bool {
	return !slices.ContainsFunc(comments, func(c Comment) bool { return c.AuthorID != comments[0].AuthorID })
}

// SeenBefore returns the time before which comments of a thread are seen, by what was said about its document and about itself: what was
// said last holds, but what is seen by one stays seen when the other says so of less.
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

// UnreadBy reports whether the thread has a comment by somebody else that was added at a time or later: see Comment.Added. Of a truncated thread whose comments do not tell, the time when it was last updated does.
func (t *Thread) UnreadBy(user string, since Millis) bool {
	for i := range t.Comments {
		if c := &t.Comments[i]; c.AuthorID != user && c.Added() >= since {
			return true
		}
	}
	return t.Truncated && t.LastUpdated >= since
}

// AnnotationCount is how many annotations of a document there are, and how many of them have comments that a user has not seen.
type AnnotationCount struct {
	Total, Unread                 int64
	TotalIsAtLeast, UnreadAtLeast bool // counting ended before the end
}
