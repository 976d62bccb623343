package delivery

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
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
		if people, err = r.named(ctx); err != nil {
			return nil, "", err
		}
		people = slices.DeleteFunc(people, func(p person) bool { return p.UserID <= after })
	}
	if len(people) > r.PageSize {
		people = people[:r.PageSize]
		next = "@" + people[len(people)-1].UserID
	}
	return people, next, nil
}

// among returns the user if the event concerns them, else nobody.
func (r *eventRun) among(ctx context.Context, user string) ([]person, error) {
	if !r.event.NotifyAll {
		people, err := r.named(ctx)
		return slices.DeleteFunc(people, func(p person) bool { return p.UserID != user }), err
	}
	members, err := r.Directory.Members(ctx, r.document.OrganizationRef, []string{user})
	if m, ok := members[user]; ok && m.Holds(r.millis()) {
		return []person{{User: m.User}}, err
	}
	return nil, err
}

// roster collects people, each once.
type roster struct {
	list []person
	at   map[string]int // where in the list, by user id
	most int            // people
}

// add adds a person, or the addresses of one who is in the list.
func (s *roster) add(p person) {
	i, known := s.at[p.UserID]
	switch {
	case known:
		if collab.Deref(s.list[i].Email) == "" {
			s.list[i].Email = p.Email
		}
		s.list[i].hint = cmp.Or(s.list[i].hint, p.hint)
	case p.UserID != "" && p.UserID != collab.ErasedUser && len(s.list) < s.most:
		s.at[p.UserID] = len(s.list)
		s.list = append(s.list, p)
	}
}

// What is read of a thread to know who is in it.
const (
	threadComments = 100       // the last ones
	threadPortion  = 25        // at once
	threadBytes    = 1_000_000 // after which no further portion is read
)

// named returns, by id, the people whom an event names, its assignee, and those in its thread: the authors of the last comments before those
// that the event adds, the people tagged in them, and the creator; of those in the thread alone the latest collab.MaxPeople. It reads the
// thread's head.
func (r *eventRun) named(ctx context.Context) ([]person, error) {
	ev := r.event
	all := roster{at: map[string]int{}, most: math.MaxInt}
	for _, u := range ev.People {
		all.add(person{User: u})
	}
	if ev.Annotation != nil {
		all.add(person{User: userOf(ev.Annotation.AssignedTo)})
	}
	all.most = len(all.list) + collab.MaxPeople
	ofThread := func(u collab.User) {
		all.add(person{collab.User{UserID: u.UserID, Name: u.Name}, collab.Deref(u.Email)})
	}
	before, portion := firstID(ev.Comments), cmp.Or(r.portion, threadPortion)
	if ev.Type == collab.CommentUpdated {
		before = collab.MaxCommentID // comments that are changed have readers, and some after them
	}
	for n, size := 0, 0; ev.AnnotationID != "" && n < threadComments && size < threadBytes; {
		thread, err := r.Threads.RecentComments(ctx, r.document, ev.AnnotationID, before, portion)
		if err != nil {
			return nil, err
		}
		if r.head = nil; thread == nil {
			break
		}
		r.head = &thread.Annotation
		comments := thread.Comments
		for _, c := range slices.Backward(comments) {
			ofThread(userOf(c.From))
			for _, u := range tagged(c.TaggedUserContacts) {
				ofThread(u)
			}
			size += len(collab.Deref(c.Text)) + len(collab.Deref(c.HTML)) + len(c.Context) + len(c.Attachments) + len(c.TaggedUserContacts)
		}
		if n += len(comments); len(comments) < portion {
			break
		}
		before = comments[0].ID
	}
	if ev.AnnotationID != "" && ev.Annotation != nil {
		ofThread(userOf(ev.Annotation.From))
	}
	slices.SortFunc(all.list, func(a, b person) int { return strings.Compare(a.UserID, b.UserID) })
	return all.list, nil
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
