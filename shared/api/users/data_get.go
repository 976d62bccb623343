package users

import (
	"context"

	"collabdata/shared/api/commentannotations"
	"collabdata/shared/api/notifications"
	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// DataGetRequest is the data of POST /v2/users/data/get.
type DataGetRequest struct {
	OrganizationID string `json:"organizationId" rule:"required,id"`
	UserID         string `json:"userId" rule:"required,id"`
	PageToken      string `json:"pageToken"`
}

// Data is a page of what an organization has of a person.
type Data struct {
	Profile       Profile                          `json:"profile" doc:"The parts of the profile on this page"`
	Annotations   []*commentannotations.Annotation `json:"annotations" doc:"That the person made, or is assigned to, each without its comments"`
	Comments      []DataComment                    `json:"comments" doc:"That the person wrote, or is tagged in"`
	Notifications []notifications.Notification     `json:"notifications" doc:"In the person's inbox"`
	Reactions     []string                         `json:"reactions" doc:"Empty: there are none"`
	Recordings    []string                         `json:"recordings" doc:"Empty: there are none"`
}

// Profile is who a person is in an organization.
type Profile struct {
	UserID      string            `json:"userId"`
	Member      *UserWithRole     `json:"member,omitempty" doc:"The person as a member of the organization"`
	Grants      []DataGrant       `json:"grants" doc:"On folders and documents"`
	GroupIDs    []string          `json:"organizationUserGroupIds" doc:"The groups that the person is in"`
	Preferences []DataPreferences `json:"preferences" doc:"For the organization, and for documents"`
}

// DataGrant is a person as a folder or document has them.
type DataGrant struct {
	FolderID   string `json:"folderId,omitempty" doc:"The folder, or else the document that it is on"`
	DocumentID string `json:"documentId,omitempty"`
	UserWithRole
}

// DataPreferences are what a person prefers.
type DataPreferences struct {
	DocumentID string                       `json:"documentId,omitempty" doc:"None for the organization"`
	Config     map[string]collab.Preference `json:"config" doc:"By channel"`
}

// DataComment is a comment, and where it is.
type DataComment struct {
	DocumentID   string `json:"documentId"`
	AnnotationID string `json:"annotationId"`
	commentannotations.Comment
}

// DataGet is POST /v2/users/data/get.
func DataGet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/users/data/get", Grants: rpc.ReadTable,
		Operation: rpc.Method((*Service).DataGet), Description: `
Lists the personal data that an organization has of a user, in pages. The response has the profile first, then annotations and comments by
document, then notifications, newest first: of each at most 100, all together at most 5 MB. A page looks at up to 10,000 things or 10 MB, so
one may be empty and have a nextPageToken: of a large organization there are many. The list may lag by a second. A user of whom there is
nothing is no error. NOT_FOUND when the organization does not exist; it may be disabled.`}
}

// maxData is how many annotations, comments or notifications a page has.
const maxData = 100

// DataGet returns a page of what an organization has of a person. It fails with NOT_FOUND when the organization does not exist.
func (s *Service) DataGet(ctx context.Context, call *rpc.Call, req *DataGetRequest) (rpc.Whole[*Data], error) {
	var at collab.PersonalPosition
	if err := call.Position(req.PageToken, &at); err != nil {
		return rpc.Whole[*Data]{}, err
	}
	org, err := s.Directory.FindOrganization(ctx, call.Account, req.OrganizationID, false)
	if err != nil {
		return rpc.Whole[*Data]{}, err
	}
	page := &Data{
		Profile:     Profile{UserID: req.UserID, Grants: []DataGrant{}, GroupIDs: []string{}, Preferences: []DataPreferences{}},
		Annotations: []*commentannotations.Annotation{}, Comments: []DataComment{}, Notifications: []notifications.Notification{},
		Reactions: []string{}, Recordings: []string{},
	}
	left := rpc.MaxPage
	next, err := s.Erasure.Collect(ctx, org, req.UserID, at, func(d collab.PersonalData) bool {
		add := page.add(call, req, d)
		size := rpc.WrappedLen(rpc.EncodeStored(add.item)) + len(",")
		if call.Items > 0 && size > left || add.full {
			return false
		}
		left -= size
		call.Items++
		add.take()
		return true
	})
	if err != nil {
		return rpc.Whole[*Data]{}, err
	}
	if next != nil {
		call.NextPageToken = call.PageToken(next)
	}
	call.Message = "Data fetched successfully."
	return rpc.Whole[*Data]{Data: page}, nil
}

// addition is what a page takes next.
type addition struct {
	item any
	take func()
	full bool // it has as many as it may
}

// add returns how a piece of data comes into the page.
func (p *Data) add(call *rpc.Call, req *DataGetRequest, d collab.PersonalData) addition {
	switch {
	case d.Member != nil:
		m := new(answered(*d.Member))
		return addition{item: m, take: func() { p.Profile.Member = m }}
	case d.Grant != nil:
		return onto(&p.Profile.Grants, DataGrant{d.Grant.Folder, d.Grant.Document, answered(d.Grant.Member)})
	case d.Preferences != nil:
		return onto(&p.Profile.Preferences, DataPreferences{d.Preferences.Document, d.Preferences.Channels()})
	case d.Annotation != nil:
		return onto(&p.Annotations, commentannotations.Answered(call, req.OrganizationID, d.Annotation))
	case d.Comment != nil:
		c := DataComment{d.Comment.Document, d.Comment.Annotation, commentannotations.AnsweredComment(&d.Comment.Comment)}
		return onto(&p.Comments, c)
	case d.Notification != nil:
		return onto(&p.Notifications, notifications.Answered(call, req.OrganizationID, *d.Notification, req.UserID))
	}
	return onto(&p.Profile.GroupIDs, d.Group)
}

// onto returns how an item comes onto a list of the page.
func onto[T any](list *[]T, item T) addition {
	return addition{item: item, take: func() { *list = append(*list, item) }, full: len(*list) == maxData}
}
