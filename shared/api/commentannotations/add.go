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

	list []newAnnotation // of them, converted once
}

// NewAnnotation is an annotation to add.
type NewAnnotation struct {
	AnnotationFields
	Status           *Status             `json:"status"`
	CommentData      []AnnotationComment `json:"commentData" rule:"max=90,rest=/v2/commentannotations/comments/add" person:"in" doc:"The comments, at most 90; further ones are added by comments/add"`
	Comments         []AnnotationComment `json:"comments" rule:"max=90,rest=/v2/commentannotations/comments/add" doc:"Another name of commentData: only one of the two"`
	Visibility       *collab.Visibility  `json:"visibility" rule:"exact" person:"in"`
	VisibilityConfig *collab.Visibility  `json:"visibilityConfig" rule:"exact" person:"in" doc:"Another name of visibility: only one of the two"`
	KeptFields
}

// Validate refuses comments, or a visibility, under both their names, and what is wrong with the known fields of a suggestion.
func (a *NewAnnotation) Validate(m *rpc.Violations) {
	checkNames(m, "commentData", a.CommentData != nil, "comments", a.Comments != nil)
	checkNames(m, "visibility", a.Visibility != nil, "visibilityConfig", a.VisibilityConfig != nil)
	checkSuggestion(m, a.Suggestion)
}

// checkNames refuses a field that is sent under both its names.
func checkNames(m *rpc.Violations, name string, sent bool, other string, otherSent bool) {
	if sent && otherSent {
		m.Add(other, "must not be sent beside %s: it is another name of it", name)
	}
}

// AnnotationComment is a comment of an annotation to add.
type AnnotationComment struct {
	CommentFields
	Context             collab.JSON  `json:"context" rule:"object"`
	TriggerNotification bool         `json:"triggerNotification"`
	TriggerActivities   bool         `json:"triggerActivities" doc:"Accepted; nothing is kept of what users did yet"`
	TaggedUserContacts  []TaggedUser `json:"taggedUserContacts" person:"in"`
	Attachments         []Attachment `json:"attachments" person:"in"`
	Addition
	KeptCommentFields
}

// Validate refuses attachment ids given twice.
func (c *AnnotationComment) Validate(m *rpc.Violations) { checkAttachments(m, c.Attachments) }

// AddResult is what became of one annotation.
type AddResult struct {
	rpc.Outcome
	AnnotationID string  `json:"annotationId" person:"out" doc:"Its id; empty where it was refused before it was given one"`
	CommentIDs   []int64 `json:"commentIds" person:"out" doc:"Its comments, in the order sent; none where it failed"`
	FindingID    string  `json:"findingId,omitempty" doc:"That of agent.reason of its first comment"`
}

// denied begins the key of the result of an annotation that was refused before it had an id; its index in the request follows.
const denied = "__denied:"

// Validate refuses ids given twice, comments without content, more comments or tagged users than a request may hold, and a visibility for
// nobody.
func (r *AddRequest) Validate(m *rpc.Violations) {
	r.list = convert(m, r.CommentAnnotations)
	for i, a := range r.CommentAnnotations {
		checkContext(m, fmt.Sprintf("commentAnnotations[%d].context", i), a.Context)
		checkVisibility(m, fmt.Sprintf("commentAnnotations[%d].visibility", i), r.OrganizationID, a.Visibility)
		checkVisibility(m, fmt.Sprintf("commentAnnotations[%d].visibilityConfig", i), r.OrganizationID, a.VisibilityConfig)
	}
}

// convert returns the annotations to add of a request of any version, and notes its mistakes.
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
		Operation: rpc.MethodAhead((*Service).addAhead, (*Service).Add), Description: `
Adds comment annotations with their comments. Each is added as a whole or not at all: up to 500, with at most 90 comments each and 5,000
comments in all. More comments go to comments/add. The first comment's author is the annotation's creator.

An annotation may come without anything, even without comments. Without a status it is OPEN. OPEN, IN_PROGRESS and RESOLVED are there
already: their name, type and color are filled in. A status with an id of your own needs svg or iconUrl. A comment needs a from, and content: a
text that is not empty, an HTML that is not empty, or isCommentResolverUsed. To tag a user, write the id as {{userId}} into the text or
HTML, and name the user in taggedUserContacts. comments is another name of commentData, and visibilityConfig one of visibility.

type, commentType, pageInfo, positions and sizes, actions, and the agent, actions and progress of a comment are kept and given back as
sent. A suggestion is kept where type is suggestion, and is pending.

With verifyUserPermissions the author of each comment must have access to the document, and be one of those who see the annotation: else
it fails with PERMISSION_DENIED. The key of its result is __denied: and its index where it was sent without an id. visibility says who may
see it: see Who may see what.

The response has a result for each by annotation id, in the order sent. An item fails with ALREADY_EXISTS where its id is there already,
and nothing of that one changes; with INVALID_ARGUMENT where it is too large to be stored; with ABORTED, UNAVAILABLE, DEADLINE_EXCEEDED or
INTERNAL where it may be sent again. NOT_FOUND when the organization or the document does not exist and is not to be made;
FAILED_PRECONDITION when the organization is disabled. An organization and a document that the call created stay, also where the call fails
then.`}
}

func (s *Service) addAhead(ctx context.Context, call *rpc.Call, req *AddRequest) {
	s.ahead(ctx, call, req.Target, "", seers(req.list), commentsOf(req.list)...)
}

// seers returns the users whom the visibilities of annotations name.
func seers(list []newAnnotation) (users []string) {
	for _, a := range list {
		users = append(users, a.visibility.Users()...)
	}
	return users
}

func commentsOf(list []newAnnotation) [][]NewComment {
	return collab.Map(list, func(a newAnnotation) []NewComment { return a.comments })
}

// Add adds annotations with their comments, each as a whole or not at all. The answer has them by id in the order sent.
func (s *Service) Add(ctx context.Context, call *rpc.Call, req *AddRequest) (rpc.Keyed[AddResult], error) {
	return s.add(ctx, call, req.Target, req.CreateFlags, req.VerifyFlag, req.list)
}

// newAnnotation is an annotation to add, whatever the version that sent it.
type newAnnotation struct {
	AnnotationFields
	statusID string
	status   collab.JSON // nil for the default
	comments []NewComment
	field    string // that has them
	kept     collab.JSON

	visibility *collab.Visibility
}

// annotationOf returns an annotation to add, of whichever version its parts are.
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
	n.kept, n.visibility = a.KeptFields.stored(), cmp.Or(a.Visibility, a.VisibilityConfig).Narrow()
	return n
}

func (c AnnotationComment) newComment() NewComment {
	n := NewComment{
		CommentFields: c.CommentFields, Context: c.Context, TriggerNotification: c.TriggerNotification, Attachments: c.Attachments,
		Addition: c.Addition, KeptCommentFields: c.KeptCommentFields,
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
	allowed, err := s.writers(ctx, call, doc, verify, authors)
	if err != nil {
		return nil, err
	}
	var (
		results   = make(rpc.Keyed[AddResult], len(list))
		threads   []*collab.Thread
		adds      []collab.NewAnnotation
		places    []int      // of the threads in the list
		generated = int64(0) // comment ids so far
	)
	for i := range list {
		t := list[i].thread(call, generated)
		generated += int64(len(list[i].comments))
		by := authorsOf(list[i].comments)
		if err := allowed.check(&t.Annotation, by); err != nil {
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

// bringBack is Directory.BringBack for the authors of comments that a back end adds. A person who may add any needs none, and must not undo
// a removal that comes meanwhile.
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

// findingID returns what the agent that wrote the first comment found, "" for none.
func (a *newAnnotation) findingID() string {
	if len(a.comments) == 0 {
		return ""
	}
	return textOf(member(a.comments[0].Agent, "reason"), "findingId")
}

// thread returns the annotation as it is stored. generated is how many comment ids the request may have generated so far.
func (a *newAnnotation) thread(call *rpc.Call, generated int64) *collab.Thread {
	now := call.Now.UnixMilli()
	t := &collab.Thread{Annotation: a.stored()}
	t.Status, t.StatusID, t.Kept = completeStatus(a.status, a.statusID), cmp.Or(a.statusID, openStatus), a.kept
	t.Visibility = a.visibility
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

// Validate is that of AddRequest, except for contexts: in version 1 nobody can mean a right by what is in one.
func (r *AddV1Request) Validate(m *rpc.Violations) { r.list = convert(m, r.CommentAnnotations) }

// NewAnnotationV1 is NewAnnotation in v1: the type of its status may be an object.
type NewAnnotationV1 struct {
	AnnotationFields
	Status      *StatusV1             `json:"status"`
	CommentData []AnnotationCommentV1 `json:"commentData" rule:"max=90,rest=/v2/commentannotations/comments/add" doc:"The comments, at most 90; further ones are added by comments/add"`
}

// StatusV1 is Status in v1.
type StatusV1 struct {
	ID   string      `json:"id" rule:"required,id"`
	Type collab.JSON `json:"type,omitempty" schema:"StatusType|object" doc:"default, ongoing or terminal, or an object of your own"`
	StatusLook
}

// AnnotationCommentV1 is AnnotationComment in v1: no context, no triggerNotification, and tags with their text.
type AnnotationCommentV1 struct {
	CommentFields
	TaggedUserContacts []Tag `json:"taggedUserContacts"`
}

// Validate is that of Status, for a type that may be an object.
func (s *StatusV1) Validate(m *rpc.Violations) {
	s.checkIcon(m, s.ID)
	if s.Type == nil || s.Type[0] == '{' {
		return
	}
	var kind string
	_ = json.Unmarshal(s.Type, &kind) // what is no string is none of the three
	if types := StatusType.Values(""); !slices.Contains(types, kind) {
		m.Add("type", "must be one of %s, or an object", strings.Join(types, ", "))
	}
}

func (s *StatusV1) id() string { return s.ID }

// AddV1 is POST /v1/commentannotations/add.
func AddV1() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v1/commentannotations/add", Grants: rpc.ReadTable | rpc.WriteTable | rpc.SendEvents,
		Operation: rpc.Method((*Service).AddV1), Description: `
Adds comment annotations in version 1. As version 2, but comments have no context and no triggerNotification, so that nobody is notified;
tags may have a text; the type of a status may be an object, which is returned as it was sent; a context is any object. There is no verifyUserPermissions, no
comments beside commentData, and nothing that is only kept.`}
}

// AddV1 is Add in v1.
func (s *Service) AddV1(ctx context.Context, call *rpc.Call, req *AddV1Request) (rpc.Keyed[AddResult], error) {
	return s.add(ctx, call, req.Target, req.CreateFlags, VerifyFlag{}, req.list)
}

func (a NewAnnotationV1) newAnnotation() newAnnotation {
	return annotationOf(a.AnnotationFields, a.Status, a.CommentData)
}

func (c AnnotationCommentV1) newComment() NewComment {
	return NewComment{CommentFields: c.CommentFields, TaggedUserContacts: c.TaggedUserContacts}
}
