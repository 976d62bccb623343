package collab

import (
	"errors"
	"net/url"
	"strings"
	"time"
)

// MaxTokenLife is how long a person's token holds at most.
const MaxTokenLife = 48 * time.Hour

// Person is whom a token speaks for: see package credentials.
type Person struct {
	UserID    string
	Name      string
	PhotoURL  string
	Resources []TokenResource
	IssuedAt  Millis // of the token, in full seconds
}

// tokenSkew is how much earlier than an addition a token may have been issued that opens it: the
// second that IssuedAt lacks, and the difference between clocks.
const tokenSkew = 5_000

// Issued reports whether the token was issued after a resource was added, by its incarnation.
func (p *Person) Issued(incarnation int64) bool { return incarnation <= p.IssuedAt+tokenSkew }

// User returns the person's user object, without an address.
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

// TokenResource is what a token covers: an organization, or a folder or a document with all that is in it.
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

// ResourceType is a kind of resource.
type ResourceType string

// The kinds of resources.
const (
	ResourceOrganization ResourceType = "organization"
	ResourceFolder       ResourceType = "folder"
	ResourceDocument     ResourceType = "document"
)

// Values returns all kinds.
func (ResourceType) Values() []string {
	return texts(ResourceOrganization, ResourceFolder, ResourceDocument)
}

// Resource returns the resource of a kind and an id that the token names itself; nil where it does not.
func (p *Person) Resource(org string, kind ResourceType, id string) *TokenResource {
	for i, r := range p.Resources {
		if r.Type == kind && r.ID == id && r.Organization() == org {
			return &p.Resources[i]
		}
	}
	return nil
}

// In reports whether the token covers anything in an organization; of these kinds, where some are given.
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

// CheckOrigin returns an error unless a text is the origin of a page as browsers send it: a scheme, a host in lower case and, unless it is
// the scheme's own, a port.
func CheckOrigin(origin string) error {
	u, err := url.Parse(origin)
	if err == nil {
		port, ok := map[string]string{"https": "443", "http": "80"}[u.Scheme]
		if ok && u.Host != "" && u.Port() != port && origin == strings.ToLower(u.Scheme+"://"+u.Host) && !strings.Contains(origin, "*") {
			return nil
		}
	}
	return errors.New("must be an exact origin such as https://app.example.com")
}
