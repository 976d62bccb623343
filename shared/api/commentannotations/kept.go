package commentannotations

import (
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// KeptFields are fields of a new annotation that are stored and returned unchanged, with no further
// effect. Except for Type and Suggestion, they are stored together as Annotation.Kept; to add one,
// add it here.
type KeptFields struct {
	Type               *AnnotationType `json:"type,omitzero" person:"in,out" doc:"The kind of annotation. Default: comment"`
	CommentType        *CommentType    `json:"commentType,omitzero" doc:"The kind of its target. Default: manual"`
	Suggestion         collab.JSON     `json:"suggestion,omitzero" rule:"object" person:"in,out" doc:"The suggested change: free-form, with some checked fields. Ignored unless type is suggestion"`
	PageInfo           collab.JSON     `json:"pageInfo,omitzero" rule:"object" doc:"Its page: free-form"`
	IsPageAnnotation   *bool           `json:"isPageAnnotation,omitzero" doc:"It is on the page as a whole"`
	PositionX          collab.JSON     `json:"positionX,omitzero" rule:"number" doc:"Horizontal position, from the left"`
	PositionY          collab.JSON     `json:"positionY,omitzero" rule:"number" doc:"Vertical position, from the top"`
	ScreenWidth        collab.JSON     `json:"screenWidth,omitzero" rule:"number" doc:"Width of the author's screen"`
	ScreenHeight       collab.JSON     `json:"screenHeight,omitzero" rule:"number" doc:"Height of the author's screen"`
	ScreenScrollHeight collab.JSON     `json:"screenScrollHeight,omitzero" rule:"number" doc:"Height of the page"`
	ScreenScrollTop    collab.JSON     `json:"screenScrollTop,omitzero" rule:"number" doc:"Scroll position of the page"`
	Actions            []collab.JSON   `json:"actions,omitzero" rule:"max=20,each=object" doc:"Actions that your pages offer: free-form"`
}

// KeptCommentFields is KeptFields for a comment. Except for Agent, they are stored as Comment.Kept.
type KeptCommentFields struct {
	Agent    collab.JSON   `json:"agent,omitzero" rule:"object" person:"out" doc:"The agent that wrote it: free-form. A person receives agentName, avatar and reason"`
	Actions  []collab.JSON `json:"actions,omitzero" rule:"max=20,each=object" doc:"Actions that your pages offer: free-form"`
	Progress *Progress     `json:"progress,omitzero" rule:"exact" doc:"Progress of a task. With asUserId, omitted if visibleToUserIds excludes the user"`
}

// Progress is the progress of a task in a comment.
type Progress struct {
	State            collab.JSON   `json:"state,omitzero" doc:"Any value"`
	Steps            []collab.JSON `json:"steps,omitzero" rule:"max=100" doc:"Any values"`
	VisibleToUserIDs []string      `json:"visibleToUserIds,omitzero" rule:"max=100,each=id" doc:"Its audience, within that of the comment. Default: all of it; empty: nobody"`
}

// visibleTo reports whether a person can see it.
func (p *Progress) visibleTo(person string) bool {
	return p == nil || p.VisibleToUserIDs == nil || slices.Contains(p.VisibleToUserIDs, person)
}

// AnnotationType is the kind of an annotation.
type AnnotationType string

func (AnnotationType) Values() []string { return []string{collab.TypeComment, collab.TypeSuggestion} }

// CommentType is the kind of target of an annotation.
type CommentType string

func (CommentType) Values() []string { return []string{"manual", "chart"} }

// stored returns the fields in their stored form. A suggestion has the status, which is pending if
// it is "".
func (k KeptFields) stored(status string) (suggestion, rest collab.JSON) {
	if collab.Deref(k.Type) == collab.TypeSuggestion {
		suggestion = withStatus(k.Suggestion, status)
	}
	k.Type, k.Suggestion = nil, nil
	return suggestion, keep(encode(k))
}

func (k KeptCommentFields) stored() (agent, rest collab.JSON) {
	agent, k.Agent = k.Agent, nil
	return agent, keep(encode(k))
}

// keep returns object, or nil if it is empty.
func keep(object collab.JSON) collab.JSON {
	if string(object) == "{}" {
		return nil
	}
	return object
}

// changeKept applies an update to kept fields; nil fields are unchanged.
func changeKept(stored collab.JSON, sent collab.Object) collab.JSON {
	sent = slices.DeleteFunc(sent, func(m collab.ObjectMember) bool { return m.Value == nil })
	if len(sent) == 0 {
		return stored
	}
	return keep(stored.Merge(sent.JSON()))
}

// checkContext rejects access rights in a context, because no read enforces them. Other content is
// free-form.
func checkContext(m *rpc.Violations, field string, context collab.JSON) {
	for name, value := range context.Members() {
		if name == "accessFields" || name == "access" && value[0] == '{' {
			m.Add(rpc.PathOf(field, name), "must not be sent: rights within a document are not enforced")
		}
	}
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

// shownOf returns the members of an agent that persons receive, or nil.
func shownOf(agent collab.JSON) collab.JSON { return keep(agent.Only("agentName", "avatar", "reason")) }
