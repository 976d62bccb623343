package commentannotations

import (
	"bytes"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// wanted reports whether adding comments raises an event: if one of them triggers notifications, or
// the account has allEvents.
func wanted(call *rpc.Call, comments []NewComment) bool {
	return call.Settings.AllEvents || slices.ContainsFunc(comments, func(c NewComment) bool { return c.TriggerNotification })
}

// newEvent returns an event without its subject. of distinguishes the events of one call, and
// position orders them.
func newEvent(call *rpc.Call, doc collab.DocumentRef, position int, name string) collab.Event {
	ev := collab.In(doc)
	ev.ID, ev.Time = call.IDs.For(position, name), call.Millis()
	if call.Person != nil {
		u := call.Person.User()
		ev.Actor, ev.ByPerson = u.Acting(), true
	}
	return ev
}

// Actor is the acting user of an update.
type Actor struct {
	ActionUser *collab.User `json:"actionUser" doc:"The acting user: shown in notifications, and not notified"`
}

func (a Actor) id() (ids []string) {
	if a.ActionUser != nil {
		ids = append(ids, a.ActionUser.UserID)
	}
	return ids
}

// of sets the actor of an event, if there is one.
func (a Actor) withActor(ev collab.Event) collab.Event {
	if a.ActionUser != nil {
		ev.Actor = a.ActionUser.Acting()
	}
	return ev
}

// annotationAdded completes ev for a new annotation. sent are its comments in the request.
func annotationAdded(ev collab.Event, t *collab.Thread, sent []NewComment, all bool) *collab.Event {
	ev.Describe(collab.AnnotationAdded, &t.Annotation)
	ev.Share(nil, &t.Annotation)
	putComments(&ev, t.Comments, sent, all)
	return &ev
}

// commentsAdded completes ev for comments added to an annotation. head is the annotation before;
// sent are the comments in the request, in the same order.
func commentsAdded(ev collab.Event, head *collab.Annotation, comments []collab.Comment, sent []NewComment, all bool) *collab.Event {
	ev.Describe(collab.CommentAdded, head)
	putComments(&ev, comments, sent, all)
	return &ev
}

// commentsDeleted completes ev for deleted comments.
func commentsDeleted(ev collab.Event, head *collab.Annotation, comments []collab.Comment) *collab.Event {
	ev.Describe(collab.CommentDeleted, head)
	ev.AddComments(false, comments...)
	return &ev
}

// commentsUpdated completes ev for updated comments. With notify, it triggers notifications of
// newly mentioned users. Without an actor, the author of the first comment is the actor.
func commentsUpdated(ev collab.Event, head *collab.Annotation, were, comments []collab.Comment, notify bool) *collab.Event {
	ev.Describe(collab.CommentUpdated, head)
	ev.AddChanges(notify, were, comments)
	if notify && ev.Actor == nil {
		ev.Actor = author(&comments[0])
	}
	return &ev
}

// annotationUpdated returns the events of an update: one for a decision about a suggestion, one if
// the status changed, one if the assignee changed, and a general one if there is no other. A
// decision notifies instead of the change of status that comes with it. The first includes the
// users that the annotation is now shared with.
func annotationUpdated(evs [3]collab.Event, before, after *collab.Annotation, notify bool) []*collab.Event {
	var events []*collab.Event
	add := func(kind collab.EventType) *collab.Event {
		ev := evs[len(events)]
		ev.Notify = notify
		ev.Describe(kind, after)
		events = append(events, &ev)
		return &ev
	}
	if status := after.SuggestionStatus(); status != before.SuggestionStatus() {
		switch status {
		case accepted:
			add(collab.SuggestionAccepted)
		case rejected:
			add(collab.SuggestionRejected)
		}
	}
	decided := events != nil
	if before.StatusID != after.StatusID {
		ev := add(collab.AnnotationStatusChanged)
		ev.Notify = notify && !decided
		ev.Before.Status, ev.After.Status = before.StatusRef(), after.StatusRef()
	}
	if assignee := before.AssigneeID(); assignee != after.AssigneeID() {
		add(collab.AnnotationAssigned).Before.AssigneeID = assignee
	}
	if events == nil {
		add(collab.AnnotationUpdated).After.Priority = !bytes.Equal(before.Priority, after.Priority)
	}
	events[0].Share(before, after)
	return events
}

// putComments adds the triggering comments to an event, followed by the others if the account has
// allEvents. The author of the first triggering comment is the actor.
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

// author returns the author of a comment as an actor, or nil.
func author(c *collab.Comment) *collab.User {
	if c.From == nil {
		return nil
	}
	return collab.UserOf(c.From).Acting()
}
