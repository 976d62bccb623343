package commentannotations

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"

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

// subscriptions returns users with their levels, or only person if it is not "".
func subscriptions(f *collab.Follows, person string, lists ...[]string) rpc.Keyed[Subscription] {
	all := rpc.Keyed[Subscription]{}
	for _, id := range slices.Sorted(slices.Values(slices.Concat(lists...))) {
		if person == "" || id == person {
			all = append(all, rpc.Member[Subscription]{Key: id, Value: Subscription{SubscribedUser{id}, "manual", f.Of(id)}})
		}
	}
	return all
}

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

// UpdatedData is an update of annotations. An absent field is unchanged, null clears, the context
// is replaced, and other objects are merged. A cleared status becomes the default one.
type UpdatedData struct {
	Location      rpc.Opt[Location]      `json:"location" rule:"partial"`
	TargetElement rpc.Opt[TargetElement] `json:"targetElement" person:"in" doc:"A person can set it on an own annotation"`
	From          rpc.Opt[collab.User]   `json:"from" rule:"notnull,partial"`
	Status        rpc.Opt[Status]        `json:"status" rule:"partial" person:"in"`
	AssignedTo    rpc.Opt[collab.User]   `json:"assignedTo" rule:"partial"`
	Context       rpc.Opt[collab.JSON]   `json:"context" rule:"object" person:"in" doc:"Replaced. A person can set it on an own annotation, until a back end has"`
	Priority      rpc.Opt[Priority]      `json:"priority" rule:"partial"`

	StatusUpdatedByUserID rpc.Opt[string]            `json:"statusUpdatedByUserId" rule:"id" doc:"Author of the status change"`
	ResolvedByUserID      rpc.Opt[string]            `json:"resolvedByUserId" rule:"id" doc:"The resolver; always cleared by a status that is not terminal"`
	ResolvedAt            rpc.Opt[int64]             `json:"resolvedAt" rule:"notnull,time" doc:"Time of resolvedByUserId. Default: the time of the update that changes it. Ignored without a resolver"`
	Suggestion            rpc.Opt[collab.JSON]       `json:"suggestion" rule:"object" person:"in" doc:"Replaced; status is pending, accepted, rejected, stale or apply_failed. Ignored if the annotation is no suggestion. A person sends the status accepted or rejected, and rejectReason"`
	Actions               rpc.Opt[[]collab.JSON]     `json:"actions" rule:"max=20,each=object" doc:"Replaced"`
	Visibility            rpc.Opt[collab.Visibility] `json:"visibility" rule:"exact" person:"in" doc:"Replaced; null: public"`
	VisibilityConfig      rpc.Opt[collab.Visibility] `json:"visibilityConfig" rule:"exact" person:"in" doc:"Another name of visibility: send only one"`
	CreatedAt             rpc.Opt[int64]             `json:"createdAt" rule:"notnull,time" doc:"Time of creation"`
	LastUpdated           rpc.Opt[int64]             `json:"lastUpdated" rule:"notnull,time" doc:"Time of the last change: default now; never moves back"`

	byPerson *collab.User // the person that updates, or nil
}

// Validate rejects a visibility under both names, and invalid known fields of context and
// suggestion.
func (d *UpdatedData) Validate(m *rpc.Violations) {
	checkNames(m, "visibility", d.Visibility.Sent(), "visibilityConfig", d.VisibilityConfig.Sent())
	checkContext(m, "context", d.Context.Value)
	checkSuggestion(m, d.Suggestion.Value, pending, accepted, rejected, "stale", "apply_failed")
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
		return merge(complete, status)
	}
	return status
}

// Comment is a comment in a response.
type Comment struct {
	CommentID   int64       `json:"commentId" person:"out"`
	CommentText *string     `json:"commentText,omitzero" person:"out"`
	CommentHTML *string     `json:"commentHtml,omitzero" person:"out"`
	Context     collab.JSON `json:"context,omitzero" rule:"object" person:"out" doc:"Persons see what a person set"`
	SharedContext
	IsCommentResolverUsed  *bool                    `json:"isCommentResolverUsed,omitzero"`
	IsCommentTextAvailable *bool                    `json:"isCommentTextAvailable,omitzero"`
	From                   rpc.Stored[collab.User]  `json:"from" person:"out"`
	TaggedUserContacts     rpc.Stored[[]Tag]        `json:"taggedUserContacts,omitzero" person:"out"`
	Attachments            rpc.Stored[[]Attachment] `json:"attachments,omitzero" person:"out"`
	Reactions              []Reaction               `json:"reactions,omitzero" person:"out" doc:"Absent if there are none"`
	KeptCommentFields
	Type                    CommentKind      `json:"type,omitzero" doc:"Always text"`
	Status                  CommentStatus    `json:"status,omitzero" doc:"updated if it was changed after its creation"`
	ReactionAnnotationIDs   []string         `json:"reactionAnnotationIds,omitzero" doc:"Always empty: see reactions"`
	Recorders               []collab.JSON    `json:"recorders,omitzero" rule:"each=object" doc:"Always empty"`
	CustomList              []collab.JSON    `json:"customList,omitzero" rule:"each=object" doc:"Always empty"`
	ToOrganizationUserGroup []collab.JSON    `json:"toOrganizationUserGroup,omitzero" rule:"each=object" doc:"Always empty: see taggedUserContacts"`
	CreatedAt               collab.Timestamp `json:"createdAt" person:"out"`
	LastUpdated             collab.Timestamp `json:"lastUpdated" person:"out"`
	AddedAt                 collab.Timestamp `json:"addedAt,omitzero" doc:"When it was added, if createdAt is later or at most a day earlier. It decides unread marks"`
}

// reader is the recipient of a response.
type reader struct {
	apiKey, organization string
	person               string // asUserId, or "" for the back end itself
	token                bool   // the person calls
	v1                   bool   // version 1 calls: it lacks fields of annotations
}

// Answered returns a thread as a back end receives it.
func Answered(call *rpc.Call, organization string, t *collab.Thread) *Annotation {
	return reader{apiKey: call.APIKey, organization: organization}.thread(t)
}

// AnsweredComment is Answered for a comment.
func AnsweredComment(c *collab.Comment) Comment { return reader{}.comment(c) }

func (r reader) thread(t *collab.Thread) *Annotation {
	a := &Annotation{
		AnnotationID:     t.ID,
		DocumentID:       t.Document,
		From:             rpc.Stored[collab.User](t.From),
		Color:            rpc.Stored[string](member(t.Status, "color")),
		Status:           rpc.Stored[AnnotationStatus](t.Status),
		Location:         rpc.Stored[Location](t.Location),
		TargetElement:    rpc.Stored[TargetElement](t.TargetElement),
		AssignedTo:       rpc.Stored[collab.User](t.AssignedTo),
		Priority:         rpc.Stored[Priority](t.Priority),
		Context:          r.context(t.Context, t.ContextShown),
		SharedContext:    SharedContext{t.ContextShown},
		ResolvedByUserID: t.ResolvedBy,
		SourceType:       SourceType(t.SourceType()),
		Visibility:       t.Visibility.Answered(),
		VisibilityConfig: t.Visibility.Answered(),
		Metadata:         AnnotationMetadata{r.apiKey, r.organization, t.Document},
		CreatedAt:        collab.Timestamp(t.CreatedAt),
		LastUpdated:      collab.Timestamp(t.LastUpdated),
		Comments:         make([]Comment, len(t.Comments)),

		Unread:            t.Unread,
		Deleted:           t.Deleted,
		CommentsTruncated: t.Truncated,
	}
	decodeKept(t.Kept, a)
	if !r.v1 {
		a.Agent, a.ResolvedAt = r.agent(t.Agent()), collab.Timestamp(t.ResolvedAt)
	}
	a.Type, a.Suggestion = new(AnnotationType(t.Type())), t.Suggestion
	if r.token {
		a.Suggestion = forPerson(a.Suggestion)
	}
	if r.typed() {
		a.CommentCategories, a.IAM, a.Suggestion = []collab.JSON{}, collab.JSON("{}"), completeSuggestion(a.Suggestion)
	}
	f := collab.Deref(t.Follows)
	a.SubscribedUsers = subscriptions(&f, r.person, f.All)
	a.UnsubscribedUsers = subscriptions(&f, r.person, f.Mentions, f.None)
	for i := range t.Comments {
		a.Comments[i] = r.comment(&t.Comments[i])
	}
	return a
}

// context returns a stored context, or nil if it is hidden from the reader.
func (r reader) context(stored collab.JSON, shown bool) collab.JSON {
	if r.token && !shown {
		return nil
	}
	return stored
}

func (r reader) comment(c *collab.Comment) Comment {
	a := Comment{
		CommentID:              c.ID,
		Context:                r.context(c.Context, c.ContextShown),
		SharedContext:          SharedContext{c.ContextShown},
		IsCommentResolverUsed:  c.ResolverUsed,
		IsCommentTextAvailable: c.TextAvailable,
		From:                   rpc.Stored[collab.User](c.From),
		TaggedUserContacts:     rpc.Stored[[]Tag](c.TaggedUserContacts),
		Attachments:            rpc.Stored[[]Attachment](c.Attachments),
		Reactions:              r.reactions(c.Reactions),
		CreatedAt:              collab.Timestamp(c.CreatedAt),
		AddedAt:                collab.Timestamp(c.AddedAt),
		LastUpdated:            collab.Timestamp(c.LastUpdated),
	}
	a.CommentText, a.CommentHTML = c.Written()
	decodeKept(c.Kept, &a)
	if r.person != "" && !a.Progress.visibleTo(r.person) {
		a.Progress = nil
	}
	a.Agent = r.agent(c.Agent)
	if r.typed() {
		a.complete(c)
	}
	return a
}

// typed reports whether the reader receives the fields that only types of clients require.
func (r reader) typed() bool { return !r.v1 && !r.token }

// complete sets the fields that only types of clients require.
func (a *Comment) complete(c *collab.Comment) {
	none := collab.JSON("[]")
	a.Type, a.Status, a.ReactionAnnotationIDs = "text", "added", []string{}
	a.Recorders, a.CustomList, a.ToOrganizationUserGroup = []collab.JSON{}, []collab.JSON{}, []collab.JSON{}
	if c.LastUpdated > c.CreatedAt {
		a.Status = "updated"
	}
	if a.TaggedUserContacts == nil {
		a.TaggedUserContacts = rpc.Stored[[]Tag](none)
	}
	if a.Attachments == nil {
		a.Attachments = rpc.Stored[[]Attachment](none)
	}
}

// agent returns the part of an agent that the reader receives.
func (r reader) agent(agent collab.JSON) collab.JSON {
	if r.token {
		return shownOf(agent)
	}
	return agent
}

// decodeKept sets the kept fields of a response.
func decodeKept(kept collab.JSON, answer any) {
	if kept == nil {
		return
	}
	if err := json.Unmarshal(kept, answer); err != nil {
		panic(err) // it was encoded from these fields
	}
}

// encode returns a thread with as many comments as fit into room. whole is false if some do not
// fit, or t is truncated. room and size are in bytes as Lambda encodes them.
func (r reader) encode(t *collab.Thread, room int) (text collab.JSON, size int, whole bool) {
	a := r.thread(t)
	text = rpc.EncodeStored(a)
	if size = rpc.WrappedLen(text); size <= room {
		return text, size, !t.Truncated
	}
	comments := a.Comments
	a.Comments, a.CommentsTruncated = nil, true
	size = rpc.WrappedLen(rpc.EncodeStored(a))
	for i := range comments {
		if size += rpc.WrappedLen(rpc.EncodeStored(&comments[i])) + len(","); size > room {
			break
		}
		a.Comments = comments[:i+1]
	}
	text = rpc.EncodeStored(a)
	return text, rpc.WrappedLen(text), false
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

// visibility returns the visibility under the name that was sent.
func (d *UpdatedData) visibility() rpc.Opt[collab.Visibility] {
	if d.VisibilityConfig.Sent() {
		return d.VisibilityConfig
	}
	return d.Visibility
}

// sent reports whether any field was sent, including null.
func (d *UpdatedData) sent() bool {
	return !reflect.ValueOf(d).Elem().IsZero()
}

// at returns the time of an update that runs now.
func (d *UpdatedData) at(now collab.Millis) collab.Millis {
	if d != nil && d.LastUpdated.Sent() {
		return d.LastUpdated.Value
	}
	return now
}

// apply merges the data into an annotation, at a time. It returns INVALID_ARGUMENT if an object
// would have no id, and the errors of suggestion and changeContext.
func (d *UpdatedData) apply(a *collab.Annotation, now collab.Millis) error {
	element := d.TargetElement.Raw
	if n := d.TargetElement.Value.Occurrence; n != nil {
		element = merge(element, encode(TargetElement{Occurrence: n})) // normalized to an integer
	}
	for _, f := range []struct {
		name   string
		object *collab.JSON
		sent   collab.JSON
		id     string
	}{
		{"location", &a.Location, d.Location.Raw, "id"},
		{"targetElement", &a.TargetElement, element, ""},
		{"from", &a.From, d.From.Raw, "userId"},
		{"status", &a.Status, d.Status.Raw, "id"},
		{"assignedTo", &a.AssignedTo, d.AssignedTo.Raw, "userId"},
		{"priority", &a.Priority, d.Priority.Raw, "id"},
	} {
		var err error
		if *f.object, err = change(f.name, *f.object, f.sent, f.id); err != nil {
			return err
		}
	}
	a.LocationID = changeID(a.LocationID, d.Location, d.Location.Value.ID)
	a.CreatorID = changeID(a.CreatorID, d.From, d.From.Value.UserID)
	if id := cmp.Or(changeID(a.StatusID, d.Status, d.Status.Value.ID), openStatus); id != a.StatusID || a.Status == nil {
		a.StatusID, a.Status = id, completeStatus(a.Status, id)
	}
	if err := changeContext(&a.Context, &a.ContextShown, d.Context, d.byPerson != nil); err != nil {
		return err
	}
	d.resolve(a, now)
	suggestion, err := d.suggestion(a, now)
	if err != nil {
		return err
	}
	a.Suggestion = suggestion
	a.Kept = changeKept(a.Kept, rpc.Keyed[collab.JSON]{
		{Key: "statusUpdatedByUserId", Value: d.StatusUpdatedByUserID.Raw}, {Key: "actions", Value: d.Actions.Raw},
	})
	if v := d.visibility(); v.Sent() {
		a.Visibility = (&v.Value).Narrow()
	}
	if d.CreatedAt.Sent() {
		a.CreatedAt = d.CreatedAt.Value
	}
	return nil
}

// resolve sets or clears the resolver, and the time of it. A status that is not terminal clears
// both.
func (d *UpdatedData) resolve(a *collab.Annotation, now collab.Millis) {
	was := a.ResolvedBy
	a.ResolvedBy = changeID(was, d.ResolvedByUserID, d.ResolvedByUserID.Value)
	if d.Status.Sent() && textOf(a.Status, "type") != terminal {
		a.ResolvedBy = ""
	}
	switch {
	case a.ResolvedBy == "":
		a.ResolvedAt = 0
	case d.ResolvedAt.Sent():
		a.ResolvedAt = d.ResolvedAt.Value
	case a.ResolvedBy != was:
		a.ResolvedAt = max(d.at(now), a.CreatedAt)
	}
}
