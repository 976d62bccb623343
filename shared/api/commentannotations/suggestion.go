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
	for name, value := range suggestion.Members() {
		text, null, rule := value[0] == '"', value[0] == 'n', ""
		switch {
		case (name == "targetId" || name == "targetType") && !text:
			rule = "must be a string"
		case name == "summary" && !text && !null:
			rule = "must be a string or null"
		case name == "driftDetected" && value[0] != 't' && value[0] != 'f':
			rule = "must be a boolean"
		case name == "status" && statuses != nil && !slices.Contains(statuses, suggestion.Text(name)):
			rule = "must be one of " + strings.Join(statuses, ", ")
		}
		if rule != "" {
			m.Add(rpc.PathOf("suggestion", name), "%s", rule)
		}
	}
}

// withStatus returns a suggestion in its stored form, with a status: pending if status is "".
func withStatus(suggestion collab.JSON, status string) collab.JSON {
	return suggestion.Merge(rpc.JSON(map[string]string{"status": cmp.Or(status, pending)}))
}

// completeSuggestion adds the members that a suggestion lacks and types of clients require. It
// returns nil for nil.
func completeSuggestion(suggestion collab.JSON) collab.JSON {
	if suggestion == nil {
		return nil
	}
	members := suggestion.Object()
	for _, m := range [...]struct{ name, value string }{
		{"summary", null}, {"driftDetected", "false"}, {"rejectReason", null}, {"resolvedBy", null}, {"resolvedAt", null},
	} {
		if members.Get(m.name) == nil {
			members.Set(m.name, collab.JSON(m.value))
		}
	}
	return members.JSON()
}

// forPerson returns a suggestion as a person receives it: the user who decided has only the fields
// that persons see of users.
func forPerson(suggestion collab.JSON) collab.JSON {
	by := suggestion.Get("resolvedBy").Only("userId", "name", "photoUrl")
	if by == nil {
		return suggestion
	}
	members := suggestion.Object()
	members.Set("resolvedBy", by)
	return members.JSON()
}

func checkSize(m *rpc.Violations, field string, object collab.JSON, limit int) {
	if len(object) > limit {
		m.Add(field, "must be at most %d bytes of JSON, not %d", limit, len(object))
	}
}
