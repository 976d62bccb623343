package delivery

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/store/outbox"
)

// concerned returns up to outbox.RecipientPageSize of those whom an event concerns, and the cursor of the others: "@" and the id of the
// user behind whom the list goes on, in the order of ids.
func (d *Deliverer) concerned(ctx context.Context, w *work, cursor string) (people []collab.User, next string, err error) {
	after := strings.TrimPrefix(cursor, "@")
	if w.event.NotifyAll {
		for m, err := range d.Directory.ListMembers(ctx, w.document.OrganizationRef, after, outbox.RecipientPageSize) {
			if err != nil {
				return nil, "", err
			}
			if !m.Holds(d.Now().UnixMilli()) {
				continue
			}
			if people = append(people, m.User); len(people) > outbox.RecipientPageSize {
				break
			}
		}
	} else {
		thread, err := d.inThread(ctx, w)
		if err != nil {
			return nil, "", err
		}
		people = slices.DeleteFunc(named(w.event, thread), func(u collab.User) bool { return u.UserID <= after })
	}
	if len(people) > outbox.RecipientPageSize {
		people = people[:outbox.RecipientPageSize]
		next = "@" + people[len(people)-1].UserID
	}
	return slices.DeleteFunc(people, func(u collab.User) bool { return acted(w.event, u.UserID) }), next, nil
}

func acted(ev *collab.Event, user string) bool { return ev.Actor != nil && ev.Actor.UserID == user }

// named returns the people whom an event concerns, each once and by id: tagged or named ones, the assignee, and those in the thread.
func named(ev *collab.Event, thread []collab.User) []collab.User {
	list := slices.Clone(ev.People)
	if ev.Annotation != nil {
		list = append(list, userOf(ev.Annotation.AssignedTo))
	}
	at := map[string]int{}
	var kept []collab.User
	for _, u := range append(list, thread...) {
		if i, ok := at[u.UserID]; !ok && u.UserID != "" {
			at[u.UserID] = len(kept)
			kept = append(kept, u)
		} else if ok && collab.Deref(kept[i].Email) == "" {
			kept[i].Email = u.Email
		}
	}
	slices.SortFunc(kept, func(a, b collab.User) int { return strings.Compare(a.UserID, b.UserID) })
	return kept
}

// What is read of a thread to know who is in it.
const (
	threadComments = 100       // the last of them
	threadPortion  = 25        // at once
	threadBytes    = 1_000_000 // what is read at most, but for a portion
)

// inThread returns who is in the thread of an event, without their addresses: those who wrote its last comments before it or were tagged in
// them, and who began it, collab.MaxPeople of the latest at most. The addresses that the thread has of them are but hints, as they may be
// old.
func (d *Deliverer) inThread(ctx context.Context, w *work) (list []collab.User, err error) {
	ev := w.event
	w.hints = map[string]string{}
	if ev.AnnotationID == "" || !ev.Notify {
		return nil, nil
	}
	add := func(u collab.User) {
		hint, known := w.hints[u.UserID]
		if !known && len(list) == collab.MaxPeople {
			return
		}
		if !known {
			list = append(list, collab.User{UserID: u.UserID, Name: u.Name})
		}
		w.hints[u.UserID] = cmp.Or(hint, collab.Deref(u.Email))
	}
	before := firstID(ev.Comments)
	for n, size := 0, 0; n < threadComments && size < threadBytes; {
		comments, err := d.Threads.RecentComments(ctx, w.document, ev.AnnotationID, before, threadPortion)
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

// firstID returns the smallest id of the comments, the largest that there may be for none.
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
