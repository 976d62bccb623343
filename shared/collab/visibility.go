package collab

// VisibilityType limits a thread to some of the users with access to its document.
type VisibilityType string

const (
	// VisibilityPublic shows the thread to all of them.
	VisibilityPublic VisibilityType = "public"
	// VisibilityOrganizationPrivate shows it to members of the organization.
	VisibilityOrganizationPrivate VisibilityType = "organizationPrivate"
	// VisibilityRestricted shows it to named users and the thread's creator.
	VisibilityRestricted VisibilityType = "restricted"
)

func (VisibilityType) Values() []string {
	return texts(VisibilityPublic, VisibilityOrganizationPrivate, VisibilityRestricted)
}

const MaxVisibleTo = 100

// Visibility limits a thread to some of the users with access to its document. nil is public.
type Visibility struct {
	Type           VisibilityType `json:"type" rule:"required" person:"in,out" dynamodbav:"type" doc:"public: all users with access to the document; organizationPrivate: only members of the organization; restricted: only userIds and the annotation's creator"`
	OrganizationID string         `json:"organizationId,omitempty" rule:"id" person:"in,out" dynamodbav:"org,omitempty" doc:"Organization of the request; required for organizationPrivate"`
	UserIDs        []string       `json:"userIds,omitempty" rule:"max=100,each=id" person:"in,out" dynamodbav:"users,omitempty" doc:"1 to 100 distinct users; required for restricted, and not allowed otherwise"`
}

// Narrow returns v, nil if it is public or zero.
func (v *Visibility) Narrow() *Visibility {
	if v == nil || v.Type == VisibilityPublic || v.Type == "" {
		return nil
	}
	return v
}

// Users returns the ids of the users in v.
func (v *Visibility) Users() []string {
	if v == nil {
		return nil
	}
	return v.UserIDs
}

// Answered returns the visibility for responses, in which public is explicit.
func (v *Visibility) Answered() Visibility {
	if v == nil {
		return Visibility{Type: VisibilityPublic}
	}
	return *v
}
