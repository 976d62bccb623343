package commentannotations

import (
	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// Annotation is an annotation in a response. Stored values are returned unchanged.
type Annotation struct {
	AnnotationID  string                       `json:"annotationId" person:"out"`
	DocumentID    string                       `json:"documentId" person:"out"`
	From          rpc.Stored[collab.User]      `json:"from,omitzero" person:"out" doc:"The creator: the author of the first comment"`
	Color         rpc.Stored[string]           `json:"color,omitzero" person:"out" doc:"The color of the status"`
	Status        rpc.Stored[AnnotationStatus] `json:"status" person:"out"`
	Location      rpc.Stored[Location]         `json:"location,omitzero" person:"out"`
	TargetElement rpc.Stored[TargetElement]    `json:"targetElement,omitzero" person:"out"`
	AssignedTo    rpc.Stored[collab.User]      `json:"assignedTo,omitzero"`
	Priority      rpc.Stored[Priority]         `json:"priority,omitzero"`
	Context       collab.JSON                  `json:"context,omitzero" rule:"object" person:"out" doc:"Persons see what a person set"`
	SharedContext
	KeptFields
	StatusUpdatedByUserID *string                 `json:"statusUpdatedByUserId,omitzero" doc:"Author of the status change, if an update set one"`
	ResolvedByUserID      string                  `json:"resolvedByUserId,omitzero" person:"out" doc:"The resolver, if an update set one"`
	ResolvedAt            collab.Timestamp        `json:"resolvedAt,omitzero" person:"out" doc:"The time at which resolvedByUserId was set"`
	SourceType            SourceType              `json:"sourceType" person:"out" doc:"agent if the first comment had an agent when added, else rest-api"`
	Agent                 collab.JSON             `json:"agent,omitzero" rule:"object" person:"out" doc:"The agent of the first comment, if sourceType is agent. A person receives agentName, avatar and reason"`
	SubscribedUsers       rpc.Keyed[Subscription] `json:"subscribedUsers" person:"out" doc:"By id, users with level all from notifications/config/set. A person sees only their own entry"`
	UnsubscribedUsers     rpc.Keyed[Subscription] `json:"unsubscribedUsers" person:"out" doc:"By id, users with level mentions or none. A person sees only their own entry"`
	Visibility            collab.Visibility       `json:"visibility" person:"out" doc:"Its audience, within that of the document"`
	VisibilityConfig      collab.Visibility       `json:"visibilityConfig" doc:"Same as visibility"`
	HasDraftComments      bool                    `json:"hasDraftComments" doc:"Always false: drafts are not stored"`
	CommentCategories     []collab.JSON           `json:"commentCategories,omitzero" rule:"each=object" doc:"Always empty"`
	IAM                   collab.JSON             `json:"iam,omitzero" rule:"object" doc:"Always empty: see visibility"`
	Metadata              AnnotationMetadata      `json:"metadata" doc:"Its organization and document"`
	CreatedAt             collab.Timestamp        `json:"createdAt" person:"out"`
	LastUpdated           collab.Timestamp        `json:"lastUpdated" person:"out" doc:"The latest change of the annotation and its comments"`
	Comments              []Comment               `json:"comments" person:"out"`
	Unread                *bool                   `json:"unread,omitzero" person:"out" doc:"With unreadFor: whether it has comments that this user has not seen, and is not muted"`
	Deleted               bool                    `json:"deleted,omitzero" person:"out" doc:"With includeDeleted: the annotation was deleted"`
	CommentsTruncated     bool                    `json:"commentsTruncated,omitzero" person:"out"`
}

// Subscription is a user's level for an annotation.
type Subscription struct {
	User  SubscribedUser   `json:"user" person:"out" doc:"Only the id"`
	Type  SubscriptionType `json:"type" person:"out" doc:"manual: set by the user"`
	Level collab.Level     `json:"level" person:"out" doc:"The level set by the user"`
}

// SubscribedUser is the user of a Subscription.
type SubscribedUser struct {
	UserID string `json:"userId" person:"out"`
}

// SubscriptionType is the origin of a Subscription.
type SubscriptionType string

func (SubscriptionType) Values() []string { return []string{"auto", "manual"} }

// AnnotationMetadata is the location of an annotation.
type AnnotationMetadata struct {
	APIKey         string `json:"apiKey" doc:"The API key of the request"`
	OrganizationID string `json:"organizationId"`
	DocumentID     string `json:"documentId"`
}

// AnnotationFields are the fields of a new annotation in v1 and v2.
type AnnotationFields struct {
	AnnotationID  *string        `json:"annotationId" rule:"id" doc:"Unique in its document; generated if absent"`
	Location      *Location      `json:"location" person:"in"`
	TargetElement *TargetElement `json:"targetElement" person:"in"`
	AssignedTo    *collab.User   `json:"assignedTo"`
	Context       collab.JSON    `json:"context" rule:"object" person:"in" doc:"Free-form. Persons see it only if a person set it, in at most 8 KB"`
	Priority      *Priority      `json:"priority"`
	Times

	byPerson bool
}

// SourceType is the origin of an annotation.
type SourceType string

func (SourceType) Values() []string { return []string{collab.SourceREST, collab.SourceAgent} }

// AnnotationStatus is a status in a response.
type AnnotationStatus struct {
	ID   string      `json:"id" person:"out"`
	Type *StatusType `json:"type,omitzero" person:"out" doc:"default, ongoing or terminal"`
	StatusLook
}

// Location is a place in a document.
type Location struct {
	ID           string  `json:"id" rule:"required,id" person:"in,out"`
	LocationName *string `json:"locationName,omitempty" person:"in,out"`
}

// TargetElement is the anchor of an annotation.
type TargetElement struct {
	ElementID        *string `json:"elementId,omitempty" person:"in,out" doc:"Id of a DOM element"`
	TargetText       *string `json:"targetText,omitempty" person:"in,out" doc:"The text that it is about; from a person at most 4,096 bytes"`
	Occurrence       *int64  `json:"occurrence,omitempty" rule:"min=1" person:"in,out" doc:"Which occurrence of targetText"`
	SelectAllContent *bool   `json:"selectAllContent,omitempty" person:"in,out" doc:"The anchor is the whole text of the element"`
	Prefix           *string `json:"prefix,omitempty" rule:"max=256" person:"in,out" doc:"The text before targetText, which finds it after changes. An addition of this service: the documented API has no such field"`
	Suffix           *string `json:"suffix,omitempty" rule:"max=256" person:"in,out" doc:"The text after targetText. An addition of this service, like prefix"`
}

type Priority struct {
	ID         string  `json:"id" rule:"required,id"`
	Name       *string `json:"name,omitempty"`
	Color      *string `json:"color,omitempty"`
	LightColor *string `json:"lightColor,omitempty"`
}

// Status is a default status, or a custom one with its own icon.
type Status struct {
	ID   string      `json:"id" rule:"required,id" person:"in"`
	Type *StatusType `json:"type,omitempty"`
	StatusLook
}

// StatusType is the stage of a status.
type StatusType string

func (StatusType) Values() []string { return []string{"default", "ongoing", terminal} }

const terminal = "terminal" // type of statuses that end an annotation

// StatusLook is the appearance of a status.
type StatusLook struct {
	Name       *string `json:"name,omitempty" person:"out"`
	Color      *string `json:"color,omitempty" person:"out"`
	LightColor *string `json:"lightColor,omitempty"`
	SVG        *string `json:"svg,omitempty" doc:"Its icon as SVG; a custom status has this or iconUrl"`
	IconURL    *string `json:"iconUrl,omitempty" doc:"Address of its icon; a custom status has this or svg"`
}

func (s *Status) Validate(m *rpc.Violations) { s.checkIcon(m, s.ID) }

func (s *Status) id() string { return s.ID }

func (s *StatusLook) checkIcon(m *rpc.Violations, id string) {
	if collab.Deref(s.SVG) == "" && collab.Deref(s.IconURL) == "" && defaultStatuses[id] == nil {
		m.Add("", "requires svg or iconUrl, because %q is not OPEN, IN_PROGRESS or RESOLVED", id)
	}
}

// openStatus is the id of the default status.
const openStatus = "OPEN"

const resolvedStatus = "RESOLVED"

var defaultStatuses = map[string]collab.JSON{
	openStatus:    collab.JSON(`{"id":"OPEN","name":"Open","type":"default","color":"#2563eb"}`),
	"IN_PROGRESS": collab.JSON(`{"id":"IN_PROGRESS","name":"In progress","type":"ongoing","color":"#b45309"}`),
	"RESOLVED":    collab.JSON(`{"id":"RESOLVED","name":"Resolved","type":"terminal","color":"#15803d"}`),
}

// completeStatus adds the missing name, type and color from the default status with this id. It
// returns OPEN for nil.
func completeStatus(status collab.JSON, id string) collab.JSON {
	if status == nil {
		return defaultStatuses[openStatus]
	}
	if complete := defaultStatuses[id]; complete != nil {
		return complete.Merge(status)
	}
	return status
}

func (f *AnnotationFields) stored() collab.Annotation {
	a := collab.Annotation{
		Location: encode(f.Location), TargetElement: encode(f.TargetElement), AssignedTo: encode(f.AssignedTo), Context: f.Context,
		Priority: encode(f.Priority),
	}
	if f.Location != nil {
		a.LocationID = f.Location.ID
	}
	return a
}

func checkTarget(m *rpc.Violations, t *TargetElement) {
	if size := len(collab.Deref(t.TargetText)); size > maxTargetText {
		m.Add("targetElement.targetText", "must be at most %d bytes, not %d", maxTargetText, size)
	}
}
