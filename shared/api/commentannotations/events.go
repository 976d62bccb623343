package commentannotations

import (
	"bytes"
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
	if call.Person != nil {
		u := call.Person.User()
		ev.Actor, ev.ByPerson = u.Acting(), true
	}
	return ev
}

// Actor is the field of an update that says who acts.
type Actor struct {
	ActionUser *collab.User `json:"actionUser" doc:"The user who makes the change: named to those who are notified of it, and not notified"`
}

// id returns the id of the user, none for nobody.
func (a Actor) id() (ids []string) {
	if a.ActionUser != nil {
		ids = append(ids, a.ActionUser.UserID)
	}
	return ids
}

// of returns an event with the user as its actor, the event itself for nobody.
func (a Actor) of(ev collab.Event) collab.Event {
	if a.ActionUser != nil {
		ev.Actor = a.ActionUser.Acting()
	}
	return ev
}

// annotationAdded returns the event of a new annotation, made from ev. sent are its comments as the request has them.
func annotationAdded(ev collab.Event, t *collab.Thread, sent []NewComment, all bool) *collab.Event {
	ev.Describe(collab.AnnotationAdded, &t.Annotation)
	ev.Share(nil, &t.Annotation)
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

// commentsDeleted returns the event of comments that were deleted, made from ev.
func commentsDeleted(ev collab.Event, head *collab.Annotation, comments []collab.Comment) *collab.Event {
	ev.Describe(collab.CommentDeleted, head)
	ev.AddComments(false, comments...)
	return &ev
}

// commentsUpdated returns the event of comments that were updated, made from ev. With notify those are notified whom the update newly
// mentions, and unless ev says who, the author of the first comment has acted.
func commentsUpdated(ev collab.Event, head *collab.Annotation, were, comments []collab.Comment, notify bool) *collab.Event {
	ev.Describe(collab.CommentUpdated, head)
	ev.AddChanges(notify, were, comments)
	if notify && ev.Actor == nil {
		ev.Actor = author(&comments[0])
	}
	return &ev
}

// annotationUpdated returns the events of an update, made from evs: one if the status changed, one if the assignee changed, and one of the
// update itself if neither did. The first says with whom the annotation is shared now.
func annotationUpdated(evs [2]collab.Event, before, after *collab.Annotation, notify bool) []*collab.Event {
	var made []*collab.Event
	add := func(kind collab.EventType) *collab.Event {
		ev := evs[len(made)]
		ev.Notify = notify
		ev.Describe(kind, after)
		made = append(made, &ev)
		return &ev
	}
	if before.StatusID != after.StatusID {
		ev := add(collab.AnnotationStatusChanged)
		ev.Before.Status, ev.After.Status = before.StatusRef(), after.StatusRef()
	}
	if was := before.AssigneeID(); was != after.AssigneeID() {
		add(collab.AnnotationAssigned).Before.AssigneeID = was
	}
	if made == nil {
		add(collab.AnnotationUpdated).After.Priority = !bytes.Equal(before.Priority, after.Priority)
	}
	made[0].Share(before, after)
	return made
}

// putComments puts the comments that trigger notifications into an event, and after them the others where the account asked for all
// events. The author of the first that triggers has acted.
func putComments(ev *collab.Event, comments []collab.Comment, sent []NewComment, all bool) {
	var loud, quiet []collab.Comment
	for i, c := range comments {
		if sent[i].TriggerNotification {
			loud = append(loud, c)
		} else {
			quiet = append(quiet, c)
		}
	}
	if len(loud) > 0 {
		ev.Actor = author(&loud[0])
		ev.AddComments(true, loud...)
	}
	if all {
		ev.AddComments(false, quiet...)
	}
}

// author returns who wrote a comment as an event names who acted, nil for nobody.
func author(c *collab.Comment) *collab.User {
	var u collab.User
	if json.Unmarshal(c.From, &u) != nil {
		return nil
	}
	return u.Acting()
}
