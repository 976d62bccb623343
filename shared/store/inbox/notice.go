package inbox

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// ToNotify is the list of inbox entries for a notice.
type ToNotify struct {
	Ended map[string][]string // positions of ended entries, by reason

	reader   *Reader
	channel  string
	pointers []pointer // the others, newest first
	states   states    // the user's actions on them
}

// Reasons for leaving an entry out of a notice.
const (
	WhyDeleted = "deleted"
	WhySeen    = "seen"
)

// ToNotify returns at most 1,000 entries of a user's inbox for a notice on a channel, from a
// position on, with strong consistency.
func (r *Reader) ToNotify(ctx context.Context, from, channel, notice string) (*ToNotify, error) {
	var pointers []pointer
	scan := store.Scan{
		PK: keys.UserNotification(r.org, r.user, 0, "").PK, Keys: store.Span{From: from}, Newest: true, Strong: true, Limit: inboxExamined,
	}
	items, _, err := r.QueryPage(ctx, scan)
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		p, err := pointerOf(it)
		if err != nil {
			return nil, err
		}
		if p.Notices[channel] == notice {
			pointers = append(pointers, p)
		}
	}
	marks, err := r.states(ctx, pointers)
	if err != nil {
		return nil, err
	}
	list := &ToNotify{Ended: map[string][]string{}, reader: r, channel: channel, states: marks}
	list.pointers = collab.Where(pointers, func(p pointer) bool {
		read := marks.state(p).ReadAt != 0
		if read {
			list.End(WhySeen, p.sk)
		}
		return !read
	})
	return list, nil
}

// Next returns up to limit further entries, newest first, and ends deleted ones. It returns false
// after the last.
func (t *ToNotify) Next(ctx context.Context, limit int) (list []collab.InboxEntry, more bool, err error) {
	next := t.pointers[:min(len(t.pointers), limit)]
	q := collab.NotificationQuery{NotificationFilter: collab.NotificationFilter{User: t.reader.user}}
	if list, _, err = t.reader.entries(ctx, q, next, &t.states); err != nil {
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

// End records the reason for leaving entries out, "" for told ones.
func (t *ToNotify) End(why string, positions ...string) {
	t.Ended[why] = append(t.Ended[why], positions...)
}

// Left returns the number of entries that Next has not read.
func (t *ToNotify) Left() int { return len(t.pointers) }

// EndLeft ends the entries that Next has not read.
func (t *ToNotify) EndLeft(why string) {
	t.End(why, collab.Map(t.pointers, func(p pointer) string { return p.sk })...)
	t.pointers = nil
}

// Finish ends the wait of the list's ended entries, in t.Ended. Entries record when it ended, and
// the reason why they were left out.
func (t *ToNotify) Finish(ctx context.Context) error {
	for why, positions := range t.Ended {
		err := store.Each(ctx, len(positions), func(ctx context.Context, i int) error {
			_, err := t.reader.Write(ctx, t.ended(why, positions[i]))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Tell records an event about entries, and ends their wait, in one transaction. It returns false,
// and writes nothing, if one of them was deleted or does not wait anymore.
func (t *ToNotify) Tell(ctx context.Context, ev *collab.Event, positions []string) (recorded bool, err error) {
	writes := t.reader.outbox.Record(ev)
	for _, position := range positions {
		writes = append(writes, t.ended("", position))
	}
	refused, err := t.reader.Write(ctx, writes...)
	return refused == nil && err == nil, err
}

// ended returns the write that ends the wait of an entry, if it waits.
func (t *ToNotify) ended(why, position string) store.Write {
	waits := expression.Name(keys.Notices).AppendName(expression.NameNoDotSplit(t.channel))
	change := expression.Remove(waits)
	if t.channel == collab.EmailChannel {
		change = change.Remove(expression.Name(keys.EmailAddress)).Set(expression.Name(keys.EmailEndedAt), expression.Value(t.reader.Millis()))
		if why != "" {
			change = change.Set(expression.Name(keys.EmailWhy), expression.Value(why))
		}
	} else {
		ended := strings.TrimSpace(fmt.Sprint(t.reader.Millis(), " ", why))
		change = change.Set(expression.NameNoDotSplit(keys.ChannelEnded+t.channel), expression.Value(ended))
	}
	k := keys.Key{PK: keys.UserNotification(t.reader.org, t.reader.user, 0, "").PK, SK: position}
	return store.Update(k, change, waits.AttributeExists())
}

// At returns existing entries of the user's inbox by position, in order.
func (r *Reader) At(ctx context.Context, positions []string) ([]collab.InboxEntry, error) {
	at := collab.Map(positions, func(sk string) keys.Key {
		return keys.Key{PK: keys.UserNotification(r.org, r.user, 0, "").PK, SK: sk}
	})
	found, err := r.GetSettled(ctx, at)
	if err != nil {
		return nil, err
	}
	var pointers []pointer
	for _, k := range at {
		if it := found[k]; it != nil {
			p, err := pointerOf(it)
			if err != nil {
				return nil, err
			}
			pointers = append(pointers, p)
		}
	}
	list, _, err := r.entries(ctx, collab.NotificationQuery{NotificationFilter: collab.NotificationFilter{User: r.user}}, pointers, nil)
	return list, err
}

// pointerOf returns an entry of a user's own inbox.
func pointerOf(it store.Item) (p pointer, err error) {
	p.sk = it.Text(keys.SK)
	if p.at, p.id, err = keys.ParseListed(p.sk); err != nil {
		return p, store.Unreadable(it.Key(), err)
	}
	return p, it.Decode(&p.inboxItem)
}
