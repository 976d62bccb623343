package collab

import (
	"encoding/json"
	"slices"
	"strings"
)

// AgentFilter selects threads by agents: by that of the first comment, unless a field says
// otherwise. Conditions combine; zero fields are none. A nil AgentFilter selects all threads.
type AgentFilter struct {
	ID, Execution, Type, Source string

	Suggestions bool     // pending suggestions
	Comments    bool     // any comment has an agent
	Pages       []string // the agent's url is one of these pages: see Page
}

// Agent returns the agent of the first comment, or nil if an agent did not add the annotation.
func (t *Thread) Agent() JSON {
	if !t.ByAgent || len(t.Comments) == 0 {
		return nil
	}
	return t.Comments[0].Agent
}

// Page returns the page of a URL, which has no fragment, or "" if the URL has no page.
func Page(url string) string {
	page, _, _ := strings.Cut(url, "#")
	return strings.TrimSpace(page)
}

// Matches reports whether a thread matches all conditions. It requires the thread's first comment,
// and all comments if f.Comments is set.
func (f *AgentFilter) Matches(t *Thread) bool {
	if f == nil {
		return true
	}
	if f.Comments && !slices.ContainsFunc(t.Comments, func(c Comment) bool { return c.Agent != nil }) {
		return false
	}
	return !f.ofFirst() || f.matches(t.Agent()) && (!f.Suggestions || t.SuggestionStatus() == SuggestionPending)
}

// ofFirst reports whether f has conditions on the first comment.
func (f *AgentFilter) ofFirst() bool {
	return f.ID != "" || f.Execution != "" || f.Type != "" || f.Source != "" || f.Suggestions || f.Pages != nil
}

func (f *AgentFilter) matches(agent JSON) bool {
	if agent == nil {
		return false
	}
	members := agent.Object()
	source, kind := members.Text("agentSource"), members.Text("agentType")
	if kind == "" && source == agentExternal {
		kind = agentExternal
	}
	equals := func(wanted, value string) bool { return wanted == "" || wanted == value }
	return equals(f.ID, members.Text("agentId")) && equals(f.Execution, members.Text("executionId")) && equals(f.Type, kind) && equals(f.Source, source) &&
		(f.Pages == nil || slices.Contains(f.Pages, Page(members.Text("url"))))
}

// Statuses of a suggestion: SuggestionIsRejected after a rejection, SuggestionPending without a
// decision.
const (
	SuggestionPending    = "pending"
	SuggestionIsRejected = "rejected"
)

// Suggestion is a suggested change. Its values are of any type; nil means absent.
type Suggestion struct {
	Status       string `json:"status"`
	OldValue     JSON   `json:"oldValue"`
	NewValue     JSON   `json:"newValue"`
	RejectReason JSON   `json:"rejectReason"`
}

// Suggested returns the parts of the suggestion, nil if the annotation is none.
func (a *Annotation) Suggested() *Suggestion {
	if a.Suggestion == nil {
		return nil
	}
	var s Suggestion
	_ = json.Unmarshal(a.Suggestion, &s) // validated when stored
	return &s
}

// SuggestionStatus returns the status of the suggestion, "" if the annotation is none.
func (a *Annotation) SuggestionStatus() string { return Deref(a.Suggested()).Status }
