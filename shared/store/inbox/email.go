package inbox

import (
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// ToEmail is the list of inbox entries for an email.
type ToEmail struct {
	Ended map[string][]string // positions of ended entries, by reason

	reader   *Reader
	pointers []pointer // the others, newest first
	did      states    // the user's actions on them
}

// Reasons for not emailing an entry.
const (
	WhyDeleted = "deleted"
	WhySeen    = "seen"
)

// ToEmail returns at most 1,000 entries of a user's inbox for an email, from a position on, with
// strong consistency.
func (r *Reader) ToEmail(ctx context.Context, from, email string) (*ToEmail, error) {
	var pointers []pointer
	scan := store.Scan{
		PK: keys.UserNotification(r.org, r.user, 0, "").PK, Keys: store.Span{From: from}, Newest: true, Strong: true, Limit: inboxExamined,
	}
	items, _, err := r.QueryPage(ctx, scan)
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		p := pointer{sk: it.Text(keys.SK)}
		if p.at, p.id, err = keys.ParseListed(p.sk); err != nil {
			return nil, store.Unreadable(it.Key(), err)
		}
		if err := it.Decode(&p.inboxItem); err != nil {
			return nil, err
		}
		if p.Email == email {
			pointers = append(pointers, p)
		}
	}
	did, err := r.states(ctx, pointers)
	if err != nil {
		return nil, err
	}
	list := &ToEmail{Ended: map[string][]string{}, reader: r, did: did}
	list.pointers = collab.Where(pointers, func(p pointer) bool {
		read := did.of(p).ReadAt != 0
		if read {
			list.End(WhySeen, p.sk)
		}
		return !read
	})
	return list, nil
}

// Next returns up to limit further entries, newest first, and ends deleted ones. It returns false
// after the last.
func (t *ToEmail) Next(ctx context.Context, limit int) (list []collab.InboxEntry, more bool, err error) {
	next := t.pointers[:min(len(t.pointers), limit)]
	q := collab.NotificationQuery{NotificationFilter: collab.NotificationFilter{User: t.reader.user}}
	if list, err = t.reader.entries(ctx, q, next, &t.did); err != nil {
		return nil, false, err
	}
	for _, p := range next {
		if !slices.ContainsFunc(list, func(e collab.InboxEntry) bool { return e.Position == p.sk }) {
			t.End(WhyDeleted, p.sk)
		}
	}
	t.pointers = t.pointers[len(next):]
	return list, len(t.pointers) > 0, nil
}

// End records the reason for not emailing entries, "" for emailed ones.
func (t *ToEmail) End(why string, positions ...string) {
	t.Ended[why] = append(t.Ended[why], positions...)
}

// Left returns the number of entries that Next has not read.
func (t *ToEmail) Left() int { return len(t.pointers) }

// EndLeft ends the entries that Next has not read.
func (t *ToEmail) EndLeft(why string) {
	t.End(why, collab.Map(t.pointers, func(p pointer) string { return p.sk })...)
	t.pointers = nil
}

// EndEmail marks entries of a user's inbox as emailed, or records the reason why not.
func (s *Store) EndEmail(ctx context.Context, org collab.OrganizationRef, user, why string, positions []string) error {
	return store.Each(ctx, len(positions), func(ctx context.Context, i int) error {
		k := keys.Key{PK: keys.UserNotification(org, user, 0, "").PK, SK: positions[i]}
		ended := expression.Set(expression.Name(keys.EmailEndedAt), expression.Value(s.Millis())).Remove(expression.Name(keys.ForEmail)).Remove(expression.Name(keys.EmailAddress))
		if why != "" {
			ended = ended.Set(expression.Name(keys.EmailWhy), expression.Value(why))
		}
		_, err := s.Write(ctx, store.Update(k, ended, expression.Name(keys.PK).AttributeExists()))
		return err
	})
}
