package delivery

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"

	"collabdata/shared/collab"
	"collabdata/shared/mail"
	"collabdata/shared/mail/content"
	"collabdata/shared/mail/unsubscribe"
	"collabdata/shared/store/inbox"
)

const (
	recentComments = 3  // shown in a mail before the new ones
	readComments   = 50 // of a thread at once: of 350 KB each at most

	maxName = 200 // bytes of the name of what was changed
)

// notices is the content of mails about a thread, as it is now, rendered once for some recipients.
type notices struct {
	mu       sync.Mutex
	secret   []byte // signs the tokens to unsubscribe by
	thread   *mail.Notice
	events   map[string]*rendered
	comments map[int64]*mail.Comment // of the events that were read; nil for one that is gone
}

// rendered is an event's content in a mail; nil: it says nothing any more.
type rendered struct {
	headline func(collab.User) string // for a recipient
	event    mail.Event               // without its headline
}

// notice returns the mail about events to a recipient, and those of the events that it leaves out, as they say nothing any more.
func (r *eventRun) notice(ctx context.Context, p inbox.Recipient, events []string) (n mail.Notice, left []string, err error) {
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
	n.To = p.User
	n.Unsubscribe = unsubscribe.Recipient{
		Account: r.event.Account, Organization: r.event.OrganizationID, User: p.UserID, Email: collab.Deref(p.Email),
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
		e.Headline = t.headline(p.User)
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
		ev, err := r.told(ctx, id)
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
		if r.said(ev) {
			r.notices.events[ev.ID] = r.rendered(ev)
		}
	}
	return nil
}

// told returns an event that mails are about; nil for one that is deleted or withdrawn.
func (r *eventRun) told(ctx context.Context, id string) (*collab.Event, error) {
	if id == r.event.ID {
		return r.event, nil
	}
	ev, err := r.Outbox.Event(ctx, r.event.Account, id)
	if collab.CodeOf(err) == collab.NotFound || errors.Is(err, collab.ErrUnreadable) {
		return nil, nil
	}
	withdrawn := false
	if err == nil {
		withdrawn, err = r.Inbox.Withdrawn(ctx, collab.EventRef{Account: r.event.Account, ID: id})
	}
	if err != nil || withdrawn {
		return nil, err
	}
	return ev, nil
}

// readThread reads the event's thread as it is: its head, and those comments of events on it that were not read yet.
func (r *eventRun) readThread(ctx context.Context, events ...*collab.Event) error {
	var ids []int64
	for _, ev := range events {
		for _, c := range ev.Comments {
			if _, read := r.notices.comments[c.CommentID]; !read {
				ids = append(ids, c.CommentID)
			}
		}
	}
	first := r.notices.comments == nil
	if first {
		r.notices.comments = map[int64]*mail.Comment{}
	}
	for r.event.AnnotationID != "" && (first || len(ids) > 0) {
		part := collab.ThreadPart{Document: r.document, Annotation: r.event.AnnotationID, At: r.event.Time, Comments: ids[:min(len(ids), readComments)]}
		list, err := r.Threads.Parts(ctx, []collab.ThreadPart{part}, true)
		if err != nil {
			return err
		}
		for _, id := range part.Comments {
			r.notices.comments[id] = nil
		}
		if r.head = nil; list[0] != nil {
			r.head = &list[0].Annotation
			for i := range list[0].Comments {
				r.notices.comments[list[0].Comments[i].ID] = new(mail.NewComment(list[0].Comments[i].Event()))
			}
		}
		first, ids = false, ids[len(part.Comments):]
	}
	return nil
}

// said reports whether an event still says something: comments that it is about are there.
func (r *eventRun) said(ev *collab.Event) bool {
	return len(ev.Comments) == 0 || slices.ContainsFunc(ev.Comments, func(c collab.EventComment) bool {
		return r.notices.comments[c.CommentID] != nil
	})
}

// rendered returns the content of an event.
func (r *eventRun) rendered(ev *collab.Event) *rendered {
	n := notificationOf(ev)
	t := &rendered{headline: n.RenderHeadline().For, event: mail.Event{Time: ev.Time, Truncated: ev.Truncated}}
	if ev.Notification != nil {
		t.event.Body = n.Body
	} else {
		t.headline = mailHeadline(ev, r.notices.thread.Document)
	}
	for _, c := range ev.Comments {
		if shown := r.notices.comments[c.CommentID]; shown != nil {
			t.event.Comments = append(t.event.Comments, *shown)
		}
	}
	return t
}

// mailHeadline returns the headline of an event on a thread for each recipient: who did what, and where.
func mailHeadline(ev *collab.Event, document string) func(collab.User) string {
	actor, where := "Somebody", ""
	if ev.Actor != nil {
		actor = collab.Cut(ev.Actor.DisplayName(), maxName)
	}
	if document != "" {
		where = " in " + collab.Cut(document, maxName)
	}
	var status, assignee, assigneeID string
	if a := ev.Annotation; a != nil {
		status, assignee = nameOf(a.Status), nameOf(a.AssignedTo)
		assigneeID = userOf(a.AssignedTo).UserID
	}
	mentioned := mentionedBy(ev)
	return func(to collab.User) string {
		mine := to.UserID == assigneeID
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

// mentionedBy returns the users whom the comments of an event mention.
func mentionedBy(ev *collab.Event) []string {
	if ev.Type != collab.AnnotationAdded && ev.Type != collab.CommentAdded {
		return nil
	}
	return collab.Map(ev.People, func(u collab.User) string { return u.UserID })
}

// earlier returns the last comments of the thread before the event's own.
func (r *eventRun) earlier(ctx context.Context) (list []mail.Comment, err error) {
	if r.event.AnnotationID == "" {
		return nil, nil
	}
	thread, err := r.Threads.RecentComments(ctx, r.document, r.event.AnnotationID, firstID(r.event.Comments), recentComments)
	if err != nil || thread == nil {
		return nil, err
	}
	for i := range thread.Comments {
		list = append(list, mail.NewComment(thread.Comments[i].Event()))
	}
	return list, nil
}

// notificationOf returns the notification that an event carries, or else the one made of it, which is always the same.
func notificationOf(ev *collab.Event) collab.Notification {
	if ev.Notification != nil {
		return *ev.Notification
	}
	n := collab.Notification{
		ID: ev.ID, DocumentID: ev.DocumentID, Incarnation: ev.Incarnation[1], AnnotationID: ev.AnnotationID, Source: "comment", CreatedAt: ev.Time,
	}
	if ev.Annotation != nil {
		n.Location = ev.Annotation.Location
	}
	if ev.Actor != nil {
		n.ActionUser = *ev.Actor
	}
	if len(ev.Comments) > 0 {
		n.Body = content.Excerpt(ev.Comments[0])
	}
	for _, c := range ev.Comments[:min(len(ev.Comments), collab.MaxNotified)] {
		n.CommentIDs = append(n.CommentIDs, c.CommentID)
	}
	set := func(name string, object collab.JSON) bool {
		text := nameOf(object)
		if text == "" {
			return false
		}
		value, err := json.Marshal(text)
		if err != nil {
			return false
		}
		if n.TemplateData == nil {
			n.TemplateData = map[string]collab.JSON{}
		}
		n.TemplateData[name] = value
		return true
	}
	switch ev.Type {
	case collab.AnnotationAdded:
		n.Headline = collab.HeadlineAdded
	case collab.CommentAdded:
		n.Headline = collab.HeadlineReplied
	case collab.CommentUpdated:
		n.Headline = "{actionUser} changed a comment"
	case collab.AnnotationStatusChanged:
		n.Headline = "The status was changed"
		if ev.Annotation != nil && set("status", ev.Annotation.Status) {
			n.Headline += " to {status}"
		}
	case collab.AnnotationAssigned:
		n.Headline = "A thread is assigned to nobody any more"
		if ev.Annotation != nil && set("assignedTo", ev.Annotation.AssignedTo) {
			n.Headline = "A thread was assigned to {assignedTo}"
		}
	default:
		n.Headline = "A thread was changed"
	}
	return n
}

// nameOf returns the name that an object of the contract has for people: its name, else its e-mail address, else its id.
func nameOf(object collab.JSON) string {
	var o struct {
		Name   string `json:"name"`
		Email  string `json:"email"`
		UserID string `json:"userId"`
		ID     string `json:"id"`
	}
	if len(object) == 0 || json.Unmarshal(object, &o) != nil {
		return ""
	}
	for _, name := range []string{o.Name, o.Email, o.UserID, o.ID} {
		if name != "" {
			return collab.Cut(name, maxName)
		}
	}
	return ""
}
