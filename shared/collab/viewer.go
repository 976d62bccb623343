package collab

import (
	"context"
	"slices"
	"time"
)

// Viewer is a person's access to a document.
type Viewer struct {
	User   string
	May    bool   // to the document and its public threads
	Why    string // reason for no access, for an operator, or ""
	Member bool   // of the organization
	// Unanswered reports that there is no access only because the permission provider gave no answer.
	Unanswered bool
}

// Sees reports whether the viewer can see a thread, by its document and its visibility, nil for
// public. creator is the id of the thread's creator, or "".
func (v Viewer) Sees(thread *Visibility, creator string) bool {
	switch {
	case !v.May:
		return false
	case thread == nil || thread.Type == VisibilityPublic:
		return true
	case thread.Type == VisibilityOrganizationPrivate:
		return v.Member
	}
	return thread.Type == VisibilityRestricted && (v.User == creator && creator != ErasedUser || slices.Contains(thread.UserIDs, v.User))
}

// Viewers are the access of several people to a document.
type Viewers []Viewer

// May reports whether all of them have access to the document.
func (v Viewers) May() bool { return !slices.ContainsFunc(v, func(v Viewer) bool { return !v.May }) }

// Members reports whether all of them are members of the organization.
func (v Viewers) Members() bool {
	return !slices.ContainsFunc(v, func(v Viewer) bool { return !v.Member })
}

// See reports whether all of them can see a thread in the document.
func (v Viewers) See(a *Annotation) bool {
	return !slices.ContainsFunc(v, func(v Viewer) bool { return !v.Sees(a.Visibility, a.CreatorID) })
}

// Sight provides the access of the people of a read: anything that one of them cannot see does not
// exist. It is safe for concurrent use.
type Sight interface {
	// Viewers returns the people's access to documents of an organization. Repeated queries for a
	// document cost nothing. It omits documents without an answer by until; zero means no limit.
	Viewers(ctx context.Context, documents []DocumentRef, until time.Time) (map[DocumentRef]Viewers, error)
}
