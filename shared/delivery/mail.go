package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/mail"
	"collabdata/shared/metrics"
)

const (
	mailLease      = 2 * time.Minute // a claim whose holder was not heard of for so long is taken over; no run takes as long
	recentComments = 3               // shown as context
)

// thread is the thread of the work's event as a recipient gets mail about it.
func (w *work) thread(r collab.Recipient) collab.MailThread {
	return collab.MailThread{DocumentRef: w.document, Annotation: w.event.AnnotationID, User: r.UserID}
}

// eachMail calls f for all recipients who get a mail, some side by side.
func eachMail(circle *collab.Circle, f func(collab.Recipient) error) error {
	var list []collab.Recipient
	for _, r := range circle.Recipients {
		if r.Mail {
			list = append(list, r)
		}
	}
	return each(len(list), sideBySide, func(i int) error { return f(list[i]) })
}

// sendMail sends a recipient the mail about an event, unless it was sent. Unless alone is true it takes along later events on the thread
// about which no mail was sent yet.
func (d *Deliverer) sendMail(ctx context.Context, w *work, r collab.Recipient, alone bool) error {
	if d.Mailer == nil {
		return nil // it was decided when mail was sent
	}
	thread := w.thread(r)
	claimed, err := d.Store.ClaimMail(ctx, thread, w.ID, alone, d.Now().Add(mailLease).UnixMilli())
	if err != nil || len(claimed) == 0 {
		return err
	}
	notice, err := d.notice(ctx, w, r, claimed)
	if err == nil {
		err = d.Mailer.Send(ctx, notice)
	}
	switch {
	case err == nil:
		d.Metrics.Add(metrics.Deliveries, metrics.Email, 1)
	case errors.Is(err, mail.ErrRejected):
		d.Metrics.Add(metrics.DeliveryFailures, metrics.Email, 1)
		d.Log.LogAttrs(ctx, slog.LevelWarn, "mail rejected", slog.String("account", w.Account), slog.String("event", w.ID))
	default:
		d.Metrics.Add(metrics.DeliveryRetries, metrics.Email, 1)
		free, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		return errors.Join(withoutText(err), d.Store.FreeMail(free, thread, claimed))
	}
	return d.Store.MailSent(ctx, thread, claimed)
}

// withoutText returns the code of an error of the mail service, whose text may name addresses.
func withoutText(err error) error {
	var failure interface{ ErrorCode() string }
	if errors.As(err, &failure) {
		return errors.New("mail not sent: " + failure.ErrorCode())
	}
	return err
}

// notice returns the mail that tells a recipient of events.
func (d *Deliverer) notice(ctx context.Context, w *work, r collab.Recipient, events []string) (mail.Notice, error) {
	n := mail.Notice{To: r.User, OrganizationID: w.event.OrganizationID, Document: w.event.DocumentID}
	doc, err := d.Store.Document(ctx, w.document)
	if err != nil && collab.CodeOf(err) != collab.NotFound {
		return n, err
	}
	if doc.Name != "" {
		n.Document = doc.Name
	}
	for _, id := range events {
		ev := w.event
		if id != w.ID {
			if ev, err = d.Store.Event(ctx, w.Account, id); collab.CodeOf(err) == collab.NotFound {
				continue
			}
			if err != nil {
				return n, err
			}
		}
		told := notificationOf(ev)
		e := mail.Event{Time: ev.Time, Headline: told.HeadlineFor(r.User), Comments: ev.Comments, Truncated: ev.Truncated}
		if ev.Notification != nil {
			e.Body = told.Body
		}
		n.Events = append(n.Events, e)
	}
	n.Earlier, err = d.earlier(ctx, w)
	return n, err
}

// earlier returns the last comments of the thread before those of the event.
func (d *Deliverer) earlier(ctx context.Context, w *work) ([]collab.EventComment, error) {
	ev := w.event
	if ev.AnnotationID == "" || len(ev.RecentComments) > 0 {
		return ev.RecentComments, nil
	}
	before := int64(collab.MaxCommentID)
	for _, c := range ev.Comments {
		before = min(before, c.CommentID)
	}
	comments, err := d.Store.RecentComments(ctx, w.document, ev.AnnotationID, before, recentComments)
	var list []collab.EventComment
	for _, c := range comments {
		list = append(list, collab.EventComment{
			CommentID: c.ID, Text: c.Text, HTML: c.HTML, From: c.From, TaggedUserContacts: c.TaggedUserContacts, CreatedAt: c.CreatedAt,
		})
	}
	return list, err
}

// maxBody bounds the text of a comment that a notification shows, in bytes.
const maxBody = 1_000

// notificationOf returns the notification that tells of an event: the one that it is about, or one that is made of it and always the same.
func notificationOf(ev *collab.Event) collab.Notification {
	if ev.Notification != nil {
		return *ev.Notification
	}
	n := collab.Notification{ID: ev.ID, DocumentID: ev.DocumentID, AnnotationID: ev.AnnotationID, CreatedAt: ev.Time}
	if ev.Actor != nil {
		n.ActionUser = *ev.Actor
	}
	if len(ev.Comments) > 0 {
		n.Body = mail.Text(ev.Comments[0])
		if len(n.Body) > maxBody {
			n.Body = cut(n.Body, maxBody) + "…"
		}
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
		n.Headline = "{actionUser} added a comment"
	case collab.CommentAdded:
		n.Headline = "{actionUser} replied"
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
			return cut(name, maxName)
		}
	}
	return ""
}
