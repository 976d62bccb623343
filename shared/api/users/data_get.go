package users

import (
	"context"

	"collabdata/shared/api/commentannotations"
	"collabdata/shared/api/notifications"
	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

type DataGetRequest struct {
	OrganizationID string `json:"organizationId" rule:"required,id"`
	UserID         string `json:"userId" rule:"required,id"`
	PageToken      string `json:"pageToken"`
}

// Data is a page of a person's data in an organization.
type Data struct {
	Profile       Profile                          `json:"profile" doc:"The parts of the profile on this page"`
	Annotations   []*commentannotations.Annotation `json:"annotations" doc:"Created by or assigned to the person, without comments"`
	Comments      []DataComment                    `json:"comments" doc:"Written by the person, or with a tag of the person"`
	Notifications []notifications.Notification     `json:"notifications" doc:"In the person's inbox"`
	Reactions     []DataReaction                   `json:"reactions" doc:"Of the person, to any comment"`
	Recordings    []string                         `json:"recordings" doc:"Always empty"`
}

// Profile is a person's membership in an organization.
type Profile struct {
	UserID      string            `json:"userId"`
	Member      *UserWithRole     `json:"member,omitempty" doc:"The person as a member of the organization"`
	Grants      []DataGrant       `json:"grants" doc:"Grants on folders and documents"`
	GroupIDs    []string          `json:"organizationUserGroupIds" doc:"The person's groups"`
	Preferences []DataPreferences `json:"preferences" doc:"For the organization, and for documents"`
	Levels      []DataLevel       `json:"levels" doc:"Annotations and documents that the person follows or has muted"`
	ReadStates  []DataReadState   `json:"readStates" doc:"When the person last marked documents and annotations as read or unread"`
}

// DataGrant is a person's grant on a folder or document.
type DataGrant struct {
	FolderID   string `json:"folderId,omitempty" doc:"The folder of the grant; otherwise it is on a document"`
	DocumentID string `json:"documentId,omitempty"`
	UserWithRole
}

type DataPreferences struct {
	DocumentID string                       `json:"documentId,omitempty" doc:"Absent for the organization"`
	Config     map[string]collab.Preference `json:"config" doc:"By channel"`
	*notifications.MailTimes
}

// DataLevel is a person's level for an annotation or a document.
type DataLevel struct {
	DocumentID   string       `json:"documentId"`
	AnnotationID string       `json:"annotationId,omitempty" doc:"Absent for the document"`
	Level        collab.Level `json:"level" doc:"all, mentions or none"`
}

// DataReadState is a person's read state of an annotation or a document.
type DataReadState struct {
	DocumentID   string        `json:"documentId"`
	AnnotationID string        `json:"annotationId,omitempty" doc:"Absent for the document"`
	Read         bool          `json:"read" doc:"True: all comments up to then are read. False: none is"`
	ReadAt       collab.Millis `json:"readAt" schema:"Millis" doc:"Time of the mark"`
}

// DataComment is a comment and its location.
type DataComment struct {
	DocumentID   string `json:"documentId"`
	AnnotationID string `json:"annotationId"`
	commentannotations.Comment
}

// DataReaction is a reaction and the location of its comment.
type DataReaction struct {
	DocumentID   string `json:"documentId"`
	AnnotationID string `json:"annotationId"`
	CommentID    int64  `json:"commentId"`
	Emoji        string `json:"emoji" doc:"The emoji"`
}

// DataGet is POST /v2/users/data/get.
func DataGet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/users/data/get", Grants: rpc.ReadTable,
		Operation: rpc.Method((*Service).DataGet), Description: `
Get personal data.

Lists a user's personal data in an organization, in pages: the profile with levels and read states,
then annotations and comments by document, then notifications, newest first. A page has at most 100 of each, and at
most 5 MB in total. It examines up to 10,000 items or 10 MB, so it can be empty and still have a
nextPageToken; a large organization has many such pages. The list can be a second late. A user
without data is no error. The request fails with NOT_FOUND if the organization does not exist; it
can be disabled.`}
}

// maxData is the number of annotations, comments or notifications on a page.
const maxData = 100

// DataGet returns a page of a person's data in an organization.
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
		Profile:     Profile{UserID: req.UserID, Grants: []DataGrant{}, GroupIDs: []string{}, Preferences: []DataPreferences{}, Levels: []DataLevel{}, ReadStates: []DataReadState{}},
		Annotations: []*commentannotations.Annotation{}, Comments: []DataComment{}, Notifications: []notifications.Notification{},
		Reactions: []DataReaction{}, Recordings: []string{},
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
	if err == nil {
		err = s.addEmailStates(ctx, org, page)
	}
	if err != nil {
		return rpc.Whole[*Data]{}, err
	}
	if next != nil {
		call.NextPageToken = call.PageToken(next)
	}
	call.Message = "Data fetched successfully."
	return rpc.Whole[*Data]{Data: page}, nil
}

// addEmailStates sets the states of the person's addresses on a page.
func (s *Service) addEmailStates(ctx context.Context, org collab.OrganizationRef, page *Data) error {
	var levels []*UserWithRole
	if page.Profile.Member != nil {
		levels = append(levels, page.Profile.Member)
	}
	for i := range page.Profile.Grants {
		levels = append(levels, &page.Profile.Grants[i].UserWithRole)
	}
	states := map[string]collab.EmailState{}
	for _, level := range levels {
		email := collab.Deref(level.Email)
		if _, ok := states[email]; !ok && email != "" {
			marks, err := s.Directory.Undeliverable(ctx, org, []collab.User{level.User})
			if err != nil {
				return err
			}
			states[email] = marks[level.UserID].Reason
		}
		level.EmailState = states[email]
	}
	return nil
}

// addition is the next item of a page.
type addition struct {
	item any
	take func()
	full bool // the list is full
}

// add returns the addition for a piece of data.
func (p *Data) add(call *rpc.Call, req *DataGetRequest, d collab.PersonalData) addition {
	switch {
	case d.Member != nil:
		m := new(answered(*d.Member))
		return addition{item: m, take: func() { p.Profile.Member = m }}
	case d.Grant != nil:
		return onto(&p.Profile.Grants, DataGrant{d.Grant.Folder, d.Grant.Document, answered(d.Grant.Member)})
	case d.Preferences != nil:
		return onto(&p.Profile.Preferences, DataPreferences{
			d.Preferences.Document, d.Preferences.Channels(), notifications.MailTimesOf(d.Preferences.MailTimes),
		})
	case d.ReadState != nil:
		r := d.ReadState
		return onto(&p.Profile.ReadStates, DataReadState{r.Document, r.Annotation, r.Before != 0, r.At})
	case d.Annotation != nil || d.Level != nil:
		return p.addAnnotation(call, req, d)
	case d.Comment != nil || d.Reactions != nil:
		return p.addComment(d)
	case d.Notification != nil:
		return onto(&p.Notifications, notifications.Answered(call, req.OrganizationID, *d.Notification, req.UserID))
	}
	return onto(&p.Profile.GroupIDs, d.Group)
}

// addAnnotation returns the addition of an annotation, with the person's level for it, or of a
// level alone.
func (p *Data) addAnnotation(call *rpc.Call, req *DataGetRequest, d collab.PersonalData) addition {
	var annotations []*commentannotations.Annotation
	var levels []DataLevel
	if d.Annotation != nil {
		annotations = append(annotations, commentannotations.Answered(call, req.OrganizationID, d.Annotation))
	}
	if d.Level != nil {
		levels = append(levels, DataLevel{d.Level.Document, d.Level.Annotation, d.Level.Level})
	}
	return addition{
		item: []any{annotations, levels},
		take: func() {
			p.Annotations, p.Profile.Levels = append(p.Annotations, annotations...), append(p.Profile.Levels, levels...)
		},
		full: len(p.Annotations)+len(annotations) > maxData || len(p.Profile.Levels)+len(levels) > maxData,
	}
}

// addComment returns the addition of a comment, with the person's reactions to it.
func (p *Data) addComment(d collab.PersonalData) addition {
	reactions := collab.Map(d.Reactions, func(r collab.PersonalReaction) DataReaction {
		return DataReaction{r.Document, r.Annotation, r.Comment, r.Emoji}
	})
	var comments []DataComment
	if c := d.Comment; c != nil {
		comments = append(comments, DataComment{c.Document, c.Annotation, commentannotations.AnsweredComment(&c.Comment)})
	}
	return addition{
		item: []any{comments, reactions},
		take: func() { p.Comments, p.Reactions = append(p.Comments, comments...), append(p.Reactions, reactions...) },
		full: len(p.Comments)+len(comments) > maxData || len(p.Reactions)+len(reactions) > maxData,
	}
}

// onto returns the addition of an item to a list of the page.
func onto[T any](list *[]T, item T) addition {
	return addition{item: item, take: func() { *list = append(*list, item) }, full: len(*list) == maxData}
}
