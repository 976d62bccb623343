package collab

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// VisibilityType limits a thread to some of the users with access to its document.
type VisibilityType string

const (
	// VisibilityPublic shows the thread to all of them.
	VisibilityPublic VisibilityType = "public"
	// VisibilityOrganizationPrivate shows it to members of the organization.
	VisibilityOrganizationPrivate VisibilityType = "organizationPrivate"
	// VisibilityRestricted shows it to named users and the thread's creator.
	VisibilityRestricted VisibilityType = "restricted"
)

func (VisibilityType) Values() []string {
	return texts(VisibilityPublic, VisibilityOrganizationPrivate, VisibilityRestricted)
}

const MaxVisibleTo = 100

// Visibility limits a thread to some of the users with access to its document. nil is public.
type Visibility struct {
	Type           VisibilityType `json:"type" rule:"required" person:"in,out" dynamodbav:"type" doc:"public: all users with access to the document; organizationPrivate: only members of the organization; restricted: only userIds and the annotation's creator"`
	OrganizationID string         `json:"organizationId,omitempty" rule:"id" person:"in,out" dynamodbav:"org,omitempty" doc:"Organization of the request; required for organizationPrivate"`
	UserIDs        []string       `json:"userIds,omitempty" rule:"max=100,each=id" person:"in,out" dynamodbav:"users,omitempty" doc:"1 to 100 distinct users; required for restricted, and not allowed otherwise"`
}

// Narrow returns v, nil if it is public or zero.
func (v *Visibility) Narrow() *Visibility {
	if v == nil || v.Type == VisibilityPublic || v.Type == "" {
		return nil
	}
	return v
}

// Users returns the ids of the users in v.
func (v *Visibility) Users() []string {
	if v == nil {
		return nil
	}
	return v.UserIDs
}

// Answered returns the visibility for responses, in which public is explicit.
func (v *Visibility) Answered() Visibility {
	if v == nil {
		return Visibility{Type: VisibilityPublic}
	}
	return *v
}

// Viewer decides access to a document. Only explicit restrictions count; without any, every user
// that a back end names has access.
func (v Standing) Viewer(now Millis) Viewer {
	why := v.refusal(now)
	return Viewer{User: v.User, May: why == "", Why: why, Member: v.Member.Holds(now)}
}

// refusal returns the reason why the person has no access, for an operator, or "".
func (v Standing) refusal(now Millis) string {
	switch {
	case !v.There || v.Disabled:
		return "the document is deleted or disabled"
	case v.Removed:
		return "removed from the organization or the document"
	case v.Provider != nil && *v.Provider:
		return ""
	case v.Provider != nil:
		return "the permission provider has not allowed it"
	case v.Access == "" || v.Grant(now) != nil:
		return ""
	case v.SetOn != "":
		return fmt.Sprintf("folder %q is %s", v.SetOn, v.Access)
	}
	return "the document is " + string(v.Access)
}

// Viewer is a person's access to a document.
type Viewer struct {
	User   string
	May    bool   // to the document and its public threads
	Why    string // reason for no access, for an operator, or ""
	Member bool   // of the organization
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

// Set returns the access type that is set for a thing in a folder. It is own, or the nearest one
// above, or "". on is the folder with that type, "" if it is own. If a folder above is missing or
// deleted, the type is AccessRestricted, on that folder.
func (t Folders) Set(own Access, folder string) (set Access, on string) {
	for _, id := range t.Up(folder) {
		f, exists := t[id]
		switch {
		case !exists:
			return AccessRestricted, id
		case own == "" && f.Access != "":
			own, on = f.Access, id
		}
	}
	return own, on
}
