package collab

// OrganizationRef names an existing organization of an account: see directory.Store.Open.
type OrganizationRef struct {
	Account      string // the account of the API key, never from a request's body
	Organization string
	// Incarnation distinguishes the organization from earlier ones with its id: see Lifetime. All
	// keys below it contain the incarnation, so one write on its item makes everything unreachable,
	// and an organization that is added again is empty.
	Incarnation int64
}

// Document returns a reference of a document without an incarnation, as its item's key needs.
func (r OrganizationRef) Document(id string) DocumentRef {
	return DocumentRef{OrganizationRef: r, Document: id}
}

type DocumentRef struct {
	// Without the tag, its incarnation would not be in the JSON.
	OrganizationRef `json:"organization"`
	Document        string
	Incarnation     int64 // like that of the organization
}

type FolderRef struct {
	OrganizationRef `json:"organization"` // see DocumentRef
	Folder          string
	Incarnation     int64 // part of the keys of grants on it
}
