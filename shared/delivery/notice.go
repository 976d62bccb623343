package delivery

import (
	"cmp"
	"context"
	"io"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/mail"
	"collabdata/shared/mail/content"
	"collabdata/shared/mail/unsubscribe"
)

// notice returns the mail about threads.
func (r *mailRun) notice(ctx context.Context, threads []*mailThread) (n mail.Notice, err error) {
	secret, err := r.mailSecret(ctx, r.Account)
	if err != nil {
		return n, err
	}
	for i, t := range threads {
		of, err := r.threadNotice(ctx, t)
		if err != nil {
			return n, err
		}
		if i == 0 {
			n = of
		} else {
			n.Further = append(n.Further, of)
		}
	}
	n.Account, n.Look, n.To, n.OrganizationID, n.More = r.Account, r.account.Settings.MailLook, threads[0].to, r.For.Organization, r.counted
	n.Unsubscribe = unsubscribe.Recipient{
		Account: r.Account, Organization: r.For.Organization, User: r.For.User, Email: collab.Deref(n.To.Email),
		Sender: cmp.Or(n.Look.Product, n.Look.FromName),
	}.Token(secret)
	return n, nil
}

// threadNotice returns what a mail says of a thread, or of a notification.
func (r *mailRun) threadNotice(ctx context.Context, t *mailThread) (n mail.Notice, err error) {
	first := t.runs[0]
	n = mail.Notice{
		DocumentID: first.event.DocumentID, AnnotationID: first.event.AnnotationID, Document: cmp.Or(r.documents[first.document].Name, first.event.DocumentID),
	}
	before := int64(collab.MaxCommentID)
	for _, run := range t.runs {
		before = slices.Min(append(run.event.CommentIDs, before))
	}
	earlier := slices.DeleteFunc(slices.Clone(t.latest), func(c collab.Comment) bool { return c.ID >= before })
	for _, c := range earlier[max(0, len(earlier)-recentComments):] {
		n.Earlier = append(n.Earlier, mail.NewComment(&c))
	}
	if t.head != nil {
		n.Quote = t.head.TargetText()
	}
	for _, run := range t.runs {
		e := mail.Event{Time: run.event.Time}
		if of := run.custom; of != nil {
			e.Headline, e.Body = of.RenderHeadline().For(t.to), of.Body
		} else if e.Headline, err = run.headline(ctx, t.to, n.Document); err != nil {
			return n, err
		}
		for _, id := range run.event.NotifyingIDs() {
			if c := t.comments[id]; c != nil {
				e.Comments = append(e.Comments, mail.NewComment(c.Comment))
			}
		}
		n.Events = append(n.Events, e)
	}
	return n, nil
}

// mailSecret returns the secret that signs an account's tokens to unsubscribe, and makes it at the first time.
func (d *Deliverer) mailSecret(ctx context.Context, acct string) ([]byte, error) {
	if secret, known := d.secrets.Get(acct, d.Now()); known {
		return secret, nil
	}
	secret, err := d.Accounts.MailSecret(ctx, acct)
	if err != nil || secret != nil {
		d.secrets.Put(acct, secret, d.Now().Add(secretTTL))
		return secret, err
	}
	fresh := make([]byte, unsubscribe.SecretBytes)
	if _, err := io.ReadFull(d.Random, fresh); err != nil {
		return nil, err
	}
	return d.Accounts.KeepMailSecret(ctx, acct, fresh)
}

// headline returns the headline of the event for a recipient: who did what, and where.
func (r *eventRun) headline(ctx context.Context, to collab.User, document string) (string, error) {
	ev, actor, where := r.event, "Somebody", ""
	if ev.Actor != nil {
		actor = collab.Cut(ev.Actor.DisplayName(), content.MaxName)
	}
	if document != "" {
		where = " in " + collab.Cut(document, content.MaxName)
	}
	status, assignee := content.StatusName(ev.After.Status, r.head), content.AssigneeName(ev.After.AssigneeID, r.head)
	mentioned, err := r.mentioned(ctx)
	mine := to.UserID == ev.After.AssigneeID
	switch {
	case slices.Contains(mentioned, to.UserID):
		return actor + " mentioned you" + where, err
	case ev.Type == collab.AnnotationAdded && mine:
		return actor + " assigned a thread to you" + where, err
	case ev.Type == collab.AnnotationAdded:
		return actor + " added a comment" + where, err
	case ev.Type == collab.CommentAdded:
		return actor + " replied" + where, err
	case ev.Type == collab.CommentUpdated:
		return actor + " changed a comment" + where, err
	case ev.Type == collab.AnnotationStatusChanged && status != "":
		return "The status of a thread" + where + " was changed to " + status, err
	case ev.Type == collab.AnnotationAssigned && mine:
		return "A thread" + where + " was assigned to you", err
	case ev.Type == collab.AnnotationAssigned && assignee != "":
		return "A thread" + where + " was assigned to " + assignee, err
	case ev.Type == collab.AnnotationAssigned:
		return "A thread" + where + " is assigned to nobody any more", err
	}
	return "A thread" + where + " was changed", err
}
