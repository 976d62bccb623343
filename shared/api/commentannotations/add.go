package commentannotations

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// AddRequest adds annotations to a document.
type AddRequest struct {
	Target
	CreateFlags
	VerifyFlag
	CommentAnnotations []NewAnnotation `json:"commentAnnotations" rule:"required,nonempty,max=500" person:"in"`

	list []newAnnotation // converted once
}

type NewAnnotation struct {
	AnnotationFields
	Status           *Status             `json:"status"`
	CommentData      []AnnotationComment `json:"commentData" rule:"max=90,rest=/v2/commentannotations/comments/add" person:"in" doc:"The comments, at most 90; add more with comments/add"`
	Comments         []AnnotationComment `json:"comments" rule:"max=90,rest=/v2/commentannotations/comments/add" doc:"Another name of commentData: send only one"`
	Visibility       *collab.Visibility  `json:"visibility" rule:"exact" person:"in"`
	VisibilityConfig *collab.Visibility  `json:"visibilityConfig" rule:"exact" person:"in" doc:"Another name of visibility: send only one"`
	SharedContext
	KeptFields
}

// Validate rejects comments or a visibility under both names, and invalid known fields of a
// suggestion.
func (a *NewAnnotation) Validate(m *rpc.Violations) {
	checkNames(m, "commentData", a.CommentData != nil, "comments", a.Comments != nil)
	checkNames(m, "visibility", a.Visibility != nil, "visibilityConfig", a.VisibilityConfig != nil)
	checkSuggestion(m, a.Suggestion)
}

// Fill bounds a person's suggestion and context, and rejects the members of a decision.
func (a *NewAnnotation) Fill(_ *collab.Person, m *rpc.Violations) {
	a.byPerson = true
	checkSize(m, "suggestion", a.Suggestion, maxSuggestion)
	for name := range a.Suggestion.Members() {
		if slices.Contains([]string{"resolvedBy", "resolvedAt", "rejectReason"}, name) {
			m.Add(rpc.PathOf("suggestion", name), "is set by a decision")
		}
	}
	checkSize(m, "context", a.Context, maxContext)
	if a.TargetElement != nil {
		checkTarget(m, a.TargetElement)
	}
	size := len(encode(a.Location)) + len(encode(a.TargetElement)) + len(a.Context) + len(a.Suggestion) + len(encode(a.Visibility)) + len(encode(a.VisibilityConfig))
	if size > maxHead {
		m.Add("", "must be at most %d bytes without its comments, not %d", maxHead, size)
	}
}

type AnnotationComment struct {
	CommentFields
	Context             collab.JSON  `json:"context" rule:"object" person:"in" doc:"Free-form. Persons see it only if a person set it, in at most 8 KB"`
	TriggerNotification bool         `json:"triggerNotification"`
	TriggerActivities   bool         `json:"triggerActivities" doc:"Accepted and ignored"`
	TaggedUserContacts  []TaggedUser `json:"taggedUserContacts" person:"in"`
	Attachments         []Attachment `json:"attachments" person:"in"`
	SharedContext
	Addition
	KeptCommentFields
}

func (c *AnnotationComment) Validate(m *rpc.Violations) { checkAttachments(m, c.Attachments) }

// Fill makes the person the author, with the agent of the token, and turns notifications on.
func (c *AnnotationComment) Fill(p *collab.Person, m *rpc.Violations) {
	c.From, c.Agent, c.TriggerNotification, c.byPerson = p.User(), p.Stamp(), true, true
	checkSize(m, "context", c.Context, maxContext)
}

// AddResult is the outcome of one annotation.
type AddResult struct {
	rpc.Outcome
	AnnotationID string  `json:"annotationId" person:"out" doc:"Its id; empty if it was refused before it got one"`
	CommentIDs   []int64 `json:"commentIds" person:"out" doc:"Ids of its comments, in the order sent; empty if it failed"`
	FindingID    string  `json:"findingId,omitempty" doc:"The id in agent.reason of the first comment"`
}

// denied is the prefix of the result key of a refused annotation without an id; its index in the
// request follows.
const denied = "__denied:"

// Validate rejects duplicate ids, comments without content, too many comments or tagged users, and
// a visibility for nobody.
func (r *AddRequest) Validate(m *rpc.Violations) {
	r.list = convert(m, r.CommentAnnotations)
	for i, a := range r.CommentAnnotations {
		checkContext(m, fmt.Sprintf("commentAnnotations[%d].context", i), a.Context)
		checkVisibility(m, fmt.Sprintf("commentAnnotations[%d].visibility", i), r.OrganizationID, a.Visibility)
		checkVisibility(m, fmt.Sprintf("commentAnnotations[%d].visibilityConfig", i), r.OrganizationID, a.VisibilityConfig)
	}
}

func (r *AddRequest) Fill(_ *collab.Person, m *rpc.Violations) {
	comments := 0
	for i, a := range r.CommentAnnotations {
		if comments += len(a.CommentData); len(a.CommentData) == 0 {
			m.Add(fmt.Sprintf("commentAnnotations[%d].commentData", i), "must have a comment")
		}
	}
	if len(r.CommentAnnotations) > maxAddedThreads {
		m.Add("commentAnnotations", "must have at most %d items, not %d", maxAddedThreads, len(r.CommentAnnotations))
	}
	if comments > maxComments {
		m.Add("commentAnnotations", "must hold at most %d comments in all, not %d", maxComments, comments)
	}
}

// convert returns the new annotations of a request of any version, and adds its violations to m.
func convert[A interface{ newAnnotation() newAnnotation }](m *rpc.Violations, sent []A) []newAnnotation {
	list := collab.Map(sent, func(a A) newAnnotation { return a.newAnnotation() })
	rpc.Unique(m, "commentAnnotations[%d].annotationId", list, func(a *newAnnotation) *string { return a.AnnotationID })
	comments := 0
	for i, a := range list {
		if strings.HasPrefix(collab.Deref(a.AnnotationID), denied) {
			m.Add(fmt.Sprintf("commentAnnotations[%d].annotationId", i), "must not begin with %s", denied)
		}
		checkComments(m, fmt.Sprintf("commentAnnotations[%d].%s", i, a.field), a.comments)
		comments += len(a.comments)
	}
	if comments > collab.MaxRequestComment {
		m.Add("commentAnnotations", "must hold at most %d comments in all, not %d", collab.MaxRequestComment, comments)
	}
	return list
}

// Add is POST /v2/commentannotations/add.
func Add() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/commentannotations/add", Grants: rpc.ReadTable | rpc.WriteTable | rpc.ReadProviders | rpc.SendEvents,
		Person:    rpc.PersonWrites,
		Operation: rpc.Method((*Service).Add), Description: `
Add threads.

Adds threads with their comments. Each thread is added completely or not at all. One request adds
up to 500 threads, with at most 90 comments each and 5,000 comments in total; add more comments
with 'comments/add'. The author of the first comment is the creator.

Every field is optional, including comments. The default status is 'OPEN'. For the default
statuses 'OPEN', 'IN_PROGRESS' and 'RESOLVED', name, type and color are filled in; a custom status
requires 'svg' or iconUrl. A comment requires 'from', and content: a text, HTML, attachments,
or isCommentResolverUsed. To tag a user, write {{userId}} in the text or HTML, and add the user to
taggedUserContacts. 'comments' is another name of commentData, and visibilityConfig of
'visibility'.

These fields are stored and returned unchanged: 'type', commentType, pageInfo, positions and
sizes, 'actions', and 'agent', 'actions' and 'progress' of a comment. A suggestion is stored if
'type' is 'suggestion'; its status is 'pending'. 'visibility' limits the audience of the thread:
see [Permissions](#permissions).

The response has a result for each annotation by id, in the order sent. An item fails with:

- ALREADY_EXISTS if the id already exists; the existing annotation is unchanged.
- PERMISSION_DENIED if verifyUserPermissions is true and an author cannot write in the document or
  see the annotation, or if it is organizationPrivate and the person is no member of the
  organization. If it was sent without an id, its key is '__denied:' and its index.
- INVALID_ARGUMENT if it is too large to be stored.
- ABORTED, UNAVAILABLE, DEADLINE_EXCEEDED or INTERNAL if it can be retried.

The request fails with NOT_FOUND if the organization or the document does not exist and is not to
be created. It fails with FAILED_PRECONDITION if the organization is disabled. An organization and
a document that the call created remain even if the call fails.`}
}

// seers returns the users in the visibilities of annotations.
func seers(list []newAnnotation) (users []string) {
	for _, a := range list {
		users = append(users, a.visibility.Users()...)
	}
	return users
}

func commentsOf(list []newAnnotation) [][]NewComment {
	return collab.Map(list, func(a newAnnotation) []NewComment { return a.comments })
}

// Add adds annotations with their comments, each completely or not at all.
func (s *Service) Add(ctx context.Context, call *rpc.Call, req *AddRequest) (rpc.Keyed[AddResult], error) {
	return s.add(ctx, call, req.Target, req.CreateFlags, req.VerifyFlag, req.list)
}

// newAnnotation is a new annotation of any version.
type newAnnotation struct {
	AnnotationFields
	statusID   string
	status     collab.JSON // nil for the default
	comments   []NewComment
	field      string      // name of the field of the comments
	suggestion collab.JSON // in its stored form, as the following
	fields     collab.JSON
	visibility *collab.Visibility
}

func annotationOf[C interface{ newComment() NewComment }](
	fields AnnotationFields, status interface{ id() string }, comments []C,
) newAnnotation {
	n := newAnnotation{AnnotationFields: fields, status: encode(status), comments: make([]NewComment, len(comments)), field: "commentData"}
	if n.status != nil {
		n.statusID = status.id()
	}
	for i, c := range comments {
		n.comments[i] = c.newComment()
	}
	return n
}

func (a NewAnnotation) newAnnotation() newAnnotation {
	n := annotationOf(a.AnnotationFields, a.Status, append(a.CommentData, a.Comments...))
	if a.Comments != nil {
		n.field = "comments"
	}
	n.byPerson = n.byPerson || a.ContextShared
	n.suggestion, n.fields = a.KeptFields.stored(pending)
	n.visibility = cmp.Or(a.Visibility, a.VisibilityConfig).Narrow()
	return n
}

func (c AnnotationComment) newComment() NewComment {
	n := NewComment{
		CommentFields: c.CommentFields, Context: c.Context, TriggerNotification: c.TriggerNotification, Attachments: c.Attachments,
		SharedContext: c.SharedContext, Addition: c.Addition, KeptCommentFields: c.KeptCommentFields,
	}
	if c.TaggedUserContacts != nil {
		n.TaggedUserContacts = make([]Tag, len(c.TaggedUserContacts))
	}
	for i, user := range c.TaggedUserContacts {
		n.TaggedUserContacts[i].TaggedUser = user
	}
	return n
}

func (s *Service) add(
	ctx context.Context, call *rpc.Call, target Target, create CreateFlags, verify VerifyFlag, list []newAnnotation,
) (rpc.Keyed[AddResult], error) {
	doc, err := s.begin(ctx, call, target, create, slices.ContainsFunc(list, func(a newAnnotation) bool { return wanted(call, a.comments) }))
	if err != nil {
		return nil, err
	}
	if err := s.introduce(ctx, call, doc, seers(list), commentsOf(list)...); err != nil {
		return nil, err
	}
	var authors []string
	for i := range list {
		authors = append(authors, authorsOf(list[i].comments)...)
	}
	allowed, err := s.rights(ctx, call, doc, verify.acting(authors...))
	if err != nil {
		return nil, err
	}
	var (
		results   = make(rpc.Keyed[AddResult], len(list))
		threads   []*collab.Thread
		adds      []collab.NewAnnotation
		places    []int      // index of each thread in the list
		generated = int64(0) // number of comment ids so far
	)
	for i := range list {
		t := list[i].thread(call, generated)
		generated += int64(len(list[i].comments))
		err := allowed.check(doc, &t.Annotation, authorsOf(list[i].comments))
		if err != nil && allowed.person != nil {
			err = collab.Errorf(collab.PermissionDenied, "only members of the organization can add an organizationPrivate annotation")
		}
		if err != nil {
			id := collab.Deref(list[i].AnnotationID)
			results[i] = rpc.Member[AddResult]{
				Key: cmp.Or(id, denied+strconv.Itoa(i)), Value: AddResult{Outcome: call.Outcome(err, ""), AnnotationID: id, CommentIDs: []int64{}},
			}
			continue
		}
		add := collab.NewAnnotation{Field: fmt.Sprintf("data.commentAnnotations[%d]", i), Comments: list[i].field, Moved: moved(list[i].comments)}
		if wanted(call, list[i].comments) {
			add.Event = annotationAdded(newEvent(call, doc, i, t.ID), t, list[i].comments, call.Settings.AllEvents)
		}
		threads, adds, places = append(threads, t), append(adds, add), append(places, i)
	}
	if err := s.bringBack(ctx, call, doc, threads...); err != nil {
		return nil, err
	}
	for n, err := range s.Threads.AddAnnotations(ctx, call.Request, doc, threads, adds) {
		t := threads[n]
		result := AddResult{
			Outcome: call.Outcome(
				err, "the comment annotation was added",
			), AnnotationID: t.ID, CommentIDs: []int64{}, FindingID: list[places[n]].findingID(),
		}
		if err == nil {
			for _, c := range t.Comments {
				result.CommentIDs = append(result.CommentIDs, c.ID)
			}
		}
		results[places[n]] = rpc.Member[AddResult]{Key: t.ID, Value: result}
	}
	call.Sum("comment annotation", "added")
	return results, nil
}

// bringBack is Directory.BringBack for the authors of a back end's comments. It skips persons: a
// person with access needs none, and must not undo a concurrent removal.
func (s *Service) bringBack(ctx context.Context, call *rpc.Call, doc collab.DocumentRef, threads ...*collab.Thread) error {
	if call.Person != nil {
		return nil
	}
	last := map[string]collab.Millis{}
	for _, t := range threads {
		for _, c := range t.Comments {
			last[c.AuthorID] = max(last[c.AuthorID], c.CreatedAt)
		}
	}
	return s.Directory.BringBack(ctx, doc, last)
}

// findingID returns the finding of the agent that wrote the first comment, or "".
func (a *newAnnotation) findingID() string {
	if len(a.comments) == 0 {
		return ""
	}
	return a.comments[0].Agent.Get("reason").Text("findingId")
}

// thread returns the annotation in its stored form. generated is the number of comment ids
// generated so far.
func (a *newAnnotation) thread(call *rpc.Call, generated int64) *collab.Thread {
	now := call.Now.UnixMilli()
	t := &collab.Thread{Annotation: a.stored()}
	t.Status, t.StatusID = completeStatus(a.status, a.statusID), cmp.Or(a.statusID, openStatus)
	t.Suggestion, t.Kept = a.suggestion, a.fields
	t.Visibility, t.ContextShown = a.visibility, a.byPerson && a.Context != nil
	t.ByAgent = len(a.comments) > 0 && a.comments[0].Agent != nil
	if a.AnnotationID != nil {
		t.ID = *a.AnnotationID
	} else {
		t.ID = call.IDs.Next()
	}
	t.CreatedAt, t.LastUpdated = a.Times.resolve(now)
	for i := range a.comments {
		c := a.comments[i].stored(a.Times, now)
		t.Comments = append(t.Comments, c)
		t.SetCreator(&c)
		t.LastUpdated = max(t.LastUpdated, c.Moved())
	}
	collab.NumberComments(t.Comments, collab.FirstCommentID(call.IDs.Start(), t.Comments)+generated)
	return t
}

// AddV1Request is AddRequest in v1.
type AddV1Request struct {
	Target
	CreateFlags
	CommentAnnotations []NewAnnotationV1 `json:"commentAnnotations" rule:"required,nonempty,max=500"`

	list []newAnnotation
}

// Validate is AddRequest.Validate without the check of contexts, which v1 does not use for rights.
func (r *AddV1Request) Validate(m *rpc.Violations) { r.list = convert(m, r.CommentAnnotations) }

// NewAnnotationV1 is NewAnnotation in v1: the type of a status can be an object.
type NewAnnotationV1 struct {
	AnnotationFields
	Status      *StatusV1             `json:"status"`
	CommentData []AnnotationCommentV1 `json:"commentData" rule:"max=90,rest=/v2/commentannotations/comments/add" doc:"The comments, at most 90; add more with comments/add"`
}

type StatusV1 struct {
	ID   string      `json:"id" rule:"required,id"`
	Type collab.JSON `json:"type,omitempty" schema:"StatusType|object" doc:"default, ongoing or terminal, or an object, of which the first of these texts is the type; with none, that of the default status with the id, or ongoing"`
	StatusLook
}

// AnnotationCommentV1 is AnnotationComment in v1: without context and triggerNotification, and with
// the text of tags.
type AnnotationCommentV1 struct {
	CommentFields
	TaggedUserContacts []Tag `json:"taggedUserContacts"`
}

// Validate is Status.Validate for a type that can be an object.
func (s *StatusV1) Validate(m *rpc.Violations) {
	s.checkIcon(m, s.ID)
	if s.Type == nil || s.Type[0] == '{' {
		return
	}
	var kind string
	_ = json.Unmarshal(s.Type, &kind) // other values match no type
	if types := StatusType.Values(""); !slices.Contains(types, kind) {
		m.Add("type", "must be one of %s, or an object", strings.Join(types, ", "))
	}
}

func (s *StatusV1) id() string { return s.ID }

// asText replaces an object as the type by its text.
func (s *StatusV1) asText() *StatusV1 {
	if s == nil || s.Type == nil || s.Type[0] != '{' {
		return s
	}
	kind := cmp.Or(defaultStatuses[s.ID].Text("type"), "ongoing")
	for _, value := range s.Type.Members() {
		if text := collab.TextOf(value); slices.Contains(StatusType.Values(""), text) {
			kind = text
			break
		}
	}
	typed := *s
	typed.Type = rpc.JSON(kind)
	return &typed
}

// AddV1 is POST /v1/commentannotations/add.
func AddV1() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v1/commentannotations/add", Grants: rpc.ReadTable | rpc.WriteTable | rpc.SendEvents,
		Operation: rpc.Method((*Service).AddV1), Description: `
Add threads (v1).

As in version 2, with these differences. Comments have no 'context' and no triggerNotification, so
no one is notified. Tags can have a text. The type of a status can be an object, which becomes a
text. A 'context' is any object. There is no verifyUserPermissions, no 'comments' as another
name of commentData, and none of the fields that are only stored and returned.`}
}

// AddV1 is Add in v1.
func (s *Service) AddV1(ctx context.Context, call *rpc.Call, req *AddV1Request) (rpc.Keyed[AddResult], error) {
	return s.add(ctx, call, req.Target, req.CreateFlags, VerifyFlag{}, req.list)
}

func (a NewAnnotationV1) newAnnotation() newAnnotation {
	return annotationOf(a.AnnotationFields, a.Status.asText(), a.CommentData)
}

func (c AnnotationCommentV1) newComment() NewComment {
	return NewComment{CommentFields: c.CommentFields, TaggedUserContacts: c.TaggedUserContacts}
}
