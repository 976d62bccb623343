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

type GenerateTokenRequest struct {
	UserID             string           `json:"userId" rule:"required,id" doc:"The person, signed in by your back end"`
	UserProperties     *UserProperties  `json:"userProperties" rule:"notnull" doc:"How others see the person"`
	Permissions        TokenPermissions `json:"permissions" rule:"required,exact" doc:"The resources that the token covers"`
	ExpiresIn          *int64           `json:"expiresIn" rule:"notnull,min=60,max=172800" doc:"Seconds until it expires. Default: 3,600"`
	CreateOrganization bool             `json:"createOrganization" doc:"Create missing organizations of the resources"`
	CreateDocument     bool             `json:"createDocument" doc:"Create missing documents of the resources"`
	RestoreAccess      bool             `json:"restoreAccess" doc:"Grant the person each resource, also after a removal. Default: false"`

	Agent *collab.TokenAgent `json:"agent" rule:"notnull,exact" doc:"The agent that writes with this token. Default: none"`

	names []collab.ResourceName
}

// UserProperties describe a person.
type UserProperties struct {
	Name     string `json:"name" rule:"max=1000" doc:"Shown next to the person's content"`
	Email    string `json:"email" rule:"max=320" doc:"Stored with the user, never in the token"`
	PhotoURL string `json:"photoUrl" rule:"max=2000" doc:"Address of a picture"`
	IsAdmin  *bool  `json:"isAdmin" doc:"Stored with the user, without effect"`
	users.Preferred
}

// Validate checks the email address.
func (p *UserProperties) Validate(m *rpc.Violations) { users.CheckEmail(m, &p.Email) }

// TokenPermissions are the resources of a token.
type TokenPermissions struct {
	Resources []TokenPermission `json:"resources" rule:"required,nonempty,max=100" doc:"At most 100; folders and documents include their content"`
}

type TokenPermission struct {
	Resource
	AccessRole   collab.Role `json:"accessRole" doc:"viewer reads, editor also writes. Default: editor"`
	DocumentName *string     `json:"documentName" rule:"notnull,max=1000" doc:"The name of a document, if createDocument creates it"`
}

func (p *TokenPermission) Validate(m *rpc.Violations) {
	p.Resource.Validate(m)
	if p.DocumentName != nil && p.Type != collab.ResourceDocument {
		m.Add("documentName", "requires the type document")
	}
}

func (r *GenerateTokenRequest) Validate(m *rpc.Violations) {
	r.names = named(m, r.Permissions.Resources, func(p *TokenPermission) *Resource { return &p.Resource })
}

// PersonToken is the token of a person.
type PersonToken struct {
	Token string `json:"token" doc:"A JWT for the page of this person: Authorization: Bearer"`
}

// GenerateToken is POST /v2/auth/generate_token.
func GenerateToken() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/auth/generate_token", Grants: rpc.ReadTable | rpc.WriteTable | rpc.WriteAudit, AlwaysOn: true,
		Operation: rpc.Method((*Service).GenerateToken), Description: `
Create an access token.

Creates a token for the page of a signed-in person. Your back end calls this operation after the
person has signed in, and passes the token to the page: see [Persons](#persons). The token covers
the resources, within the person's own access. It expires after 60 to 172,800 seconds. To end all
tokens of an account sooner, its operator rotates the signing keys twice.

A person never creates an organization or a document: use createOrganization and createDocument
here. A token covers an organization or a document only if it was created before the token. After
creating one, or deleting and creating it again, get another token.

With userProperties, the user is stored at each existing resource, with name, email, picture,
locale, time zone and role, as by 'users/add'. Only changes are written. Quotas do not refuse this
request, but count its units. If writes are off in the deployment, nothing is created or stored.

A token gives nobody access again: a user who was removed from a resource, or from one above it, is
not stored there. The request succeeds, and with its token the resource is NOT_FOUND. With
restoreAccess, the request is a grant on each of its existing resources, and on nothing else.

With 'agent', the token is for an assistant of the person. The person is the author of everything
that the assistant writes. The service stores the agent with each new comment, as its 'agent' with
the agentSource 'external'. Threads that begin so have the sourceType 'agent', and the filters of
agents find them. Changes of existing comments keep their agent.

The request fails with INVALID_ARGUMENT if the token would exceed 8,000 bytes: use a folder or the
organization instead of many documents. It fails with UNAVAILABLE if a document or an organization
to create was just deleted.`}
}

const defaultExpiry = 3600

// GenerateToken creates the organizations and documents of a token, stores the person, and returns
// the token.
func (s *Service) GenerateToken(ctx context.Context, call *rpc.Call, req *GenerateTokenRequest) (*PersonToken, error) {
	properties := collab.Deref(req.UserProperties)
	p := collab.Person{UserID: req.UserID, Name: properties.Name, PhotoURL: properties.PhotoURL, Agent: req.Agent}
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
			"data.permissions.resources make a token of %d bytes, the limit is %d: use a folder or the organization", len(token), credentials.MaxToken)
	}
	if !call.Again && !call.ReadOnly {
		if err := s.prepare(ctx, call, req, p); err != nil {
			return nil, err
		}
	}
	call.Secret, call.Items, call.Message = true, 1, "Token generated successfully."
	return &PersonToken{token}, nil
}

// prepare creates the requested resources of a token. It stores the person at each existing
// resource, except unchanged ones.
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
	if req.UserProperties == nil && !req.RestoreAccess {
		return nil
	}
	given := collab.Deref(req.UserProperties)
	user := p.User()
	user.IsAdmin = given.IsAdmin
	if given.Email != "" {
		user.Email = &given.Email
	}
	stored, err := s.Directory.MembersIn(ctx, []string{req.UserID}, open...)
	if err != nil {
		return err
	}
	for i, in := range open {
		change := func(m *collab.Member) {
			m.User = user.Over(m.User)
			if req.RestoreAccess && !m.Holds(call.Millis()) {
				m.Grant = collab.Grant{Role: roles[i]}
			}
			m.Role = cmp.Or(m.Role, roles[i])
			given.Set(m)
		}
		if m, ok := stored[i][req.UserID]; ok {
			changed := m
			if change(&changed); string(rpc.JSON(m)) == string(rpc.JSON(changed)) && m.Grant == changed.Grant {
				continue
			}
		}
		if req.RestoreAccess {
			err = s.Directory.ChangeMembers(ctx, call.Request, in, []string{req.UserID}, true, func(_ int, m *collab.Member) { change(m) })[0]
		} else {
			err = s.Directory.AddUnlessRemoved(ctx, call.Request, in, req.UserID, change)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
