package commentannotations

import (
	"context"
	"errors"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// UpdateRequest updates the annotations of a document that its selectors leave; without selectors, all of them.
type UpdateRequest struct {
	Target
	VerifyFlag
	AnnotationIDs []string              `json:"annotationIds" rule:"notnull,nonempty,max=10000,each=id" person:"in" doc:"These; the answer is in their order"`
	LocationIDs   []string              `json:"locationIds" rule:"notnull,nonempty,max=500,each=id"`
	UserIDs       []string              `json:"userIds" rule:"notnull,nonempty,max=500,each=id"` // of the creators
	UpdatedData   *rpc.One[UpdatedData] `json:"updatedData" person:"in"`
	UpdateUsers   []UserReplacement     `json:"updateUsers" rule:"notnull,nonempty,max=500"`
	Actor
	// an extension of the contract
	TriggerNotification bool `json:"triggerNotification" doc:"Tell those concerned of the change, in the app, by mail and by webhook; false where it is left out"`
}

// UserReplacement names a user, by the id alone, and the one to put in the place of that one.
type UserReplacement struct {
	OldUser collab.User `json:"oldUser" rule:"required" doc:"The user to replace, by the id alone"`
	NewUser collab.User `json:"newUser" rule:"required" doc:"The user to put in that one's place, whole"`
}

// UpdateResult is what became of one annotation.
type UpdateResult struct {
	rpc.Outcome
	ID string `json:"id" person:"out"`
}

// Validate demands that there is something to update, and refuses users replaced twice.
func (r *UpdateRequest) Validate(m *rpc.Violations) {
	if r.UpdateUsers == nil && (r.UpdatedData == nil || !r.UpdatedData.Value.sent()) {
		m.Add("", "must have updatedData with at least one field, or updateUsers")
	}
	rpc.Unique(m, "updateUsers[%d].oldUser.userId", r.UpdateUsers, func(u *UserReplacement) *string { return &u.OldUser.UserID })
	if r.UpdatedData != nil {
		checkVisibility(m, "updatedData.visibility", r.OrganizationID, &r.UpdatedData.Value.Visibility.Value)
		checkVisibility(m, "updatedData.visibilityConfig", r.OrganizationID, &r.UpdatedData.Value.VisibilityConfig.Value)
	}
}

// people returns whom the request names as those who act: the creator, who changed the status or resolved, and who makes the change.
func (r *UpdateRequest) people() []string {
	named := r.Actor.id()
	if r.UpdatedData != nil {
		d := r.UpdatedData.Value
		named = append(named, d.From.Value.UserID, d.StatusUpdatedByUserID.Value, d.ResolvedByUserID.Value)
	}
	return rpc.Distinct(slices.DeleteFunc(named, func(user string) bool { return user == "" }))
}

// Why an update leaves an annotation as it is.
var (
	errNotSelected = errors.New("a selector excludes it")
	errUnchanged   = errors.New("there is nothing to change")
)

// Update is POST /v2/commentannotations/update.
func Update() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/commentannotations/update", Grants: rpc.ReadTable | rpc.ReadIndexes | rpc.WriteTable | rpc.ReadProviders | rpc.SendEvents,
		Person:    rpc.PersonWrites,
		Operation: rpc.Method((*Service).Update), Description: `
Updates comment annotations, or replaces users in them. It updates those of a document that pass all selectors given: annotationIds,
locationIds and userIds (of the creators). Without selectors these are all of the document; an empty array is refused. Each annotation is
updated as a whole or not at all.

**updatedData**: context and suggestion are replaced whole. Of every other object the fields given are merged into what is stored; one with
another id replaces it. null clears, in an object and in a field of it; but status: null returns to OPEN, and from: null is refused. An
annotation that would have an object without its id fails. Another status of your own needs no icon here. resolvedByUserId is cleared by
null, and by a status whose type is not terminal, whatever is sent. lastUpdated moves to now, or to the time given, and never back.

**updateUsers** replaces users as creator, assignee, author of comments and tagged user, with their {{userId}}, and all pairs at once: two
users may be swapped. The new user is stored whole, as sent. updatedData is merged after it.

With triggerNotification those concerned are notified: "Ann resolved a thread", if actionUser names Ann, else "A thread was resolved".
Users whom visibility names, and did not before, read "Ann shared a thread with you". A person's change of a status, or of visibility, always
notifies; of visibility alone only those users.

The response has a result for each by id: in the order of annotationIds, else by id. An item fails with NOT_FOUND where there is no
annotation with its id; with PERMISSION_DENIED where verifyUserPermissions is true and the creator that from names, or who is said to have
changed the status or resolved it, or actionUser, has no access to the document or may not see it; with INVALID_ARGUMENT where an object is to be merged
into none and has no id, or the annotation would be too large; with ABORTED, UNAVAILABLE, DEADLINE_EXCEEDED or INTERNAL where it may be
sent again. Annotations that a selector excludes are not in the response. A person's change of visibility fails with PERMISSION_DENIED unless
the person is the creator, and with FAILED_PRECONDITION if it hides the annotation from somebody who has commented in it, or if that has more
than 1,000 comments, 1 MB of them or 100 authors.

NOT_FOUND when the organization or the document does not exist. FAILED_PRECONDITION, and nothing is updated, when the organization is
disabled, when more than 10,000 are selected, or when one response does not hold their results.`}
}

// Update updates annotations, each by itself: see threads.Store.UpdateAnnotations. The answer has them by id: in the order of annotationIds
// where those are given, else by id. An id that does not exist is that item's failure; what another selector excludes is not in the answer.
// It fails with FAILED_PRECONDITION, and updates nothing, where more are selected than one call may update or one answer holds.
func (s *Service) Update(ctx context.Context, call *rpc.Call, req *UpdateRequest) (rpc.Keyed[UpdateResult], error) {
	raise := req.TriggerNotification || call.Settings.AllEvents
	doc, err := s.begin(ctx, call, req.Target, CreateFlags{}, raise)
	if err != nil {
		return nil, err
	}
	u := req.update(call.Millis())
	if u.writers, err = s.writers(ctx, call, doc, req.VerifyFlag, u.people); err != nil {
		return nil, err
	}
	if u.viewers, err = s.viewers(ctx, call, doc); err != nil {
		return nil, err
	}
	if u.viewers != nil && u.data != nil {
		if err := s.introduce(ctx, call, doc, u.data.visibility().Value.UserIDs); err != nil {
			return nil, err
		}
	}
	ids := u.selector.IDs
	if ids == nil {
		if ids, err = s.Threads.Select(ctx, doc, u.selector, collab.MaxUpdated); err != nil {
			return nil, err
		}
	}
	if !fit(ids) {
		return nil, collab.Errorf(collab.FailedPrecondition,
			"one answer does not hold what would become of these %d annotations: select fewer", len(ids))
	}
	change := collab.AnnotationChange{Select: u.selects}
	if call.Person != nil {
		change.Narrow = func(ctx context.Context, was, is *collab.Annotation) error {
			return s.checkCommenters(ctx, doc, was, is)
		}
	}
	if len(u.users) > 0 {
		change.Comment = u.comment
	}
	change.Head = func(i int, a *collab.Annotation, commentsChanged bool) ([]*collab.Event, error) {
		before := *a
		if err := u.head(a, commentsChanged); err != nil || !raise {
			return nil, err
		}
		blank := [2]collab.Event{req.of(newEvent(call, doc, 2*i, "0"+ids[i])), req.of(newEvent(call, doc, 2*i+1, "1"+ids[i]))}
		events := annotationUpdated(blank, &before, a, req.TriggerNotification)
		events[0].NamedAlone = call.Person != nil && events[0].Type == collab.AnnotationUpdated
		return events, nil
	}
	results := rpc.Keyed[UpdateResult]{}
	for i, err := range s.Threads.UpdateAnnotations(ctx, call.Request, doc, ids, change) {
		done := "the comment annotation was updated"
		switch {
		case err == errNotSelected:
			continue
		case err == errUnchanged:
			err, done = nil, "the comment annotation had nothing to change"
		case collab.CodeOf(err) == collab.NotFound:
			err = collab.Errorf(collab.NotFound, "the comment annotation does not exist in this document")
		}
		results = append(results, rpc.Member[UpdateResult]{Key: ids[i], Value: UpdateResult{call.Outcome(err, done), ids[i]}})
	}
	call.Sum("comment annotation", "updated")
	return results, nil
}

// fit reports whether an answer holds the outcomes of annotations.
func fit(ids []string) bool {
	const around = 200 // an outcome without its id, with the longest message, as Lambda wraps it
	size := 0
	for _, id := range ids {
		size += 2*rpc.WrappedLen(encode(id)) + around
	}
	return size <= rpc.MaxPage
}

// update is what a request makes of each annotation that it selects.
type update struct {
	selector collab.Selector
	users    replacements
	data     *UpdatedData // nil for none
	now      collab.Millis
	people   []string // whom it names as those who act
	writers  writers
	viewers  collab.Viewers // the person for whom it is, nil for a back end
}

func (r *UpdateRequest) update(now collab.Millis) *update {
	u := &update{
		selector: collab.Selector{
			IDs: rpc.Distinct(r.AnnotationIDs), Locations: rpc.Distinct(r.LocationIDs), Creators: rpc.Distinct(r.UserIDs),
		},
		users:  replacements{},
		now:    now,
		people: r.people(),
	}
	for _, pair := range r.UpdateUsers {
		u.users[pair.OldUser.UserID] = pair.NewUser
	}
	if r.UpdatedData != nil {
		u.data = &r.UpdatedData.Value
	}
	return u
}

// selects fails with errNotSelected for an annotation that the selectors do not fit, and with PERMISSION_DENIED for one that those may not
// change, or see, who act.
func (u *update) selects(a *collab.Annotation) error {
	if sel := u.selector; sel.Locations != nil && !slices.Contains(sel.Locations, a.LocationID) ||
		sel.Creators != nil && !slices.Contains(sel.Creators, a.CreatorID) {
		return errNotSelected
	}
	if u.viewers != nil {
		if !u.viewers.See(a) {
			return collab.NoAnnotation(collab.DocumentRef{}, a.ID)
		}
		if u.data != nil && u.data.visibility().Sent() && a.CreatorID != u.viewers[0].User {
			return collab.Errorf(collab.PermissionDenied, "only its author may change the visibility of an annotation")
		}
	}
	return u.writers.check(a, u.people)
}

// Bounds of the look for people who have commented in a thread.
const (
	mostComments      = 1_000
	mostCommentsBytes = 1_000_000
	mostCommenters    = 100
)

// checkCommenters fails with FAILED_PRECONDITION if a change of visibility hides an annotation from somebody who has commented in it, or if
// the annotation has too much to look through for that.
func (s *Service) checkCommenters(ctx context.Context, doc collab.DocumentRef, was, is *collab.Annotation) error {
	var authors []string
	read, bytes := 0, 0
	for c, err := range s.Threads.ListComments(ctx, doc, is.ID, 0, collab.MaxPageSize) {
		if err != nil {
			return err
		}
		if c.AuthorID != collab.ErasedUser && !slices.Contains(authors, c.AuthorID) {
			authors = append(authors, c.AuthorID)
		}
		read, bytes = read+1, bytes+c.Content()
		if read > mostComments || bytes > mostCommentsBytes || len(authors) > mostCommenters {
			return collab.Errorf(collab.FailedPrecondition, "annotation %q has too many comments to look for people who would lose sight of them", is.ID)
		}
	}
	members, err := s.Directory.Members(ctx, doc.OrganizationRef, authors)
	for _, id := range authors {
		m, there := members[id]
		viewer := collab.Viewer{User: id, May: true, Member: there && m.Holds(s.Directory.Millis())}
		if err == nil && viewer.Sees(was.Visibility, was.CreatorID) && !viewer.Sees(is.Visibility, is.CreatorID) {
			err = collab.Errorf(collab.FailedPrecondition, "user %q has commented in annotation %q, and must be able to see it", id, is.ID)
		}
	}
	return err
}

// comment replaces users in a comment, which is updated now where there were any.
func (u *update) comment(c *collab.Comment) (changed bool, err error) {
	if changed, err = u.users.replaceInComment(c); changed {
		c.LastUpdated = max(c.LastUpdated, u.now)
	}
	return changed, err
}

// head updates the head of an annotation: first users are replaced, then updatedData is merged into what that made. Where there is nothing
// to change, in head or comments, it fails with errUnchanged.
func (u *update) head(a *collab.Annotation, commentsChanged bool) error {
	replaced := u.users.replaceInHead(a)
	switch {
	case u.data != nil && u.data.sent():
		if err := u.data.apply(a); err != nil {
			return err
		}
	case !replaced && !commentsChanged:
		return errUnchanged
	}
	at := u.now
	if u.data != nil && u.data.LastUpdated.Sent() {
		at = u.data.LastUpdated.Value
	}
	a.LastUpdated = max(a.LastUpdated, a.CreatedAt, at)
	return nil
}
