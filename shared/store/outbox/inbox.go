package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"collabdata/shared/collab"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A user's inbox is two lists of pointers, the user's own and the organization's for all, in each newest first; what they point to is
// stored once. What the user did with a notification is an item of its own, made when there is something to say.

// AddToInbox puts a notification into the lists of users. Repeats change nothing.
func (s *Store) AddToInbox(ctx context.Context, org collab.OrganizationRef, n collab.Notification, users []string) error {
	return each(ctx, len(users), func(ctx context.Context, i int) error {
		return s.put(ctx, newItem(table.UserNotification(org.Account, org.Organization, users[i], n.CreatedAt, n.ID)))
	})
}

// AddToInboxOfAll puts a notification into the organization's list for all. A repeat changes nothing.
func (s *Store) AddToInboxOfAll(ctx context.Context, org collab.OrganizationRef, n collab.Notification) error {
	return s.put(ctx, newItem(table.AllNotification(org.Account, org.Organization, n.CreatedAt, n.ID)))
}

// MakeNotification stores a notification unless there is one with its id.
func (s *Store) MakeNotification(ctx context.Context, org collab.OrganizationRef, n collab.Notification) error {
	it, err := notificationItem(org, n)
	if err != nil {
		return fail(ctx, err)
	}
	return s.make(ctx, it)
}

// inboxExamined bounds what one page of an inbox looks at.
const inboxExamined = 1_000

// pointer is an entry of a list of notifications.
type pointer struct {
	sk    string
	id    string
	toAll bool
}

// Inbox returns up to most notifications of a user of the organization, newest first, behind a position ("" for the newest). Those that
// were sent to all are in it unless the user sent them, or prefers not to have such for their document. next is the position of the next
// page, "" when the list ends: a page may hold fewer than most, even none, and have one.
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

// before narrows the span to what sorts before a key that ends in a letter or digit; "" is behind all keys.
func (r span) before(key string) span {
	if n := len(key) - 1; n >= 0 {
		key = key[:n] + string(key[n]-1) + string(utf8.MaxRune)
		if r.to == "" || key < r.to {
			r.to = key
		}
	}
	return r
}

// pointers returns up to most pointers of both lists behind a position, newest first, and whether there are more.
func (s *Store) pointers(ctx context.Context, org collab.OrganizationRef, user, position string, most int) ([]pointer, bool, error) {
	pks := []string{
		table.UserNotification(org.Account, org.Organization, user, 0, "").PK,
		table.AllNotification(org.Account, org.Organization, 0, "").PK,
	}
	var found [2][]item
	var goesOn [2]bool
	err := each(ctx, len(pks), func(ctx context.Context, i int) (err error) {
		found[i], goesOn[i], err = s.queryPage(ctx, scan{
			pk: pks[i], keys: everything.before(position), limit: most + 1, newest: true, strong: true,
		})
		return err
	})
	if err != nil {
		return nil, false, err
	}
	var list []pointer
	var end string // behind it one of the lists is not known
	for i, items := range found {
		for _, it := range items {
			sk := it.text(table.SK)
			_, escaped, _ := strings.Cut(sk, "#")
			id, err := table.Unescape(escaped)
			if err != nil {
				return nil, false, fail(ctx, err)
			}
			list = append(list, pointer{sk: sk, id: id, toAll: i == 1})
		}
		if goesOn[i] {
			end = max(end, items[len(items)-1].text(table.SK))
		}
	}
	slices.SortStableFunc(list, func(a, b pointer) int { return strings.Compare(b.sk, a.sk) })
	list = slices.CompactFunc(list, func(a, b pointer) bool { return a.sk == b.sk })
	more := goesOn[0] || goesOn[1]
	for i, p := range list {
		if i == most || p.sk < end {
			return list[:i], true, nil
		}
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
		keys[i] = table.Notification(org.Account, org.Organization, p.id)
	}
	var (
		found  map[table.Key]item
		states = make(map[string]item)
	)
	err := each(ctx, 2, func(ctx context.Context, i int) (err error) {
		if i == 0 {
			found, err = s.getAll(ctx, keys, true)
			return err
		}
		items, err := s.query(ctx, scan{
			pk:   table.NotificationState(org.Account, org.Organization, user, 0, "").PK,
			keys: span{pointers[len(pointers)-1].sk, pointers[0].sk}, strong: true,
		})
		for _, it := range items {
			states[it.text(table.SK)] = it
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
		e := collab.InboxEntry{ToAll: p.toAll, ReadAt: states[p.sk].num(table.ReadAt), ClickedAt: states[p.sk].num(table.ClickedAt)}
		if err := json.Unmarshal(it.json(table.Body), &e.Notification); err != nil {
			return nil, fail(ctx, err)
		}
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
	preferences, err := s.Preferences(ctx, org, user, documents)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(e collab.InboxEntry) bool {
		i, _ := slices.BinarySearch(documents, e.DocumentID)
		return e.ToAll && !preferences[i].Inbox.Wants(false)
	}), nil
}

// MarkNotification records that a user read a notification of the inbox, or clicked it, which is reading it too. What was recorded before
// stays. A first click records the event that click makes of the notification, both or neither; clicked reports that it did. It fails with
// NOT_FOUND when the notification is not in one of the user's lists.
func (s *Store) MarkNotification(ctx context.Context, org collab.OrganizationRef, user, id string, click func(collab.Notification) *collab.Event) (entry collab.InboxEntry, clicked bool, err error) {
	n, err := s.Notification(ctx, org, id)
	if err != nil {
		return entry, false, err
	}
	own := table.UserNotification(org.Account, org.Organization, user, n.CreatedAt, id)
	all := table.AllNotification(org.Account, org.Organization, n.CreatedAt, id)
	state := table.NotificationState(org.Account, org.Organization, user, n.CreatedAt, id)
	for tried := 0; ; tried++ {
		found, err := s.getAll(ctx, []table.Key{own, all, state}, true)
		if err != nil {
			return entry, false, err
		}
		if found[own] == nil && (found[all] == nil || n.ActionUser.UserID == user) {
			return entry, false, collab.Errorf(collab.NotFound, "user %q has no notification %q in organization %q", user, id, org.Organization)
		}
		entry = collab.InboxEntry{
			Notification: n, ToAll: found[own] == nil,
			ReadAt: found[state].num(table.ReadAt), ClickedAt: found[state].num(table.ClickedAt),
		}
		var ev *collab.Event
		if click != nil && entry.ClickedAt == 0 {
			entry.ClickedAt = s.millis()
			ev = click(n)
		} else if entry.ReadAt != 0 {
			return entry, false, nil
		}
		entry.ReadAt = cmp.Or(entry.ReadAt, s.millis())
		outbox, err := s.outbox(events(ev))
		if err != nil {
			return entry, false, err
		}
		refused, err := s.transact(ctx, append([]types.TransactWriteItem{s.putState(state, found[state], entry)}, outbox...))
		if err != nil || refused == nil {
			return entry, err == nil && ev != nil, err
		}
		if tried == tries || !s.backoff(ctx, tried) {
			return entry, false, collab.Errorf(collab.Aborted, "notification %q is being marked by others: try again", id)
		}
	}
}

// putState writes what a user did with a notification while it is as read before.
func (s *Store) putState(k table.Key, before item, e collab.InboxEntry) types.TransactWriteItem {
	it := newItem(k)
	it.setNum(table.ReadAt, e.ReadAt)
	if e.ClickedAt != 0 {
		it.setNum(table.ClickedAt, e.ClickedAt)
	}
	w := putNew(s.table, it)
	if before != nil {
		w.Put.ConditionExpression = aws.String("attribute_not_exists(" + table.ClickedAt + ")")
	}
	return w
}
