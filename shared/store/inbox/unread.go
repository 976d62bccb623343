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

type untilItem struct {
	Until collab.Millis `dynamodbav:"rd"`
	// Number of calls of ReadUntil. Each call voids earlier marks as unread.
	Times int64 `dynamodbav:"ver,omitempty"`
	// Time of the oldest earlier notification that was marked as unread since, or 0.
	Oldest  collab.Millis `dynamodbav:"old,omitempty"`
	Expires int64         `dynamodbav:"ttl"`
}

// unreadFrom returns the time of the first notification that may be unread.
func (u untilItem) unreadFrom() collab.Millis { return cmp.Or(u.Oldest, u.Until+1) }

type states struct {
	until untilItem
	by    map[string]stateItem // by sort key of the pointers
}

// of returns the user's actions on the notification of a pointer.
func (s states) state(p pointer) stateItem {
	state := s.by[p.sk]
	if p.at <= s.until.Until && state.Unread != s.until.Times+1 {
		state.ReadAt = cmp.Or(state.ReadAt, s.until.Until)
	}
	return state
}

func (r *Reader) states(ctx context.Context, pointers []pointer) (marks states, err error) {
	err = store.Each(ctx, 2, func(ctx context.Context, i int) (err error) {
		if i == 0 {
			marks.until, err = r.readUntil(ctx)
			return err
		}
		marks.by, err = r.setStates(ctx, r.org, r.user, pointers)
		return err
	})
	return marks, err
}

// did returns a user's actions on single notifications, with strong consistency.
func (s *Store) setStates(
	ctx context.Context, org collab.OrganizationRef, user string, pointers []pointer,
) (by map[string]stateItem, err error) {
	if len(pointers) == 0 {
		return nil, nil
	}
	ends := []string{pointers[0].sk, pointers[len(pointers)-1].sk}
	q := store.Scan{
		PK: keys.NotificationState(org, user, 0, "").PK, Keys: store.Span{From: slices.Min(ends), To: slices.Max(ends)}, Strong: true,
	}
	items, err := s.Query(ctx, q)
	by = make(map[string]stateItem, len(items))
	for _, it := range items {
		var state stateItem
		if err := it.Decode(&state); err != nil {
			return nil, err
		}
		by[it.Text(keys.SK)] = state
	}
	return by, err
}

// MostUnread is the maximum of unread notifications that are counted.
const MostUnread = 99

// Unread returns the positions of unread notifications in a user's inbox after a position, newest
// first. It stops after more than MostUnread of them, or after 1,000 entries. next is the position
// then, "" at the end.
//
// sees returns the documents that count, for notifications to the user and to everyone. Unread
// reads only the lists, so a notification of a deleted or hidden thread counts until it is read.
func (r *Reader) Unread(
	ctx context.Context, position string, sees func(documents []string) (own, all map[string]bool, err error),
) (positions []string, next string, err error) {
	q := collab.NotificationQuery{NotificationFilter: collab.NotificationFilter{User: r.user}}
	var marks states
	for atOnce, looked := MostUnread+1, 0; ; atOnce = min(2*atOnce, inboxExamined) {
		var pointers []pointer
		var more bool
		err := store.Each(ctx, 2, func(ctx context.Context, i int) (err error) {
			switch {
			case i == 0:
				pointers, more, err = r.pointers(ctx, r.org, q, position, min(atOnce, inboxExamined-looked))
			default:
				marks.until, err = r.readUntil(ctx)
			}
			return err
		})
		if err != nil {
			return nil, "", err
		}
		q.After = marks.until.unreadFrom()
		if looked += len(pointers); more {
			position = pointers[len(pointers)-1].sk
			more = pointers[len(pointers)-1].at >= q.After
		}
		pointers = collab.Where(pointers, func(p pointer) bool { return p.at >= q.After })
		if marks.by, err = r.setStates(ctx, r.org, r.user, pointers); err != nil {
			return nil, "", err
		}
		pointers = collab.Where(pointers, func(p pointer) bool {
			state := marks.state(p)
			return !p.Hidden && state.ReadAt == 0 && state.DeletedAt == 0 && !(p.toAll && p.Actor == r.user)
		})
		if pointers, err = r.counted(ctx, pointers, sees); err != nil {
			return nil, "", err
		}
		for _, p := range pointers {
			positions = append(positions, p.sk)
		}
		switch {
		case !more:
			return positions, "", nil
		case len(positions) > MostUnread, looked >= inboxExamined:
			return positions, position, nil
		}
	}
}

// counted returns the pointers of documents that count, without notifications to all that the
// user's preferences exclude.
func (r *Reader) counted(
	ctx context.Context, pointers []pointer, sees func([]string) (own, all map[string]bool, err error),
) ([]pointer, error) {
	if len(pointers) == 0 {
		return nil, nil
	}
	var documents []string
	for _, p := range pointers {
		if !slices.Contains(documents, p.Document) {
			documents = append(documents, p.Document)
		}
	}
	var own, all, unwanted map[string]bool
	err := store.Each(ctx, 2, func(ctx context.Context, i int) (err error) {
		if i == 0 {
			own, all, err = sees(documents)
		} else {
			unwanted, err = r.unwanted(ctx, pointers)
		}
		return err
	})
	return collab.Where(pointers, func(p pointer) bool {
		if p.toAll {
			return all[p.Document] && !unwanted[p.Document]
		}
		return own[p.Document]
	}), err
}

// ReadUntil marks all notifications of a user until a time as read, also those marked as unread. An
// earlier call with a later time wins.
func (s *Store) ReadUntil(ctx context.Context, org collab.OrganizationRef, user string, until collab.Millis) error {
	readAt := expression.Name(keys.ReadAt)
	_, err := s.Write(ctx, store.Update(keys.ReadUntil(org, user),
		expression.Set(readAt, expression.Value(until)).Set(expression.Name(keys.Expires), expression.Value(expiry(s.Millis()))).
			Add(expression.Name("ver"), expression.Value(1)).Add(expression.Name(keys.Rev), expression.Value(1)).Remove(expression.Name("old")),
		expression.AttributeNotExists(readAt).Or(readAt.LessThanEqual(expression.Value(until)))))
	return err
}

// threadsLooked is the number of a user's latest notifications that are searched for threads.
const threadsLooked = 100

// ReadThreads marks notifications about annotations of a document as read, among the user's latest
// 100. nil annotations means all. Without mentions, it leaves those about mentions of the user.
func (s *Store) ReadThreads(ctx context.Context, doc collab.DocumentRef, user string, annotations []string, mentions bool) error {
	q := collab.NotificationQuery{NotificationFilter: collab.NotificationFilter{User: user}}
	pointers, _, err := s.pointers(ctx, doc.OrganizationRef, q, "", threadsLooked)
	if err != nil {
		return err
	}
	return s.readPointers(ctx, doc, user, collab.Where(pointers, func(p pointer) bool {
		return p.about(doc) && (mentions || !p.Mentioned) && (annotations == nil || slices.Contains(annotations, p.Annotation))
	}))
}

// ReadBy finds the notifications about an annotation until a time, among the latest 100 that were
// sent to a user, without those to everyone. read marks them as read.
func (s *Store) ReadBy(
	ctx context.Context, doc collab.DocumentRef, ann, user string, until collab.Millis,
) (read func(context.Context) error, err error) {
	pk := keys.UserNotification(doc.OrganizationRef, user, 0, "").PK
	pointers, _, err := s.pointersIn(ctx, doc.OrganizationRef, []string{pk}, collab.NotificationQuery{}, "", threadsLooked)
	pointers = collab.Where(pointers, func(p pointer) bool { return p.about(doc) && p.Annotation == ann && p.at <= until })
	return func(ctx context.Context) error { return s.readPointers(ctx, doc, user, pointers) }, err
}

// about reports whether the notification of a pointer is about a thread of a document.
func (p *pointer) about(doc collab.DocumentRef) bool {
	return p.Document == doc.Document && p.Annotation != ""
}

// readPointers marks unread notifications of a user as read.
func (s *Store) readPointers(ctx context.Context, doc collab.DocumentRef, user string, pointers []pointer) error {
	if len(pointers) == 0 {
		return nil
	}
	marks, err := s.Reader(doc.OrganizationRef, user).states(ctx, pointers)
	if err != nil {
		return err
	}
	pointers = collab.Where(pointers, func(p pointer) bool { return marks.state(p).ReadAt == 0 && marks.state(p).DeletedAt == 0 })
	return store.Each(ctx, len(pointers), func(ctx context.Context, i int) error {
		p := pointers[i]
		read := expression.Set(expression.Name(keys.ReadAt), expression.Value(s.Millis())).
			Set(expression.Name(keys.Expires), expression.Value(expiry(p.at)))
		_, err := s.Write(ctx, store.Update(
			keys.NotificationState(doc.OrganizationRef, user, p.at, p.id), read, expression.AttributeNotExists(expression.Name(keys.ReadAt))))
		return err
	})
}
