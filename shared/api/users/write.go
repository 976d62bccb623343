package users

import (
	"cmp"
	"context"
	_ "time/tzdata" // Lambda has none

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/words"
)

// AddRequest is the data of POST /v2/users/add.
type AddRequest struct {
	UpdateRequest
	CreateOrganization bool `json:"createOrganization"`
	CreateDocument     bool `json:"createDocument"`
	CreateFolder       bool `json:"createFolder" doc:"Make the folder, at the top and named by its id, where it is missing; false where it is left out"`
}

// UpdateRequest is the data of POST /v2/users/update.
type UpdateRequest struct {
	Level
	Users []NewUser `json:"users" rule:"required,nonempty,max=500" doc:"At most 500"`
}

// NewUser is a user to add or update.
type NewUser struct {
	collab.User
	AccessRole collab.Role `json:"accessRole" doc:"editor reads and writes, viewer reads; a new user without is an editor"`
	Preferred
}

// Preferred is how texts are written for a user. What is set for the organization counts.
type Preferred struct {
	Locale   *string `json:"locale" rule:"notnull" doc:"The language of emails and headlines for the user, as a BCP 47 tag such as pt-BR; by default, the account's. The one set for the organization counts"`
	TimeZone *string `json:"timeZone" rule:"notnull" doc:"The user's time zone, of times in emails and of a daily email without its own: one of the IANA database, such as Europe/Berlin; by default, UTC. The one set for the organization counts"`
}

// Validate refuses what is no locale or time zone.
func (p *Preferred) Validate(m *rpc.Violations) {
	for _, f := range []struct {
		name  string
		value *string
		check func(string) error
	}{{"locale", p.Locale, words.CheckLocale}, {"timeZone", p.TimeZone, collab.CheckZone}} {
		if f.value == nil {
			continue
		}
		if err := f.check(*f.value); err != nil {
			m.Add(f.name, "%v", err)
		}
	}
}

// Set sets the fields of a member that are there.
func (p *Preferred) Set(m *collab.Member) {
	m.Locale = cmp.Or(collab.Deref(p.Locale), m.Locale)
	m.TimeZone = cmp.Or(collab.Deref(p.TimeZone), m.TimeZone)
}

// Validate refuses an address that no email can reach, and what is no locale or time zone.
func (u *NewUser) Validate(m *rpc.Violations) {
	CheckEmail(m, collab.Deref(u.Email))
	u.Preferred.Validate(m)
}

// CheckEmail refuses the field email if no email can reach its address. "" stands for none.
func CheckEmail(m *rpc.Violations, address string) {
	if address == "" {
		return
	}
	if _, err := collab.MailAddress(address); err != nil {
		m.Add("email", "%v", err)
	}
}

// Validate refuses two levels and ids given twice.
func (r *UpdateRequest) Validate(m *rpc.Violations) {
	r.Level.Validate(m)
	rpc.Unique(m, "users[%d].userId", r.Users, func(u *NewUser) *string { return &u.UserID })
}

// Add is POST /v2/users/add.
func Add() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/users/add", Grants: rpc.ReadTable | rpc.WriteTable,
		Operation: rpc.Method((*Service).Add), Description: `
Adds users to an organization, a folder or a document. It adds them at one of these levels, or changes those who are there: a field that is
not sent stays. Users of the organization see what is organizationPrivate, and get what is for everyone. A user of a folder or document may
see it, and what is in it, whatever its access type. A user who was taken out before is back. NOT_FOUND when the organization, folder or document does not exist.`}
}

// Add adds users at a level, or changes those who are there.
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
	return rpc.Endpoint{Path: "/v2/users/update", Grants: rpc.ReadTable | rpc.WriteTable,
		Operation: rpc.Method((*Service).Update), Description: `
Updates users. It changes those at one level: a field that is not sent stays. A user who is not there fails with NOT_FOUND.`}
}

// Update changes users of a level; one who is not there fails with NOT_FOUND.
func (s *Service) Update(ctx context.Context, call *rpc.Call, req *UpdateRequest) (rpc.Keyed[rpc.Item], error) {
	in, err := s.open(ctx, call, req.Level, collab.CreateFlags{}, false)
	if err != nil {
		return nil, err
	}
	return s.write(ctx, call, in, req.Users, false, "User updated.")
}

// write changes users, and adds those that are missing where create is true. Fields that are not sent stay.
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

// DeleteRequest is the data of POST /v2/users/delete.
type DeleteRequest struct {
	Level
	UserIDs []string `json:"userIds" rule:"required,nonempty,max=500,each=id" doc:"At most 500"`
}

// Validate refuses two levels.
func (r *DeleteRequest) Validate(m *rpc.Violations) { r.Level.Validate(m) }

// Delete is POST /v2/users/delete.
func Delete() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/users/delete", Grants: rpc.ReadTable | rpc.WriteTable,
		Operation: rpc.Method((*Service).Delete), Description: `
Takes users away from an organization, a folder or a document. They go at one of these levels. At that of the organization their access to
everything in it ends: their grants on its folders and documents go, and they leave its groups; what they wrote stays. A user who is taken out
of the organization, or of a document, is told nothing more of it, and sees nothing of it, whatever its access type: see Who may see what.
At a folder its access type decides. A user who is not there fails with NOT_FOUND.`}
}

// Delete takes users away at a level: at that of the organization with all their grants in it, and from its groups. One who is not there
// fails with NOT_FOUND.
func (s *Service) Delete(ctx context.Context, call *rpc.Call, req *DeleteRequest) (rpc.Keyed[rpc.Item], error) {
	in, err := s.open(ctx, call, req.Level, collab.CreateFlags{}, false)
	if err != nil {
		return nil, err
	}
	ids := rpc.Distinct(req.UserIDs)
	call.Message = "User(s) deleted successfully."
	return call.Outcomes(ids, s.Directory.DeleteMembers(ctx, call.Request, in, ids), "User removed."), nil
}
