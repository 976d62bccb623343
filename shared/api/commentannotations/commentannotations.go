// Package commentannotations implements the operations on comment annotations and their comments:
// one file per operation, v1 below its v2. merge.go and users.go apply updates, and events.go
// builds events.
package commentannotations

import (
	"context"
	"encoding/json"

	"collabdata/shared/access"
	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/threads"
)

// Service runs the operations. Set its fields before the first request.
type Service struct {
	Directory *directory.Store
	Threads   *threads.Store
	Access    *access.Checker
	Inbox     *inbox.Store
}

// Target is the document of a request.
type Target struct {
	OrganizationID string `json:"organizationId" rule:"required,id" person:"in"`
	DocumentID     string `json:"documentId" rule:"required,docid" person:"in"`
}

// begin opens the document of a request. It returns the errors of Directory.OpenDocument and
// request.Request.Raises, and NOT_FOUND if a person cannot see the document.
func (s *Service) begin(ctx context.Context, call *rpc.Call, t Target, create CreateFlags, raise bool) (collab.DocumentRef, error) {
	if err := call.Raises(raise); err != nil {
		return collab.DocumentRef{}, err
	}
	doc, err := s.open(ctx, call, t, collab.CreateFlags{Organization: create.CreateOrganization, Document: create.CreateDocument})
	if sight := s.mine(call); sight != nil && err == nil {
		_, err = viewersOf(ctx, sight, doc)
	}
	return doc, err
}

// open is Directory.OpenDocument. For a person, a disabled document is NOT_FOUND.
func (s *Service) open(ctx context.Context, call *rpc.Call, t Target, create collab.CreateFlags) (collab.DocumentRef, error) {
	doc, err := s.Directory.OpenDocument(ctx, call.Account, t.OrganizationID, t.DocumentID, create)
	if call.Person != nil && collab.CodeOf(err) == collab.FailedPrecondition {
		err = collab.NoDocument(t.OrganizationID, t.DocumentID)
	}
	return doc, err
}

// CreateFlags are the fields of a request that create missing parents.
type CreateFlags struct {
	CreateOrganization bool `json:"createOrganization"`
	CreateDocument     bool `json:"createDocument"`
}

// TaggedUser is a tagged user or group. The text of the tag is in Tag, because some requests lack
// it.
type TaggedUser struct {
	UserID  string       `json:"userId,omitempty" rule:"id" person:"in,out" doc:"The user; required without organizationUserGroupId"`
	Contact *collab.User `json:"contact,omitempty" person:"out"`
	GroupID string       `json:"organizationUserGroupId,omitempty" rule:"id" person:"in,out" doc:"A group, instead of a user: up to 200 of its users with access to the annotation are notified"`
}

func (t *TaggedUser) Validate(m *rpc.Violations) {
	switch {
	case t.UserID == "" && t.GroupID == "":
		m.Add("userId", "is required")
	case t.GroupID != "" && (t.UserID != "" || t.Contact != nil):
		m.Add("organizationUserGroupId", "cannot be combined with userId or contact")
	}
	if t.UserID != "" && t.Contact != nil && t.Contact.UserID != t.UserID {
		m.Add("contact.userId", "must be the userId of the tag")
	}
}

// Tag is a TaggedUser with the text of the tag.
type Tag struct {
	TaggedUser
	Text *string `json:"text,omitempty" person:"out" doc:"The text of the tag"`
}

// Attachment is a file of a comment.
type Attachment struct {
	AttachmentID *int64      `json:"attachmentId" rule:"required,min=0" person:"in,out" doc:"Unique in its comment"`
	Name         *string     `json:"name,omitempty" person:"in,out" doc:"File name"`
	BucketPath   *string     `json:"bucketPath,omitempty" doc:"Its path in your storage"`
	Size         *int64      `json:"size,omitempty" rule:"min=0" person:"in,out" doc:"In bytes"`
	Type         *string     `json:"type,omitempty" person:"in,out" doc:"The kind of file, such as image, video or document"`
	URL          *string     `json:"url,omitempty" person:"in,out" doc:"Address to download it from"`
	Thumbnail    *string     `json:"thumbnail,omitempty" person:"in,out" doc:"Address of a small picture of it"`
	MimeType     *string     `json:"mimeType,omitempty" person:"in,out" doc:"Its MIME type"`
	Metadata     collab.JSON `json:"metadata,omitempty" rule:"object" doc:"Free-form"`
}

// member returns a member of a JSON object, or nil.
func member(object collab.JSON, name string) collab.JSON {
	for n, value := range rpc.Members(object) {
		if n == name {
			return value
		}
	}
	return nil
}

// textOf returns a string member of a JSON object, or "".
func textOf(object collab.JSON, name string) (text string) {
	_ = json.Unmarshal(member(object, name), &text)
	return text
}

// encode is rpc.JSON, except that it returns nil for a nil pointer or slice.
func encode(v any) collab.JSON {
	if text := rpc.JSON(v); string(text) != null {
		return text
	}
	return nil
}
