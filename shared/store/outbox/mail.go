package outbox

import (
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// maxMailEvents bounds how many events become one mail.
const maxMailEvents = 25

// MailThread is one person's mails about a thread. Annotation is "" for events without one.
type MailThread struct {
	collab.DocumentRef
	Annotation string
	User       string
}

// mailItem is the mail to a user about an event.
type mailItem struct {
	Lease   collab.Millis `dynamodbav:"until,omitempty"` // of the claim
	SentAt  collab.Millis `dynamodbav:"sa,omitempty"`
	Why     string        `dynamodbav:"why,omitempty"` // none was sent then: why
	Expires int64         `dynamodbav:"ttl"`
}

func mailKey(t MailThread, event string) keys.Key {
	return keys.MailEntry(t.DocumentRef, t.Annotation, t.User, event)
}

// AddMail records that a mail about an event will be sent, so that an earlier one on the thread may include it. A repeat changes nothing.
func (s *Store) AddMail(ctx context.Context, t MailThread, event string) error {
	_, err := s.Create(ctx, store.ItemOf(mailKey(t, event), mailItem{Expires: Expiry(s.Millis())}))
	return err
}

// ClaimMail claims the mail about an event until lease and, unless alone is true, unsent mails about the latest other events on the thread,
// maxMailEvents in all. It returns the claimed events, oldest first; none when the mail was sent. It fails with ABORTED while another run
// has claimed it. Other mails that can't be read go to skip.
func (s *Store) ClaimMail(
	ctx context.Context, t MailThread, event string, alone bool, lease collab.Millis, skip func(error),
) ([]string, error) {
	claimed := []string{event}
	if !alone {
		others, err := s.unsentMails(ctx, t, event, skip)
		if err != nil {
			return nil, err
		}
		claimed = append(claimed, others...)
	}
	mark := s.NewMark()
	sent, until := expression.Name(keys.SentAt), expression.Name(keys.Lease)
	free := expression.AttributeNotExists(sent).And(expression.AttributeNotExists(until).Or(until.LessThanEqual(expression.Value(s.Millis()))))
	claim := expression.Set(until, expression.Value(lease)).Set(expression.Name(keys.Writer), expression.Value(mark))
	refused, err := s.writeMails(ctx, t, claimed, claim, free)
	if err != nil {
		return nil, err
	}
	if refused != nil && !refused.By(mark) {
		if refused.Of[0].There.Number(keys.SentAt) != 0 {
			return nil, nil
		}
		return nil, collab.Errorf(collab.Aborted, "the mail is being sent by another run")
	}
	slices.Sort(claimed)
	return claimed, nil
}

// unsentMails returns which of the latest other events on the thread, maxMailEvents with this one, have a mail that nobody has sent or
// claimed.
func (s *Store) unsentMails(ctx context.Context, t MailThread, event string, skip func(error)) (list []string, err error) {
	left := maxMailEvents - 1
	mails := store.Scan{
		PK: mailKey(t, event).PK, Keys: store.Children(keys.MailsOf(t.Annotation, t.User)), Limit: left, Newest: true, Strong: true,
	}
	for it, err := range s.Items(ctx, mails) {
		if err != nil {
			return nil, err
		}
		var m mailItem
		id, err := keys.ParseMailEntry(it.Text(keys.SK))
		if err == nil {
			err = it.Decode(&m)
		}
		switch {
		case err != nil:
			skip(store.Unreadable(it.Key(), err))
		case id != event && m.SentAt == 0 && m.Lease <= s.Millis():
			list = append(list, id)
		}
		if left--; left == 0 {
			break
		}
	}
	return list, nil
}

// writeMails updates the mails about events in one transaction.
func (s *Store) writeMails(
	ctx context.Context, t MailThread, events []string, u expression.UpdateBuilder, conditions ...expression.ConditionBuilder,
) (*store.Refusal, error) {
	expires := expression.Name(keys.Expires)
	// not for each event: Set changes the builder that it is called on
	u = u.Set(expires, expression.IfNotExists(expires, expression.Value(Expiry(s.Millis()))))
	writes := collab.Map(events, func(ev string) store.Write { return store.Update(mailKey(t, ev), u, conditions...) })
	return s.Write(ctx, writes...)
}

// MailSent records that the mail about claimed events was sent.
func (s *Store) MailSent(ctx context.Context, t MailThread, events []string) error {
	return s.MailDropped(ctx, t, events, "")
}

// MailDropped records that the mail about claimed events is over: why it was not sent, "" where it was.
func (s *Store) MailDropped(ctx context.Context, t MailThread, events []string, why string) error {
	update := expression.Set(expression.Name(keys.SentAt), expression.Value(s.Millis()))
	if why != "" {
		update = update.Set(expression.Name(keys.Why), expression.Value(why))
	}
	_, err := s.writeMails(ctx, t, events, update)
	return err
}

// FreeMail ends the claim on a mail that was not sent.
func (s *Store) FreeMail(ctx context.Context, t MailThread, events []string) error {
	_, err := s.writeMails(ctx, t, events, expression.Set(expression.Name(keys.Lease), expression.Value(0)))
	return err
}

// MailEnd is what became of the mail to a person about an event.
type MailEnd struct {
	Pending bool          // it was decided that one leaves, and none has
	At      collab.Millis // when it left, or it was decided that none does; 0 for not yet
	Why     string        // why none did; "" for one that left
}

// MailEnds returns what became of the mails about an event to users, by user; the thread's User does not count. Eventually consistent; half
// a unit a user.
func (s *Store) MailEnds(ctx context.Context, t MailThread, event string, users []string) (map[string]MailEnd, error) {
	key := func(u string) keys.Key {
		t.User = u
		return mailKey(t, event)
	}
	found, err := s.GetAll(ctx, collab.Map(users, key), false)
	if err != nil {
		return nil, err
	}
	ends := make(map[string]MailEnd, len(users))
	for _, u := range users {
		var m mailItem
		if err := found[key(u)].Decode(&m); err != nil {
			return nil, err
		}
		ends[u] = MailEnd{found[key(u)] != nil && m.SentAt == 0, m.SentAt, m.Why}
	}
	return ends, nil
}
