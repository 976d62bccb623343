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

// Lifetime tells organizations, folders and documents apart that had one id, one after the other: see OrganizationRef.
type Lifetime struct {
	Incarnation int64  `dynamodbav:"inc,omitempty"` // the time in milliseconds when it was added: no other of its id has it
	DeletedAt   Millis `dynamodbav:"del,omitempty"` // 0 where it is not deleted
	Emptying    string `dynamodbav:"job,omitempty"` // of a folder that is deleted: the job that deletes what is in it
}

// Begin makes it that of something that is added at a time, after what had the id before and is deleted: the zero value for nothing, or
// where a job has swept it since.
func (l *Lifetime) Begin(before Lifetime, now Millis) {
	*l = Lifetime{Incarnation: max(now, before.Incarnation+1)}
}

// Folder is one folder of an organization.
type Folder struct {
	ID          string `dynamodbav:"-"`
	Name        string `dynamodbav:"name"`
	Parent      string `dynamodbav:"par"`           // RootFolder for a top-level folder
	Access      Access `dynamodbav:"acc,omitempty"` // "" for that of its parent
	AddedBy     string `dynamodbav:"m,omitempty"`   // mark of the request that added it
	CreatedAt   Millis `dynamodbav:"ca"`
	LastUpdated Millis `dynamodbav:"lu"`
	Lifetime
}

// Ref is the reference to the folder, as one of an organization.
func (f Folder) Ref(org OrganizationRef) FolderRef {
	return FolderRef{OrganizationRef: org, Folder: f.ID, Incarnation: f.Incarnation}
}

// Document is one document of an organization.
type Document struct {
	ID          string `dynamodbav:"-"`
	Name        string `dynamodbav:"name"`
	Folder      string `dynamodbav:"par"`            // RootFolder when it is in no folder
	Access      Access `dynamodbav:"acc,omitempty"`  // "" for that of its folder: see Folders.Access
	Disabled    bool   `dynamodbav:"off,omitempty"`  // it is neither read nor written
	Metadata    JSON   `dynamodbav:"meta,omitempty"` // object with further fields, or nil
	AddedBy     string `dynamodbav:"m,omitempty"`    // mark of the request that added it
	CreatedAt   Millis `dynamodbav:"ca"`
	LastUpdated Millis `dynamodbav:"lu"`
	Lifetime
}

// Ref is the reference to the document, as one of an organization.
func (d Document) Ref(org OrganizationRef) DocumentRef {
	return DocumentRef{OrganizationRef: org, Document: d.ID, Incarnation: d.Incarnation}
}

// Member is a user who was added to an organization, a folder or a document, with what the user may do there. People whom other requests
// name do not become members.
type Member struct {
	User
	Grant
	Locale      string `dynamodbav:"loc,omitempty"` // of the texts for the user, such as pt-BR; "" for the account's
	TimeZone    string `dynamodbav:"tz,omitempty"`  // of times for the user, of the IANA database; "" for UTC
	CreatedAt   Millis `dynamodbav:"ca"`
	LastUpdated Millis `dynamodbav:"lu"`
}

// MemberQuery asks for members: of a resource, or of all documents of its organization.
type MemberQuery struct {
	In           Resource
	AllDocuments bool     // of all documents
	EachDocument bool     // with AllDocuments: a user once for each, not once
	Users        []string // these alone, in this order; nil for all
	Groups       []string // those in any of these groups alone; nil for all
}

// FoundMember is a member that a MemberQuery found.
type FoundMember struct {
	Member
	Document string         // where the query asks for those of all documents
	Position MemberPosition // where the list goes on after this member
}

// MemberPosition is a place in the list of a MemberQuery.
type MemberPosition struct {
	Group int    `json:"g,omitempty"` // of its Groups
	User  string `json:"u,omitempty"`
	Grant string `json:"k,omitempty"` // the key of the user's last grant; "" where the user is done
}

// UserGroup is a group of users of an organization.
type UserGroup struct {
	ID          string `dynamodbav:"-"`
	Name        string `dynamodbav:"name"`
	CreatedAt   Millis `dynamodbav:"ca"`
	LastUpdated Millis `dynamodbav:"lu"`
}

// MaxGroupDelete is how many users one request takes out of a group without naming them.
const MaxGroupDelete = 10_000

// CreateFlags says what a request asks to be made when it is missing.
type CreateFlags struct {
	Organization bool
	Document     bool
	Name         string // of the document
}
