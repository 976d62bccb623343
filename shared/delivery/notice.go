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

// notice returns the mail that tells of events, the newest first.
func (r *mailRun) notice(ctx context.Context, told []*decision) (n mail.Notice, err error) {
	secret, err := r.mailSecret(ctx, r.Account)
	if err != nil {
		return n, err
	}
	to, look := told[0], r.account.Settings.MailLook
	n = mail.Notice{
		Account: r.Account, OrganizationID: r.For.Organization, To: to.User, Look: look,
		Words: words.In(look.Texts, to.member.Locale, look.Locale), More: r.counted,
	}
	n.Words.Zone = collab.MailTimes{Zone: cmp.Or(to.times.Zone, to.member.TimeZone)}.Location()
	n.Unsubscribe = unsubscribe.Recipient{
		Account: r.Account, Organization: r.For.Organization, User: r.For.User, Email: collab.Deref(n.To.Email),
		Sender: cmp.Or(look.Product, look.FromName), Locale: n.Words.Language,
	}.Token(secret)
	for at, of := range told {
		t := of.run.thread
		if slices.ContainsFunc(told[:at], func(newer *decision) bool { return newer.run.thread == t }) {
			continue
		}
		on := mail.Thread{DocumentID: t.document.Document, Document: cmp.Or(r.documents[t.document].Name, t.document.Document), AnnotationID: t.annotation}
		first := int64(collab.MaxCommentID)
		for _, of := range slices.Backward(told) {
			if of.run.thread != t {
				continue
			}
			e, err := of.tell(ctx, n.Words)
			if err != nil {
				return n, err
			}
			on.Events = append(on.Events, e)
			first = slices.Min(append(of.run.event.CommentIDs, first))
		}
		for i := range t.latest {
			if t.latest[i].ID < first {
				on.Earlier = append(on.Earlier, &t.latest[i])
			}
		}
		if t.head != nil {
			on.Quote = t.head.TargetText()
		}
		n.Threads = append(n.Threads, on)
	}
	return n, nil
}

// tell returns the event as a mail in a language tells of it.
func (d *decision) tell(ctx context.Context, w words.Words) (mail.Event, error) {
	r := d.run
	e := mail.Event{Time: r.event.Time}
	if r.custom != nil {
		e.Headline, e.Body = r.custom.RenderHeadline().For(d.User), r.custom.Body
		return e, nil
	}
	mentioned, err := r.mentioned(ctx)
	n := collab.NotificationOf(r.event, "")
	e.Mentioned = slices.Contains(mentioned, d.UserID)
	content.Headline(&n, r.head, content.Reader{UserID: d.UserID, Mentioned: e.Mentioned, Words: w})
	e.Headline = n.RenderHeadline().For(d.User)
	for _, id := range r.event.NotifyingIDs() {
		if c := r.comments[id]; c != nil {
			e.Comments = append(e.Comments, c.Comment)
		}
	}
	return e, err
}

// mailSecret returns the secret that signs an account's tokens to unsubscribe. The first call for an account makes it.
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
