package outbox

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
	"collabdata/shared/tx"
)

// A user's inbox is two lists of pointers, the user's own and the organization's for all, in each newest first; what they point to is
// stored once. What the user did with a notification is an item of its own, made when there is something to say.

// AddToInbox puts a notification into the lists of users. Repeats change nothing.
func (s *Store) AddToInbox(ctx context.Context, org collab.OrganizationRef, n collab.Notification, users []string) error {
	return store.Each(ctx, len(users), func(ctx context.Context, i int) error {
		return s.Put(ctx, store.NewItem(table.UserNotification(org, users[i], n.CreatedAt, n.ID)))
	})
}

// AddToInboxOfAll puts a notification into the organization's list for all. A repeat changes nothing.
func (s *Store) AddToInboxOfAll(ctx context.Context, org collab.OrganizationRef, n collab.Notification) error {
	return s.Put(ctx, store.NewItem(table.AllNotification(org, n.CreatedAt, n.ID)))
}

// inboxExamined bounds what one page of an inbox looks at.
const inboxExamined = 1_000

// pointer is an entry of a list of notifications.
type pointer struct {
	sk    string
	id    string
	toAll bool
}

// Inbox returns up to most notifications of a user of the organization, newest first and by id where times are equal, behind a position ("" for
// the newest). Those that were sent to all are in it unless the user sent them, or prefers not to have such for their document. next is the
// position of the next page, "" when the list ends: a page may hold fewer than most, even none, and have one.
func (s *Store) Inbox(ctx context.Context, org collab.OrganizationRef, user, position string, most int) (list []collab.InboxEntry, next string, err error) {
	for examined := 0; ; {
		pointers, more, err := s.pointers(ctx, org, user, position, most-len(list))
		if err != nil {
			return nil, "", err
		}
		entries, err := s.entries(ctx, org, user, pointers)
		if err != nil {
			return nil, "", err
		}
		list = append(list, entries...)
		if !more {
			return list, "", nil
		}
		position = pointers[len(pointers)-1].sk
		if examined += len(pointers); len(list) >= most || examined >= inboxExamined {
			return list, position, nil
		}
	}
}

// pointers returns up to most pointers of both lists behind a position, newest first, and whether there are more.
func (s *Store) pointers(ctx context.Context, org collab.OrganizationRef, user, position string, most int) ([]pointer, bool, error) {
	pks := []string{
		table.UserNotification(org, user, 0, "").PK,
		table.AllNotification(org, 0, "").PK,
	}
	items, more, err := s.merged(ctx, pks, store.Scan{Keys: store.Everything.Before(position), Limit: most + 1, Newest: true, Strong: true}, most)
	if err != nil {
		return nil, false, err
	}
	items = slices.CompactFunc(items, func(a, b store.Item) bool { return a.Text(table.SK) == b.Text(table.SK) })
	list := make([]pointer, len(items))
	for i, it := range items {
		p := pointer{sk: it.Text(table.SK), toAll: it.Text(table.PK) == pks[1]}
		_, escaped, _ := strings.Cut(p.sk, "#")
		if p.id, err = table.Unescape(escaped); err != nil {
			return nil, false, store.Unreadable(it.Key(), err)
		}
		list[i] = p
	}
	return list, more, nil
}

// entries reads what pointers, newest first, point to, and what the user did with it.
func (s *Store) entries(ctx context.Context, org collab.OrganizationRef, user string, pointers []pointer) ([]collab.InboxEntry, error) {
	if len(pointers) == 0 {
		return nil, nil
	}
	keys := make([]table.Key, len(pointers))
	for i, p := range pointers {
		keys[i] = table.Notification(org, p.id)
	}
	var (
		found  map[table.Key]store.Item
		states = make(map[string]store.Item)
	)
	err := store.Each(ctx, 2, func(ctx context.Context, i int) (err error) {
		if i == 0 {
			found, err = s.GetAll(ctx, keys, true)
			return err
		}
		items, err := s.Query(ctx, store.Scan{
			PK:   table.NotificationState(org, user, 0, "").PK,
			Keys: store.Span{From: pointers[len(pointers)-1].sk, To: pointers[0].sk}, Strong: true,
		})
		for _, it := range items {
			states[it.Text(table.SK)] = it
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var list []collab.InboxEntry
	var documents []string
	for i, p := range pointers {
		it := found[keys[i]]
		if it == nil {
			continue
		}
		var n notificationItem
		if err := it.Decode(&n); err != nil {
			return nil, err
		}
		var did stateItem
		if err := states[p.sk].Decode(&did); err != nil {
			return nil, err
		}
		e := collab.InboxEntry{Notification: n.Body.Value, ToAll: p.toAll, ReadAt: did.ReadAt, ClickedAt: did.ClickedAt, Position: p.sk}
		if p.toAll {
			if e.ActionUser.UserID == user {
				continue
			}
			documents = append(documents, e.DocumentID)
		}
		list = append(list, e)
	}
	if len(documents) == 0 {
		return list, nil
	}
	slices.Sort(documents)
	documents = slices.Compact(documents)
	preferences, err := s.preferences.Preferences(ctx, org, user, documents)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(e collab.InboxEntry) bool {
		i, _ := slices.BinarySearch(documents, e.DocumentID)
		return e.ToAll && !preferences[i].Inbox.Wants(false)
	}), nil
}

// stateItem is what a user did with a notification.
type stateItem struct {
	ReadAt    collab.Millis `dynamodbav:"rd"`
	ClickedAt collab.Millis `dynamodbav:"ck,omitempty"`
}

// MarkNotification records that a user read a notification of the inbox, or clicked it, which is reading it too. What was recorded before
// stays. A first click records the event that click makes of the notification, both or neither. It fails with NOT_FOUND when the notification is
// not in one of the user's lists.
func (s *Store) MarkNotification(
	ctx context.Context, t *tx.Tx, org collab.OrganizationRef, user, id string, click func(collab.Notification) *collab.Event,
) error {
	n, err := s.Notification(ctx, org, id)
	if err != nil {
		return err
	}
	own := table.UserNotification(org, user, n.CreatedAt, id)
	all := table.AllNotification(org, n.CreatedAt, id)
	state := table.NotificationState(org, user, n.CreatedAt, id)
	var ev *collab.Event
	err = s.Try(ctx, "notification "+strconv.Quote(id), t.Mark(), func(ctx context.Context) ([]store.Write, error) {
		found, err := s.GetAll(ctx, []table.Key{own, all, state}, true)
		if err != nil {
			return nil, err
		}
		if found[own] == nil && (found[all] == nil || n.ActionUser.UserID == user) {
			return nil, collab.Errorf(collab.NotFound, "user %q has no notification %q in organization %q", user, id, org.Organization)
		}
		var did stateItem
		ev = nil
		write, err := store.Rewritten(s.Table, state, found[state], t.Mark(), &did, func(did *stateItem, _ bool) error {
			if click != nil && did.ClickedAt == 0 {
				did.ClickedAt, ev = s.Millis(), click(n)
			}
			did.ReadAt = cmp.Or(did.ReadAt, s.Millis())
			return nil
		})
		if err != nil {
			return nil, err
		}
		if ev == nil && found[state] != nil {
			return nil, nil
		}
		event, err := s.Record(ctx, ev)
		return append([]store.Write{write}, event...), err
	})
	if err == nil {
		t.Recorded(ev)
	}
	return err
}
