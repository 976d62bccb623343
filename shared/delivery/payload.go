package delivery

import (
	"cmp"
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/inboxview"
	"collabdata/shared/mail/content"
	"collabdata/shared/webhook"
)

// Payload returns the body of an event's posts to an endpoint, with the current subject. It returns
// nil if nothing is left to post: the user may no longer see any of the notifications.
func (d *Deliverer) Payload(ctx context.Context, ev *collab.Event, to *collab.Webhook) ([]byte, error) {
	select {
	case d.rendering <- struct{}{}:
		defer func() { <-d.rendering }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s := webhook.Subject{Comments: map[int64]*collab.Comment{}}
	var err error
	switch {
	case ev.Due != nil:
		s.Due, s.DueTo, err = d.due(ctx, ev)
	case ev.NotificationID != "":
		if s.Notification, err = d.Inbox.Sent(ctx, ev); err != nil || s.Notification == nil {
			break
		}
		if ev.Type == collab.NotificationAdded {
			s.NotifyUsers, err = d.Inbox.Recipients(ctx, ev)
		}
		if err == nil && s.Notification.AnnotationID != "" {
			err = d.derive(ctx, ev, &s)
		}
	case ev.AnnotationID != "" && !ev.Type.Deletes():
		err = d.readSubject(ctx, ev, &s)
	}
	if err != nil || ev.Due != nil && len(s.Due) == 0 {
		return nil, err
	}
	if to.Payload != collab.PayloadContract {
		return webhook.Payload(ev, s)
	}
	in, err := d.surroundings(ctx, ev, s)
	if err != nil {
		return nil, err
	}
	return webhook.ContractPayload(to.ID, ev, s, in)
}

// due returns the notifications of a notification.due event that the user may see now, and the
// user.
func (d *Deliverer) due(ctx context.Context, ev *collab.Event) ([]webhook.DueNotification, *webhook.DueRecipient, error) {
	account, err := d.account(ctx, ev.Account)
	if err != nil {
		return nil, nil, err
	}
	org := ev.Document().OrganizationRef
	entries, err := d.Inbox.Reader(org, ev.Due.UserID).At(ctx, ev.Due.Positions)
	if err != nil {
		return nil, nil, err
	}
	view := &inboxview.View{Directory: d.Directory, Threads: d.Threads, Access: d.access}
	shown, err := view.Show(ctx, inboxview.Reader{
		Settings: account.Settings, Org: org, User: ev.Due.UserID, Strong: true, BackEnd: true,
	}, entries)
	if err = d.answered(err, ev.Time); err != nil {
		return nil, nil, err
	}
	set, err := d.Directory.PreferencesOf(ctx, 1, func(int) (string, collab.DocumentRef) {
		return ev.Due.UserID, collab.DocumentRef{OrganizationRef: org}
	})
	if err != nil {
		return nil, nil, err
	}
	to := recipient(shown.Reader.User, shown.Entries, account.Settings)
	look := account.Settings.MailLook.Or(collab.MailLook{Link: d.MailLink})
	return collab.Map(shown.Entries, func(e inboxview.Entry) webhook.DueNotification {
			n := webhook.DueNotification{
				NotificationID: e.ID, DocumentID: e.DocumentID, AnnotationID: e.AnnotationID, CommentIDs: e.CommentIDs, ActionUser: &e.ActionUser,
				Headline: e.RenderHeadline().For(shown.Reader.User), Body: collab.Cut(e.BodyFor(shown.Reader.User), webhook.MaxDueBody),
				DocumentName: e.DocumentName,
			}
			comment := int64(0)
			if e.Thread != nil {
				n.Visibility = e.Thread.Visibility.Answered().Type
				if len(e.Thread.Comments) > 0 {
					comment = e.Thread.Comments[0].ID
				}
			}
			n.URL = look.LinkTo(ev.OrganizationID, e.DocumentID, e.AnnotationID, comment)
			return n
		}), &webhook.DueRecipient{
			UserID: ev.Due.UserID, Name: collab.Deref(to.Name), Email: collab.Deref(to.Email), Locale: shown.Reader.Locale,
			TimeZone: cmp.Or(set[0].Mail.Zone, shown.Reader.TimeZone),
		}, nil
}

// surroundings reads the names and preferences for the contract's form of a payload. Deleted things
// have the name "".
func (d *Deliverer) surroundings(ctx context.Context, ev *collab.Event, s webhook.Subject) (in webhook.Surroundings, err error) {
	in.Preferences = map[string]collab.Preferences{}
	if involved := webhook.Involved(ev, s); len(involved) > 0 {
		preferences, err := d.Directory.UserPreferences(ctx, ev.Document(), involved)
		if err != nil {
			return in, err
		}
		for _, id := range involved {
			set := preferences[id]
			in.Preferences[id] = set.Effective()
		}
		if in.Denied, err = d.denied(ctx, ev, s.Annotation, involved); err != nil {
			return in, err
		}
	}
	orgs, err := d.Directory.Organizations(ctx, ev.Account, []string{ev.OrganizationID})
	if err != nil {
		return in, err
	}
	if len(orgs) > 0 {
		in.OrganizationName = orgs[0].Name
	}
	doc, err := d.Directory.Document(ctx, ev.Document())
	if collab.CodeOf(err) == collab.NotFound {
		err = nil
	}
	in.DocumentName = doc.Name
	return in, err
}

// denied returns those of users who cannot see an event's annotation now. It is empty if the
// annotation is deleted.
func (d *Deliverer) denied(ctx context.Context, ev *collab.Event, a *collab.Annotation, users []string) ([]string, error) {
	if a == nil {
		return nil, nil
	}
	account, err := d.account(ctx, ev.Account)
	if err != nil {
		return nil, err
	}
	viewers, err := d.access.Viewers(ctx, account.Settings, []collab.DocumentRef{ev.Document()}, users, a.Visibility.Narrow() != nil)
	if err = d.answered(err, ev.Time); err != nil {
		return nil, err
	}
	var denied []string
	for _, v := range viewers[0] {
		if !v.Sees(a.Visibility, a.CreatorID) {
			denied = append(denied, v.User)
		}
	}
	return denied, nil
}

// readSubject reads an event's thread and as many of its comments as a payload can hold.
func (d *Deliverer) readSubject(ctx context.Context, ev *collab.Event, s *webhook.Subject) error {
	part := collab.ThreadPart{Document: ev.Document(), Annotation: ev.AnnotationID, At: ev.Time}
	portions := slices.Collect(slices.Chunk(ev.CommentIDs, payloadComments))
	if portions == nil {
		portions = [][]int64{nil}
	}
	size := 0
	for _, part.Comments = range portions {
		list, err := d.Threads.Parts(ctx, []collab.ThreadPart{part}, false)
		if err != nil {
			return err
		}
		for _, id := range part.Comments {
			s.Comments[id] = nil
		}
		if list[0] != nil {
			s.Annotation = &list[0].Annotation
			for i := range list[0].Comments {
				c := &list[0].Comments[i]
				s.Comments[c.ID] = c
				size += c.Content()
			}
		}
		if size > webhook.MaxPayload {
			break
		}
	}
	return nil
}

// derive fills in the texts of a notification about a comment event. It sets the notification to
// nil if its subject is deleted.
func (d *Deliverer) derive(ctx context.Context, ev *collab.Event, s *webhook.Subject) error {
	n := s.Notification
	list, err := d.Threads.Parts(ctx, []collab.ThreadPart{{
		Document: ev.Document(), Annotation: n.AnnotationID, At: n.CreatedAt, Comments: n.CommentIDs,
	}}, false)
	if err != nil {
		return err
	}
	if s.Notification = nil; list[0] != nil && (len(n.CommentIDs) == 0 || len(list[0].Comments) > 0) {
		in := ev.Document().Resource()
		profiles, err := d.Directory.Profiles(ctx, collab.UsersAt(in, append(n.Users(), list[0].Users()...)))
		if err != nil {
			return err
		}
		n.Names = profiles[in].Names()
		content.Derive(n, list[0], content.Reader{})
		s.Notification = n
	}
	return nil
}
