package collab

import "strings"

type Organization struct {
	ID          string `dynamodbav:"-"`
	Name        string `dynamodbav:"name"`
	Disabled    bool   `dynamodbav:"off,omitempty"`  // every operation returns FailedPrecondition
	Metadata    JSON   `dynamodbav:"meta,omitempty"` // object with further fields, or nil
	CreatedAt   Millis `dynamodbav:"ca"`
	LastUpdated Millis `dynamodbav:"lu"`
	Lifetime
}

// Lifetime distinguishes organizations, folders and documents that successively have the same id:
// see OrganizationRef.
type Lifetime struct {
	Incarnation int64  `dynamodbav:"inc,omitempty"` // unique time of the addition, in milliseconds
	DeletedAt   Millis `dynamodbav:"del,omitempty"` // 0 if not deleted
	// The job that deletes the contents of a deleted folder.
	Emptying string `dynamodbav:"job,omitempty"`
}

// Begin starts a lifetime at a time, after the deleted one before; before is zero if there is none,
// or if it was swept.
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

// Ref returns the reference of the folder.
func (f Folder) Ref(org OrganizationRef) FolderRef {
	return FolderRef{OrganizationRef: org, Folder: f.ID, Incarnation: f.Incarnation}
}

// Document is one document of an organization.
type Document struct {
	ID     string `dynamodbav:"-"`
	Name   string `dynamodbav:"name"`
	Folder string `dynamodbav:"par"` // RootFolder outside folders
	// Empty for that of its folder: see Folders.Access.
	Access      Access `dynamodbav:"acc,omitempty"`
	Disabled    bool   `dynamodbav:"off,omitempty"`  // neither read nor written
	Metadata    JSON   `dynamodbav:"meta,omitempty"` // object with further fields, or nil
	AddedBy     string `dynamodbav:"m,omitempty"`    // mark of the request that added it
	CreatedAt   Millis `dynamodbav:"ca"`
	LastUpdated Millis `dynamodbav:"lu"`
	Lifetime
}

// Ref returns the reference of the document.
func (d Document) Ref(org OrganizationRef) DocumentRef {
	return DocumentRef{OrganizationRef: org, Document: d.ID, Incarnation: d.Incarnation}
}

// Member is a user that was added to an organization, folder or document, with a grant. Naming a
// user in other requests does not add a member.
type Member struct {
	User
	Grant
	Locale      string `dynamodbav:"loc,omitempty"` // such as pt-BR; "" for the account's
	TimeZone    string `dynamodbav:"tz,omitempty"`  // IANA name; "" for UTC
	CreatedAt   Millis `dynamodbav:"ca"`
	LastUpdated Millis `dynamodbav:"lu"`
}

// MemberQuery selects members of a resource, or of all documents of its organization.
type MemberQuery struct {
	In           Resource
	AllDocuments bool     // of all documents
	EachDocument bool     // with AllDocuments: a user once for each document
	Users        []string // only these, in this order; nil for all
	Groups       []string // only users in these groups; nil for all
}

type FoundMember struct {
	Member
	In       Resource
	Position MemberPosition // to continue after this member
}

// MemberPosition is a position in the list of a MemberQuery.
type MemberPosition struct {
	Group int    `json:"g,omitempty"` // of its Groups
	User  string `json:"u,omitempty"`
	Grant string `json:"k,omitempty"` // key of the user's last grant; "" if the user is done
}

type UserGroup struct {
	ID          string `dynamodbav:"-"`
	Name        string `dynamodbav:"name"`
	CreatedAt   Millis `dynamodbav:"ca"`
	LastUpdated Millis `dynamodbav:"lu"`
}

// MaxGroupMention is the maximum of group members, the first with access to the thread, that a
// comment notifies if it tags the group.
const MaxGroupMention = 200

// MaxGroupDelete is the maximum of users that one request removes from a group without naming them.
const MaxGroupDelete = 10_000

type CreateFlags struct {
	Organization bool
	Document     bool
	Name         string // of the document
}

// ProfileOf returns the profile of a user at one level. Blank names and empty addresses count as
// absent.
func ProfileOf(m Member) Profile {
	if strings.TrimSpace(Deref(m.Name)) == "" {
		m.Name = nil
	}
	if Deref(m.Email) == "" {
		m.Email = nil
	}
	return Profile{User: m.User, Locale: m.Locale, TimeZone: m.TimeZone}
}
