package content

import (
	"encoding/json"
	"maps"

	"collabdata/shared/collab"
)

// Derive fills in the texts of a notification of a comment event from its thread as it is now, with those of its comments that are there.
// What notifications update set stays. mentioned says that a comment mentions the reader.
func Derive(n *collab.Notification, t *collab.Thread, mentioned bool) {
	if n.Headline == "" {
		data := map[string]collab.JSON{}
		n.Headline = headline(n, &t.Annotation, mentioned, data)
		maps.Copy(data, n.TemplateData)
		if len(data) > 0 {
			n.TemplateData = data
		}
	}
	if n.Body == "" && n.BodyTemplate == "" && len(t.Comments) > 0 {
		n.Body = Excerpt(&t.Comments[0])
	}
	if n.Location == nil {
		n.Location = t.Location
	}
}

// headline returns the headline template of a notification, and adds its values to data.
func headline(n *collab.Notification, head *collab.Annotation, mentioned bool, data map[string]collab.JSON) string {
	set := func(variable, name string) bool {
		if name != "" {
			data[variable], _ = collab.EncodeJSON(name) // a text always has a JSON form
		}
		return name != ""
	}
	switch n.Event {
	case collab.AnnotationAdded, collab.CommentAdded:
		switch {
		case mentioned:
			return "{actionUser} mentioned you"
		case n.Event == collab.CommentAdded:
			return "{actionUser} replied"
		}
		return "{actionUser} added a comment"
	case collab.CommentUpdated:
		return "{actionUser} changed a comment"
	case collab.AnnotationStatusChanged:
		if set("status", StatusName(n.Status, head)) {
			return "The status was changed to {status}"
		}
		return "The status was changed"
	case collab.AnnotationAssigned:
		id := ""
		if n.AssignedTo != nil {
			id = n.AssignedTo.UserID
		}
		if set("assignedTo", AssigneeName(id, head)) {
			return "A thread was assigned to {assignedTo}"
		}
		return "A thread is assigned to nobody any more"
	}
	return "A thread was changed"
}

// StatusName returns the name of a status that an annotation got: the annotation's own where it still has it, else the id; "" for nil.
func StatusName(status *collab.EventStatus, head *collab.Annotation) string {
	if status == nil {
		return ""
	}
	return named(status.ID, head.Status)
}

// AssigneeName returns the name of a user whom an annotation was assigned to: as the annotation knows it where it still is, else the id.
func AssigneeName(id string, head *collab.Annotation) string { return named(id, head.AssignedTo) }

// named returns the name of an id: that of the object where it has the id.
func named(id string, object collab.JSON) string {
	var o struct {
		Name   string `json:"name"`
		Email  string `json:"email"`
		UserID string `json:"userId"`
		ID     string `json:"id"`
	}
	name := id
	if id != "" && len(object) > 0 && json.Unmarshal(object, &o) == nil && (o.ID == id || o.UserID == id) {
		for _, text := range []string{o.Email, o.Name} {
			if text != "" {
				name = text
			}
		}
	}
	return collab.Cut(name, MaxName)
}
