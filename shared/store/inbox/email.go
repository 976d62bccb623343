package inbox

import (
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// ToEmail are the entries of an inbox that an email is to tell of.
type ToEmail struct {
	Entries []collab.InboxEntry // the newest first; at most mostEmailed were read
	Older   []string            // positions of further ones that the user has not read
	Ended   map[string][]string // positions of others, by why the email does not tell of them
}

// mostEmailed is how many entries are read for an email.
const mostEmailed = 100

// Why an email does not tell of an entry.
const (
	WhyDeleted = "deleted"
	WhySeen    = "seen"
)

// ToEmail returns the entries of a user's inbox from a position on that an email is to tell of, of those that about names: at most
// 1,000. Strongly consistent, except for the notifications themselves.
func (r *Reader) ToEmail(ctx context.Context, from string, about outbox.About) (*ToEmail, error) {
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
		named := about.ID == "" || about.ID == p.id
		if of := about.Annotation == "" || about.Annotation == p.Annotation && about.Document == p.Document; p.Email && named && of {
			pointers = append(pointers, p)
		}
	}
	did, err := r.states(ctx, pointers)
	if err != nil {
		return nil, err
	}
	list := &ToEmail{Ended: map[string][]string{}}
	pointers = collab.Where(pointers, func(p pointer) bool {
		read := did.of(p).ReadAt != 0
		if read {
			list.Ended[WhySeen] = append(list.Ended[WhySeen], p.sk)
		}
		return !read
	})
	first := pointers[:min(len(pointers), mostEmailed)]
	for _, p := range pointers[len(first):] {
		list.Older = append(list.Older, p.sk)
	}
	q := collab.NotificationQuery{NotificationFilter: collab.NotificationFilter{User: r.user}}
	if list.Entries, err = r.entries(ctx, q, first, &did); err != nil {
		return nil, err
	}
	for _, p := range first {
		if !slices.ContainsFunc(list.Entries, func(e collab.InboxEntry) bool { return e.Position == p.sk }) {
			list.Ended[WhyDeleted] = append(list.Ended[WhyDeleted], p.sk)
		}
	}
	return list, nil
}

// EndEmail records of entries of a user's inbox that an email has told of them, or why none does.
func (s *Store) EndEmail(ctx context.Context, org collab.OrganizationRef, user, why string, positions []string) error {
	return store.Each(ctx, len(positions), func(ctx context.Context, i int) error {
		k := keys.Key{PK: keys.UserNotification(org, user, 0, "").PK, SK: positions[i]}
		ended := expression.Set(expression.Name(keys.EmailEndedAt), expression.Value(s.Millis())).Remove(expression.Name(keys.ForEmail)).Remove(expression.Name(keys.EmailAddress))
		if why != "" {
			ended = ended.Set(expression.Name(keys.EmailWhy), expression.Value(why))
		}
		_, err := s.Write(ctx, store.Update(k, ended, expression.Name(keys.PK).AttributeExists())) // unless it was deleted
		return err
	})
}
