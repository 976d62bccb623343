package commentannotations

import (
	"slices"
	"strings"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// KeptFields are the fields of an annotation to add that are kept and given back as they were sent, and that nothing else looks at. They
// are stored together, as Annotation.Kept: a further one is a line here.
type KeptFields struct {
	Type               *AnnotationType `json:"type,omitzero" doc:"The kind of annotation: comment where it is left out"`
	CommentType        *CommentType    `json:"commentType,omitzero" doc:"The kind of its target: manual where it is left out"`
	Suggestion         collab.JSON     `json:"suggestion,omitzero" rule:"object" doc:"The change that is suggested: free-form, with targetId, targetType, oldValue, newValue, summary, driftDetected and status (pending, accepted or rejected); passed over unless type is suggestion"`
	PageInfo           collab.JSON     `json:"pageInfo,omitzero" rule:"object" doc:"The page that it was made on: free-form, of your own"`
	IsPageAnnotation   *bool           `json:"isPageAnnotation,omitzero" doc:"It is on the page as a whole"`
	PositionX          collab.JSON     `json:"positionX,omitzero" rule:"number" doc:"Where it was made, from the left"`
	PositionY          collab.JSON     `json:"positionY,omitzero" rule:"number" doc:"Where it was made, from the top"`
	ScreenWidth        collab.JSON     `json:"screenWidth,omitzero" rule:"number" doc:"Of the screen that it was made on"`
	ScreenHeight       collab.JSON     `json:"screenHeight,omitzero" rule:"number" doc:"Of the screen that it was made on"`
	ScreenScrollHeight collab.JSON     `json:"screenScrollHeight,omitzero" rule:"number" doc:"Of the page that it was made on"`
	ScreenScrollTop    collab.JSON     `json:"screenScrollTop,omitzero" rule:"number" doc:"How far the page was scrolled"`
	Actions            []collab.JSON   `json:"actions,omitzero" rule:"max=20,each=object" doc:"Actions that your pages offer on it: free-form, of your own"`
}

// KeptCommentFields is KeptFields for a comment.
type KeptCommentFields struct {
	Agent    collab.JSON   `json:"agent,omitzero" rule:"object" doc:"The agent that wrote it: free-form, of your own"`
	Actions  []collab.JSON `json:"actions,omitzero" rule:"max=20,each=object" doc:"Actions that your pages offer on it: free-form, of your own"`
	Progress *Progress     `json:"progress,omitzero" rule:"exact" doc:"How far what it is about has come; left out of what a person reads (asUserId) who is not among visibleToUserIds"`
}

// Progress says how far what a comment is about has come.
type Progress struct {
	State            collab.JSON   `json:"state,omitzero" doc:"Any value of your own"`
	Steps            []collab.JSON `json:"steps,omitzero" rule:"max=100" doc:"Any values of your own"`
	VisibleToUserIDs []string      `json:"visibleToUserIds,omitzero" rule:"max=100,each=id" doc:"The users who may see it, of those who may see the comment: left out, all of them; empty, nobody"`
}

// visibleTo reports whether a person may see it.
func (p *Progress) visibleTo(person string) bool {
	return p == nil || p.VisibleToUserIDs == nil || slices.Contains(p.VisibleToUserIDs, person)
}

// AnnotationType is what an annotation is.
type AnnotationType string

// Values returns all types.
func (AnnotationType) Values() []string { return []string{"comment", suggestionType} }

const suggestionType = "suggestion"

// CommentType is what an annotation is on.
type CommentType string

// Values returns all types.
func (CommentType) Values() []string { return []string{"manual", "chart"} }

// stored returns the fields as they are stored: a suggestion of an annotation to add is pending.
func (k KeptFields) stored() collab.JSON {
	switch {
	case k.Type == nil || *k.Type != suggestionType:
		k.Suggestion = nil
	case k.Suggestion != nil:
		k.Suggestion = merge(k.Suggestion, collab.JSON(`{"status":"pending"}`))
	}
	return keep(encode(k))
}

// stored returns the fields as they are stored.
func (k KeptCommentFields) stored() collab.JSON { return keep(encode(k)) }

// keep returns an object, nil for an empty one.
func keep(object collab.JSON) collab.JSON {
	if string(object) == "{}" {
		return nil
	}
	return object
}

// changeKept returns what an update makes of fields that are kept together: those that it does not send, nil, stay.
func changeKept(kept collab.JSON, sent rpc.Keyed[collab.JSON]) collab.JSON {
	sent = slices.DeleteFunc(sent, func(m rpc.Member[collab.JSON]) bool { return m.Value == nil })
	if len(sent) == 0 {
		return kept
	}
	return keep(merge(kept, rpc.JSON(sent)))
}

// isSuggestion reports whether an annotation is a suggestion, by what is kept of it.
func isSuggestion(kept collab.JSON) bool { return textOf(kept, "type") == suggestionType }

// checkSuggestion notes what is wrong with the fields of a suggestion that are known. Its status may be one of these, anything for none.
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

// checkContext refuses the rights within a document that a context may name, as no read honors them. All else in it is free-form.
func checkContext(m *rpc.Violations, field string, context collab.JSON) {
	for name, value := range rpc.Members(context) {
		if name == "accessFields" || name == "access" && value[0] == '{' {
			m.Add(rpc.PathOf(field, name), "must not be sent: rights within a document are not enforced, and nothing is stored that is not")
		}
	}
}
