package users

import (
	"cmp"
	"context"
	"strings"
	_ "time/tzdata" // Lambda has none

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

type AddRequest struct {
	UpdateRequest
	CreateOrganization bool `json:"createOrganization"`
	CreateDocument     bool `json:"createDocument"`
	CreateFolder       bool `json:"createFolder" doc:"Create a missing folder at the top, with its id as name"`
}

type UpdateRequest struct {
	Level
	Users []NewUser `json:"users" rule:"required,nonempty,max=500" doc:"At most 500"`
}

// NewUser is a user to add or update.
type NewUser struct {
	collab.User
	AccessRole collab.Role `json:"accessRole" doc:"editor reads and writes, viewer reads. Default for a new user: editor"`
	Preferred
}

// Preferred holds a user's language and time zone.
type Preferred struct {
	Locale   *string `json:"locale" rule:"notnull,locale" doc:"Language of emails and headlines, a BCP 47 tag such as pt-BR"`
	TimeZone *string `json:"timeZone" rule:"notnull,zone" doc:"IANA time zone of emails, such as Europe/Berlin. Default: UTC"`
}

// Set stores the given fields in a member.
func (p *Preferred) Set(m *collab.Member) {
	m.Locale = cmp.Or(collab.Deref(p.Locale), m.Locale)
	m.TimeZone = cmp.Or(collab.Deref(p.TimeZone), m.TimeZone)
}

// Validate checks the email address.
func (u *NewUser) Validate(m *rpc.Violations) {
	if u.Email != nil {
		CheckEmail(m, u.Email)
	}
}

// CheckEmail rejects an address in field email that no email can reach, and trims others. "" is
// valid.
func CheckEmail(m *rpc.Violations, address *string) {
	if *address == "" {
		return
	}
	if _, err := collab.MailAddress(*address); err != nil {
		m.Add("email", "%v", err)
	}
	*address = strings.TrimSpace(*address)
}

func (r *UpdateRequest) Validate(m *rpc.Violations) {
	r.Level.Validate(m)
	rpc.Unique(m, "users[%d].userId", r.Users, func(u *NewUser) *string { return &u.UserID })
}

// Add is POST /v2/users/add.
func Add() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/users/add", Grants: rpc.ReadTable | rpc.WriteTable | rpc.WriteAudit,
		Operation: rpc.Method((*Service).Add), Description: `
Add users.

Adds users to an organization, a folder or a document, or updates existing ones; absent fields are
unchanged. Users of the organization can see organizationPrivate content, and get notifications to
everyone. Users of a folder or document can see it and its content, regardless of its access type.
A removed user regains access to that level. The request fails with NOT_FOUND if the organization, folder or
document does not exist.`}
}

// Add adds or updates users at a level.
func (s *Service) Add(ctx context.Context, call *rpc.Call, req *AddRequest) (rpc.Keyed[rpc.Item], error) {
	create := collab.CreateFlags{Organization: req.CreateOrganization, Document: req.CreateDocument}
	in, err := s.open(ctx, call, req.Level, create, req.CreateFolder)
	if err != nil {
		return nil, err
	}
	return s.write(ctx, call, in, req.Users, true, "User added.")
}

// Update is POST /v2/users/update.
func Update() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/users/update", Grants: rpc.ReadTable | rpc.WriteTable | rpc.WriteAudit,
		Operation: rpc.Method((*Service).Update), Description: `
Update users.

Updates the users of one level; absent fields are unchanged. An item fails with NOT_FOUND if the
user does not exist at this level.`}
}

// Update updates users at a level.
func (s *Service) Update(ctx context.Context, call *rpc.Call, req *UpdateRequest) (rpc.Keyed[rpc.Item], error) {
	in, err := s.open(ctx, call, req.Level, collab.CreateFlags{}, false)
	if err != nil {
		return nil, err
	}
	return s.write(ctx, call, in, req.Users, false, "User updated.")
}

// write updates users, and adds missing ones if create is true. Absent fields are unchanged.
func (s *Service) write(
	ctx context.Context, call *rpc.Call, in collab.Resource, users []NewUser, create bool, done string,
) (rpc.Keyed[rpc.Item], error) {
	ids := collab.Map(users, func(u NewUser) string { return u.UserID })
	errs := s.Directory.ChangeMembers(ctx, call.Request, in, ids, create, func(i int, m *collab.Member) {
		m.User = users[i].Over(m.User)
		m.Role = cmp.Or(users[i].AccessRole, m.Role)
		users[i].Set(m)
	})
	call.Message = "User(s) processed successfully."
	return call.Outcomes(ids, errs, done), nil
}

type DeleteRequest struct {
	Level
	UserIDs []string `json:"userIds" rule:"required,nonempty,max=500,each=id" doc:"At most 500"`
}

func (r *DeleteRequest) Validate(m *rpc.Violations) { r.Level.Validate(m) }

// Delete is POST /v2/users/delete.
func Delete() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/users/delete", Grants: rpc.ReadTable | rpc.WriteTable | rpc.WriteAudit,
		Operation: rpc.Method((*Service).Delete), Description: `
Remove users.

Removes users from an organization, a folder or a document. From an organization, this also
removes their grants on its folders and documents, and their places in its groups; their content
remains. Users removed from an organization or document can no longer see it, regardless of its
access type, and are no longer notified: see [Permissions](#permissions). For a folder, its access
type decides. An item fails with NOT_FOUND if the user does not exist at this level.`}
}

// Delete removes users at a level; from an organization, with all their grants and groups.
func (s *Service) Delete(ctx context.Context, call *rpc.Call, req *DeleteRequest) (rpc.Keyed[rpc.Item], error) {
	in, err := s.open(ctx, call, req.Level, collab.CreateFlags{}, false)
	if err != nil {
		return nil, err
	}
	ids := rpc.Distinct(req.UserIDs)
	call.Message = "User(s) deleted successfully."
	return call.Outcomes(ids, s.Directory.DeleteMembers(ctx, call.Request, in, ids), "User removed."), nil
}
