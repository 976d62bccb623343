package delivery

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"collabdata/shared/collab"
)

// person is somebody whom an event concerns.
type person struct {
	collab.User        // with the address that the event names
	hint        string // the address that the event's thread has, which may be old; "" for none
}

// audience returns a page of the people whom an event concerns, at most PageSize in the order of their ids, and the cursor of
// the next page, "" for the last: "@" and the last id of this one. Whoever caused the event is among them.
func (r *eventRun) audience(ctx context.Context, cursor string) (people []person, next string, err error) {
	after := strings.TrimPrefix(cursor, "@")
	if r.event.NotifyAll {
		for m, err := range r.Directory.ListMembers(ctx, r.document.OrganizationRef, after, r.PageSize) {
			if err != nil {
				return nil, "", err
			}
			if !m.Holds(r.millis()) {
				continue
			}
			if people = append(people, person{User: m.User}); len(people) > r.PageSize {
				break
			}
		}
	} else {
		thread, err := r.inThread(ctx)
		if err != nil {
			return nil, "", err
		}
		people = slices.DeleteFunc(named(r.event, thread), func(p person) bool { return p.UserID <= after })
	}
	if len(people) > r.PageSize {
		people = people[:r.PageSize]
		next = "@" + people[len(people)-1].UserID
	}
	return people, next, nil
}

// named returns everyone whom an event names, its assignee, and those in the thread, each once, by id.
func named(ev *collab.Event, thread []person) []person {
	people := collab.Map(ev.People, func(u collab.User) person { return person{User: u} })
	if ev.Annotation != nil {
		people = append(people, person{User: userOf(ev.Annotation.AssignedTo)})
	}
	at := map[string]int{}
	var kept []person
	for _, p := range append(people, thread...) {
		i, ok := at[p.UserID]
		switch {
		case p.UserID == "":
		case !ok:
			at[p.UserID] = len(kept)
			kept = append(kept, p)
		default:
			if collab.Deref(kept[i].Email) == "" {
				kept[i].Email = p.Email
			}
			kept[i].hint = cmp.Or(kept[i].hint, p.hint)
		}
	}
	slices.SortFunc(kept, func(a, b person) int { return strings.Compare(a.UserID, b.UserID) })
	return kept
}

// What is read of a thread to know who is in it.
const (
	threadComments = 100       // the last ones
	threadPortion  = 25        // at once
	threadBytes    = 1_000_000 // after which no further portion is read
)

// inThread returns who is in the event's thread: the authors of its last comments before the event, those tagged in them, and its creator;
// collab.MaxPeople at most, the latest first.
func (r *eventRun) inThread(ctx context.Context) ([]person, error) {
	ev := r.event
	if ev.AnnotationID == "" || !ev.Notify {
		return nil, nil
	}
	var list []person
	at := map[string]int{}
	add := func(u collab.User) {
		i, ok := at[u.UserID]
		switch {
		case ok:
			list[i].hint = cmp.Or(list[i].hint, collab.Deref(u.Email))
		case len(list) < collab.MaxPeople:
			at[u.UserID] = len(list)
			list = append(list, person{collab.User{UserID: u.UserID, Name: u.Name}, collab.Deref(u.Email)})
		}
	}
	before := firstID(ev.Comments)
	for n, size := 0, 0; n < threadComments && size < threadBytes; {
		comments, err := r.Threads.RecentComments(ctx, r.document, ev.AnnotationID, before, threadPortion)
		if err != nil {
			return nil, err
		}
		for _, c := range slices.Backward(comments) {
			add(userOf(c.From))
			for _, u := range tagged(c.TaggedUserContacts) {
				add(u)
			}
			size += len(collab.Deref(c.Text)) + len(collab.Deref(c.HTML)) + len(c.Context) + len(c.Attachments) + len(c.TaggedUserContacts)
		}
		if n += len(comments); len(comments) < threadPortion {
			break
		}
		before = comments[0].ID
	}
	if ev.Annotation != nil {
		add(userOf(ev.Annotation.From))
	}
	return list, nil
}

// firstID returns the smallest id of the comments; the largest possible one where there are none.
func firstID(comments []collab.EventComment) int64 {
	first := int64(collab.MaxCommentID)
	for _, c := range comments {
		first = min(first, c.CommentID)
	}
	return first
}

// userOf reads a user object; the zero user for none.
func userOf(object collab.JSON) collab.User {
	var u collab.User
	if len(object) == 0 || json.Unmarshal(object, &u) != nil {
		return collab.User{}
	}
	return u.Short()
}

// tagged reads the users whom a comment tags.
func tagged(contacts collab.JSON) []collab.User {
	var list []collab.User
	for _, tag := range collab.Tags(contacts) {
		u := collab.Deref(tag.Contact)
		u.UserID = tag.UserID
		list = append(list, u.Short())
	}
	return list
}
