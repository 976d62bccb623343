package delivery

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"

	"collabdata/shared/collab"
)

// person is a recipient of an event, as long as no rule refuses.
type person struct {
	collab.User        // with the address that the event names
	hint        string // the address that the event's thread has, which may be old; "" for none
	follower    bool   // follows the document, and is not concerned otherwise
}

// audience returns a page of the event's recipients: at most PageSize, in the order of their ids, with the cursor of the next page, "" for
// the last. A cursor is "@" and the last id of the page before. The user who caused the event is among them. An event whose comments are
// deleted has none.
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
		next = cursorAfter(people)
	}
	return people, next, nil
}

// cursorAfter returns the cursor of the page after people.
func cursorAfter(people []person) string { return "@" + people[len(people)-1].UserID }

// among returns the user as a recipient of the event; an empty list if they are none.
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

// addHint adds a user with the address that the thread has.
func (s *roster) addHint(u collab.User) {
	s.add(person{User: collab.User{UserID: u.UserID, Name: u.Name}, hint: collab.Deref(u.Email)})
}

// addThread adds the author of a comment, nil for none, and the users that it tags.
func (s *roster) addThread(c *comment) {
	if c == nil {
		return
	}
	s.addHint(c.from)
	for _, u := range c.tagged {
		s.addHint(u)
	}
}

// sorted returns the people by their ids.
func (s *roster) sorted() []person {
	slices.SortFunc(s.list, func(a, b person) int { return strings.Compare(a.UserID, b.UserID) })
	return s.list
}

// Bounds of the comments that are read to find the people in a thread.
const (
	threadComments = 100       // the last ones
	threadPortion  = 25        // read at once
	threadBytes    = 1_000_000 // after which no further portion is read
)

// named returns, by id, the people whom an event names: the recipients of a notification; else the people whom its comments mention now, by
// themselves or by their groups, and with whom its thread is shared; unless these alone are notified, its assignee, the people in its thread,
// and those who follow it or its document.
func (r *eventRun) named(ctx context.Context) ([]person, error) {
	ev := r.event
	all := roster{at: map[string]int{}, most: math.MaxInt}
	if ev.NotificationID != "" {
		users, err := r.recipients(ctx, ev)
		for _, u := range users {
			all.add(person{User: u.Short()})
		}
		return all.sorted(), err
	}
	var followers func() ([]string, error)
	var recent func() (*collab.Thread, error)
	if !ev.NamedAlone {
		followers = collab.Later(ctx, func() ([]string, error) { return r.Threads.Followers(ctx, r.document) })
		recent = collab.Later(ctx, func() (*collab.Thread, error) { return r.commentsBefore(ctx, ownComments(ev)) })
	}
	if err := r.readThread(ctx); err != nil || r.head == nil || !r.said() {
		return nil, err
	}
	addressed, err := r.addressed(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range ev.NotifyingIDs() {
		if c := r.comments[id]; c != nil {
			for _, u := range c.tagged {
				switch {
				case !slices.Contains(addressed, u.UserID):
				case ev.ByPerson:
					all.addHint(u) // the address that was stored when the comment was written
				default:
					all.add(person{User: u})
				}
			}
		}
	}
	for _, id := range addressed {
		all.add(person{User: collab.User{UserID: id}})
	}
	if ev.NamedAlone {
		return all.sorted(), nil
	}
	all.add(person{User: r.assignee()})
	all.most = len(all.list) + collab.MaxPeople
	err = r.addThread(ctx, &all, recent)
	if f := r.head.Follows; f != nil {
		all.most = len(all.list) + collab.MaxFollows
		for _, id := range f.All {
			all.add(person{User: collab.User{UserID: id}})
		}
	}
	following, failed := followers()
	all.most = len(all.list) + collab.MaxFollowers
	for _, id := range following {
		all.add(person{User: collab.User{UserID: id}, follower: true})
	}
	return all.sorted(), errors.Join(err, failed)
}

// addressed returns the users whom the event mentions, or shares its thread with.
func (r *eventRun) addressed(ctx context.Context) ([]string, error) {
	mentioned, err := r.mentioned(ctx)
	return append(slices.Clip(mentioned), r.event.SharedWith...), err
}

// newlyMentioned returns those of users whom an update of comments has not mentioned before.
func (r *eventRun) newlyMentioned(ctx context.Context, users []string) ([]string, error) {
	before := r.event.Before.Mentions
	were := before.Users
	for _, group := range before.Groups {
		if len(users) == 0 {
			break
		}
		members, err := r.inGroup(ctx, group)
		if err != nil {
			return nil, err
		}
		were = append(slices.Clip(were), members...)
	}
	return collab.Where(users, func(id string) bool { return !slices.Contains(were, id) }), nil
}

// recipients returns the recipients of a notification, read at most once in namedTTL.
func (d *Deliverer) recipients(ctx context.Context, ev *collab.Event) ([]collab.User, error) {
	if users, known := d.sentTo.Get(ev.ID, d.Now()); known {
		return users, nil
	}
	users, err := d.Inbox.Recipients(ctx, ev)
	if err == nil {
		d.sentTo.Put(ev.ID, users, d.Now().Add(namedTTL))
	}
	return users, err
}

// assignee returns the user whom the thread is assigned to, as the event has it.
func (r *eventRun) assignee() collab.User {
	assignee := userOf(r.head.AssignedTo)
	if assignee.UserID != r.event.After.AssigneeID {
		assignee = collab.User{UserID: r.event.After.AssigneeID}
	}
	return assignee
}

// addThread adds the creator of the event's thread, the authors of the last comments before the event's own, of which recent returns the
// last portion, and the people tagged in them. Comments that were added after the event do not count.
func (r *eventRun) addThread(ctx context.Context, all *roster, recent func() (*collab.Thread, error)) error {
	for n, size := 0, 0; n < threadComments && size < threadBytes; {
		thread, err := recent()
		if err != nil {
			return err
		}
		if thread == nil {
			break
		}
		comments := thread.Comments
		for _, c := range slices.Backward(comments) {
			if size += c.Content(); c.Added() > r.event.Time {
				continue
			}
			all.addThread(newComment(&c))
		}
		if n += len(comments); len(comments) < r.atOnce() {
			break
		}
		recent = func() (*collab.Thread, error) { return r.commentsBefore(ctx, comments[0].ID) }
	}
	all.addHint(userOf(r.head.From))
	return nil
}

// ownComments returns the id before which the comments of a thread are not those of an event.
func ownComments(ev *collab.Event) int64 {
	if len(ev.CommentIDs) == 0 {
		return collab.MaxCommentID
	}
	return slices.Min(ev.CommentIDs)
}

func (r *eventRun) atOnce() int { return cmp.Or(r.portion, threadPortion) }

// commentsBefore returns a portion of the comments of the event's thread before an id.
func (r *eventRun) commentsBefore(ctx context.Context, id int64) (*collab.Thread, error) {
	return r.Threads.RecentComments(ctx, r.document, r.event.AnnotationID, id, r.atOnce())
}

// userOf reads a user object; the zero user for none.
func userOf(object collab.JSON) collab.User {
	var u collab.User
	if len(object) == 0 || json.Unmarshal(object, &u) != nil {
		return collab.User{}
	}
	return u.Short()
}
