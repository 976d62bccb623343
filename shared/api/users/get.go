package users

import (
	"context"
	"strings"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

type GetRequest struct {
	Level
	UserIDs                  []string `json:"userIds" rule:"notnull,nonempty,max=30,each=id" person:"in" doc:"Only these users, in this order; missing ones are skipped"`
	OrganizationUserGroupIDs []string `json:"organizationUserGroupIds" rule:"notnull,nonempty,max=30,each=id" doc:"Users in any of these groups"`
	SearchKey                *string  `json:"searchKey" rule:"notnull" person:"in" doc:"A prefix of a name, a word in it, or an address, without case and accents; 2 to 100 characters"`
	AllDocuments             bool     `json:"allDocuments" doc:"Users of any document, instead of those of the organization"`
	GroupByDocumentID        bool     `json:"groupByDocumentId" doc:"With allDocuments: return an object of arrays by document id"`
	OwnFields                bool     `json:"ownFields" doc:"Return only the fields that are stored at the level, as a copy of the data needs them"`
	rpc.PageRequest
}

func (r *GetRequest) Validate(m *rpc.Violations) {
	r.Level.Validate(m)
	m.SearchKey(r.SearchKey)
	if r.AllDocuments && (r.DocumentID != nil || r.FolderID != nil) {
		m.Add("allDocuments", "cannot be combined with documentId or folderId")
	}
	if r.GroupByDocumentID && !r.AllDocuments {
		m.Add("groupByDocumentId", "requires allDocuments")
	}
}

// UserWithRole is a user in a response.
type UserWithRole struct {
	collab.User
	AccessRole collab.Role `json:"accessRole" doc:"The user's role at this level"`
	ExpiresAt  int64       `json:"expiresAt,omitzero" doc:"Expiry of the role, in seconds since epoch"`
	Locale     string      `json:"locale,omitempty" doc:"The language of emails and headlines for the user"`
	TimeZone   string      `json:"timeZone,omitempty" doc:"The user's time zone"`

	EmailState collab.EmailState `json:"emailState,omitempty" doc:"Why the address accepts no email: an email bounced, or the user complained about one. Another address ends it"`
}

func answered(m collab.Member) UserWithRole {
	return UserWithRole{User: m.User, AccessRole: m.Role, ExpiresAt: m.Expires, Locale: m.Locale, TimeZone: m.TimeZone}
}

// Get is POST /v2/users/get.
func Get() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/users/get", Grants: rpc.ReadTable | rpc.ReadIndexes | rpc.ReadProviders,
		Person:    rpc.PersonReads,
		Operation: rpc.Method((*Service).Get), Requires: collab.AdvancedQueries, Description: `
List users.

Lists the users of one level, in pages: of the organization, a folder or a document, or with
allDocuments of any document. They are sorted by id; those of userIds have the order asked,
without duplicates and missing ones; those of groups are listed group by group. All filters
combine: for groups, the response has only users of the level. With searchKey, a page examines at
most 1,000 users, and can be short, or empty with a nextPageToken. Lists by folder or document can
be a second late. Users of a folder or document have each field of their profile from the nearest
level that has it, among the document, its folders and the organization, unless ownFields is true.
'emailState' is there if the user's address bounced, or the user complained about an email.

For a person, the list has the users of a document, its folders and its organization that can see
the document, by id, at most 30 on a page. A page examines at most 1,000 users.

The request fails with NOT_FOUND if the organization, folder or document does not exist.`}
}

// Get returns a page of the users at a level: those of userIds in the order asked, those of groups,
// group by group, or all, by id.
func (s *Service) Get(ctx context.Context, call *rpc.Call, req *GetRequest) (*rpc.GroupedPage[UserWithRole], error) {
	var position collab.MemberPosition // the last user of the previous page
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
	limit, finds := page.Most(), finder(req.SearchKey)
	if req.SearchKey != nil {
		limit = collab.MaxPageSize
	}
	members, next, err := s.Directory.FindMembers(ctx, q, position, limit)
	if err != nil {
		return nil, err
	}
	if !req.OwnFields && (req.AllDocuments || in != (collab.Resource{OrganizationRef: in.OrganizationRef})) {
		profiles, err := s.Directory.PresentProfiles(ctx, collab.Map(members, func(m collab.FoundMember) collab.UserAt {
			return collab.UserAt{In: m.In, User: m.UserID}
		}))
		if err != nil {
			return nil, err
		}
		for i := range members {
			m := &members[i]
			if p, stored := profiles[m.In][m.UserID]; stored { // else removed meanwhile
				m.User, m.Locale, m.TimeZone = p.User, p.Locale, p.TimeZone
			}
		}
	}
	found := collab.Where(members, func(m collab.FoundMember) bool { return finds(m.User) })
	marks, err := s.Directory.Undeliverable(ctx, in.OrganizationRef, collab.Map(found, func(m collab.FoundMember) collab.User { return m.User }))
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		if !finds(m.User) {
			position = m.Position
			continue
		}
		user := answered(m.Member)
		if mark := marks[m.UserID]; mark.Email == collab.Deref(m.Email) {
			user.EmailState = mark.Reason
		}
		text := rpc.JSON(user)
		if !page.AddTo(m.In.Document.Document, text, rpc.WrappedLen(text)) {
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

// finder returns a function that matches users by name, a word in it, or address. A nil key matches
// all users.
func finder(key *string) func(collab.User) bool {
	if key == nil {
		return func(collab.User) bool { return true }
	}
	folded := collab.Fold(*key)
	return func(u collab.User) bool {
		return collab.HasWord(collab.Fold(collab.Deref(u.Name)), folded) || strings.HasPrefix(collab.Fold(collab.Deref(u.Email)), folded)
	}
}
