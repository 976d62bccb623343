package collab

// Organization is one organization of an account.
type Organization struct {
	ID          string `dynamodbav:"-"`
	Name        string `dynamodbav:"name"`
	Disabled    bool   `dynamodbav:"off,omitempty"`  // every operation on it is FailedPrecondition
	Metadata    JSON   `dynamodbav:"meta,omitempty"` // object with further fields, or nil
	CreatedAt   Millis `dynamodbav:"ca"`
	LastUpdated Millis `dynamodbav:"lu"`
	Lifetime
}

// Lifetime says which of an organization's or a document's lives under one id an item is of: see OrganizationRef.
type Lifetime struct {
	Incarnation int    `dynamodbav:"inc,omitempty"`
	DeletedAt   Millis `dynamodbav:"del,omitempty"` // 0 where it is not deleted
}

// Next is the incarnation that is there, or will be when the id is added again.
func (l Lifetime) Next() int {
	if l.DeletedAt != 0 {
		return l.Incarnation + 1
	}
	return l.Incarnation
}

// Folder is one folder of an organization.
type Folder struct {
	ID          string `dynamodbav:"-"`
	Name        string `dynamodbav:"name"`
	Parent      string `dynamodbav:"par"` // RootFolder for a top-level folder
	CreatedAt   Millis `dynamodbav:"ca"`
	LastUpdated Millis `dynamodbav:"lu"`
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
	ID          string   `dynamodbav:"-"`
	Name        string   `dynamodbav:"name"`
	Folder      string   `dynamodbav:"par"`           // RootFolder when it is in no folder
	Access      Access   `dynamodbav:"acc,omitempty"` // "" is AccessOrganization
	Users       []string `dynamodbav:"usr,omitempty"` // who may see it when Access is AccessRestricted
	CreatedAt   Millis   `dynamodbav:"ca"`
	LastUpdated Millis   `dynamodbav:"lu"`
	Disabled    bool     `dynamodbav:"off,omitempty"` // every operation on it alone is FailedPrecondition
	Lifetime
}

// Member is a user of an organization as the operator recorded it: people named in requests do not become members.
type Member struct {
	User
	CreatedAt   Millis `dynamodbav:"ca"`
	LastUpdated Millis `dynamodbav:"lu"`
}

// CreateFlags says what a request asks to be made when it is missing.
type CreateFlags struct {
	Organization bool
	Document     bool
}
