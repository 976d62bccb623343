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
	AnnotationIDs       []string              `json:"annotationIds" rule:"notnull,nonempty,each=id"`
	LocationIDs         []string              `json:"locationIds" rule:"notnull,nonempty,max=500,each=id"`
	UserIDs             []string              `json:"userIds" rule:"notnull,nonempty,max=500,each=id"` // of the creators
	UpdatedData         *rpc.One[UpdatedData] `json:"updatedData"`
	UpdateUsers         []UserReplacement     `json:"updateUsers" rule:"notnull,nonempty,max=500"`
	TriggerNotification bool                  `json:"triggerNotification"` // an extension of the contract
}

// UpdatedData is what an update makes of annotations: a field left out stays, null clears it, the context is replaced whole, the other
// objects are merged. A status that is cleared is the default one again.
type UpdatedData struct {
	Location      rpc.Opt[LocationChange] `json:"location"`
	TargetElement rpc.Opt[TargetElement]  `json:"targetElement"`
	From          rpc.Opt[UserChange]     `json:"from" rule:"notnull"`
	Status        rpc.Opt[StatusChange]   `json:"status"`
	AssignedTo    rpc.Opt[UserChange]     `json:"assignedTo"`
	Context       rpc.Opt[collab.JSON]    `json:"context" rule:"object"`
	Priority      rpc.Opt[PriorityChange] `json:"priority"`
}

// UserReplacement names a user, by the id alone, and the one to put in the place of that one.
type UserReplacement struct {
	OldUser collab.User `json:"oldUser" rule:"required"`
	NewUser collab.User `json:"newUser" rule:"required"`
}

// LocationChange is a Location whose id may be left out.
type LocationChange struct {
	ID           *string `json:"id" rule:"id"`
	LocationName *string `json:"locationName"`
}

// UserChange is a user whose id may be left out.
type UserChange struct {
	UserID *string `json:"userId" rule:"id"`
	Name   *string `json:"name"`
	Email  *string `json:"email"`
}

// StatusChange is a Status whose id may be left out, and that needs no icon.
type StatusChange struct {
	ID   *string `json:"id" rule:"id"`
	Type *string `json:"type" rule:"oneof=default|ongoing|terminal"`
	StatusLook
}

// PriorityChange is a Priority whose id may be left out.
type PriorityChange struct {
	ID         *string `json:"id" rule:"id"`
	Name       *string `json:"name"`
	Color      *string `json:"color"`
	LightColor *string `json:"lightColor"`
}

// UpdateResult is what became of one annotation.
type UpdateResult struct {
	rpc.Outcome
	ID string `json:"id"`
}

// Validate demands that there is something to update, and refuses users replaced twice.
func (r *UpdateRequest) Validate(m *rpc.Mistakes) {
	if r.UpdateUsers == nil && (r.UpdatedData == nil || !r.UpdatedData.Value.sent()) {
		m.Add("", "must have updatedData with at least one field, or updateUsers")
	}
	unique(m, "updateUsers[%d].oldUser.userId", r.UpdateUsers, func(u *UserReplacement) *string { return &u.OldUser.UserID })
}

func (d *UpdatedData) sent() bool {
	return anySent(d.Location.Raw, d.TargetElement.Raw, d.From.Raw, d.Status.Raw, d.AssignedTo.Raw, d.Context.Raw, d.Priority.Raw)
}

// Why an update leaves an annotation as it is.
var (
	errNotSelected = errors.New("a selector excludes it by now")
	errUnchanged   = errors.New("there is nothing to change")
)

// Update updates annotations, each by itself: see Store.UpdateAnnotation. The answer has them by id: in the order of annotationIds where those are
// given, else by id. An id that does not exist is that item's failure; what another selector excludes is not in the answer. It fails with
// FAILED_PRECONDITION, and updates nothing, where more are selected than one call may update or one answer holds.
func (s *Service) Update(ctx context.Context, call *rpc.Call, req *UpdateRequest) (rpc.Keyed[UpdateResult], error) {
	doc := req.document(call)
	if err := s.Store.CheckDocument(ctx, doc, collab.CreateFlags{}); err != nil {
		return nil, err
	}
	u := req.update(call.IDs.Start().UnixMilli())
	if len(u.selector.IDs) > collab.MaxUpdated {
		return nil, collab.Errorf(collab.FailedPrecondition, "the request names more than %d annotations", collab.MaxUpdated)
	}
	ids, missing, err := s.Store.SelectAnnotations(ctx, doc, u.selector, collab.MaxUpdated)
	if err != nil {
		return nil, err
	}
	absent := make([]error, len(missing))
	for i, id := range missing {
		absent[i] = collab.Errorf(collab.NotFound, "annotation %q does not exist in document %q", id, doc.Document)
	}
	if !fit(ids, missing, absent) {
		return nil, collab.Errorf(collab.FailedPrecondition,
			"one answer does not hold what would become of these %d annotations: select fewer", len(ids)+len(missing))
	}
	var (
		ends   = make([]error, len(ids))
		events = make([][]*collab.Event, len(ids))
		blank  = make([][2]collab.Event, len(ids))
		raise  = req.TriggerNotification || call.Settings.AllEvents
		mark   = call.IDs.Mark()
	)
	for i := range blank {
		if raise {
			blank[i] = [2]collab.Event{newEvent(call, doc), newEvent(call, doc)}
		}
	}
	each(len(ids), func(i int) {
		ends[i] = s.Store.UpdateAnnotation(ctx, doc, ids[i], mark, len(u.users) > 0, func(t *collab.Thread) ([]*collab.Event, error) {
			before := t.Annotation
			if err := u.apply(t); err != nil || !raise {
				return nil, err
			}
			events[i] = annotationUpdated(blank[i], &before, &t.Annotation, req.TriggerNotification)
			return events[i], nil
		})
	})

	var recorded []*collab.Event
	end := make(map[string]error, len(ids)+len(missing))
	for i, id := range ids {
		end[id] = ends[i]
		if ends[i] == nil {
			recorded = append(recorded, events[i]...)
		}
	}
	for i, id := range missing {
		end[id] = absent[i]
	}
	order := ids
	if u.selector.IDs != nil {
		order = u.selector.IDs
	}
	results := rpc.Keyed[UpdateResult]{}
	var errs []error
	for _, id := range order {
		err, selected := end[id]
		if !selected || err == errNotSelected {
			continue
		}
		done := "the comment annotation was updated"
		if err == errUnchanged {
			err, done = nil, "the comment annotation had nothing to change"
		}
		results = append(results, rpc.Member[UpdateResult]{Key: id, Value: UpdateResult{rpc.OutcomeOf(err, done), id}})
		errs = append(errs, err)
	}
	s.send(ctx, recorded)
	s.finish(ctx, call, "comment annotation", "updated", errs)
	return results, nil
}

// fit reports whether an answer holds the outcomes of annotations, and of missing ones with their errors.
func fit(ids, missing []string, absent []error) bool {
	const around = 200 // an outcome without its id, with any message that names none, as Lambda wraps it
	size := 0
	for _, id := range slices.Concat(ids, missing) {
		size += 2*rpc.WrappedLen(encode(id)) + around
	}
	for _, err := range absent {
		size += rpc.WrappedLen(encode(collab.MessageOf(err)))
	}
	return size <= rpc.MaxPage
}

// update is what a request makes of each annotation that it selects.
type update struct {
	selector collab.Selector
	users    replacements
	data     *UpdatedData // nil for none
	now      collab.Millis
}

func (r *UpdateRequest) update(now collab.Millis) *update {
	u := &update{
		selector: collab.Selector{
			IDs: distinct(r.AnnotationIDs), Locations: distinct(r.LocationIDs), Creators: distinct(r.UserIDs),
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

// apply updates a stored thread. First users are replaced, then updatedData is merged into what that made. An annotation that the
// selector does not fit any more is errNotSelected; one that holds none of the users to replace, where nothing else is updated,
// errUnchanged.
func (u *update) apply(t *collab.Thread) error {
	if sel := u.selector; sel.Locations != nil && !slices.Contains(sel.Locations, t.LocationID) ||
		sel.Creators != nil && !slices.Contains(sel.Creators, t.CreatorID) {
		return errNotSelected
	}
	replaced, err := u.users.replaceUsers(t, u.now)
	if err != nil {
		return err
	}
	switch {
	case u.data != nil && u.data.sent():
		if err := u.data.apply(&t.Annotation); err != nil {
			return err
		}
	case !replaced:
		return errUnchanged
	}
	setIDs(&t.Annotation)
	t.LastUpdated = max(t.LastUpdated, u.now)
	return nil
}

// apply merges the data into an annotation.
func (d *UpdatedData) apply(a *collab.Annotation) error {
	status := idOf(a.Status, "id")
	element := d.TargetElement.Raw
	if n := d.TargetElement.Value.Occurrence; n != nil {
		element = merge(element, encode(TargetElement{Occurrence: n})) // as an integer, however it was written
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
		changed, err := change(f.name, *f.object, f.sent, f.id)
		if err != nil {
			return err
		}
		*f.object = changed
	}
	if idOf(a.Status, "id") != status {
		a.Status = completeStatus(a.Status)
	}
	a.Context = changeContext(a.Context, d.Context)
	return nil
}
