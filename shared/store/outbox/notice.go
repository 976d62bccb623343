package outbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A waiting notice is two items: the next notice of a user, which inbox entries refer to, and a due
// entry keyed by minute, which the relay finds. The due entry always leads to the next notice,
// which shows whether the due entry is stale.

type Recipient struct {
	collab.OrganizationRef
	User string
}

// Notice is the next notice to a user, on a channel, about the inbox entries with its ID.
type Notice struct {
	For     Recipient `dynamodbav:"for"`
	Channel string    `dynamodbav:"chn"`
	ID      string    `dynamodbav:"id"`
}

// NoticeAbout returns the notice to a user on a channel about a subject: the ids of a thread or
// notification, or none for a digest.
func NoticeAbout(to Recipient, channel string, subject ...string) Notice {
	sum := sha256.Sum256([]byte(keys.NextNotice(to.OrganizationRef, to.User, "").PK + "\x00" + strings.Join(append([]string{channel}, subject...), "\x00")))
	return Notice{to, channel, hex.EncodeToString(sum[:16])}
}

// Ref returns the reference of the notice in messages.
func (e Notice) Ref() collab.EventRef { return collab.EventRef{Account: e.For.Account, ID: e.ID} }

func (e Notice) key() keys.Key { return keys.NextNotice(e.For.OrganizationRef, e.For.User, e.ID) }

type nextItem struct {
	Due   collab.Millis `dynamodbav:"at"`
	From  string        `dynamodbav:"from"`            // position of the first inbox entry
	Added int64         `dynamodbav:"n"`               // number of entries added
	Lease collab.Millis `dynamodbav:"until,omitempty"` // end of a run's claim
}

type dueItem struct {
	Notice
	First     collab.Millis `dynamodbav:"fst"` // when it was first due
	Since     collab.Millis `dynamodbav:"at"`  // when it is due
	Postponed int64         `dynamodbav:"try"` // number of times the relay postponed it
	Expires   int64         `dynamodbav:"ttl"`
	Mark      string        `dynamodbav:"w,omitempty"` // new each time it is written
}

// DueNotice is a notice that is due, or was.
type DueNotice struct {
	Notice
	Minute    collab.Millis // key of the due entry
	First     collab.Millis // when it was first due
	Since     collab.Millis // when it is due
	Postponed int64         // number of times the relay postponed it

	mark string
}

// minuteOf returns the key of a notice that is due at a time: the end of its minute.
func minuteOf(due collab.Millis) collab.Millis {
	minute := time.Minute.Milliseconds()
	return (due + minute - 1) / minute * minute
}

func (s *Store) putDue(ctx context.Context, d DueNotice) error { return s.Put(ctx, s.dueItem(d)) }

func (s *Store) dueItem(d DueNotice) store.Item {
	return store.ItemOf(d.due(), dueItem{d.Notice, d.First, d.Since, d.Postponed, Expiry(d.Minute), s.NewMark()})
}

// dropDue deletes a due entry unless it was written again since: it may lead to a later notice.
func (s *Store) dropDue(ctx context.Context, d DueNotice) error {
	it := store.NewItem(d.due())
	if d.mark != "" {
		it[keys.Writer] = store.Text(d.mark)
	}
	_, err := s.Write(ctx, store.DeleteRead(it, keys.Writer))
	return err
}

// AddToNotice adds an inbox entry to the next notice of a user, due at a time or earlier. It
// returns the minute of a new notice, 0 if the notice already waits. If message is true, a message
// triggers the notice, and the relay only finds it a minute later. again must be true if an earlier
// call may have failed.
func (s *Store) AddToNotice(ctx context.Context, e Notice, position string, due collab.Millis, message, again bool) (minute collab.Millis, err error) {
	at, from := expression.Name(keys.StartedAt), expression.Name("from")
	update := expression.Add(expression.Name("n"), expression.Value(1)).
		Set(at, expression.IfNotExists(at, expression.Value(due))).
		Set(from, expression.IfNotExists(from, expression.Value(position))).
		Set(expression.Name(keys.Expires), expression.Value(Expiry(max(due, s.Millis()))))
	it, _, err := s.WriteOne(ctx, store.Update(e.key(), update), types.ReturnValueAllNew)
	if err != nil {
		return 0, err
	}
	var next nextItem
	if err := it.Decode(&next); err != nil {
		return 0, err
	}
	if next.From > position { // a late event's entry
		if err := s.lower(ctx, e, from, position); err != nil {
			return 0, err
		}
	}
	earlier := next.Due > due
	if earlier {
		if err := s.lower(ctx, e, at, due); err != nil {
			return 0, err
		}
	}
	if next.Added > 1 && !earlier && !again {
		return 0, nil
	}
	minute = minuteOf(min(next.Due, due))
	if message {
		minute += time.Minute.Milliseconds() // in case the message is lost
	}
	since := min(next.Due, due)
	return minute, s.putDue(ctx, DueNotice{Notice: e, Minute: minute, First: since, Since: since})
}

// lower sets an attribute of the next notice to value if it is greater.
func (s *Store) lower(ctx context.Context, e Notice, name expression.NameBuilder, value any) error {
	_, err := s.Write(ctx, store.Update(e.key(), expression.Set(name, expression.Value(value)), name.GreaterThan(expression.Value(value))))
	return err
}

// DueNotices returns up to limit due notices of a shard (0 to keys.DueShards-1) from a position, in
// order of minutes. next is the position after them, "" at the end. It passes errors of unreadable
// entries to skip, and reads with eventual consistency.
func (s *Store) DueNotices(ctx context.Context, shard int, from string, limit int, skip func(error)) (list []DueNotice, next string, err error) {
	span := store.Span{From: max(from, store.Everything.From), To: keys.Time(s.Millis() + 1)}
	items, more, err := s.QueryPage(ctx, store.Scan{PK: keys.DueNoticePartition(shard), Keys: span, Limit: limit})
	if err != nil {
		return nil, "", err
	}
	for _, it := range items {
		if d, err := readDue(it); err != nil {
			skip(err)
		} else {
			list = append(list, d)
		}
		next = it.Text(keys.SK) + "\x00"
	}
	if !more {
		next = ""
	}
	return list, next, nil
}

func readDue(it store.Item) (d DueNotice, err error) {
	var item dueItem
	if err := it.Decode(&item); err != nil {
		return d, err
	}
	d = DueNotice{Notice: item.Notice, First: item.First, Since: item.Since, Postponed: item.Postponed, mark: item.Mark}
	if d.Minute, _, _, err = keys.ParseDueNotice(it.Text(keys.SK)); err != nil {
		return d, store.Unreadable(it.Key(), err)
	}
	return d, nil
}

func (d DueNotice) due() keys.Key { return keys.DueNotice(d.Minute, d.For.Account, d.ID) }

// PostponeNotice moves a due notice to a time and returns its minute. It returns 0 if another run
// has moved it, or if it was sent.
func (s *Store) PostponeNotice(ctx context.Context, d DueNotice, to collab.Millis) (minute collab.Millis, err error) {
	moved := d
	moved.Minute, moved.Postponed = minuteOf(to), d.Postponed+1
	refused, err := s.Write(ctx, store.DeleteRead(store.NewItem(d.due()), keys.PK), store.Put(s.dueItem(moved)))
	if err != nil || refused != nil {
		return 0, err
	}
	return moved.Minute, nil
}

type ClaimedNotice struct {
	DueNotice
	From  string // position of the first inbox entry to include
	added int64
}

// ClaimNotice claims a due notice until lease, by its minute. It returns nil if there is none, or
// if another run holds it. It repairs a stale due entry.
func (s *Store) ClaimNotice(ctx context.Context, ref collab.EventRef, minute, lease collab.Millis) (*ClaimedNotice, error) {
	it, err := s.Get(ctx, keys.DueNotice(minute, ref.Account, ref.ID))
	if err != nil || it == nil {
		return nil, err
	}
	d, err := readDue(it)
	if err != nil {
		return nil, err
	}
	due, until, now := expression.Name(keys.StartedAt), expression.Name(keys.Lease), expression.Value(s.Millis())
	mark := s.NewMark()
	next, refused, err := s.WriteOne(ctx, store.Update(
		d.key(), expression.Set(until, expression.Value(lease)).Set(expression.Name(keys.Writer), expression.Value(mark)),
		due.LessThanEqual(now), expression.AttributeNotExists(until).Or(until.LessThanEqual(now)),
	), types.ReturnValueAllNew)
	if collab.CodeOf(err) == collab.NotFound { // the organization was deleted
		return nil, s.dropDue(ctx, d)
	}
	if err != nil {
		return nil, err
	}
	if refused != nil {
		if next = refused.Of[0].There; !refused.By(mark) {
			return nil, s.mend(ctx, d, next)
		}
	}
	var of nextItem
	if err := next.Decode(&of); err != nil {
		return nil, err
	}
	return &ClaimedNotice{d, of.From, of.Added}, nil
}

// mend deletes a stale due entry: the next notice was sent, or is due later and has another entry.
func (s *Store) mend(ctx context.Context, d DueNotice, next store.Item) error {
	var of nextItem
	if err := next.Decode(&of); err != nil {
		return err
	}
	if next != nil {
		if of.Due <= s.Millis() {
			return nil // claimed by another run
		}
		minute := minuteOf(of.Due)
		if d.Minute == minute || d.Minute == minute+time.Minute.Milliseconds() {
			return nil
		}
	}
	return s.dropDue(ctx, d)
}

// FreeNotice releases a claimed notice that was not sent, and makes it due at a time. It returns
// the new minute. If due is 0, the time is unchanged.
func (s *Store) FreeNotice(ctx context.Context, c *ClaimedNotice, due collab.Millis, message bool) (minute collab.Millis, err error) {
	if due == 0 {
		_, err := s.Write(ctx, store.Update(c.key(), expression.Remove(expression.Name(keys.Lease)), isThere))
		return 0, err
	}
	return s.again(ctx, c, c.First, due, message)
}

// again makes a notice due at a time. It writes the due entry first, because the relay never finds
// a notice without one.
func (s *Store) again(ctx context.Context, c *ClaimedNotice, first, due collab.Millis, message bool) (minute collab.Millis, err error) {
	minute = minuteOf(due)
	if message {
		minute += time.Minute.Milliseconds()
	}
	if err := s.putDue(ctx, DueNotice{Notice: c.Notice, Minute: minute, First: first, Since: due}); err != nil {
		return 0, err
	}
	update := expression.Remove(expression.Name(keys.Lease)).
		Set(expression.Name(keys.StartedAt), expression.Value(due)).
		Set(expression.Name(keys.Expires), expression.Value(Expiry(due)))
	if _, err := s.Write(ctx, store.Update(c.key(), update, isThere)); err != nil {
		return 0, err
	}
	return minute, s.dropDue(ctx, c.DueNotice)
}

// FinishNotice deletes a claimed notice after it was sent. If an entry was added since the claim,
// the notice is due again at next: see FreeNotice.
func (s *Store) FinishNotice(ctx context.Context, c *ClaimedNotice, next collab.Millis, message bool) (minute collab.Millis, err error) {
	it := store.NewItem(c.key())
	it["n"], it["from"] = store.Number(c.added), store.Text(c.From)
	refused, err := s.Write(ctx, store.DeleteRead(it, "n", "from"))
	switch {
	case collab.CodeOf(err) == collab.NotFound: // the organization was deleted
	case err != nil:
		return 0, err
	case refused != nil && refused.Of[0].There != nil:
		return s.again(ctx, c, next, next, message)
	}
	return 0, s.dropDue(ctx, c.DueNotice)
}
