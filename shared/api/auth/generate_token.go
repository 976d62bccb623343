package auth

import (
	"cmp"
	"context"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/api/users"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
)

// GenerateTokenRequest is the data of POST /v2/auth/generate_token.
type GenerateTokenRequest struct {
	UserID             string           `json:"userId" rule:"required,id" doc:"The person: your back end has signed them in"`
	UserProperties     *UserProperties  `json:"userProperties" rule:"notnull" doc:"How others see the person"`
	Permissions        TokenPermissions `json:"permissions" rule:"required,exact" doc:"The resources that the token covers"`
	ExpiresIn          *int64           `json:"expiresIn" rule:"notnull,min=60,max=172800" doc:"Seconds until it expires; 3,600 by default"`
	CreateOrganization bool             `json:"createOrganization" doc:"Add organizations of the resources that do not exist"`
	CreateDocument     bool             `json:"createDocument" doc:"Add documents among the resources that do not exist"`

	names []collab.ResourceName
}

// UserProperties are what is said of a person.
type UserProperties struct {
	Name     string `json:"name" rule:"max=1000" doc:"Shown beside what the person writes"`
	Email    string `json:"email" rule:"max=320" doc:"Stored with the user, and never in the token"`
	PhotoURL string `json:"photoUrl" rule:"max=2000" doc:"Address of a picture"`
	IsAdmin  *bool  `json:"isAdmin" doc:"Stored with the user; it grants nothing"`
	users.Preferred
}

// Validate refuses an address that no email can reach, and what is no locale or time zone.
func (p *UserProperties) Validate(m *rpc.Violations) {
	users.CheckEmail(m, p.Email)
	p.Preferred.Validate(m)
}

// TokenPermissions are what a token covers.
type TokenPermissions struct {
	Resources []TokenPermission `json:"resources" rule:"required,nonempty,max=100" doc:"At most 100; folders and documents with all that is in them"`
}

// TokenPermission is one resource that a token covers.
type TokenPermission struct {
	Resource
	AccessRole   collab.Role `json:"accessRole" doc:"viewer reads, editor writes, too; editor where it is left out"`
	DocumentName *string     `json:"documentName" rule:"notnull,max=1000" doc:"Of a document: its name, if createDocument adds it"`
}

// Validate is that of Resource.
func (p *TokenPermission) Validate(m *rpc.Violations) {
	p.Resource.Validate(m)
	if p.DocumentName != nil && p.Type != collab.ResourceDocument {
		m.Add("documentName", "requires the type document")
	}
}

// Validate refuses resources given twice.
func (r *GenerateTokenRequest) Validate(m *rpc.Violations) {
	r.names = named(m, r.Permissions.Resources, func(p *TokenPermission) *Resource { return &p.Resource })
}

// PersonToken is the token of a person.
type PersonToken struct {
	Token string `json:"token" doc:"A JWT for the page of this person: Authorization: Bearer"`
}

// GenerateToken is POST /v2/auth/generate_token.
func GenerateToken() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/auth/generate_token", Grants: rpc.ReadTable | rpc.WriteTable, AlwaysOn: true,
		Operation: rpc.Method((*Service).GenerateToken), Description: `
Creates a token with which the page of a person calls the service. Your back end calls it for a person whom it has signed in, and gives
the token to the page of that person: see [Persons](#persons). The token covers the resources, as far as the person may see them by
the service's own rules. It holds until it expires, 60 to 172,800 seconds from now; to end all tokens of an account sooner, its operator
rotates the signing keys twice.

A person never creates an organization or a document: createOrganization and createDocument do it here. A token opens an organization or
a document only if the token was issued after that was added. Get another token for one that was added, or deleted and added again, since.

With userProperties the user is stored as by users/add, with name, email, picture, locale, time zone and role, at each resource that exists. Only changes are
written. Quotas do not refuse the call, but count its units. If the deployment has writes off, the call creates and stores nothing.

INVALID_ARGUMENT if the token would be longer than 8,000 bytes: name a folder or the organization in place of many documents. UNAVAILABLE
if a document or an organization to create was deleted a moment ago.`}
}

// defaultExpiry is the life of a token, in seconds.
const defaultExpiry = 3600

// GenerateToken creates the organizations and documents that a token covers, stores the person, and
// returns the token. It fails with INVALID_ARGUMENT if the token would be longer than credentials.MaxToken.
func (s *Service) GenerateToken(ctx context.Context, call *rpc.Call, req *GenerateTokenRequest) (*PersonToken, error) {
	said := collab.Deref(req.UserProperties)
	p := collab.Person{UserID: req.UserID, Name: said.Name, PhotoURL: said.PhotoURL}
	for _, r := range req.Permissions.Resources {
		covered := collab.TokenResource{Type: r.Type, ID: r.ID, AccessRole: cmp.Or(r.AccessRole, collab.RoleEditor)}
		if r.Type != collab.ResourceOrganization {
			covered.OrganizationID = r.OrganizationID
		}
		p.Resources = append(p.Resources, covered)
	}
	signing, err := s.Accounts.Signing(ctx, call.Account)
	if err != nil {
		return nil, err
	}
	key, err := credentials.Signer(signing.Keys, call.Now)
	if err != nil {
		return nil, err
	}
	expires := call.Now.Add(time.Duration(cmp.Or(collab.Deref(req.ExpiresIn), defaultExpiry)) * time.Second)
	token, err := credentials.Sign(key, s.Stage, call.Account, p, call.Now, expires)
	if err != nil {
		return nil, err
	}
	if len(token) > credentials.MaxToken {
		return nil, collab.Errorf(collab.InvalidArgument,
			"data.permissions.resources make a token of %d bytes, and it must be at most %d: name a folder or the organization", len(token), credentials.MaxToken)
	}
	if !call.Again && !call.ReadOnly {
		if err := s.prepare(ctx, call, req, p); err != nil {
			return nil, err
		}
	}
	call.Secret, call.Items, call.Message = true, 1, "Token generated successfully."
	return &PersonToken{token}, nil
}

// prepare creates what a token covers, as far as the request asks for it, and stores the person at
// each of the resources that exist, unless the same is stored.
func (s *Service) prepare(ctx context.Context, call *rpc.Call, req *GenerateTokenRequest, p collab.Person) error {
	var open []collab.Resource
	var roles []collab.Role
	for i, name := range req.names {
		create := collab.CreateFlags{
			Organization: req.CreateOrganization, Document: req.CreateDocument, Name: collab.Deref(req.Permissions.Resources[i].DocumentName),
		}
		in, err := s.Directory.OpenResource(ctx, call.Account, name, create)
		switch collab.CodeOf(err) {
		case "":
			open, roles = append(open, in), append(roles, p.Resources[i].AccessRole)
		case collab.NotFound, collab.FailedPrecondition:
		default:
			return err
		}
	}
	if req.UserProperties == nil {
		return nil
	}
	user := p.User()
	user.IsAdmin = req.UserProperties.IsAdmin
	if req.UserProperties.Email != "" {
		user.Email = &req.UserProperties.Email
	}
	stored, err := s.Directory.MembersIn(ctx, []string{req.UserID}, open...)
	if err != nil {
		return err
	}
	for i, in := range open {
		if m, ok := stored[i][req.UserID]; ok {
			changed := m
			changed.User = user.Over(m.User)
			if req.UserProperties.Set(&changed); string(rpc.JSON(m)) == string(rpc.JSON(changed)) {
				continue
			}
		}
		if err := s.Directory.ChangeMembers(ctx, call.Request, in, []string{req.UserID}, true, func(_ int, m *collab.Member) {
			m.User, m.Role = user.Over(m.User), cmp.Or(m.Role, roles[i])
			req.UserProperties.Set(m)
		})[0]; err != nil {
			return err
		}
	}
	return nil
}
