package delivery

import (
	"cmp"
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/metrics"
)

// listForAll adds a notification to everyone to the organization's list for all.
// It returns true if the document or the notification is gone.
func (r *eventRun) listForAll(ctx context.Context) (gone bool, err error) {
	if !r.listed() {
		return false, nil
	}
	if present, err := r.subjectExists(ctx); err != nil || !present {
		return true, err
	}
	if err := r.Inbox.AddToInboxOfAll(ctx, r.document.OrganizationRef, r.notification(r.event.NotificationID)); err != nil {
		return false, err
	}
	r.Metrics.Add(metrics.Deliveries, metrics.Inbox, 1)
	return false, nil
}

// inboxes decides about one page of the audience, and adds the notification to inboxes and notices.
// It returns the cursor of the next page, "" at the end.
func (r *eventRun) inboxes(ctx context.Context, cursor string) (next string, err error) {
	if notify, err := r.tells(ctx); err != nil || !notify {
		return "", err
	}
	people, next, err := r.audience(ctx, cursor)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(people, func(p person) bool { return !r.caused(p.UserID) }) {
		if present, err := r.serve(ctx, people); err != nil || !present {
			return "", err
		}
	}
	return next, nil
}

// tells reports whether the event can reach the inbox or a channel of one person.
func (r *eventRun) tells(ctx context.Context) (bool, error) {
	if !r.event.Notify || !r.listed() || r.Mailer != nil {
		return r.event.Notify, nil
	}
	endpoints, err := r.webhookEndpoints(ctx)
	return slices.ContainsFunc(endpoints, func(h collab.Webhook) bool { return h.Wants(collab.NotificationDue) }), err
}

// serve adds the notification to the inboxes and next notices of the people it reaches. It returns
// false and does nothing if the document or the notification is deleted.
func (r *eventRun) serve(ctx context.Context, people []person) (present bool, err error) {
	exists := collab.Later(ctx, func() (bool, error) { return r.exists(ctx) })
	decided, err := r.decide(ctx, people)
	if present, failed := exists(); err != nil || failed != nil || !present {
		return false, cmp.Or(err, failed)
	}
	list := collab.Where(decided, reached)
	if len(list) == 0 {
		return true, nil
	}
	id := r.event.Notification()
	if r.event.NotifiedAs != "" {
		earlier, notified, err := r.notified(ctx, id)
		if err == nil && earlier != nil && !notified {
			err = r.Inbox.Withdraw(ctx, r.document.OrganizationRef, *earlier)
		}
		if err != nil || notified {
			return err == nil, err
		}
	}
	shown := idsWhere(list, func(d *decision) bool { return d.inbox == "" })
	if r.event.NotificationID != "" {
		deleted, err := r.Inbox.Deleted(ctx, r.event)
		if err != nil || deleted {
			return false, err
		}
	} else {
		n := collab.NotificationOf(r.event, r.head.LocationID)
		if present, err := r.Inbox.Derive(ctx, r.document.OrganizationRef, n, shown); err != nil || !present {
			return false, err
		}
	}
	mentioned, err := r.mentioned(ctx)
	if err != nil {
		return false, err
	}
	n := r.notification(id)
	placements := collab.Map(list, func(d *decision) collab.Placement {
		p := collab.Placement{
			User: d.UserID, Mentioned: slices.Contains(mentioned, d.UserID), Following: d.follower,
			Hidden: d.inbox != "", Notices: map[string]string{}, Verify: r.event.VerifyAccess,
		}
		for _, channel := range d.notices() {
			notice, _ := r.noticeFor(id, channel, d)
			p.Notices[channel] = notice.ID
		}
		if d.mail == "" && d.external {
			p.Address = collab.Deref(d.Email)
		}
		return p
	})
	if err := r.Inbox.AddToInbox(ctx, r.document.OrganizationRef, n, placements); err != nil {
		return false, err
	}
	r.Metrics.Add(metrics.Deliveries, metrics.Inbox, float64(len(shown)))
	return true, r.addToNotices(ctx, n, list, placements)
}

// notified returns the notification that an earlier event sent, nil if there is none, and whether
// inboxes show it. They show none about reactions to a comment that has none left, or that its
// author has deleted.
func (r *eventRun) notified(ctx context.Context, id string) (earlier *collab.Notification, shown bool, err error) {
	n, err := r.Inbox.Notification(ctx, r.document.OrganizationRef, id)
	switch {
	case collab.CodeOf(err) == collab.NotFound:
		return nil, false, nil
	case err != nil || n.CreatedAt == r.event.Time:
		return nil, false, err
	}
	comments, err := r.Threads.Comments(ctx, r.document, n.AnnotationID, n.CommentIDs)
	if err != nil {
		return nil, false, err
	}
	for _, c := range comments {
		if _, emoji := c.Reaction(n.ActionUser.UserID); emoji == "" || c.Added() > n.CreatedAt {
			continue
		}
		if deleted, err := r.Inbox.DeletedBy(ctx, r.document.OrganizationRef, c.AuthorID, n); err != nil || !deleted {
			return &n, err == nil, err
		}
	}
	return &n, false, nil
}

// notification returns the event's notification for inboxes.
func (r *eventRun) notification(id string) collab.Notification {
	n := collab.Notification{ID: id, DocumentID: r.event.DocumentID, AnnotationID: r.event.AnnotationID, CreatedAt: r.event.Time}
	if r.event.Actor != nil {
		n.ActionUser.UserID = r.event.Actor.UserID
	}
	return n
}

// there reports whether the document and the notification exist.
func (r *eventRun) subjectExists(ctx context.Context) (bool, error) {
	if present, err := r.exists(ctx); err != nil || !present {
		return false, err
	}
	deleted, err := r.Inbox.Deleted(ctx, r.event)
	return err == nil && !deleted, err
}

// exists reports whether the event's document exists, disabled or not.
func (r *eventRun) exists(ctx context.Context) (bool, error) {
	doc := r.document
	current, err := r.Directory.OpenDocument(ctx, doc.Account, doc.Organization, doc.Document, collab.CreateFlags{})
	// it is disabled, or replaced by a later one with its id
	if collab.CodeOf(err) == collab.FailedPrecondition {
		current = doc
		_, err = r.Directory.Document(ctx, doc)
	}
	if collab.CodeOf(err) == collab.NotFound {
		return false, nil
	}
	return current == doc, err
}
