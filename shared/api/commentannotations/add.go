package commentannotations

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// AddRequest adds annotations to a document.
type AddRequest = addRequest[NewAnnotation]

// AddV1Request is AddRequest in v1.
type AddV1Request = addRequest[NewAnnotationV1]

// addRequest adds annotations of one version.
type addRequest[A interface{ newAnnotation() newAnnotation }] struct {
	Target
	CreateFlags
	CommentAnnotations []A `json:"commentAnnotations" rule:"required,nonempty,max=500"`

	list []newAnnotation // of them, converted once
}

// NewAnnotation is an annotation to add.
type NewAnnotation struct {
	AnnotationFields
	Status      *Status             `json:"status"`
	CommentData []AnnotationComment `json:"commentData" rule:"max=90,rest=/v2/commentannotations/comments/add" doc:"The comments, at most 90; further ones are added by comments/add"`
}

// AnnotationFields are the fields that an annotation to add has in v1 and v2.
type AnnotationFields struct {
	AnnotationID  *string        `json:"annotationId" rule:"id" doc:"Unique in its document; generated where it is left out"`
	Location      *Location      `json:"location"`
	TargetElement *TargetElement `json:"targetElement"`
	AssignedTo    *collab.User   `json:"assignedTo"`
	Context       collab.JSON    `json:"context" rule:"object"`
	Priority      *Priority      `json:"priority"`
	Times
}

// AnnotationComment is a comment of an annotation to add.
type AnnotationComment struct {
	CommentFields
	Context             collab.JSON  `json:"context" rule:"object"`
	TriggerNotification bool         `json:"triggerNotification"`
	TaggedUserContacts  []TaggedUser `json:"taggedUserContacts"`
}

// AddResult is what became of one annotation.
type AddResult struct {
	rpc.Outcome
	AnnotationID string  `json:"annotationId"`
	CommentIDs   []int64 `json:"commentIds" doc:"Its comments, in the order sent; none where it failed"`
}

// Validate refuses ids given twice, comments without content, and more comments or tagged users than a request may hold.
func (r *addRequest[A]) Validate(m *rpc.Violations) {
	r.list = make([]newAnnotation, len(r.CommentAnnotations))
	for i, a := range r.CommentAnnotations {
		r.list[i] = a.newAnnotation()
	}
	rpc.Unique(m, "commentAnnotations[%d].annotationId", r.list, func(a *newAnnotation) *string { return a.AnnotationID })
	comments := 0
	for i, a := range r.list {
		checkComments(m, fmt.Sprintf("commentAnnotations[%d].commentData", i), a.comments)
		comments += len(a.comments)
	}
	if comments > collab.MaxRequestComment {
		m.Add("commentAnnotations", "must hold at most %d comments in all, not %d", collab.MaxRequestComment, comments)
	}
}

// Add adds annotations with their comments, each as a whole or not at all. The answer has them by id in the order sent.
func (s *Service) Add(ctx context.Context, call *rpc.Call, req *AddRequest) (rpc.Keyed[AddResult], error) {
	return s.add(ctx, call, req.Target, req.CreateFlags, req.list)
}

// newAnnotation is an annotation to add, whatever the version that sent it.
type newAnnotation struct {
	AnnotationFields
	statusID string
	status   collab.JSON // nil for the default
	comments []NewComment
}

// annotationOf returns an annotation to add, of whichever version its parts are.
func annotationOf[C interface{ newComment() NewComment }](fields AnnotationFields, status interface{ id() string }, comments []C) newAnnotation {
	n := newAnnotation{AnnotationFields: fields, status: encode(status), comments: make([]NewComment, len(comments))}
	if n.status != nil {
		n.statusID = status.id()
	}
	for i, c := range comments {
		n.comments[i] = c.newComment()
	}
	return n
}

func (a NewAnnotation) newAnnotation() newAnnotation {
	return annotationOf(a.AnnotationFields, a.Status, a.CommentData)
}

func (c AnnotationComment) newComment() NewComment {
	n := NewComment{CommentFields: c.CommentFields, Context: c.Context, TriggerNotification: c.TriggerNotification}
	if c.TaggedUserContacts != nil {
		n.TaggedUserContacts = make([]Tag, len(c.TaggedUserContacts))
	}
	for i, user := range c.TaggedUserContacts {
		n.TaggedUserContacts[i].TaggedUser = user
	}
	return n
}

func (s *Service) add(ctx context.Context, call *rpc.Call, target Target, create CreateFlags, list []newAnnotation) (rpc.Keyed[AddResult], error) {
	doc, err := s.begin(ctx, call, target, create, slices.ContainsFunc(list, func(a newAnnotation) bool { return wanted(call, a.comments) }))
	if err != nil {
		return nil, err
	}
	var (
		threads   = make([]*collab.Thread, len(list))
		adds      = make([]collab.NewAnnotation, len(list))
		generated = int64(0) // comment ids so far
	)
	for i := range list {
		threads[i] = list[i].thread(call, generated)
		generated += int64(len(list[i].comments))
		adds[i] = collab.NewAnnotation{Field: fmt.Sprintf("data.commentAnnotations[%d]", i)}
		if wanted(call, list[i].comments) {
			adds[i].Event = annotationAdded(newEvent(call, doc, i, threads[i].ID), threads[i], list[i].comments, call.Settings.AllEvents)
		}
	}
	errs := s.Threads.AddAnnotations(ctx, call.Tx, doc, threads, adds)
	results := make(rpc.Keyed[AddResult], len(list))
	for i, t := range threads {
		result := AddResult{Outcome: call.Outcome(errs[i], "the comment annotation was added"), AnnotationID: t.ID, CommentIDs: []int64{}}
		if errs[i] == nil {
			for _, c := range t.Comments {
				result.CommentIDs = append(result.CommentIDs, c.ID)
			}
		}
		results[i] = rpc.Member[AddResult]{Key: t.ID, Value: result}
	}
	call.Sum("comment annotation", "added")
	return results, nil
}

// thread returns the annotation as it is stored. generated is how many comment ids the request may have generated so far.
func (a *newAnnotation) thread(call *rpc.Call, generated int64) *collab.Thread {
	now := call.Now.UnixMilli()
	t := &collab.Thread{Annotation: collab.Annotation{
		Location:      encode(a.Location),
		TargetElement: encode(a.TargetElement),
		Status:        completeStatus(a.status, a.statusID),
		StatusID:      cmp.Or(a.statusID, openStatus),
		AssignedTo:    encode(a.AssignedTo),
		Context:       a.Context,
		Priority:      encode(a.Priority),
	}}
	if a.Location != nil {
		t.LocationID = a.Location.ID
	}
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
		t.LastUpdated = max(t.LastUpdated, c.LastUpdated)
	}
	collab.NumberComments(t.Comments, collab.FirstCommentID(call.IDs.Start(), t.Comments)+generated)
	return t
}

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

// AddV1 is Add in v1.
func (s *Service) AddV1(ctx context.Context, call *rpc.Call, req *AddV1Request) (rpc.Keyed[AddResult], error) {
	return s.add(ctx, call, req.Target, req.CreateFlags, req.list)
}

func (a NewAnnotationV1) newAnnotation() newAnnotation {
	return annotationOf(a.AnnotationFields, a.Status, a.CommentData)
}

func (c AnnotationCommentV1) newComment() NewComment {
	return NewComment{CommentFields: c.CommentFields, TaggedUserContacts: c.TaggedUserContacts}
}
