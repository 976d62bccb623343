package content

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/words"
)

// Reader is the reader of texts. The zero value is an unknown reader of English.
type Reader struct {
	UserID    string
	Mentioned bool // a comment mentions the reader
	words.Words
	Names map[string]string // present names of users by id
	Most  int               // characters of a comment; 0 means MaxShown
}

// name returns the name of a user: the present one, else that in the object, else the id.
func (to Reader) name(u collab.User) string { return cmp.Or(lineOf(to.Names[u.UserID]), nameOf(u)) }

// Derive fills in the texts of a notification about a comment event, from the thread's current
// state and existing comments. It keeps texts set by `/v2/notifications/update`.
func Derive(n *collab.Notification, t *collab.Thread, to Reader) {
	to.Names = n.Names
	Headline(n, &t.Annotation, to)
	if n.Body == "" && n.BodyTemplate == "" {
		var parts []string
		if s := SuggestionOf(&t.Annotation); s != nil && slices.Contains(aboutSuggestion, n.Event) {
			parts = append(parts, s.body(to))
		}
		if len(t.Comments) > 0 {
			parts = append(parts, Of(&t.Comments[0], to).Body())
		}
		n.Body = strings.Trim(strings.Join(parts, "\n\n"), "\n")
	}
	if n.Location == nil {
		n.Location = t.Location
	}
}

// aboutSuggestion are the events of which the text shows the suggested change.
var aboutSuggestion = []collab.EventType{
	collab.AnnotationAdded, collab.AnnotationAssigned, collab.SuggestionAccepted, collab.SuggestionRejected,
}

// Headline fills in only the headline, as Derive does.
func Headline(n *collab.Notification, head *collab.Annotation, to Reader) {
	if n.Headline != "" {
		return
	}
	if n.ActionUser.UserID == "" {
		n.ActionUser.Name = new(to.Text("somebody"))
	}
	data := map[string]collab.JSON{}
	n.Headline = headline(n, head, to, data)
	maps.Copy(data, n.TemplateData)
	if len(data) > 0 {
		n.TemplateData = data
	}
}

// headline returns the headline template of a notification, and adds its values to data.
func headline(n *collab.Notification, head *collab.Annotation, to Reader, data map[string]collab.JSON) string {
	set := func(variable, name string) {
		data[variable], _ = collab.EncodeJSON(name) // text always encodes
	}
	by := func(key, neutral string) string {
		if n.ActionUser.UserID == "" {
			return neutral
		}
		return key
	}
	key := by("threadChangedBy", "threadChanged")
	toReader := n.Event == collab.AnnotationAssigned && collab.Deref(n.AssignedTo).UserID == to.UserID
	if slices.Contains(n.SharedWith, to.UserID) && !to.Mentioned && !toReader {
		return to.Template(by("sharedBy", "shared"))
	}
	switch n.Event {
	case collab.AnnotationAdded, collab.CommentAdded:
		switch {
		case to.Mentioned:
			key = "mentioned"
		case n.Event == collab.CommentAdded:
			key = "replied"
		case head.SuggestionStatus() != "":
			key = by("suggestionAddedBy", "suggestionAdded")
		default:
			key = "commented"
		}
	case collab.CommentUpdated:
		if key = "commentChanged"; to.Mentioned {
			key = "mentioned"
		}
	case collab.SuggestionAccepted:
		key = by("suggestionAcceptedBy", "suggestionAccepted")
	case collab.SuggestionRejected:
		key = by("suggestionRejectedBy", "suggestionRejected")
	case collab.ReactionAdded:
		key = "reacted"
		set("emoji", n.Emoji)
	case collab.AnnotationStatusChanged:
		key = "statusChanged"
		switch name, word := StatusName(n.Status, head), defaultStatus(n.Status, head); {
		case word == "statusResolved":
			key = by("resolvedBy", "threadResolved")
		case name != "":
			if word != "" {
				name = to.Text(word)
			}
			key = by("statusChangedBy", "statusChangedTo")
			set("status", name)
		}
	case collab.AnnotationAssigned:
		switch assignee := collab.Deref(n.AssignedTo).UserID; assignee {
		case "":
			key = by("unassignedBy", "unassigned")
		case to.UserID:
			key = by("assignedToYouBy", "assignedToYou")
		default:
			key = by("assignedBy", "assigned")
			set("assignedTo", cmp.Or(to.Names[assignee], AssigneeName(assignee, head)))
		}
	}
	return to.Template(key)
}

// StatusName returns the name of a status: from the annotation if it has this status, else the id.
// It returns "" for nil.
func StatusName(status *collab.EventStatus, head *collab.Annotation) string {
	if status == nil {
		return ""
	}
	return named(status.ID, head.Status)
}

// defaultStatus returns the text key of a default status. It returns "" for other statuses, and if
// the annotation has another name for the status.
func defaultStatus(status *collab.EventStatus, head *collab.Annotation) string {
	id, name := collab.Deref(status).ID, StatusName(status, head)
	usual := map[string][2]string{
		"OPEN": {"Open", "statusOpen"}, "IN_PROGRESS": {"In progress", "statusInProgress"}, "RESOLVED": {"Resolved", "statusResolved"},
	}[id]
	if name != usual[0] && name != id {
		return ""
	}
	return usual[1]
}

// AssigneeName returns the name of an assignee: from the annotation if still assigned, else the id.
func AssigneeName(id string, head *collab.Annotation) string { return named(id, head.AssignedTo) }

// named returns the name in object if it has the id, else the id.
func named(id string, object collab.JSON) string {
	name := ""
	if id != "" && (object.Text("id") == id || object.Text("userId") == id) {
		name = object.Text("name")
	}
	return collab.Shorten(cmp.Or(name, id), MaxName)
}
