package delivery

import (
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/metrics"
	"collabdata/shared/store/outbox"
)

// listed reports whether one entry in the organization's list for all serves every inbox. Preferences are asked when an inbox is read.
func (r *eventRun) listed() bool { return r.event.NotifyAll && !r.event.VerifyAccess }

// listForAll puts a notification to everyone into the organization's list for all.
func (r *eventRun) listForAll(ctx context.Context, w outbox.Work) (outbox.Work, error) {
	if !r.listed() {
		return then(w, outbox.StageRecipients), nil
	}
	if there, err := r.there(ctx); err != nil || !there {
		return then(w, outbox.StageEnd), err
	}
	if err := r.Inbox.AddToInboxOfAll(ctx, r.document.OrganizationRef, r.notification(r.event.NotificationID)); err != nil {
		return w, err
	}
	r.Metrics.Add(metrics.Deliveries, metrics.Inbox, 1)
	return then(w, outbox.StageRecipients), nil
}

// inboxes decides about one page of the audience, puts the notification into inboxes, and adds the event to mails.
func (r *eventRun) inboxes(ctx context.Context, w outbox.Work) (outbox.Work, error) {
	if r.stored.Stage == outbox.StageNew {
		r.Metrics.Add(metrics.Events, "", 1)
	}
	if !r.event.Notify || r.listed() && r.Mailer == nil {
		return then(w, outbox.StageEnd), nil
	}
	people, next, err := r.audience(ctx, w.Cursor)
	if err != nil {
		return w, err
	}
	decided, err := r.decide(ctx, people)
	if err != nil {
		return w, err
	}
	mailed := slices.DeleteFunc(slices.Clone(decided), func(d *decision) bool { return d.mail != "" })
	if inboxed := idsWhere(decided, func(d *decision) bool { return d.inbox == "" }); len(inboxed)+len(mailed) > 0 {
		if there, err := r.serve(ctx, inboxed); err != nil || !there {
			return then(w, outbox.StageEnd), err
		}
	}
	if err := r.addMails(ctx, mailed); err != nil {
		return w, err
	}
	if next != "" {
		w.Cursor, w.Next = next, r.millis()
		return w, nil
	}
	return then(w, outbox.StageEnd), nil
}

// serve puts the notification into the inboxes of users. It reports false, and puts it into none, if the document or the notification is
// deleted.
func (r *eventRun) serve(ctx context.Context, users []string) (there bool, err error) {
	if there, err := r.exists(ctx); err != nil || !there {
		return false, err
	}
	id := r.event.NotificationID
	switch {
	case id != "":
		deleted, err := r.Inbox.Deleted(ctx, r.event)
		if err != nil || deleted {
			return false, err
		}
	case len(users) > 0:
		id = r.event.ID
		n := collab.NotificationOf(r.event, r.head.LocationID)
		if there, err := r.Inbox.Derive(ctx, r.document.OrganizationRef, n, users); err != nil || !there {
			return false, err
		}
	}
	mentioned, err := r.mentioned(ctx)
	if err != nil {
		return false, err
	}
	if err := r.Inbox.AddToInbox(ctx, r.document.OrganizationRef, r.notification(id), users, mentioned...); err != nil {
		return false, err
	}
	r.Metrics.Add(metrics.Deliveries, metrics.Inbox, float64(len(users)))
	return true, nil
}

// notification returns the event's notification as lists have it.
func (r *eventRun) notification(id string) collab.Notification {
	n := collab.Notification{ID: id, DocumentID: r.event.DocumentID, AnnotationID: r.event.AnnotationID, CreatedAt: r.event.Time}
	if r.event.Actor != nil {
		n.ActionUser.UserID = r.event.Actor.UserID
	}
	return n
}

// there reports whether the document and the notification exist: nobody is notified of deleted ones.
func (r *eventRun) there(ctx context.Context) (bool, error) {
	if there, err := r.exists(ctx); err != nil || !there {
		return false, err
	}
	deleted, err := r.Inbox.Deleted(ctx, r.event)
	return err == nil && !deleted, err
}
