package commentannotations

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// UpdateRequest updates the annotations that match all selectors, or every annotation of the
// document if it has no selectors.
type UpdateRequest struct {
	Target
	VerifyFlag
	AnnotationIDs []string              `json:"annotationIds" rule:"notnull,nonempty,max=10000,each=id" person:"in" doc:"Only these annotations; the response has their order"`
	LocationIDs   []string              `json:"locationIds" rule:"notnull,nonempty,max=500,each=id"`
	UserIDs       []string              `json:"userIds" rule:"notnull,nonempty,max=500,each=id"` // of the creators
	UpdatedData   *rpc.One[UpdatedData] `json:"updatedData" person:"in"`
	UpdateUsers   []UserReplacement     `json:"updateUsers" rule:"notnull,nonempty,max=500"`
	Actor
	TriggerNotification bool `json:"triggerNotification" doc:"Notify the users concerned, in the app, by email and by webhook"`
}

// UserReplacement replaces a user, given by id only, with another one.
type UserReplacement struct {
	OldUser collab.User `json:"oldUser" rule:"required" doc:"The user to replace: only the id"`
	NewUser collab.User `json:"newUser" rule:"required" doc:"The new user, complete"`
}

// UpdateResult is the outcome of one annotation.
type UpdateResult struct {
	rpc.Outcome
	ID string `json:"id" person:"out"`
}

// Validate requires updatedData or updateUsers, and rejects users replaced twice.
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

// Fill requires annotationIds, allows only the statuses OPEN and RESOLVED, records the person as
// the one who set the status, and turns notifications on.
func (r *UpdateRequest) Fill(p *collab.Person, m *rpc.Violations) {
	checkNamed(m, r.AnnotationIDs)
	if r.UpdatedData == nil {
		return
	}
	d := &r.UpdatedData.Value
	r.TriggerNotification = d.Status.Sent() || d.visibility().Sent()
	if !d.Status.Sent() {
		return
	}
	switch d.Status.Value.ID {
	case resolvedStatus:
		d.ResolvedByUserID = sent(p.UserID)
	case openStatus:
	default:
		m.Add("updatedData.status.id", "must be %s or %s: only a back end can set another", openStatus, resolvedStatus)
		return
	}
	d.Status.Raw, d.StatusUpdatedByUserID = defaultStatuses[d.Status.Value.ID], sent(p.UserID)
}

// sent returns a field as if a request had sent it.
func sent(text string) rpc.Opt[string] { return rpc.Opt[string]{Value: text, Raw: rpc.JSON(text)} }

// people returns the acting users: the creator, the users of the status and the resolution, and
// actionUser.
func (r *UpdateRequest) people() []string {
	named := r.Actor.id()
	if r.UpdatedData != nil {
		d := r.UpdatedData.Value
		named = append(named, d.From.Value.UserID, d.StatusUpdatedByUserID.Value, d.ResolvedByUserID.Value)
	}
	return rpc.Distinct(slices.DeleteFunc(named, func(user string) bool { return user == "" }))
}

// Reasons to skip an annotation.
var (
	errNotSelected = errors.New("a selector excludes it")
	errUnchanged   = errors.New("there is nothing to change")
)

// Update is POST /v2/commentannotations/update.
func Update() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/commentannotations/update", Grants: rpc.ReadTable | rpc.ReadIndexes | rpc.WriteTable | rpc.ReadProviders | rpc.SendEvents,
		Person:    rpc.PersonWrites,
		Operation: rpc.Method((*Service).Update), Description: `
Update threads.

Updates comment annotations, or replaces users in them. Selectors combine: annotationIds,
locationIds and userIds (the creators). Without selectors, all annotations of the document are
updated. An empty array is refused. Each annotation is updated completely or not at all.

**updatedData**: 'context' and 'suggestion' are replaced. A suggestion without a status is
'pending'. In other objects, fields are merged; an object with another id replaces the stored one.
'null' clears an object or a field, except that 'status: null' resets the status to 'OPEN',
'suggestion: null' leaves a pending suggestion, and 'from: null' is refused. An annotation fails if
an object would have no id. A custom status needs no icon here. resolvedByUserId is cleared by
'null', and by any status of another type than 'terminal'. lastUpdated moves to now, or to the given
time, and never back.

**updateUsers** replaces users as creator, assignee, comment author and tagged user, including
their {{userId}}. All pairs apply at once, so two users can be swapped. The new user is stored
completely. updatedData is merged afterwards. Reactions and the records of resolutions and
decisions keep their users.

With triggerNotification, the users concerned are notified: "Ann resolved a thread" if actionUser
is Ann, else "A thread was resolved". Users newly added to 'visibility' read "Ann shared a thread
with you". A person's change of status or visibility always notifies; a change of visibility alone
notifies only the added users.

The response has a result for each annotation by id, in the order of annotationIds, else by id.
Annotations that a selector excludes are not in the response. An item fails with:

- NOT_FOUND if the annotation does not exist.
- PERMISSION_DENIED if verifyUserPermissions is true and the creator in 'from', the user of the
  status or the resolution, or actionUser cannot write in the document or see the annotation.
- INVALID_ARGUMENT if a new object has no id, or the annotation would be too large. A person's update
  must not let it grow beyond 16,384 bytes without its comments.
- ABORTED, UNAVAILABLE, DEADLINE_EXCEEDED or INTERNAL if it can be retried.

A person decides about a suggestion with 'updatedData.suggestion': 'status' is 'accepted' or
'rejected', the latter with rejectReason. The service adds resolvedBy and resolvedAt to the
suggestion, and the annotation becomes 'RESOLVED'. A person's decision fails with
FAILED_PRECONDITION if the annotation is no suggestion, or the suggestion is not 'pending'. A
person's 'context' and 'targetElement' fail with PERMISSION_DENIED on an annotation of another user,
and 'context' fails with FAILED_PRECONDITION if a back end has set it.

A person's change of visibility fails with PERMISSION_DENIED if the person is not the creator. It
fails with FAILED_PRECONDITION if it hides the annotation from one of its commenters, or if the
annotation has more than 1,000 comments, 1 MB of comments or 100 authors.

The request fails with NOT_FOUND if the organization or the document does not exist. It fails with
FAILED_PRECONDITION, without any update, if the organization is disabled, or if the selection
exceeds 10,000 annotations or the size of one response.`}
}

// Update updates annotations independently.
func (s *Service) Update(ctx context.Context, call *rpc.Call, req *UpdateRequest) (rpc.Keyed[UpdateResult], error) {
	raise := req.TriggerNotification || call.Settings.AllEvents
	doc, err := s.begin(ctx, call, req.Target, CreateFlags{}, raise)
	if err != nil {
		return nil, err
	}
	u := req.update(doc, call.Millis())
	if u.rights, err = s.rights(ctx, call, doc, req.acting(req.people()...)); err != nil {
		return nil, err
	}
	if u.person != nil && u.data != nil {
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
			"the response to these %d annotations would exceed 5 MB: select fewer", len(ids))
	}
	change := collab.AnnotationChange{Select: u.selects}
	if call.Person != nil {
		change.Narrow = func(ctx context.Context, before, after *collab.Annotation) error {
			return s.checkCommenters(ctx, doc, before, after)
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
		var blank [3]collab.Event
		for n := range blank {
			blank[n] = req.withActor(newEvent(call, doc, len(blank)*i+n, strconv.Itoa(n)+ids[i]))
		}
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

// fit reports whether one response can hold the outcomes of ids.
func fit(ids []string) bool {
	const around = 200 // an outcome without its id, with the longest message, as Lambda encodes it
	size := 0
	for _, id := range ids {
		size += 2*rpc.WrappedLen(encode(id)) + around
	}
	return size <= rpc.MaxPage
}

// update is the change that a request makes to each selected annotation.
type update struct {
	selector collab.Selector
	users    replacements
	data     *UpdatedData // nil if absent
	now      collab.Millis
	doc      collab.DocumentRef
	rights
}

func (r *UpdateRequest) update(doc collab.DocumentRef, now collab.Millis) *update {
	u := &update{
		doc: doc,
		selector: collab.Selector{
			IDs: rpc.Distinct(r.AnnotationIDs), Locations: rpc.Distinct(r.LocationIDs), Creators: rpc.Distinct(r.UserIDs),
		},
		users: replacements{},
		now:   now,
	}
	for _, pair := range r.UpdateUsers {
		u.users[pair.OldUser.UserID] = pair.NewUser
	}
	if r.UpdatedData != nil {
		u.data = &r.UpdatedData.Value
	}
	return u
}

// selects returns errNotSelected if the selectors exclude the annotation, and PERMISSION_DENIED if
// an acting user cannot change or see it.
func (u *update) selects(a *collab.Annotation) error {
	if sel := u.selector; sel.Locations != nil && !slices.Contains(sel.Locations, a.LocationID) ||
		sel.Creators != nil && !slices.Contains(sel.Creators, a.CreatorID) {
		return errNotSelected
	}
	if err := u.check(u.doc, a, nil); err != nil || u.person == nil {
		return err
	}
	if field := u.data.authors(); field != "" && a.CreatorID != u.person[0].User {
		return collab.Errorf(collab.PermissionDenied, "only its author can change the %s of an annotation", field)
	}
	return nil
}

// authors returns a sent field that only the author of an annotation can change, or "".
func (d *UpdatedData) authors() string {
	switch {
	case d == nil:
		return ""
	case d.visibility().Sent():
		return "visibility"
	case d.Context.Sent():
		return "context"
	case d.TargetElement.Sent():
		return "targetElement"
	}
	return ""
}

// Bounds of the search for commenters of a thread.
const (
	mostComments      = 1_000
	mostCommentsBytes = 1_000_000
	mostCommenters    = 100
)

// checkCommenters returns FAILED_PRECONDITION if a change of visibility hides the annotation from
// one of its commenters, or if the annotation exceeds the bounds.
func (s *Service) checkCommenters(ctx context.Context, doc collab.DocumentRef, before, after *collab.Annotation) error {
	var authors []string
	read, bytes := 0, 0
	for c, err := range s.Threads.ListComments(ctx, doc, after.ID, 0, collab.MaxPageSize) {
		if err != nil {
			return err
		}
		if c.AuthorID != collab.ErasedUser && !slices.Contains(authors, c.AuthorID) {
			authors = append(authors, c.AuthorID)
		}
		read, bytes = read+1, bytes+c.Content()
		if read > mostComments || bytes > mostCommentsBytes || len(authors) > mostCommenters {
			return collab.Errorf(collab.FailedPrecondition, "annotation %q has too many comments to check whether a commenter would lose access", after.ID)
		}
	}
	members, err := s.Directory.Members(ctx, doc.OrganizationRef, authors)
	for _, id := range authors {
		m, ok := members[id]
		viewer := collab.Viewer{User: id, May: true, Member: ok && m.Holds(s.Directory.Millis())}
		if err == nil && viewer.Sees(before.Visibility, before.CreatorID) && !viewer.Sees(after.Visibility, after.CreatorID) {
			err = collab.Errorf(collab.FailedPrecondition, "user %q has commented in annotation %q, and must be able to see it", id, after.ID)
		}
	}
	return err
}

func (u *update) comment(c *collab.Comment) (changed bool, err error) {
	if changed, err = u.users.replaceInComment(c); changed {
		c.LastUpdated = max(c.LastUpdated, u.now)
	}
	return changed, err
}

// size returns the bytes of the fields of an annotation that a person can set.
func size(a *collab.Annotation) int {
	return len(a.Location) + len(a.TargetElement) + len(a.Context) + len(a.Suggestion) + len(a.Kept) + len(encode(a.Visibility))
}

// head updates the head of an annotation: users first, then updatedData. It returns errUnchanged if
// head and comments stay the same.
func (u *update) head(a *collab.Annotation, commentsChanged bool) error {
	replaced := u.users.replaceInHead(a)
	switch {
	case u.data != nil && u.data.sent():
		before := size(a)
		if err := u.data.apply(a, u.now); err != nil {
			return err
		}
		grows := u.data.Context.Sent() || u.data.visibility().Sent()
		if now := size(a); u.person != nil && grows && now > max(maxHead, before) {
			return collab.FieldErrorf("data.updatedData", "must leave the annotation at most %d bytes without its comments, not %d", maxHead, now)
		}
	case !replaced && !commentsChanged:
		return errUnchanged
	}
	a.LastUpdated = max(a.LastUpdated, a.CreatedAt, u.data.at(u.now))
	return nil
}
