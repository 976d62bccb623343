package delivery

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"collabdata/shared/collab"
)

// person is a potential recipient of an event. The rules may refuse them.
type person struct {
	collab.User        // with the address in the event
	hint        string // the address in the thread, possibly outdated; "" for none
	follower    bool   // follows the document and has no other reason to be notified
}

// audience returns at most PageSize recipients of the event, in the order of their ids, and the
// cursor of the next page or "". A cursor is "@" and the last id of the previous page. The
// recipients include the user who caused the event. An event with only deleted comments has none.
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
			if people = append(people, person{User: collab.User{UserID: m.UserID}}); len(people) > r.PageSize {
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

func cursorAfter(people []person) string { return "@" + people[len(people)-1].UserID }

// among returns the user if they are a recipient of the event, else an empty list.
func (r *eventRun) among(ctx context.Context, user string) ([]person, error) {
	if !r.event.NotifyAll {
		people, err := r.named(ctx)
		return slices.DeleteFunc(people, func(p person) bool { return p.UserID != user }), err
	}
	members, err := r.Directory.Members(ctx, r.document.OrganizationRef, []string{user})
	if m, ok := members[user]; ok && m.Holds(r.millis()) {
		return []person{{User: collab.User{UserID: m.UserID}}}, err
	}
	return nil, err
}

// roster collects distinct people.
type roster struct {
	list  []person
	at    map[string]int // positions in the list, by user id
	limit int            // of people
}

// add adds a person, or merges the addresses of a listed one.
func (s *roster) add(p person) {
	i, ok := s.at[p.UserID]
	switch {
	case ok:
		if collab.Deref(s.list[i].Email) == "" {
			s.list[i].Email = p.Email
		}
		s.list[i].hint = cmp.Or(s.list[i].hint, p.hint)
	case p.UserID != "" && p.UserID != collab.ErasedUser && len(s.list) < s.limit:
		s.at[p.UserID] = len(s.list)
		s.list = append(s.list, p)
	}
}

// addHint adds a user with the address in the thread.
func (s *roster) addHint(u collab.User) {
	s.add(person{User: collab.User{UserID: u.UserID, Name: u.Name}, hint: collab.Deref(u.Email)})
}

// addThread adds the author of a comment and its tagged users. The comment may be nil.
func (s *roster) addThread(c *comment) {
	if c == nil {
		return
	}
	s.addHint(c.from)
	for _, u := range c.tagged {
		s.addHint(u)
	}
}

func (s *roster) sorted() []person {
	slices.SortFunc(s.list, func(a, b person) int { return strings.Compare(a.UserID, b.UserID) })
	return s.list
}

// Limits of reading comments to find the people in a thread.
const (
	threadComments = 100       // only the last comments
	threadPortion  = 25        // per read
	threadBytes    = 1_000_000 // stops reading further portions
)

// named returns the people that an event names, by id. For a notification these are its recipients.
// For a comment event these are the users currently mentioned, also by groups, and the users its
// thread is shared with; for a reaction, the author of the comment. Unless only these are notified,
// named adds the assignee, the people in the thread, and followers of the thread or document.
func (r *eventRun) named(ctx context.Context) ([]person, error) {
	ev := r.event
	all := roster{at: map[string]int{}, limit: math.MaxInt}
	if ev.NotificationID != "" {
		users, err := r.recipients(ctx, ev)
		for _, u := range users {
			all.add(person{User: u.Short()})
		}
		return all.sorted(), err
	}
	var followers func() ([]string, error)
	var recent func() (*collab.Thread, error)
	if !ev.NamedAlone && ev.Type != collab.ReactionAdded {
		followers = collab.Later(ctx, func() ([]string, error) { return r.Threads.Followers(ctx, r.document) })
		recent = collab.Later(ctx, func() (*collab.Thread, error) { return r.commentsBefore(ctx, ownComments(ev)) })
	}
	if err := r.readThread(ctx); err != nil || r.head == nil || !r.hasContent() {
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
					all.addHint(u) // the address stored with the comment
				default:
					all.add(person{User: u})
				}
			}
		}
	}
	for _, id := range addressed {
		all.add(person{User: collab.User{UserID: id}})
	}
	if ev.Type == collab.ReactionAdded {
		for _, c := range r.comments {
			all.addHint(c.from)
		}
		return all.sorted(), nil
	}
	if ev.NamedAlone {
		return all.sorted(), nil
	}
	all.add(person{User: r.assignee()})
	all.limit = len(all.list) + collab.MaxPeople
	err = r.addThread(ctx, &all, recent)
	if f := r.head.Follows; f != nil {
		all.limit = len(all.list) + collab.MaxFollows
		for _, id := range f.All {
			all.add(person{User: collab.User{UserID: id}})
		}
	}
	following, failed := followers()
	all.limit = len(all.list) + collab.MaxFollowers
	for _, id := range following {
		all.add(person{User: collab.User{UserID: id}, follower: true})
	}
	return all.sorted(), errors.Join(err, failed)
}

// addressed returns the users that the event mentions, or shares its thread with.
func (r *eventRun) addressed(ctx context.Context) ([]string, error) {
	mentioned, err := r.mentioned(ctx)
	return append(slices.Clip(mentioned), r.event.SharedWith...), err
}

// recipients returns the recipients of a notification, cached for namedTTL.
func (d *Deliverer) recipients(ctx context.Context, ev *collab.Event) ([]collab.User, error) {
	if users, ok := d.sentTo.Get(ev.ID, d.Now()); ok {
		return users, nil
	}
	users, err := d.Inbox.Recipients(ctx, ev)
	if err == nil {
		d.sentTo.Put(ev.ID, users, d.Now().Add(namedTTL))
	}
	return users, err
}

// assignee returns the assignee of the thread at the time of the event.
func (r *eventRun) assignee() collab.User {
	assignee := collab.UserOf(r.head.AssignedTo).Short()
	if assignee.UserID != r.event.After.AssigneeID {
		assignee = collab.User{UserID: r.event.After.AssigneeID}
	}
	return assignee
}

// addThread adds the thread's creator, the authors of the last comments before the event's own, and
// the users tagged in them. recent returns the last portion of these comments.
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
	all.addHint(collab.UserOf(r.head.From).Short())
	return nil
}

// ownComments returns the id of the event's first own comment; earlier comments have lower ids.
func ownComments(ev *collab.Event) int64 {
	if len(ev.CommentIDs) == 0 {
		return collab.MaxCommentID
	}
	return slices.Min(ev.CommentIDs)
}

func (r *eventRun) atOnce() int { return cmp.Or(r.portion, threadPortion) }

// commentsBefore returns a portion of the thread's comments before an id.
func (r *eventRun) commentsBefore(ctx context.Context, id int64) (*collab.Thread, error) {
	return r.Threads.RecentComments(ctx, r.document, r.event.AnnotationID, id, r.atOnce())
}
