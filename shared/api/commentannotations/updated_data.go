package commentannotations

import (
	"cmp"
	"reflect"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

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

// Fill bounds a person's context and target, and allows a decision about a suggestion: its status
// accepted or rejected, the latter with a rejectReason. A decision resolves the annotation.
func (d *UpdatedData) Fill(p *collab.Person, m *rpc.Violations) {
	d.byPerson = new(p.User())
	checkSize(m, "context", d.Context.Raw, maxContext)
	checkTarget(m, &d.TargetElement.Value)
	if !d.Suggestion.Sent() {
		return
	}
	status, reason := d.Suggestion.Raw.Text("status"), d.Suggestion.Raw.Text("rejectReason")
	if status != accepted && status != rejected {
		m.Add("suggestion.status", "must be %s or %s", accepted, rejected)
	}
	for name, value := range d.Suggestion.Raw.Members() {
		switch {
		case name == "status":
		case name != "rejectReason":
			m.Add(rpc.PathOf("suggestion", name), "can be set by a back end only")
		case status != rejected:
			m.Add("suggestion.rejectReason", "requires the status %s", rejected)
		case value[0] != '"' || len(reason) > maxRejectReason:
			m.Add("suggestion.rejectReason", "must be a text of at most %d bytes", maxRejectReason)
		}
	}
	if d.Status.Sent() {
		m.Add("status", "cannot be combined with suggestion: a decision resolves the annotation")
		return
	}
	d.Status = rpc.Opt[Status]{Value: Status{ID: resolvedStatus}, Raw: defaultStatuses[resolvedStatus]}
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
		element = element.Merge(encode(TargetElement{Occurrence: n})) // normalized to an integer
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
	a.Kept = changeKept(a.Kept, collab.Object{
		{Name: "statusUpdatedByUserId", Value: d.StatusUpdatedByUserID.Raw}, {Name: "actions", Value: d.Actions.Raw},
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
	before := a.ResolvedBy
	a.ResolvedBy = changeID(before, d.ResolvedByUserID, d.ResolvedByUserID.Value)
	if d.Status.Sent() && a.Status.Text("type") != terminal {
		a.ResolvedBy = ""
	}
	switch {
	case a.ResolvedBy == "":
		a.ResolvedAt = 0
	case d.ResolvedAt.Sent():
		a.ResolvedAt = d.ResolvedAt.Value
	case a.ResolvedBy != before:
		a.ResolvedAt = max(d.at(now), a.CreatedAt)
	}
}

// suggestion returns the suggestion of an annotation after an update, which may be unchanged. A
// person's decision keeps its content, and returns FAILED_PRECONDITION if it is not pending.
func (d *UpdatedData) suggestion(a *collab.Annotation, now collab.Millis) (collab.JSON, error) {
	status := a.SuggestionStatus()
	switch sent := d.Suggestion; {
	case !sent.Sent() || status == "" && d.byPerson == nil:
		return a.Suggestion, nil
	case d.byPerson == nil:
		return withStatus(sent.Raw, sent.Raw.Text("status")), nil
	case status == "":
		return nil, collab.Errorf(collab.FailedPrecondition, "the comment annotation is no suggestion")
	case status != pending:
		return nil, collab.Errorf(collab.FailedPrecondition, "the suggestion is already %s", status)
	}
	decided := a.Suggestion.Merge(d.Suggestion.Raw)
	return decided.Merge(rpc.JSON(map[string]any{"resolvedBy": d.byPerson, "resolvedAt": now})), nil
}
