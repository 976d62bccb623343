package collab

// Organization is one organization of an account.
type Organization struct {
	ID          string
	Name        string
	Disabled    bool // every operation on it is FailedPrecondition
	Metadata    JSON // object with further fields, or nil
	CreatedAt   Millis
	LastUpdated Millis
}

// Folder is one folder of an organization.
type Folder struct {
	ID          string
	Name        string
	Parent      string // RootFolder for a top-level folder
	CreatedAt   Millis
	LastUpdated Millis
}

// Access says who may see a document, for verifyUserPermissions.
type Access string

// The access kinds of a document.
const (
	AccessPublic       Access = "public"       // everyone
	AccessOrganization Access = "organization" // members of the organization: the default
	AccessRestricted   Access = "restricted"   // the listed users only
)

// Document is one document of an organization.
type Document struct {
	ID          string
	Name        string
	Folder      string   // RootFolder when it is in no folder
	Access      Access   // "" is AccessOrganization
	Users       []string // who may see it when Access is AccessRestricted
	CreatedAt   Millis
	LastUpdated Millis
}

// Member is a user of an organization as the operator recorded it: people named in requests do not become members.
type Member struct {
	User
	CreatedAt   Millis
	LastUpdated Millis
}

// CreateFlags says what a request asks to be made when it is missing.
type CreateFlags struct {
	Organization bool
	Document     bool
}
