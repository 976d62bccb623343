package delivery

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"collabdata/shared/collab"
	"collabdata/shared/mail"
	"collabdata/shared/mail/content"
	"collabdata/shared/mail/unsubscribe"
	"collabdata/shared/store/outbox"
)

const (
	recentComments = 3  // shown in a mail before the new ones
	readComments   = 50 // of a thread at once: of 350 KB each at most
)

// notices is the content of mails about a thread, as it is now, rendered once for some recipients.
type notices struct {
	mu       sync.Mutex
	secret   []byte // signs the tokens to unsubscribe by
	thread   *mail.Notice
	events   map[string]*rendered
	comments map[int64]*comment // of the events that were read; nil for one that is gone
}

// comment is what is read of a comment.
type comment struct {
	mail.Comment
	tagged []collab.User
}

// rendered is an event's content in a mail; nil: it says nothing any more.
type rendered struct {
	headline func(collab.User) string // for a recipient
	event    mail.Event               // without its headline
}

// notice returns the mail about events to a user, and the events that it leaves out, as they say nothing any more.
func (r *eventRun) notice(ctx context.Context, to collab.User, events []string) (n mail.Notice, left []string, err error) {
	r.notices.mu.Lock()
	defer r.notices.mu.Unlock()
	if r.notices.thread == nil {
		thread, err := r.threadNotice(ctx)
		if err != nil {
			return n, nil, err
		}
		if r.notices.secret, err = r.mailSecret(ctx, r.event.Account); err != nil {
			return n, nil, err
		}
		r.notices.thread = thread
	}
	n = *r.notices.thread
	n.To = to
	n.Unsubscribe = unsubscribe.Recipient{
		Account: r.event.Account, Organization: r.event.OrganizationID, User: to.UserID, Email: collab.Deref(to.Email),
		Sender: cmp.Or(n.Look.Product, n.Look.FromName),
	}.Token(r.notices.secret)
	if err := r.render(ctx, events); err != nil {
		return n, nil, err
	}
	for _, id := range events {
		t := r.notices.events[id]
		if t == nil {
			left = append(left, id)
			continue
		}
		e := t.event
		e.Headline = t.headline(to)
		n.Events = append(n.Events, e)
	}
	return n, left, nil
}

// mailSecret returns the secret that signs an account's tokens to unsubscribe, and makes it at the first time.
func (r *eventRun) mailSecret(ctx context.Context, acct string) ([]byte, error) {
	if secret, err := r.Accounts.MailSecret(ctx, acct); err != nil || secret != nil {
		return secret, err
	}
	fresh := make([]byte, unsubscribe.SecretBytes)
	if _, err := io.ReadFull(r.Random, fresh); err != nil {
		return nil, err
	}
	return r.Accounts.KeepMailSecret(ctx, acct, fresh)
}

// threadNotice returns what all mails about the event's thread have in common.
func (r *eventRun) threadNotice(ctx context.Context) (*mail.Notice, error) {
	n := &mail.Notice{
		Account: r.event.Account, Look: r.settings.MailLook, OrganizationID: r.event.OrganizationID, DocumentID: r.event.DocumentID,
		AnnotationID: r.event.AnnotationID,
	}
	if r.head != nil {
		n.Quote = r.head.TargetText()
	}
	doc, err := r.Directory.Document(ctx, r.document)
	if err != nil && collab.CodeOf(err) != collab.NotFound {
		return nil, err
	}
	n.Document = cmp.Or(doc.Name, r.event.DocumentID)
	n.Earlier, err = r.earlier(ctx)
	return n, err
}

// render renders those of the events on the thread that are not rendered yet.
func (r *eventRun) render(ctx context.Context, events []string) error {
	if r.notices.events == nil {
		r.notices.events = map[string]*rendered{}
	}
	var list []*collab.Event
	for _, id := range events {
		if _, done := r.notices.events[id]; done {
			continue
		}
		r.notices.events[id] = nil
		ev, err := r.mailable(ctx, id)
		if err != nil {
			return err
		}
		if ev != nil {
			list = append(list, ev)
		}
	}
	if err := r.readThread(ctx, list...); err != nil {
		return err
	}
	for _, ev := range list {
		if !r.said(ev) {
			continue
		}
		var err error
		if r.notices.events[ev.ID], err = r.rendered(ctx, ev); err != nil {
			return err
		}
	}
	return nil
}

// mailable returns an event that mails are about; nil for one that is gone, or whose notification was deleted.
func (r *eventRun) mailable(ctx context.Context, id string) (*collab.Event, error) {
	if id == r.event.ID {
		return r.event, nil
	}
	ev, err := r.Outbox.Event(ctx, r.event.Account, id)
	if collab.CodeOf(err) == collab.NotFound || errors.Is(err, collab.ErrUnreadable) {
		return nil, nil
	}
	deleted := false
	if err == nil {
		deleted, err = r.Inbox.Deleted(ctx, ev)
	}
	if err != nil || deleted {
		return nil, err
	}
	return ev, nil
}

// readThread reads the event's thread as it is: its head, and those comments that events on it notify of and that were not read yet.
func (r *eventRun) readThread(ctx context.Context, events ...*collab.Event) error {
	var ids []int64
	for _, ev := range events {
		for _, id := range ev.NotifyingIDs() {
			if _, read := r.notices.comments[id]; !read {
				ids = append(ids, id)
			}
		}
	}
	first := r.notices.comments == nil
	if first {
		r.notices.comments = map[int64]*comment{}
	}
	for r.event.AnnotationID != "" && (first || len(ids) > 0) {
		part := collab.ThreadPart{Document: r.document, Annotation: r.event.AnnotationID, At: r.event.Time, Comments: ids[:min(len(ids), readComments)]}
		list, err := r.Threads.Parts(ctx, []collab.ThreadPart{part}, r.stored.Stage == outbox.StageMail) // a mail cannot be taken back
		if err != nil {
			return err
		}
		for _, id := range part.Comments {
			r.notices.comments[id] = nil
		}
		if r.head = nil; list[0] != nil {
			r.head = &list[0].Annotation
			for i := range list[0].Comments {
				c := &list[0].Comments[i]
				r.notices.comments[c.ID] = &comment{mail.NewComment(c), tagged(c.TaggedUserContacts)}
			}
		}
		first, ids = false, ids[len(part.Comments):]
	}
	return nil
}

// said reports whether an event still says something: a comment that it is about is there.
func (r *eventRun) said(ev *collab.Event) bool {
	ids := ev.NotifyingIDs()
	return len(ids) == 0 || slices.ContainsFunc(ids, func(id int64) bool { return r.notices.comments[id] != nil })
}

// rendered returns the content of an event, nil where its notification was deleted.
func (r *eventRun) rendered(ctx context.Context, ev *collab.Event) (*rendered, error) {
	t := &rendered{event: mail.Event{Time: ev.Time}}
	if ev.NotificationID != "" {
		n, _, err := r.Inbox.Sent(ctx, ev)
		if err != nil || n == nil {
			return nil, err
		}
		t.headline, t.event.Body = n.RenderHeadline().For, n.Body
		return t, nil
	}
	t.headline = r.headline(ev, r.notices.thread.Document)
	for _, id := range ev.NotifyingIDs() {
		if shown := r.notices.comments[id]; shown != nil {
			t.event.Comments = append(t.event.Comments, shown.Comment)
		}
	}
	return t, nil
}

// headline returns the headline of an event on the thread for each recipient: who did what, and where.
func (r *eventRun) headline(ev *collab.Event, document string) func(collab.User) string {
	actor, where := "Somebody", ""
	if ev.Actor != nil {
		actor = collab.Cut(ev.Actor.DisplayName(), content.MaxName)
	}
	if document != "" {
		where = " in " + collab.Cut(document, content.MaxName)
	}
	status, assignee := content.StatusName(ev.After.Status, r.head), content.AssigneeName(ev.After.AssigneeID, r.head)
	mentioned := r.mentioned(ev)
	return func(to collab.User) string {
		mine := to.UserID == ev.After.AssigneeID
		switch {
		case slices.Contains(mentioned, to.UserID):
			return actor + " mentioned you" + where
		case ev.Type == collab.AnnotationAdded && mine:
			return actor + " assigned a thread to you" + where
		case ev.Type == collab.AnnotationAdded:
			return actor + " added a comment" + where
		case ev.Type == collab.CommentAdded:
			return actor + " replied" + where
		case ev.Type == collab.CommentUpdated:
			return actor + " changed a comment" + where
		case ev.Type == collab.AnnotationStatusChanged && status != "":
			return "The status of a thread" + where + " was changed to " + status
		case ev.Type == collab.AnnotationAssigned && mine:
			return "A thread" + where + " was assigned to you"
		case ev.Type == collab.AnnotationAssigned && assignee != "":
			return "A thread" + where + " was assigned to " + assignee
		case ev.Type == collab.AnnotationAssigned:
			return "A thread" + where + " is assigned to nobody any more"
		}
		return "A thread" + where + " was changed"
	}
}

// mentioned returns the users whom the comments of an event mention.
func (r *eventRun) mentioned(ev *collab.Event) (users []string) {
	if ev.Type != collab.AnnotationAdded && ev.Type != collab.CommentAdded {
		return nil
	}
	for _, id := range ev.NotifyingIDs() {
		if c := r.notices.comments[id]; c != nil {
			users = append(users, collab.Map(c.tagged, func(u collab.User) string { return u.UserID })...)
		}
	}
	return users
}

// earlier returns the last comments of the thread before the event's own.
func (r *eventRun) earlier(ctx context.Context) (list []mail.Comment, err error) {
	if r.event.AnnotationID == "" {
		return nil, nil
	}
	before := int64(collab.MaxCommentID)
	if len(r.event.CommentIDs) > 0 {
		before = slices.Min(r.event.CommentIDs)
	}
	thread, err := r.Threads.RecentComments(ctx, r.document, r.event.AnnotationID, before, recentComments)
	if err != nil || thread == nil {
		return nil, err
	}
	for i := range thread.Comments {
		list = append(list, mail.NewComment(&thread.Comments[i]))
	}
	return list, nil
}
