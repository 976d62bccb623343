package delivery

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/inboxview"
	"collabdata/shared/mail"
	"collabdata/shared/mail/content"
	"collabdata/shared/mail/unsubscribe"
	"collabdata/shared/words"
)

// email returns the email that shows the selected entries and counts more.
func (r *noticeRun) email(ctx context.Context, t *told, more int) (n mail.Email, err error) {
	secret, err := r.mailSecret(ctx, r.For.Account)
	if err != nil {
		return n, err
	}
	look := r.account.Settings.MailLook
	n = mail.Email{
		Account: r.For.Account, OrganizationID: r.For.Organization, To: t.to, Look: look,
		Words: words.In(look.Texts, t.reader.Locale, look.Locale), More: more,
	}
	n.Words.Zone = collab.MailTimes{Zone: cmp.Or(collab.Deref(r.times).Zone, t.reader.TimeZone)}.Location()
	n.Unsubscribe = unsubscribe.Recipient{
		Account: r.For.Account, Organization: r.For.Organization, User: r.For.User, Email: collab.Deref(n.To.Email),
		Sender: cmp.Or(look.Product, look.FromName), Locale: n.Words.Language,
	}.Token(secret)
	for at, e := range t.entries {
		ref := threadOf(r.org, &e.InboxEntry)
		same := func(other inboxview.Entry) bool {
			return ref.annotation != "" && threadOf(r.org, &other.InboxEntry) == ref
		}
		if slices.ContainsFunc(t.entries[:at], same) {
			continue
		}
		on := mail.Thread{DocumentID: e.DocumentID, Document: cmp.Or(e.DocumentName, e.DocumentID), AnnotationID: e.AnnotationID}
		first := int64(collab.MaxCommentID)
		for i, other := range slices.Backward(t.entries) {
			if i == at || same(other) {
				on.Events = append(on.Events, r.tell(&other, n.To))
				first = slices.Min(append(other.CommentIDs, first))
			}
		}
		for i := range t.latest[ref] {
			if c := &t.latest[ref][i]; c.ID < first {
				on.Earlier = append(on.Earlier, c)
			}
		}
		if e.Thread != nil {
			on.Quote, on.Suggestion = e.Thread.TargetText(), content.SuggestionOf(&e.Thread.Annotation)
			if on.First, err = r.first(ctx, ref, t.latest[ref], on.Quote); err != nil {
				return n, err
			}
		}
		if on.Names, err = r.names(ctx, ref.document, &on, e.Names); err != nil {
			return n, err
		}
		n.Threads = append(n.Threads, on)
	}
	return n, nil
}

// first returns the first comment of a thread, for the subject: nil if a quote stands for it, or if
// there is none. latest are the last comments of the thread.
func (r *noticeRun) first(ctx context.Context, ref threadRef, latest []collab.Comment, quote string) (*collab.Comment, error) {
	if quote != "" || ref.annotation == "" {
		return nil, nil
	}
	size := 0
	for i := range latest {
		size += latest[i].Content()
	}
	if n := len(latest); n > 0 && n < latestComments && size < 2*collab.MaxItemBytes { // then these are all
		return &latest[0], nil
	}
	for c, err := range r.Threads.ListComments(ctx, ref.document, ref.annotation, 0, 1) {
		if collab.CodeOf(err) == collab.NotFound {
			return nil, nil
		}
		return &c, err
	}
	return nil, nil
}

// names returns known names with those of the users in the earlier comments of a thread.
func (r *noticeRun) names(ctx context.Context, doc collab.DocumentRef, on *mail.Thread, shown map[string]string) (map[string]string, error) {
	var users []string
	for _, c := range append(slices.Clip(on.Earlier), on.First) {
		if c == nil {
			continue
		}
		users = append(users, c.Users()...)
	}
	profiles, err := r.Directory.Profiles(ctx, collab.UsersAt(doc.Resource(), users))
	names := profiles[doc.Resource()].Names()
	maps.Copy(names, shown)
	return names, err
}

// tell converts an entry for an email.
func (r *noticeRun) tell(e *inboxview.Entry, to collab.User) mail.Event {
	event := mail.Event{Time: e.CreatedAt, Headline: e.RenderHeadline().For(to)}
	if e.Thread == nil {
		event.Body = e.BodyFor(to)
		return event
	}
	event.Mentioned = e.Mentioned
	for i := range e.Thread.Comments {
		event.Comments = append(event.Comments, &e.Thread.Comments[i])
	}
	return event
}

// mailSecret returns the secret that signs an account's unsubscribe tokens. It creates the secret
// if there is none.
func (d *Deliverer) mailSecret(ctx context.Context, acct string) ([]byte, error) {
	if secret, ok := d.secrets.Get(acct, d.Now()); ok {
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
