package collab

import "cmp"

// Access says who may see a folder or document without a grant on it, or on a folder above it.
type Access string

// The types of access. A document without one has that of its folder, which has its parent's, and so on to the account's default.
const (
	AccessPublic              Access = "public"              // every user of the account, who may write too
	AccessOrganizationPrivate Access = "organizationPrivate" // users of the organization
	AccessRestricted          Access = "restricted"          // nobody

	accessOrganization Access = "organization" // another name of AccessOrganizationPrivate in requests
)

// Values returns the values that a request may have.
func (Access) Values() []string {
	return texts(AccessPublic, AccessOrganizationPrivate, AccessRestricted, accessOrganization)
}

// Canonical returns the one name of the type.
func (a Access) Canonical() Access {
	if a == accessOrganization {
		return AccessOrganizationPrivate
	}
	return a
}

// Role is what a grant lets its user do.
type Role string

// The roles.
const (
	RoleEditor Role = "editor" // reads and writes: the default
	RoleViewer Role = "viewer" // reads
)

// Values returns all roles.
func (Role) Values() []string { return texts(RoleEditor, RoleViewer) }

// Grant gives a user a role on a document, a folder with all below it, or an organization.
type Grant struct {
	Role    Role  `dynamodbav:"role"`
	Expires int64 `dynamodbav:"exp,omitempty"` // seconds since epoch, from then on it is none; 0 for never
}

// Holds reports whether there is a grant that has not expired.
func (g *Grant) Holds(now Millis) bool { return g != nil && (g.Expires == 0 || now/1000 < g.Expires) }

// Standing is all that decides what a user may do with a folder or a document at a moment.
type Standing struct {
	User     string
	There    bool // the thing exists, a document in the incarnation that was asked about
	Disabled bool
	Removed  bool // users/delete took the user out of the organization or the document, and nothing has brought them back
	// Provider is the answer of the account's permission provider, nil where it was not asked. It decides in the place of what follows.
	Provider *bool
	Access   Access   // the type that holds; "" where nobody set one, and the default was not asked about
	SetOn    string   // the folder that has that type, "" for the thing itself
	Grants   []*Grant // on the thing itself, then on the folders above it from the nearest up; nil where there is none
	Member   *Grant   // the user's membership of the organization, nil for none
}

// Grant returns the grant that says what the user may do at a time, nil where the user may not see the thing. It is the nearest of those
// that have not expired; membership is the farthest, and none where access is restricted. A user without a grant is an editor of what is public.
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

// MayWrite reports whether the user may write at a time.
func (s Standing) MayWrite(now Millis) bool {
	g := s.Grant(now)
	return g != nil && g.Role != RoleViewer
}

// MaxFolderDepth is how many levels of folders there may be: folders at the top are the first.
const MaxFolderDepth = 10

// Folders are folders of an organization by id: those that a question is about, and all above them.
type Folders map[string]Folder

// Up returns the ids of a folder and of those above it, the nearest first; none for RootFolder.
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

// Access returns the type of access that holds for what is in a folder and has the type own, "" for none of its own. byDefault is the
// account's. Where a folder above is missing, as it is being deleted, nobody has access without a grant.
func (t Folders) Access(own Access, folder string, byDefault Access) Access {
	set, _ := t.Set(own, folder)
	return cmp.Or(set, byDefault, AccessOrganizationPrivate)
}

// CheckPlace reports why a folder cannot be in a parent: NOT_FOUND where that does not exist, FAILED_PRECONDITION where it is the folder
// itself, lies in it, or is too deep. height counts the levels of the folder with what is below it: 1 for one without subfolders.
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

// Resource is what users are added to and have grants on: an organization, a folder in it where Folder names one, or a document in it where
// Document names one.
type Resource struct {
	OrganizationRef
	Folder   FolderRef
	Document DocumentRef
}

// ResourceName is the name of a Resource in requests.
type ResourceName struct{ Organization, Folder, Document string }

// StandingQuery asks for standings in an organization.
type StandingQuery struct {
	Users     []string
	Folders   []string
	Documents []DocumentRef
	// Default is the access of things for which nobody set one. "" asks who may see what somebody hid: an access type that was set, and
	// removals, count, and nothing else.
	Default  Access
	Provided bool    // a permission provider decides in the place of access types and grants
	Members  bool    // it is to be known who is a member of the organization
	Person   *Person // documents that were added after the person's token was issued do not exist; nil for a back end
	Early    bool    // read grants on documents and removals before it is known that they matter: 1.5 read units for each user and document, and one round trip less
}

// AccessByDefault is the access of things for which nobody set one.
func (s Settings) AccessByDefault() Access { return cmp.Or(s.DefaultAccess, AccessOrganizationPrivate) }

// AnyIncarnation is that of a DocumentRef which stands for the document that has its id.
const AnyIncarnation = -1

// Standings answer a StandingQuery: by folder and by document, in its order, and in each by user.
type Standings struct {
	Members            map[string]*Grant // by user
	Folders, Documents [][]Standing
}
