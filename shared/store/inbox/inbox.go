// Package inbox stores notifications, their recipients, and inboxes.
//
// It records events when a notification is sent, read, clicked or deleted, so inbox depends on the
// outbox, not the reverse.
package inbox

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"

	"golang.org/x/sync/errgroup"
)

// Store stores notifications in a table. It is safe for concurrent use.
type Store struct {
	*store.Table
	outbox    *outbox.Store
	directory Directory
}

// Directory provides preferences and documents: see package directory.
type Directory interface {
	// Preferences returns a user's preferences for each document, in order.
	Preferences(ctx context.Context, org collab.OrganizationRef, user string, documents []string) ([]collab.Preferences, error)

	// Current returns the existing, enabled documents by id, in their present incarnation.
	Current(ctx context.Context, org collab.OrganizationRef, documents []collab.DocumentRef) (map[collab.DocumentRef]bool, error)
}

// New returns the notifications in the table of an outbox.
func New(o *outbox.Store, d Directory) *Store { return &Store{o.Table, o, d} }

// A user's inbox merges two lists of pointers, newest first: the user's own and the organization's
// for all. A notification is stored once. The first action of a user on a notification writes a
// separate item.

type inboxItem struct {
	Mentioned  bool   `dynamodbav:"men,omitempty"` // mentioned in its comment
	Following  bool   `dynamodbav:"fol,omitempty"` // reached only as a follower of the document
	Document   string `dynamodbav:"doc"`
	Annotation string `dynamodbav:"ann,omitempty"`
	Actor      string `dynamodbav:"act,omitempty"` // in the list for all: the excluded sender
	Expires    int64  `dynamodbav:"ttl"`

	Hidden  bool              `dynamodbav:"hid,omitempty"` // as in collab.Placement
	Notices map[string]string `dynamodbav:"ntc,omitempty"` // by channel, until EndNotice
	Address string            `dynamodbav:"adr,omitempty"`
	Verify  bool              `dynamodbav:"vfy,omitempty"`
	EndedAt collab.Millis     `dynamodbav:"ema,omitempty"` // when an email left, or was decided against
	Why     string            `dynamodbav:"emw,omitempty"` // reason for no email; "" if one left
}

// AddToInbox adds a notification to the lists of users. It leaves existing entries unchanged, and
// sets Notices of each placement to the notices that the entry waits for.
func (s *Store) AddToInbox(ctx context.Context, org collab.OrganizationRef, n collab.Notification, to []collab.Placement) error {
	return store.Each(ctx, len(to), func(ctx context.Context, i int) error {
		own := inboxItem{
			Mentioned: to[i].Mentioned, Following: to[i].Following, Document: n.DocumentID, Annotation: n.AnnotationID, Expires: expiry(n.CreatedAt),
			Hidden: to[i].Hidden, Notices: to[i].Notices, Address: to[i].Address, Verify: to[i].Verify,
		}
		existing, err := s.Create(ctx, store.ItemOf(keys.UserNotification(org, to[i].User, n.CreatedAt, n.ID), own))
		if err != nil || existing == nil {
			return err
		}
		var item inboxItem
		err = existing.Decode(&item)
		to[i].Notices = item.Notices
		return err
	})
}

// Position returns the position of a notification in inboxes.
func Position(n collab.Notification) string {
	return keys.AllNotification(collab.OrganizationRef{}, n.CreatedAt, n.ID).SK
}

// AddToInboxOfAll adds a notification to the organization's list for all. It is idempotent.
func (s *Store) AddToInboxOfAll(ctx context.Context, org collab.OrganizationRef, n collab.Notification) error {
	all := inboxItem{Document: n.DocumentID, Annotation: n.AnnotationID, Actor: n.ActionUser.UserID, Expires: expiry(n.CreatedAt)}
	return s.Put(ctx, store.ItemOf(keys.AllNotification(org, n.CreatedAt, n.ID), all))
}

// inboxExamined bounds the entries that one page of an inbox reads.
const inboxExamined = 1_000

type pointer struct {
	sk    string
	at    collab.Millis
	id    string
	toAll bool
	inboxItem
}

// Reader reads inboxes for one request. It is safe for concurrent use. It reads the user's
// preferences and read-until time once.
type Reader struct {
	*Store
	org  collab.OrganizationRef
	user string // "" for lists of documents

	mu        sync.Mutex
	until     *untilItem
	unwanteds map[string]bool // by documents
}

// Reader returns a Reader of a user's inbox, or of documents' lists if user is "".
func (s *Store) Reader(org collab.OrganizationRef, user string) *Reader {
	return &Reader{Store: s, org: org, user: user, unwanteds: map[string]bool{}}
}

// Notifications calls Reader.Notifications of a new Reader.
func (s *Store) Notifications(
	ctx context.Context, org collab.OrganizationRef, q collab.NotificationQuery, position string, limit int,
) (list []collab.InboxEntry, next string, err error) {
	return s.Reader(org, q.User).Notifications(ctx, q, position, limit)
}

// Notifications returns up to limit notifications that match q after a position, in order of time,
// then id.
//
// Notifications to all appear for every user except the sender and users whose preferences for the
// document exclude them. Notifications of missing documents are omitted. Reads are eventually
// consistent, except the user's actions.
//
// next is the position of the next page, "" at the end. A page may be short or empty and still have
// a next one.
func (r *Reader) Notifications(
	ctx context.Context, q collab.NotificationQuery, position string, limit int,
) (list []collab.InboxEntry, next string, err error) {
	for examined := 0; ; {
		atOnce := limit - len(list)
		if q.Unread {
			atOnce = max(atOnce, min(max(fewUnread, examined), inboxExamined-examined))
		}
		var pointers []pointer
		var more bool
		var read *states // of an unread list
		g, within := errgroup.WithContext(ctx)
		g.Go(func() (err error) {
			pointers, more, err = r.pointers(within, r.org, q, position, atOnce)
			return err
		})
		if q.Unread {
			read = &states{}
			g.Go(func() (err error) {
				read.until, err = r.readUntil(within)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return nil, "", err
		}
		last := pointer{}
		if examined += len(pointers); more {
			last = pointers[len(pointers)-1]
			position = last.sk
		}
		pointers = collab.Where(pointers, func(p pointer) bool { return !p.Hidden })
		if q.Unread {
			q.After = max(q.After, read.until.unreadFrom())
			more = more && (q.Earliest || last.at >= q.After)
			if read.by, err = r.setStates(ctx, r.org, r.user, pointers); err != nil {
				return nil, "", err
			}
			pointers = collab.Where(pointers, func(p pointer) bool { return read.state(p).ReadAt == 0 })
			if wanted := limit - len(list); len(pointers) > wanted {
				pointers, more = pointers[:wanted], true
				position = pointers[wanted-1].sk
			}
		}
		entries, n, err := r.entries(ctx, q, pointers, read)
		if err != nil {
			return nil, "", err
		}
		list = append(list, entries...)
		if n < len(pointers) {
			return list, pointers[n-1].sk, nil
		}
		if !more {
			return list, "", nil
		}
		if len(list) >= limit || examined >= inboxExamined || collab.UsageOf(ctx).PageLeft() <= 0 {
			return list, position, nil
		}
	}
}

func (r *Reader) readUntil(ctx context.Context) (untilItem, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until == nil {
		until, _, err := store.Read[untilItem](ctx, r.Table, keys.ReadUntil(r.org, r.user))
		if err != nil {
			return until, err
		}
		r.until = &until
	}
	return *r.until, nil
}

// unwanted returns the documents whose notifications to all the user's preferences exclude.
func (r *Reader) unwanted(ctx context.Context, pointers []pointer) (map[string]bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var documents []string
	for _, p := range pointers {
		if _, ok := r.unwanteds[p.Document]; p.toAll && !ok && !slices.Contains(documents, p.Document) {
			documents = append(documents, p.Document)
		}
	}
	if len(documents) > 0 {
		preferences, err := r.directory.Preferences(ctx, r.org, r.user, documents)
		if err != nil {
			return nil, err
		}
		for i, d := range documents {
			r.unwanteds[d] = !preferences[i].Inbox.Wants(false)
		}
	}
	return maps.Clone(r.unwanteds), nil
}

// fewUnread is the minimum of pointers to read in search of unread notifications: about one read
// unit.
const fewUnread = 50

// pointers returns up to limit pointers for q after a position, in q's order, and whether more
// follow.
func (s *Store) pointers(
	ctx context.Context, org collab.OrganizationRef, q collab.NotificationQuery, position string, limit int,
) ([]pointer, bool, error) {
	pks := []string{keys.DocumentNotification(q.Of, 0, "").PK}
	if q.User != "" {
		pks = []string{keys.UserNotification(org, q.User, 0, "").PK, keys.AllNotification(org, 0, "").PK}
	}
	return s.pointersIn(ctx, org, pks, q, position, limit)
}

// pointersIn is pointers for the lists with partition keys.
func (s *Store) pointersIn(
	ctx context.Context, org collab.OrganizationRef, pks []string, q collab.NotificationQuery, position string, limit int,
) ([]pointer, bool, error) {
	var items []store.Item
	var more bool
	var err error
	if q.IDs != nil {
		items, more, err = s.named(ctx, org, pks, q, position, limit)
	} else {
		scan := store.Scan{Keys: store.Span{From: keys.Time(q.After)}, Limit: limit + 1, Newest: !q.Earliest, Strong: q.User == ""}
		if q.Earliest {
			scan.Keys = scan.Keys.After(position)
		} else {
			scan.Keys = scan.Keys.Before(position)
		}
		items, more, err = s.QueryMerged(ctx, pks, scan, limit)
	}
	if err != nil {
		return nil, false, err
	}
	items = withoutTwins(items)
	list := make([]pointer, len(items))
	for i, it := range items {
		if list[i], err = pointerOf(it); err != nil {
			return nil, false, err
		}
		list[i].toAll = it.Text(keys.PK) == keys.AllNotification(org, 0, "").PK
	}
	return list, more, nil
}

// named is QueryMerged for the pointers to the ids of q.
func (s *Store) named(
	ctx context.Context, org collab.OrganizationRef, pks []string, q collab.NotificationQuery, position string, limit int,
) ([]store.Item, bool, error) {
	listed := make([]keys.Key, len(q.IDs)) // in the lists of their documents
	err := store.Each(ctx, len(q.IDs), func(ctx context.Context, i int) error {
		n, err := s.Notification(ctx, org, q.IDs[i])
		if collab.CodeOf(err) == collab.NotFound {
			return nil
		}
		listed[i] = keys.DocumentNotification(n.Document(org), n.CreatedAt, n.ID)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	var itemKeys []keys.Key
	for _, k := range listed {
		switch {
		case k.SK == "":
		case q.OfAny():
			itemKeys = append(itemKeys, k)
		default:
			for _, pk := range pks {
				itemKeys = append(itemKeys, keys.Key{PK: pk, SK: k.SK})
			}
		}
	}
	found, err := s.GetAll(ctx, itemKeys, true)
	if err != nil {
		return nil, false, err
	}
	var items []store.Item
	for _, k := range itemKeys {
		behind := position == "" || k.SK != position && (k.SK > position) == q.Earliest
		if it := found[k]; it != nil && behind && k.SK >= keys.Time(q.After) {
			items = append(items, it)
		}
	}
	slices.SortStableFunc(items, func(a, b store.Item) int {
		if !q.Earliest {
			a, b = b, a
		}
		return strings.Compare(a.Text(keys.SK), b.Text(keys.SK))
	})
	items, more := store.FirstKeys(items, limit)
	return items, more, nil
}

// entries reads the notifications of the first n pointers that match q, with the user's actions: as
// many as fit in half of the page of the request, at least one. The other half is for their
// threads. If known is nil, it reads the actions.
func (r *Reader) entries(
	ctx context.Context, q collab.NotificationQuery, pointers []pointer, read *states,
) (list []collab.InboxEntry, n int, err error) {
	if len(pointers) == 0 {
		return nil, 0, nil
	}
	half := collab.UsageOf(ctx).PageLeft() / 2
	marks := collab.Deref(read)
	itemKeys := collab.Map(pointers, func(p pointer) keys.Key { return keys.Notification(r.org, p.id) })
	var found map[keys.Key]store.Item
	var current map[collab.DocumentRef]bool
	var unwanted map[string]bool
	g, within := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		if q.User == "" {
			found, n, err = r.GetSome(within, itemKeys, true, half)
		} else {
			found, n, err = r.GetSomeSettled(within, itemKeys, half)
		}
		return err
	})
	if q.User != "" {
		g.Go(func() (err error) {
			if read == nil {
				marks, err = r.states(within, pointers)
			}
			return err
		})
		g.Go(func() (err error) {
			current, err = r.directory.Current(within, r.org, collab.Map(pointers, func(p pointer) collab.DocumentRef { return r.org.Document(p.Document) }))
			return err
		})
		g.Go(func() (err error) {
			unwanted, err = r.unwanted(within, pointers)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, 0, err
	}
	for i, p := range pointers[:n] {
		it := found[itemKeys[i]]
		if it == nil {
			continue
		}
		var v notificationItem
		if err := it.Decode(&v); err != nil {
			return nil, 0, err
		}
		state := marks.state(p)
		e := collab.InboxEntry{
			Notification: v.Body.Value, To: v.To, ToAll: p.toAll || v.All && q.User == "", Mentioned: p.Mentioned, Following: p.Following,
			Address: p.Address, Verify: p.Verify, ReadAt: state.ReadAt, ClickedAt: state.ClickedAt, Position: p.sk,
		}
		switch {
		case q.User == "" && !q.OfAny() && e.Document(r.org) != q.Of,
			keys.AllNotification(r.org, e.CreatedAt, e.ID).SK != p.sk,
			v.DeletedAt != 0, state.DeletedAt != 0,
			!q.Matches(e.Notification),
			q.User != "" && !current[e.Document(r.org)],
			p.toAll && (e.ActionUser.UserID == q.User || unwanted[e.DocumentID]):
			continue
		}
		list = append(list, e)
	}
	if q.User != "" || len(list) == 0 {
		return list, n, nil
	}
	current, err = r.directory.Current(ctx, r.org, collab.Map(list, func(e collab.InboxEntry) collab.DocumentRef { return e.Document(r.org) }))
	return collab.Where(list, func(e collab.InboxEntry) bool { return current[e.Document(r.org)] }), n, err
}

// withoutTwins removes items with repeated sort keys. It prefers a user's own entry, unless hidden,
// to the entry for all.
func withoutTwins(items []store.Item) []store.Item {
	var list []store.Item
	for _, it := range items {
		switch last := len(list) - 1; {
		case last < 0 || list[last].Text(keys.SK) != it.Text(keys.SK):
			list = append(list, it)
		case list[last][keys.Hidden] != nil:
			list[last] = it
		}
	}
	return list
}

type stateItem struct {
	ReadAt    collab.Millis `dynamodbav:"rd,omitempty"`
	ClickedAt collab.Millis `dynamodbav:"ck,omitempty"`
	DeletedAt collab.Millis `dynamodbav:"del,omitempty"` // from the user's inbox
	// Marked as unread: untilItem.Times at that time, plus 1; 0 otherwise.
	Unread  int64 `dynamodbav:"unr,omitempty"`
	Expires int64 `dynamodbav:"ttl,omitempty"`
}

// ChangeNotification changes a notification and records actions of at most 30 users, in one
// transaction. The first read or click time is kept, unless the user marks the notification as
// unread. A first click records the event of c.Click.
//
// It returns NOT_FOUND if the notification does not exist, does not match c.Of, or is missing in
// the inbox of one of the users. It returns INVALID_ARGUMENT if the notification exceeds
// collab.MaxItemBytes, and the errors of c.Check.
func (s *Store) ChangeNotification(ctx context.Context, req *request.Request, org collab.OrganizationRef, c collab.NotificationChange) error {
	users := slices.Compact(slices.Sorted(slices.Values(slices.Concat(c.Read, c.Clicked))))
	var events []*collab.Event
	err := s.Try(ctx, "notification "+strconv.Quote(c.ID), req.Mark(), func(ctx context.Context) ([]store.Write, error) {
		events = nil
		it, n, err := s.notification(ctx, org, c.ID)
		switch {
		case err != nil:
			return nil, err
		case !c.Of.Matches(n):
			return nil, notificationMissing(org, c.ID)
		}
		if current, err := s.directory.Current(ctx, org, []collab.DocumentRef{n.Document(org)}); err != nil || !current[n.Document(org)] {
			return nil, cmp.Or(err, notificationMissing(org, c.ID))
		}
		found, err := s.listed(ctx, org, n, c.Of.User, users)
		if err != nil {
			return nil, err
		}
		if c.Check != nil {
			own := found[keys.UserNotification(org, c.Of.User, n.CreatedAt, n.ID)]
			if err := c.Check(ctx, collab.InboxEntry{Notification: n, ToAll: own == nil || own[keys.Hidden] != nil}); err != nil {
				return nil, err
			}
		}
		var writes []store.Write
		if c.Edit != nil {
			if writes, err = s.edited(it, &n, req.Mark(), c.Edit); err != nil {
				return nil, err
			}
		}
		for _, u := range users {
			state := keys.NotificationState(org, u, n.CreatedAt, n.ID)
			var marks stateItem
			clicked := false
			unread := found[state][keys.ReadAt] == nil
			write, err := store.Rewritten(state, found[state], req.Mark(), &marks, func(m *stateItem, _ bool) error {
				m.ReadAt, m.Unread, m.Expires = cmp.Or(m.ReadAt, s.Millis()), 0, expiry(n.CreatedAt)
				if clicked = m.ClickedAt == 0 && slices.Contains(c.Clicked, u); clicked {
					m.ClickedAt = s.Millis()
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
			if clicked {
				events = append(events, c.Click(n, u))
			}
			if clicked || unread {
				writes = append(writes, write)
			}
		}
		if c.Unread {
			marks, err := s.unread(ctx, org, n, c.Of.User, req.Mark(), found)
			if err != nil {
				return nil, err
			}
			writes = append(writes, marks...)
		}
		return append(writes, s.outbox.Record(events...)...), nil
	})
	if err == nil {
		req.Recorded(events...)
	}
	return err
}

// unread returns the writes that mark a notification as unread, none if it is unread. found has the
// user's actions.
func (s *Store) unread(
	ctx context.Context, org collab.OrganizationRef, n collab.Notification, user, mark string, found map[keys.Key]store.Item,
) ([]store.Write, error) {
	state, all := keys.NotificationState(org, user, n.CreatedAt, n.ID), keys.ReadUntil(org, user)
	read, err := s.Get(ctx, all)
	var marks stateItem
	var until untilItem
	if err = cmp.Or(err, found[state].Decode(&marks), read.Decode(&until)); err != nil {
		return nil, err
	}
	if (states{until, map[string]stateItem{state.SK: marks}}).state(pointer{sk: state.SK, at: n.CreatedAt}).ReadAt == 0 {
		return nil, nil
	}
	marked, err := store.Rewritten(state, found[state], mark, &marks, func(m *stateItem, _ bool) error {
		m.ReadAt, m.Unread, m.Expires = 0, until.Times+1, expiry(n.CreatedAt)
		return nil
	})
	if err != nil || n.CreatedAt > until.Until {
		return []store.Write{marked}, err
	}
	older, err := store.Rewritten(all, read, mark, &until, func(until *untilItem, _ bool) error {
		until.Oldest = min(cmp.Or(until.Oldest, n.CreatedAt), n.CreatedAt)
		return nil
	})
	return []store.Write{marked, older}, err
}

// edited returns the write of a notification after edit, none if nothing changes.
func (s *Store) edited(it store.Item, n *collab.Notification, mark string, edit func(*collab.Notification)) ([]store.Write, error) {
	var stored notificationItem
	write, err := store.Rewritten(it.Key(), it, mark, &stored, func(v *notificationItem, _ bool) error {
		edit(&v.Body.Value)
		return nil
	})
	if err != nil {
		return nil, err
	}
	changed := store.ItemOf(it.Key(), stored)
	if changed.Text(keys.Body) == it.Text(keys.Body) {
		return nil, nil
	}
	*n = stored.Body.Value
	return []store.Write{write}, store.CheckSize(changed, "the notification")
}

// listed returns the actions of users on a notification, by key. It returns NOT_FOUND if the
// notification is missing in the list of one of them, or of the user further unless that is "".
func (s *Store) listed(
	ctx context.Context, org collab.OrganizationRef, n collab.Notification, further string, users []string,
) (map[keys.Key]store.Item, error) {
	having := users
	if further != "" && !slices.Contains(users, further) {
		having = append([]string{further}, users...)
	}
	if len(having) == 0 {
		return nil, nil
	}
	all := keys.AllNotification(org, n.CreatedAt, n.ID)
	itemKeys := []keys.Key{all}
	for _, u := range having {
		itemKeys = append(itemKeys, keys.UserNotification(org, u, n.CreatedAt, n.ID))
	}
	for _, u := range having {
		itemKeys = append(itemKeys, keys.NotificationState(org, u, n.CreatedAt, n.ID))
	}
	found, err := s.GetAll(ctx, itemKeys, true)
	for _, u := range having {
		own := found[keys.UserNotification(org, u, n.CreatedAt, n.ID)]
		deleted := found[keys.NotificationState(org, u, n.CreatedAt, n.ID)][keys.DeletedAt] != nil
		if err == nil && (deleted || (own == nil || own[keys.Hidden] != nil) && (found[all] == nil || n.ActionUser.UserID == u)) {
			err = collab.Errorf(collab.NotFound, "user %q has no notification %q in organization %q", u, n.ID, org.Organization)
		}
	}
	return found, err
}
