package delivery

import (
	"context"
	"slices"
	"sync"

	"collabdata/shared/access"
	"collabdata/shared/collab"
)

// eventRun is a step of an event.
type eventRun struct {
	*Deliverer
	*thread
	event    *collab.Event
	document collab.DocumentRef
	settings collab.Settings // of the account
	portion  int             // comments per read when looking for people; 0 means threadPortion

	endpoints struct {
		once sync.Once
		list []collab.Webhook
		err  error
	}
}

// webhookEndpoints returns the account's endpoints, read once.
func (r *eventRun) webhookEndpoints(ctx context.Context) ([]collab.Webhook, error) {
	r.endpoints.once.Do(func() { r.endpoints.list, r.endpoints.err = r.Hooks.Endpoints(ctx, r.event.Account) })
	return slices.Clone(r.endpoints.list), r.endpoints.err
}

func (d *Deliverer) about(ev *collab.Event, settings collab.Settings, t *thread) *eventRun {
	return &eventRun{Deliverer: d, thread: t, event: ev, document: ev.Document(), settings: settings}
}

// thread is an event's thread as last read.
type thread struct {
	head     *collab.Annotation  // nil if it is deleted, or the event has no thread
	comments map[int64]*comment  // existing comments of the event
	groups   map[string][]string // mentioned members, by group
	looked   int                 // examined members of groups
}

// comment is a comment with decoded user objects.
type comment struct {
	*collab.Comment
	from   collab.User
	tagged []collab.User
}

func newComment(c *collab.Comment) *comment {
	read := &comment{Comment: c, from: collab.UserOf(c.From).Short()}
	for _, tag := range collab.Tags(c.TaggedUserContacts) {
		if tag.GroupID != "" {
			continue
		}
		u := collab.Deref(tag.Contact)
		u.UserID = tag.UserID
		read.tagged = append(read.tagged, u.Short())
	}
	return read
}

const (
	latestComments = 12 // read for an email
	readComments   = 50 // per read of a thread, up to 350 KB each
)

// readThread reads the head of the event's thread and the event's comments.
func (r *eventRun) readThread(ctx context.Context) error {
	ids := r.event.NotifyingIDs()
	r.comments = map[int64]*comment{}
	for first := true; r.event.AnnotationID != "" && (first || len(ids) > 0); first = false {
		part := collab.ThreadPart{Document: r.document, Annotation: r.event.AnnotationID, At: r.event.Time, Comments: ids[:min(len(ids), readComments)]}
		list, err := r.Threads.Parts(ctx, []collab.ThreadPart{part}, false)
		if err != nil {
			return err
		}
		ids = ids[len(part.Comments):]
		if r.head = nil; list[0] == nil {
			continue
		}
		r.head = &list[0].Annotation
		for i := range list[0].Comments {
			c := &list[0].Comments[i]
			r.comments[c.ID] = newComment(c)
		}
	}
	return nil
}

// said reports whether a comment of the event exists, or the event has none.
func (r *eventRun) hasContent() bool { return len(r.event.NotifyingIDs()) == 0 || len(r.comments) > 0 }

// mentioned returns the users that the event's comments mention, also by groups. For updated
// comments it only returns newly mentioned users.
func (r *eventRun) mentioned(ctx context.Context) (users []string, err error) {
	for _, id := range r.event.NotifyingIDs() {
		c := r.comments[id]
		if c == nil {
			continue
		}
		mentions := r.event.Mentioned(collab.MentionsOf(*c.Comment))
		users = append(users, mentions.Users...)
		for _, group := range mentions.Groups {
			members, err := r.inGroup(ctx, group)
			if err != nil {
				return nil, err
			}
			users = append(users, members...)
		}
	}
	return r.newlyMentioned(ctx, users)
}

// inGroup caches membersOf.
func (r *eventRun) inGroup(ctx context.Context, group string) ([]string, error) {
	if r.groups[group] == nil {
		members, err := r.membersOf(ctx, group)
		if err != nil {
			return nil, err
		}
		if r.groups == nil {
			r.groups = map[string][]string{}
		}
		r.groups[group] = append([]string{}, members...)
	}
	return r.groups[group], nil
}

// membersOf returns the members of a group that a comment mentions. For a large group, these are
// the first collab.MaxGroupMention members who can see the thread. It examines at most
// access.MaxCandidates members of all groups of an event.
func (r *eventRun) membersOf(ctx context.Context, group string) ([]string, error) {
	org := r.document.OrganizationRef
	left := access.MaxCandidates - r.looked
	if left <= 0 {
		return nil, nil
	}
	whole := false // few enough for the rules to decide about all
	next := func(ctx context.Context, after string, n int) (users []string, last string, err error) {
		users, err = r.Directory.GroupUsers(ctx, org, group, after, n+1)
		if len(users) > n {
			users = users[:n]
			last = users[n-1]
		}
		whole = after == "" && last == ""
		r.looked += len(users)
		return users, last, err
	}
	found, _, err := access.First(ctx, collab.MaxGroupMention, left, "", next, func(ctx context.Context, users []string) (map[string]bool, error) {
		may := map[string]bool{}
		if whole {
			for _, u := range users {
				may[u] = true
			}
			return may, nil
		}
		viewers, err := r.access.Viewers(ctx, r.settings, []collab.DocumentRef{r.document}, users, r.head.Visibility != nil)
		for _, v := range slices.Concat(viewers...) {
			may[v.User] = v.May && v.Sees(r.head.Visibility, r.head.CreatorID)
		}
		return may, r.answered(err, r.event.Time)
	})
	return found, err
}

// newlyMentioned returns the users that were not mentioned before an update of comments.
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

// listed reports whether one entry in the organization's list for all serves every inbox.
// Preferences apply when an inbox is read.
func (r *eventRun) listed() bool { return r.event.NotifyAll && !r.event.VerifyAccess }
