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
	"collabdata/shared/words"
)

// notice returns the mail about threads.
func (r *mailRun) notice(ctx context.Context, threads []*mailThread) (n mail.Notice, err error) {
	secret, err := r.mailSecret(ctx, r.Account)
	if err != nil {
		return n, err
	}
	if err := r.speak(ctx); err != nil {
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
	n.Words = r.words
	n.Unsubscribe = unsubscribe.Recipient{
		Account: r.Account, Organization: r.For.Organization, User: r.For.User, Email: collab.Deref(n.To.Email),
		Sender: cmp.Or(n.Look.Product, n.Look.FromName), Locale: r.words.Language,
	}.Token(secret)
	return n, nil
}

// speak finds the recipient's words: of the member's locale, else of the account's, with times in the zone of their preferences.
func (r *mailRun) speak(ctx context.Context) error {
	members, err := r.Directory.Members(ctx, r.For.OrganizationRef, []string{r.For.User})
	look := r.account.Settings.MailLook
	r.words = words.In(look.Texts, members[r.For.User].Locale, look.Locale)
	r.words.Zone = r.times.Location()
	return err
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
		n.Earlier = append(n.Earlier, &c)
	}
	if t.head != nil {
		n.Quote = t.head.TargetText()
	}
	for _, run := range t.runs {
		e := mail.Event{Time: run.event.Time}
		if of := run.custom; of != nil {
			e.Headline, e.Body = of.RenderHeadline().For(t.to), of.Body
		} else {
			mentioned, err := run.mentioned(ctx)
			if err != nil {
				return n, err
			}
			of := collab.NotificationOf(run.event, "")
			content.Headline(&of, t.head, content.Reader{UserID: t.to.UserID, Mentioned: slices.Contains(mentioned, t.to.UserID), Words: r.words})
			e.Headline = of.RenderHeadline().For(t.to)
		}
		for _, id := range run.event.NotifyingIDs() {
			if c := t.comments[id]; c != nil {
				e.Comments = append(e.Comments, c.Comment)
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
	if err != nil {
		return nil, err
	}
	if secret != nil {
		d.secrets.Put(acct, secret, d.Now().Add(secretTTL))
		return secret, nil
	}
	fresh := make([]byte, unsubscribe.SecretBytes)
	if _, err := io.ReadFull(d.Random, fresh); err != nil {
		return nil, err
	}
	return d.Accounts.KeepMailSecret(ctx, acct, fresh)
}
