// Package connections stores the connections of pages that receive live hints, and the tickets that
// open them. The table deletes expired ones.
package connections

import (
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Lifetimes of tickets and spans of connections.
const (
	TicketTTL = time.Minute
	span      = 10 * time.Minute // see keys.ConnectionCount
)

// Store stores connections and tickets in a table. It is safe for concurrent use. Its methods
// return the errors of store.Table. Reads may miss the writes of the last second.
type Store struct{ *store.Table }

type ticketItem struct {
	collab.Watch
	Until   collab.Millis `dynamodbav:"until"`
	Expires int64         `dynamodbav:"ttl"`
}

// connectionItem is stored twice: by connection id, and in the partition of the organization.
type connectionItem struct {
	collab.Connection
	Expires int64 `dynamodbav:"ttl"`
}

type watcherItem struct {
	Expires int64 `dynamodbav:"ttl"`
}

// AddTicket adds a ticket. It returns its id, 160 random bits, and its expiry.
func (s Store) AddTicket(ctx context.Context, w collab.Watch) (id string, until collab.Millis, err error) {
	id = s.NewMark() + s.NewMark()
	at := s.Now().Add(TicketTTL)
	it := store.ItemOf(keys.Ticket(w.Account, id), ticketItem{w, at.UnixMilli(), at.Unix()})
	return id, at.UnixMilli(), s.Put(ctx, it)
}

// TakeTicket deletes a ticket and returns the watch that it admits. ok is false if the ticket does
// not exist, was taken before, or has expired.
func (s Store) TakeTicket(ctx context.Context, acct, id string) (w collab.Watch, ok bool, err error) {
	it, _, err := s.WriteOne(ctx, store.Delete(keys.Ticket(acct, id)), types.ReturnValueAllOld)
	if err != nil || it == nil {
		return w, false, err
	}
	var t ticketItem
	err = it.Decode(&t)
	return t.Watch, err == nil && s.Millis() < t.Until, err
}

// Connect stores a connection.
func (s Store) Connect(ctx context.Context, c collab.Connection) error {
	expires := s.Now().Add(collab.ConnectionLifetime).Unix()
	items := []store.Item{
		store.ItemOf(ofUser(c), connectionItem{c, expires}), store.ItemOf(keys.Connection(c.ID), connectionItem{c, expires}),
	}
	for _, k := range watchers(c) {
		items = append(items, store.ItemOf(k, watcherItem{expires}))
	}
	// First the user's item, by which an erasure finds the connection, then the item by id, without
	// which it could not be closed.
	for _, it := range items[:2] {
		if err := s.Put(ctx, it); err != nil {
			return err
		}
	}
	if err := s.count(ctx, c, 1); err != nil {
		return err
	}
	return store.Each(ctx, len(items)-2, func(ctx context.Context, i int) error { return s.Put(ctx, items[i+2]) })
}

// connection returns the item of a connection, which is nil if it does not exist.
func (s Store) connection(ctx context.Context, id string) (store.Item, collab.Connection, error) {
	it, err := s.Get(ctx, keys.Connection(id))
	if err != nil || it == nil {
		return nil, collab.Connection{}, err
	}
	c := connectionItem{}
	err = it.Decode(&c)
	c.ID = id
	return it, c.Connection, err
}

// Disconnect deletes a connection that is at least age old. It does nothing if the connection does
// not exist.
func (s Store) Disconnect(ctx context.Context, id string, age time.Duration) error {
	it, c, err := s.connection(ctx, id)
	if err != nil || it == nil || s.Millis()-c.At < age.Milliseconds() {
		return err
	}
	gone := watchers(c)
	if err := store.Each(ctx, len(gone), func(ctx context.Context, i int) error { return s.Delete(ctx, gone[i]) }); err != nil {
		return err
	}
	refused, err := s.Write(ctx, store.DeleteRead(it), store.Delete(ofUser(c)))
	// If refused, another call deleted it and counted it.
	if err != nil || refused != nil {
		return err
	}
	return s.count(ctx, c, -1)
}

func ofUser(c collab.Connection) keys.Key {
	return keys.Key{PK: keys.ConnectionPartition(c.Account, c.Organization), SK: keys.ConnectionOf(c.User, c.ID)}
}

func watchers(c collab.Connection) []keys.Key {
	return collab.Map(c.Documents, func(doc string) keys.Key {
		return keys.Key{PK: keys.WatcherPartition(c.Account, c.Organization, doc), SK: keys.ConnectionOf(c.User, c.ID)}
	})
}

// count adds n to the count of the span in which a connection began. Connections of past spans have
// ended, even if nobody noticed.
func (s Store) count(ctx context.Context, c collab.Connection, n int) error {
	began := time.UnixMilli(c.At).Truncate(span)
	_, err := s.Write(ctx, store.Update(keys.ConnectionCount(c.Account, began.UnixMilli()),
		expression.Add(expression.Name(keys.Added), expression.Value(n)).
			Set(expression.Name(keys.Expires), expression.Value(began.Add(span+collab.ConnectionLifetime).Unix()))))
	return err
}

// Connected returns the counts that limit a further connection by the settings of its account. If
// now is true, it sees every connection stored before the call.
func (s Store) Connected(ctx context.Context, settings collab.Settings, w collab.Watch, now bool) (n collab.Connected, err error) {
	counts := make([]int, len(w.Documents))
	err = store.Each(ctx, len(counts)+2, func(ctx context.Context, i int) (err error) {
		switch i {
		case len(counts):
			n.User, err = s.present(ctx, store.Scan{
				PK: keys.ConnectionPartition(w.Account, w.Organization), Keys: store.Children(keys.ConnectionsOf(w.User)),
				Limit: collab.MaxUserConnections + 1, Strong: now,
			})
		case len(counts) + 1:
			from := keys.Time(s.Now().Add(-collab.ConnectionLifetime - span).UnixMilli())
			var spans []store.Item
			spans, err = s.Query(ctx, store.Scan{PK: keys.ConnectionCounts(w.Account), Keys: store.Span{From: from}, Strong: now})
			for _, it := range spans {
				n.Account += it.Number(keys.Added)
			}
		default:
			counts[i], err = s.present(ctx, store.Scan{
				PK: keys.WatcherPartition(w.Account, w.Organization, w.Documents[i]), Keys: store.Everything,
				Limit: int(settings.OrDefaults().DocumentConnections) + 1, Strong: now,
			})
		}
		return err
	})
	n.Documents = map[string]int{}
	for i, doc := range w.Documents {
		n.Documents[doc] = counts[i]
	}
	return n, err
}

// there counts the unexpired items among the first q.Limit items of a range.
func (s Store) present(ctx context.Context, q store.Scan) (n int, err error) {
	q.Project = []string{keys.SK, keys.Expires}
	left := q.Limit
	for it, err := range s.Items(ctx, q) {
		if err != nil {
			return 0, err
		}
		if it.Number(keys.Expires) > s.Now().Unix() {
			n++
		}
		if left--; left == 0 {
			break
		}
	}
	return n, nil
}

// Connections returns the unexpired connections of a user in an organization, or of all users if
// user is "".
func (s Store) Connections(ctx context.Context, acct, org, user string) ([]collab.Connection, error) {
	return s.read(ctx, keys.ConnectionPartition(acct, org), user)
}

// Watchers returns the unexpired connections of a user that watch a document, or those of all users
// if user is "". Each lists only that document.
func (s Store) Watchers(ctx context.Context, acct, org, doc, user string) ([]collab.Connection, error) {
	list, err := s.read(ctx, keys.WatcherPartition(acct, org, doc), user)
	for i := range list {
		list[i].Watch = collab.Watch{Account: acct, Organization: org, User: list[i].User, Documents: []string{doc}}
	}
	return list, err
}

func (s Store) read(ctx context.Context, partition, user string) ([]collab.Connection, error) {
	q := store.Scan{PK: partition, Keys: store.Everything}
	if user != "" {
		q.Keys = store.Children(keys.ConnectionsOf(user))
	}
	var list []collab.Connection
	for it, err := range s.Items(ctx, q) {
		if err != nil {
			return nil, err
		}
		var c connectionItem
		if err := it.Decode(&c); err != nil {
			return nil, err
		}
		if c.User, c.ID, err = keys.ParseConnectionOf(it.Text(keys.SK)); err != nil {
			return nil, store.Unreadable(it.Key(), err)
		}
		if c.Expires > s.Now().Unix() {
			list = append(list, c.Connection)
		}
	}
	return list, nil
}
