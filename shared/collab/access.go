package collab

// Access is the access type of a folder or document for users without a grant on it or on a folder
// above.
type Access string

// The access types. A document without one inherits its folder's, a folder its parent's, and at the
// top the account's default applies.
const (
	// AccessPublic gives all users of the account access, including writes.
	AccessPublic Access = "public"
	// AccessOrganizationPrivate gives users of the organization access.
	AccessOrganizationPrivate Access = "organizationPrivate"
	// AccessRestricted gives nobody access.
	AccessRestricted Access = "restricted"

	// accessOrganization is another name of AccessOrganizationPrivate in requests.
	accessOrganization Access = "organization"
)

// Values returns the values that requests accept.
func (Access) Values() []string {
	return texts(AccessPublic, AccessOrganizationPrivate, AccessRestricted, accessOrganization)
}

// Canonical returns the only name of the type.
func (a Access) Canonical() Access {
	if a == accessOrganization {
		return AccessOrganizationPrivate
	}
	return a
}

type Role string

const (
	RoleEditor Role = "editor" // reads and writes: the default
	RoleViewer Role = "viewer" // reads
)

func (Role) Values() []string { return texts(RoleEditor, RoleViewer) }

// Grant gives a user a role on a document, a folder with all below it, or an organization.
type Grant struct {
	Role    Role  `dynamodbav:"role"`
	Expires int64 `dynamodbav:"exp,omitempty"` // Unix seconds at which it ends; 0 for never
}

// Holds reports whether the grant exists and has not expired.
func (g *Grant) Holds(now Millis) bool { return g != nil && (g.Expires == 0 || now/1000 < g.Expires) }

// Resource is an organization, a folder in it if Folder is set, or a document if Document is set.
// Users are added to it and have grants on it.
type Resource struct {
	OrganizationRef
	Folder   FolderRef
	Document DocumentRef
}

// Resource returns the document as a resource.
func (d DocumentRef) Resource() Resource {
	return Resource{OrganizationRef: d.OrganizationRef, Document: d}
}

type ResourceName struct{ Organization, Folder, Document string }
