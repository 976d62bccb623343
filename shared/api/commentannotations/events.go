package commentannotations

import (
	"encoding/json"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// wanted reports whether an add of comments raises an event: where one of them triggers notifications, or the account asked for all
// events.
func wanted(call *rpc.Call, comments []NewComment) bool {
	return call.Settings.AllEvents || slices.ContainsFunc(comments, func(c NewComment) bool { return c.TriggerNotification })
}

// newEvent returns an event of a call without its subject, which a name tells from the call's others. Events of a call sort by position.
func newEvent(call *rpc.Call, doc collab.DocumentRef, position int, of string) collab.Event {
	ev := collab.In(doc)
	ev.ID, ev.Time = call.IDs.For(position, of), call.Millis()
	return ev
}

// annotationAdded returns the event of a new annotation, made from ev. sent are its comments as the request has them.
func annotationAdded(ev collab.Event, t *collab.Thread, sent []NewComment, all bool) *collab.Event {
	ev.Describe(collab.AnnotationAdded, &t.Annotation)
	putComments(&ev, t.Comments, sent, all)
	return &ev
}

// commentsAdded returns the event of comments that were added to an annotation, made from ev. head is the annotation before them; sent are
// the comments as the request has them, in the same order.
func commentsAdded(ev collab.Event, head *collab.Annotation, comments []collab.Comment, sent []NewComment, all bool) *collab.Event {
	ev.Describe(collab.CommentAdded, head)
	putComments(&ev, comments, sent, all)
	return &ev
}

// commentsChanged returns the event of comments that were updated or deleted, made from ev.
func commentsChanged(ev collab.Event, kind collab.EventType, head *collab.Annotation, comments []collab.Comment) *collab.Event {
	ev.Describe(kind, head)
	ev.Comments = eventComments(comments)
	return &ev
}

// commentsUpdated is commentsChanged for an update that notifies: the author of the first comment has acted, and whom the update tags is
// concerned.
func commentsUpdated(ev collab.Event, head *collab.Annotation, comments []collab.Comment, tagged []Tag) *collab.Event {
	ev.Notify, ev.People = true, taggedBy([]NewComment{{TaggedUserContacts: tagged}})
	var author collab.User
	if json.Unmarshal(comments[0].From, &author) == nil {
		ev.Actor = &author
	}
	return commentsChanged(ev, collab.CommentUpdated, head, comments)
}

// annotationUpdated returns the events of an update, made from evs: one if the status changed, one if the assignee changed, and one of the
// update itself if neither did.
func annotationUpdated(evs [2]collab.Event, before, after *collab.Annotation, notify bool) []*collab.Event {
	var made []*collab.Event
	add := func(kind collab.EventType, previous *collab.EventAnnotation) {
		ev := evs[len(made)]
		ev.Notify, ev.Previous = notify, previous
		ev.Describe(kind, after)
		made = append(made, &ev)
	}
	if before.StatusID != after.StatusID {
		add(collab.AnnotationStatusChanged, &collab.EventAnnotation{AnnotationObjects: collab.AnnotationObjects{Status: before.Status}})
	}
	if textOf(before.AssignedTo, "userId") != textOf(after.AssignedTo, "userId") {
		add(collab.AnnotationAssigned, &collab.EventAnnotation{AnnotationObjects: collab.AnnotationObjects{AssignedTo: before.AssignedTo}})
	}
	if made == nil {
		add(collab.AnnotationUpdated, nil)
	}
	return made
}

// putComments puts the comments that trigger notifications into an event, and after them the others where the account asked for all
// events. The author of the first that triggers has acted; the users tagged in those that trigger are concerned.
func putComments(ev *collab.Event, comments []collab.Comment, sent []NewComment, all bool) {
	var loud, quiet []collab.Comment
	var triggers []NewComment
	for i, c := range comments {
		if sent[i].TriggerNotification {
			loud = append(loud, c)
			triggers = append(triggers, sent[i])
		} else {
			quiet = append(quiet, c)
		}
	}
	if len(triggers) > 0 {
		ev.Notify = true
		ev.Actor = &triggers[0].From
		ev.People = taggedBy(triggers)
	}
	ev.Comments = eventComments(loud)
	if all {
		ev.Comments = append(ev.Comments, eventComments(quiet)...)
	}
}

func eventComments(comments []collab.Comment) []collab.EventComment {
	var list []collab.EventComment
	for _, c := range comments {
		list = append(list, c.Event())
	}
	return list
}
