package users

import (
	"context"
	"strings"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// GetRequest is the data of POST /v2/users/get.
type GetRequest struct {
	Level
	UserIDs                  []string `json:"userIds" rule:"notnull,nonempty,max=30,each=id" person:"in" doc:"These users, in this order; those who are not there are left out"`
	OrganizationUserGroupIDs []string `json:"organizationUserGroupIds" rule:"notnull,nonempty,max=30,each=id" doc:"Those in any of these groups"`
	SearchKey                *string  `json:"searchKey" rule:"notnull" person:"in" doc:"Those with a name, a word of a name, or an address that begins with this, whatever the case and accents: garcia finds García, strasse finds Straße; 2 to 100 characters"`
	AllDocuments             bool     `json:"allDocuments" doc:"Those added at any document, instead of those of the organization"`
	GroupByDocumentID        bool     `json:"groupByDocumentId" doc:"With allDocuments: return an object of arrays by document id; false where it is left out"`
	rpc.PageRequest
}

// Validate refuses two levels, a searchKey that is too short or too long, and groups of what is not of documents.
func (r *GetRequest) Validate(m *rpc.Violations) {
	r.Level.Validate(m)
	m.SearchKey(r.SearchKey)
	if r.AllDocuments && (r.DocumentID != nil || r.FolderID != nil) {
		m.Add("allDocuments", "must not stand beside documentId or folderId")
	}
	if r.GroupByDocumentID && !r.AllDocuments {
		m.Add("groupByDocumentId", "must stand beside allDocuments")
	}
}

// UserWithRole is a user as it is answered: as it was sent.
type UserWithRole struct {
	collab.User
	AccessRole collab.Role `json:"accessRole" doc:"The user's role at that level"`
	ExpiresAt  int64       `json:"expiresAt,omitzero" doc:"When that ends, in seconds since epoch"`
	Locale     string      `json:"locale,omitempty" doc:"The language of emails and headlines for the user"`
	TimeZone   string      `json:"timeZone,omitempty" doc:"The user's time zone"`
}

func answered(m collab.Member) UserWithRole {
	return UserWithRole{m.User, m.Role, m.Expires, m.Locale, m.TimeZone}
}

// Get is POST /v2/users/get.
func Get() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/users/get", Grants: rpc.ReadTable | rpc.ReadIndexes | rpc.ReadProviders,
		Person:    rpc.PersonReads,
		Operation: rpc.Method((*Service).Get), Requires: collab.AdvancedQueries, Description: `
Lists users, in pages. The response has those at one level: of the organization, of a folder, of a document, or with allDocuments of any
document of the organization. All by id; those of userIds in the order asked and each once, unknown ones left out; those of groups group by
group. All filters combine: of the users in a group, those who are at the level. A page with searchKey looks at no more than 1,000 users,
and may be short, or empty with a nextPageToken. Lists by folder or document may lag by a second.
A person lists those of a document, its folders and its organization who may see the document, by id, at most 30 on a page; a page looks at
no more than 1,000 users.
NOT_FOUND when the organization, folder or document does not exist.`}
}

// Get returns a page of the users at a level: those asked for, in the order asked and each once, those of groups, group by group, or all,
// by id.
func (s *Service) Get(ctx context.Context, call *rpc.Call, req *GetRequest) (*rpc.GroupedPage[UserWithRole], error) {
	var position collab.MemberPosition // of the last user of the page before
	list, err := rpc.NewPage[UserWithRole](call, "user", req.PageRequest, &position)
	if err != nil {
		return nil, err
	}
	page := list.Group(req.GroupByDocumentID)
	page.BothTokens()
	call.Message = "User(s) retrieved successfully."
	if call.Person != nil {
		return page, s.people(ctx, call, req, page, position.User)
	}
	in, err := s.open(ctx, call, req.Level, collab.CreateFlags{}, false)
	if err != nil {
		return nil, err
	}
	q := collab.MemberQuery{
		In: in, Users: rpc.Distinct(req.UserIDs), Groups: rpc.Distinct(req.OrganizationUserGroupIDs),
		AllDocuments: req.AllDocuments, EachDocument: req.GroupByDocumentID,
	}
	most, finds := page.Most(), finder(req.SearchKey)
	if req.SearchKey != nil {
		most = collab.MaxPageSize
	}
	members, next, err := s.Directory.FindMembers(ctx, q, position, most)
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		if !finds(m.User) {
			position = m.Position
			continue
		}
		text := rpc.JSON(answered(m.Member))
		if !page.AddTo(m.Document, text, rpc.WrappedLen(text)) {
			page.Next(position)
			return page, nil
		}
		position = m.Position
	}
	if next != nil {
		page.Next(next)
	}
	return page, nil
}

// finder returns a function that reports whether a search finds a user: by the name, a word of it,
// or the address. A nil key finds all.
func finder(key *string) func(collab.User) bool {
	if key == nil {
		return func(collab.User) bool { return true }
	}
	folded := collab.Fold(*key)
	return func(u collab.User) bool {
		return collab.HasWord(collab.Fold(collab.Deref(u.Name)), folded) || strings.HasPrefix(collab.Fold(collab.Deref(u.Email)), folded)
	}
}
