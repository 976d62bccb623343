package collab

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// VisibilityType says which of those who may see a document may see a thread in it.
type VisibilityType string

// The types.
const (
	VisibilityPublic              VisibilityType = "public"              // all of them
	VisibilityOrganizationPrivate VisibilityType = "organizationPrivate" // the members of the organization
	VisibilityRestricted          VisibilityType = "restricted"          // those who are named, and the thread's creator
)

// Values returns all types.
func (VisibilityType) Values() []string {
	return texts(VisibilityPublic, VisibilityOrganizationPrivate, VisibilityRestricted)
}

// MaxVisibleTo is how many users a Visibility names at most.
const MaxVisibleTo = 100

// Visibility says who may see a thread, of those who may see its document. nil is public.
type Visibility struct {
	Type           VisibilityType `json:"type" rule:"required" person:"in,out" dynamodbav:"type" doc:"public: everyone who may see the document; organizationPrivate: of these, the members of the organization; restricted: of these, userIds and the annotation's creator"`
	OrganizationID string         `json:"organizationId,omitempty" rule:"id" person:"in,out" dynamodbav:"org,omitempty" doc:"The organization of the request; required for organizationPrivate"`
	UserIDs        []string       `json:"userIds,omitempty" rule:"max=100,each=id" person:"in,out" dynamodbav:"users,omitempty" doc:"1 to 100 different users; required for restricted, and for it alone"`
}

// Narrow returns v, nil where it is public, or zero.
func (v *Visibility) Narrow() *Visibility {
	if v == nil || v.Type == VisibilityPublic || v.Type == "" {
		return nil
	}
	return v
}

// Users returns the ids of the users whom v names.
func (v *Visibility) Users() []string {
	if v == nil {
		return nil
	}
	return v.UserIDs
}

// Answered returns the visibility as it is answered: public is a value of its own.
func (v *Visibility) Answered() Visibility {
	if v == nil {
		return Visibility{Type: VisibilityPublic}
	}
	return *v
}

// Viewer applies the rule of who may see a document. Access that somebody set counts; without any, everyone whom a back end names may see
// it.
func (v Standing) Viewer(now Millis) Viewer {
	why := v.refusal(now)
	return Viewer{User: v.User, May: why == "", Why: why, Member: v.Member.Holds(now)}
}

// refusal says, to an operator, by what the person may not see the document; "" where they may.
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

// Viewer is what a person may see of a document.
type Viewer struct {
	User   string
	May    bool   // the document, and threads in it that are public
	Why    string // why not, for an operator; "" where they may
	Member bool   // of the organization
}

// Sees applies the rule of who may see a thread: its document lets them, and its visibility, nil for public. creator is the id of the
// thread's creator, "" for none.
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

// Viewers are what each of some people may see of a document.
type Viewers []Viewer

// May reports whether all of them may see the document.
func (v Viewers) May() bool { return !slices.ContainsFunc(v, func(v Viewer) bool { return !v.May }) }

// Members reports whether all of them are members of the organization.
func (v Viewers) Members() bool {
	return !slices.ContainsFunc(v, func(v Viewer) bool { return !v.Member })
}

// See reports whether all of them may see a thread in the document.
func (v Viewers) See(a *Annotation) bool {
	return !slices.ContainsFunc(v, func(v Viewer) bool { return !v.Sees(a.Visibility, a.CreatorID) })
}

// Sight knows the people for whom something is read: what one of them may not see does not exist. Safe for concurrent use.
type Sight interface {
	// Viewers returns what these people may see of documents of an organization. To ask about the same document again costs nothing.
	// Documents without an answer at the time until are left out; the zero time is none.
	Viewers(ctx context.Context, documents []DocumentRef, until time.Time) (map[DocumentRef]Viewers, error)
}

// Set returns the access type that somebody set for what is in a folder and has the type own, "" for none of its own: the nearest one from
// there up, "" where there is none; on is the folder that has it, "" where it is its own. Where a folder above is missing or deleted it is
// AccessRestricted, on that.
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
