package collab

import (
	"cmp"
	"fmt"
	"slices"
)

// Standing is all that decides a user's access to a folder or document.
type Standing struct {
	User     string
	There    bool // it exists, a document in the requested incarnation
	Disabled bool
	Removed  bool // from the document
	// RemovedFromAll reports a removal from the organization. It ends here with Opened, or with a
	// grant.
	RemovedFromAll bool
	Opened         bool // the document, by a later comment
	// Provider is the answer of the account's permission provider, nil if it was not asked, false if
	// it gave none. It replaces the following fields.
	Provider   *bool
	Unanswered bool // the provider gave no answer
	// The type in effect; "" if none is set and no default was requested.
	Access Access
	SetOn  string // the folder with that type, "" for the thing itself
	// On the thing itself, then on the folders above, nearest first; nil for none.
	Grants []*Grant
	Member *Grant // membership of the organization, nil for none
}

// Grant returns the grant in effect at a time, nil if the user has no access. It is the nearest
// unexpired grant. Membership comes last, and does not count if access is restricted. A user
// without a grant is an editor of public things.
func (s Standing) Grant(now Millis) *Grant {
	for _, g := range s.Grants {
		if g.Holds(now) {
			return g
		}
	}
	switch {
	case s.Access != AccessRestricted && s.Member.Holds(now):
		return s.Member
	case s.Access == AccessPublic:
		return &Grant{Role: RoleEditor}
	}
	return nil
}

// IsRemoved reports whether access was taken from the user, and not given again.
func (s Standing) IsRemoved(now Millis) bool {
	held := slices.ContainsFunc(s.Grants, func(g *Grant) bool { return g.Holds(now) })
	return s.Removed || s.RemovedFromAll && !s.Opened && !held
}

// MayWrite reports whether the user can write at a time.
func (s Standing) MayWrite(now Millis) bool {
	g := s.Grant(now)
	return g != nil && g.Role != RoleViewer
}

// Viewer decides access to a document. Only explicit restrictions count; without any, every user
// that a back end names has access.
func (s Standing) Viewer(now Millis) Viewer {
	why := s.refusal(now)
	return Viewer{User: s.User, May: why == "", Why: why, Member: s.Member.Holds(now), Unanswered: why == unprovided && s.Unanswered}
}

const unprovided = "the permission provider has not allowed it"

// refusal returns the reason why the person has no access, for an operator, or "".
func (s Standing) refusal(now Millis) string {
	switch {
	case !s.There || s.Disabled:
		return "the document is deleted or disabled"
	case s.IsRemoved(now):
		return "removed from the organization or the document"
	case s.Provider != nil && *s.Provider:
		return ""
	case s.Provider != nil:
		return unprovided
	case s.Access == "" || s.Grant(now) != nil:
		return ""
	case s.SetOn != "":
		return fmt.Sprintf("folder %q is %s", s.SetOn, s.Access)
	}
	return "the document is " + string(s.Access)
}

// MaxFolderDepth is the maximum of folder levels; top-level folders are the first.
const MaxFolderDepth = 10

// Folders are folders of an organization and all their ancestors, by id.
type Folders map[string]Folder

// Up returns the ids of a folder and its ancestors, nearest first; none for RootFolder.
func (t Folders) Up(id string) (up []string) {
	for id != RootFolder && len(up) <= len(t) {
		up = append(up, id)
		f, ok := t[id]
		if !ok {
			break
		}
		id = f.Parent
	}
	return up
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

// Access returns the access type of a thing in a folder. own is its own type, "" for none, and
// byDefault the account's. If a folder above is missing, because it is being deleted, only grants
// give access.
func (t Folders) Access(own Access, folder string, byDefault Access) Access {
	set, _ := t.Set(own, folder)
	return cmp.Or(set, byDefault)
}

// CheckPlace returns an error if a folder cannot be in a parent. It returns NOT_FOUND if the parent
// does not exist. It returns FAILED_PRECONDITION if the parent is the folder itself, is inside it,
// or makes it too deep. height is the number of levels of the folder: 1 without subfolders.
func (t Folders) CheckPlace(id, parent string, height int) error {
	up := t.Up(parent)
	for _, above := range up {
		if above == id {
			return Errorf(FailedPrecondition, "folder %q cannot be in %q: that is, or lies in, the folder itself", id, parent)
		}
		if _, ok := t[above]; !ok {
			return Errorf(NotFound, "folder %q does not exist", above)
		}
	}
	if depth := len(up) + height; depth > MaxFolderDepth {
		return Errorf(FailedPrecondition, "folder %q in %q would make %d levels of folders: there may be %d", id, parent, depth, MaxFolderDepth)
	}
	return nil
}

// StandingQuery asks for standings in an organization.
type StandingQuery struct {
	Users     []string
	Folders   []string
	Documents []DocumentRef
	// Default is the access of things without an access type. If it is "", only explicit
	// restrictions count: access types that are set, and removals.
	Default  Access
	Provided bool // a permission provider replaces access types and grants
	Members  bool // also return membership
	// Documents added after the person's token was issued count as missing; nil for a back end.
	Person *Person
	// Read grants on documents and removals at once: 1.5 read units for each user and document, and
	// one round trip less.
	Early bool
}

// AnyIncarnation is the incarnation of a DocumentRef that stands for the present document with the
// id.
const AnyIncarnation = -1

// Standings answer a StandingQuery: by folder and by document, in its order, then by user.
type Standings struct {
	Members            map[string]*Grant // by user
	Folders, Documents [][]Standing
}
