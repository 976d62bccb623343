package inbox

import (
	"cmp"
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// untilItem says until when a user has read everything.
type untilItem struct {
	Until   collab.Millis `dynamodbav:"rd"`
	Expires int64         `dynamodbav:"ttl"`
}

// states are what a user did with notifications.
type states struct {
	until collab.Millis
	by    map[string]stateItem // by the sort key of their pointers
}

// of returns what the user did with the notification of a pointer.
func (s states) of(p pointer) stateItem {
	did := s.by[p.sk]
	if p.at <= s.until {
		did.ReadAt = cmp.Or(did.ReadAt, s.until)
	}
	return did
}

// states returns what a user, "" for none, did with notifications.
func (s *Store) states(ctx context.Context, org collab.OrganizationRef, user string, pointers []pointer) (of states, err error) {
	if user == "" || len(pointers) == 0 {
		return of, nil
	}
	var until untilItem
	err = store.Each(ctx, 2, func(ctx context.Context, i int) (err error) {
		if i == 0 {
			until, _, err = store.Read[untilItem](ctx, s.Table, keys.ReadUntil(org, user))
			return err
		}
		of.by, err = s.did(ctx, org, user, pointers, 0)
		return err
	})
	of.until = until.Until
	return of, err
}

// did returns what a user did with single notifications: strongly consistent; with latest, eventually consistent, and
// of that number of the latest alone.
func (s *Store) did(
	ctx context.Context, org collab.OrganizationRef, user string, pointers []pointer, latest int,
) (by map[string]stateItem, err error) {
	ends := []string{pointers[0].sk, pointers[len(pointers)-1].sk}
	q := store.Scan{
		PK: keys.NotificationState(org, user, 0, "").PK, Keys: store.Span{From: slices.Min(ends), To: slices.Max(ends)}, Strong: latest == 0,
	}
	var items []store.Item
	if latest == 0 {
		items, err = s.Query(ctx, q)
	} else {
		q.Newest, q.Limit = true, latest
		items, _, err = s.QueryPage(ctx, q)
	}
	by = make(map[string]stateItem, len(items))
	for _, it := range items {
		var did stateItem
		if err := it.Decode(&did); err != nil {
			return nil, err
		}
		by[it.Text(keys.SK)] = did
	}
	return by, err
}

// MostUnread is how many unread notifications are counted.
const MostUnread = 99

// Unread counts the notifications in a user's inbox, after a position ("" for all), that the user has not read, up to MostUnread, and reports
// whether there are more. sees returns the documents whose notifications count: the user's own, and those for all. Unread reads the lists alone: a notification whose thread is gone, or hidden
// from the user by now, counts until it is read. It looks at no more than 200.
func (s *Store) Unread(
	ctx context.Context, org collab.OrganizationRef, user, position string, sees func(documents []string) (own, all map[string]bool, err error),
) (n int, more bool, err error) {
	q := collab.NotificationQuery{NotificationFilter: collab.NotificationFilter{User: user}}
	until, _, err := store.Read[untilItem](ctx, s.Table, keys.ReadUntil(org, user))
	if err != nil {
		return 0, false, err
	}
	q.After = until.Until + 1
	for page := 0; page < 2; page++ {
		pointers, follow, err := s.pointers(ctx, org, q, position, MostUnread+1)
		if err != nil || len(pointers) == 0 {
			return n, false, err
		}
		position = pointers[len(pointers)-1].sk
		did, err := s.did(ctx, org, user, pointers, 0) // what was read until a time is not among them
		if err != nil {
			return 0, false, err
		}
		pointers = slices.DeleteFunc(pointers, func(p pointer) bool {
			of := did[p.sk]
			return of.ReadAt != 0 || of.DeletedAt != 0 || p.toAll && p.Actor == user
		})
		counted, err := s.counted(ctx, org, user, pointers, sees)
		if err != nil {
			return 0, false, err
		}
		if n += counted; n > MostUnread {
			return MostUnread, true, nil
		}
		if !follow {
			return n, false, nil
		}
	}
	return n, true, nil
}

// counted returns how many of the pointers are of documents that count, and wanted by the user where they are for all.
func (s *Store) counted(
	ctx context.Context, org collab.OrganizationRef, user string, pointers []pointer, sees func([]string) (own, all map[string]bool, err error),
) (n int, err error) {
	var documents []string
	for _, p := range pointers {
		if !slices.Contains(documents, p.Document) {
			documents = append(documents, p.Document)
		}
	}
	if len(documents) == 0 {
		return 0, nil
	}
	own, all, err := sees(documents)
	if err != nil {
		return 0, err
	}
	documents = slices.DeleteFunc(documents, func(d string) bool {
		return !slices.ContainsFunc(pointers, func(p pointer) bool { return p.toAll && p.Document == d })
	})
	unwanted := map[string]bool{}
	if len(documents) > 0 {
		preferences, err := s.directory.Preferences(ctx, org, user, documents)
		if err != nil {
			return 0, err
		}
		for i, d := range documents {
			unwanted[d] = !preferences[i].Inbox.Wants(false)
		}
	}
	for _, p := range pointers {
		if p.toAll && all[p.Document] && !unwanted[p.Document] || !p.toAll && own[p.Document] {
			n++
		}
	}
	return n, nil
}

// ReadUntil says that a user has read everything until a time. An earlier call with a later time holds.
func (s *Store) ReadUntil(ctx context.Context, org collab.OrganizationRef, user string, until collab.Millis) error {
	said := expression.Name(keys.ReadAt)
	_, err := s.Write(ctx, store.Update(keys.ReadUntil(org, user),
		expression.Set(said, expression.Value(until)).Set(expression.Name(keys.Expires), expression.Value(expiry(s.Millis()))),
		expression.AttributeNotExists(said).Or(said.LessThan(expression.Value(until)))))
	return err
}

// threadsLooked is among how many of the latest notifications of a user those of a thread are looked for.
const threadsLooked = 100

// ReadThreads marks those of a user's latest 100 notifications as read that are about annotations of a document; nil for all of it.
func (s *Store) ReadThreads(ctx context.Context, doc collab.DocumentRef, user string, annotations []string) error {
	q := collab.NotificationQuery{NotificationFilter: collab.NotificationFilter{User: user}}
	pointers, _, err := s.pointers(ctx, doc.OrganizationRef, q, "", threadsLooked)
	if err != nil {
		return err
	}
	pointers = slices.DeleteFunc(pointers, func(p pointer) bool {
		return p.Document != doc.Document || p.Annotation == "" || annotations != nil && !slices.Contains(annotations, p.Annotation)
	})
	did, err := s.states(ctx, doc.OrganizationRef, user, pointers)
	if err != nil {
		return err
	}
	pointers = slices.DeleteFunc(pointers, func(p pointer) bool { return did.of(p) != stateItem{} })
	return store.Each(ctx, len(pointers), func(ctx context.Context, i int) error {
		p := pointers[i]
		_, err := s.Create(ctx, store.ItemOf(
			keys.NotificationState(doc.OrganizationRef, user, p.at, p.id), stateItem{ReadAt: s.Millis(), Expires: expiry(p.at)}))
		return err
	})
}
