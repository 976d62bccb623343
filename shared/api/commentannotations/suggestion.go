package commentannotations

import (
	"cmp"
	"slices"
	"strings"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// Statuses of a suggestion. Back ends also use stale and apply_failed.
const (
	pending  = collab.SuggestionPending
	accepted = "accepted"
	rejected = collab.SuggestionIsRejected
)

// Bounds of a person's request, in bytes.
const (
	maxSuggestion   = 16 << 10
	maxRejectReason = 2_000
	maxContext      = 8 << 10
	maxTargetText   = 4_096
	maxHead         = 16_384 // of a thread without its comments
)

// checkSuggestion rejects invalid known fields of a suggestion. It allows any status if there are
// no statuses.
func checkSuggestion(m *rpc.Violations, suggestion collab.JSON, statuses ...string) {
	for name, value := range rpc.Members(suggestion) {
		text, null, rule := value[0] == '"', value[0] == 'n', ""
		switch {
		case (name == "targetId" || name == "targetType") && !text:
			rule = "must be a string"
		case name == "summary" && !text && !null:
			rule = "must be a string or null"
		case name == "driftDetected" && value[0] != 't' && value[0] != 'f':
			rule = "must be a boolean"
		case name == "status" && statuses != nil && !slices.Contains(statuses, textOf(suggestion, name)):
			rule = "must be one of " + strings.Join(statuses, ", ")
		}
		if rule != "" {
			m.Add(rpc.PathOf("suggestion", name), "%s", rule)
		}
	}
}

// withStatus returns a suggestion in its stored form, with a status: pending if status is "".
func withStatus(suggestion collab.JSON, status string) collab.JSON {
	return merge(suggestion, rpc.JSON(map[string]string{"status": cmp.Or(status, pending)}))
}

// completeSuggestion adds the members that a suggestion lacks and types of clients require. It
// returns nil for nil.
func completeSuggestion(suggestion collab.JSON) collab.JSON {
	if suggestion == nil {
		return nil
	}
	var made rpc.Keyed[collab.JSON]
	decodeKept(suggestion, &made)
	for _, m := range [...]struct{ name, value string }{
		{"summary", null}, {"driftDetected", "false"}, {"rejectReason", null}, {"resolvedBy", null}, {"resolvedAt", null},
	} {
		if _, has := made.Get(m.name); !has {
			made = append(made, rpc.Member[collab.JSON]{Key: m.name, Value: collab.JSON(m.value)})
		}
	}
	return rpc.JSON(made)
}

// forPerson returns a suggestion as a person receives it: the user who decided has only the fields
// that persons see of users.
func forPerson(suggestion collab.JSON) collab.JSON {
	by := member(suggestion, "resolvedBy")
	if len(by) == 0 || by[0] != '{' {
		return suggestion
	}
	shown := rpc.Keyed[collab.JSON]{}
	for name, value := range rpc.Members(by) {
		if name == "userId" || name == "name" || name == "photoUrl" {
			shown = append(shown, rpc.Member[collab.JSON]{Key: name, Value: value})
		}
	}
	return merge(suggestion, rpc.JSON(map[string]any{"resolvedBy": shown}))
}

// Fill bounds a person's suggestion and context, and rejects the members of a decision.
func (a *NewAnnotation) Fill(_ *collab.Person, m *rpc.Violations) {
	a.byPerson = true
	checkSize(m, "suggestion", a.Suggestion, maxSuggestion)
	for name := range rpc.Members(a.Suggestion) {
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

func checkTarget(m *rpc.Violations, t *TargetElement) {
	if size := len(collab.Deref(t.TargetText)); size > maxTargetText {
		m.Add("targetElement.targetText", "must be at most %d bytes, not %d", maxTargetText, size)
	}
}

func checkSize(m *rpc.Violations, field string, object collab.JSON, most int) {
	if len(object) > most {
		m.Add(field, "must be at most %d bytes of JSON, not %d", most, len(object))
	}
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
	status := textOf(d.Suggestion.Raw, "status")
	if status != accepted && status != rejected {
		m.Add("suggestion.status", "must be %s or %s", accepted, rejected)
	}
	for name, value := range rpc.Members(d.Suggestion.Raw) {
		switch reason := textOf(d.Suggestion.Raw, name); {
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

// suggestion returns the suggestion of an annotation after an update, which may be unchanged. A
// person's decision keeps its content, and returns FAILED_PRECONDITION if it is not pending.
func (d *UpdatedData) suggestion(a *collab.Annotation, now collab.Millis) (collab.JSON, error) {
	status := a.SuggestionStatus()
	switch sent := d.Suggestion; {
	case !sent.Sent() || status == "" && d.byPerson == nil:
		return a.Suggestion, nil
	case d.byPerson == nil:
		return withStatus(sent.Raw, textOf(sent.Raw, "status")), nil
	case status == "":
		return nil, collab.Errorf(collab.FailedPrecondition, "the comment annotation is no suggestion")
	case status != pending:
		return nil, collab.Errorf(collab.FailedPrecondition, "the suggestion is already %s", status)
	}
	made := merge(a.Suggestion, d.Suggestion.Raw)
	return merge(made, rpc.JSON(map[string]any{"resolvedBy": d.byPerson, "resolvedAt": now})), nil
}

// changeContext applies an update of a context. A person replaces that of a person only.
func changeContext(stored *collab.JSON, shown *bool, sent rpc.Opt[collab.JSON], byPerson bool) error {
	if !sent.Sent() {
		return nil
	}
	if byPerson && *stored != nil && !*shown {
		return collab.Errorf(collab.FailedPrecondition, "a back end has set the context")
	}
	*stored = changeJSON(*stored, sent)
	*shown = byPerson && *stored != nil
	return nil
}

// shownOf returns the members of an agent that persons receive.
func shownOf(agent collab.JSON) collab.JSON {
	var shown rpc.Keyed[collab.JSON]
	for name, value := range rpc.Members(agent) {
		if name == "agentName" || name == "avatar" || name == "reason" {
			shown = append(shown, rpc.Member[collab.JSON]{Key: name, Value: value})
		}
	}
	if shown == nil {
		return nil
	}
	return rpc.JSON(shown)
}
