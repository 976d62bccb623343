package collab

import (
	"encoding/json"
	"time"
)

const MaxTokenLife = 48 * time.Hour

// Person is the user of a token: see package credentials.
type Person struct {
	UserID    string
	Name      string
	PhotoURL  string
	Resources []TokenResource
	Agent     *TokenAgent // that writes for the person, or nil
	IssuedAt  Millis      // of the token, in full seconds
}

// TokenAgent is the agent that writes with a person's token.
type TokenAgent struct {
	ID   string `json:"agentId" rule:"required,id" doc:"For the filters of agents"`
	Name string `json:"agentName,omitempty" rule:"max=200" doc:"Pages show it next to the person's name, and no agent without it"`
}

// Stamp returns the agent of the person's comments, or nil.
func (p *Person) Stamp() JSON {
	if p.Agent == nil {
		return nil
	}
	stamp, _ := json.Marshal(struct {
		TokenAgent
		Source string `json:"agentSource"`
	}{*p.Agent, agentExternal})
	return stamp
}

// tokenSkew is how much earlier than an addition a valid token may have been issued: the second
// that IssuedAt lacks, and clock skew.
const tokenSkew = 5_000

// Issued reports whether the token was issued after a resource was added, by its incarnation.
func (p *Person) Issued(incarnation int64) bool { return incarnation <= p.IssuedAt+tokenSkew }

// User returns the person's user object, without an email address.
func (p *Person) User() User {
	u := User{UserID: p.UserID}
	if p.Name != "" {
		u.Name = &p.Name
	}
	if p.PhotoURL != "" {
		u.PhotoURL = &p.PhotoURL
	}
	return u
}

// TokenResource is the scope of a token: an organization, or a folder or document with everything
// inside.
type TokenResource struct {
	Type           ResourceType `json:"type"`
	ID             string       `json:"id"`
	OrganizationID string       `json:"organizationId,omitempty"` // of a folder or a document
	AccessRole     Role         `json:"accessRole"`
}

// Organization returns the organization of a resource.
func (r TokenResource) Organization() string {
	if r.Type == ResourceOrganization {
		return r.ID
	}
	return r.OrganizationID
}

type ResourceType string

const (
	ResourceOrganization ResourceType = "organization"
	ResourceFolder       ResourceType = "folder"
	ResourceDocument     ResourceType = "document"
)

func (ResourceType) Values() []string {
	return texts(ResourceOrganization, ResourceFolder, ResourceDocument)
}

// Resource returns the resource of a kind and id that the token names, nil if it names none.
func (p *Person) Resource(org string, kind ResourceType, id string) *TokenResource {
	for i, r := range p.Resources {
		if r.Type == kind && r.ID == id && r.Organization() == org {
			return &p.Resources[i]
		}
	}
	return nil
}

// In reports whether the token covers anything in an organization, or, if kinds are given, anything
// of these kinds.
func (p *Person) In(org string, kinds ...ResourceType) bool {
	for _, r := range p.Resources {
		if r.Organization() != org {
			continue
		}
		for _, kind := range kinds {
			if r.Type == kind {
				return true
			}
		}
		if kinds == nil {
			return true
		}
	}
	return false
}

// agentExternal is the source, and the type, of agents outside the documented service.
const agentExternal = "external"
