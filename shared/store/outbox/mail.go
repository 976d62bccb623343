package outbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// MailRef names a mail to a user that waits.
type MailRef struct {
	Recipient
	Kind collab.WorkKind // MailWork or LateMailWork
	Of   string          // what becomes one mail: "" for all of the user's, else a thread (see ThreadMail) or an event
}

// ThreadMail is the Of of a mail about the events of one thread.
func ThreadMail(doc collab.DocumentRef, ann string) string {
	return keys.Annotation(doc, ann).PK + "#" + ann
}

// EventRef names the pending work of the mail.
func (m MailRef) EventRef() collab.EventRef {
	sum := sha256.Sum256([]byte(keys.MailEnd(m.OrganizationRef, m.User, m.Of).PK + "\x00" + m.Of))
	return collab.EventRef{Account: m.Account, ID: hex.EncodeToString(sum[:16])}
}

func (m MailRef) key() keys.Key { return workKey(Work{EventRef: m.EventRef(), Kind: m.Kind}) }

// Mail is pending work of a mail: whom it goes to, and the events that it tells of.
type Mail struct {
	Work
	For    Recipient     `dynamodbav:"for"`
	Events []string      `dynamodbav:"evs,stringset,omitempty"` // ids, in no order
	More   int64         `dynamodbav:"more,omitempty"`          // further ones, which the mail only counts
	Until  collab.Millis `dynamodbav:"until,omitempty"`         // until then a run has claimed it
}

// Recipient is whom a mail goes to.
type Recipient struct {
	collab.OrganizationRef
	User string
}

// MaxMailEvents is how many events a mail tells of; it counts the others. Up to twice as many wait.
const MaxMailEvents = 50

// eventSet is a set of ids of events.
type eventSet []string

// MarshalDynamoDBAttributeValue returns a set.
func (s eventSet) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberSS{Value: s}, nil
}

// AddMail adds an event to a mail. A new mail is due at a time; created reports that it is new. A mail of 2·MaxMailEvents events counts the
// older half alone. A repeat changes nothing, unless the mail has left.
func (s *Store) AddMail(ctx context.Context, m MailRef, event string, due, next collab.Millis) (created bool, err error) {
	events := expression.Name(keys.Events)
	once := func(u expression.UpdateBuilder, name string, value any) expression.UpdateBuilder {
		return u.Set(expression.Name(name), expression.IfNotExists(expression.Name(name), expression.Value(value)))
	}
	update := expression.Add(events, expression.Value(eventSet{event})).
		Set(expression.Name(keys.Expires), expression.Value(Expiry(max(due, s.Millis()))))
	for name, value := range map[string]any{
		keys.StartedAt: due, keys.Next: next, keys.For: m.Recipient,
	} {
		update = once(update, name, value)
	}
	it, _, err := s.WriteOne(ctx, store.Update(m.key(), update), types.ReturnValueAllNew)
	if err != nil {
		return false, err
	}
	mail, err := readMail(m.Kind, it)
	if err != nil || len(mail.Events) < 2*MaxMailEvents {
		return len(mail.Events) == 1, err
	}
	slices.Sort(mail.Events)
	old := mail.Events[:MaxMailEvents]
	if err := s.EndMail(ctx, m.OrganizationRef, m.User, CountedAlone, old...); err != nil {
		return false, err
	}
	all := expression.Contains(events, old[0]).And(expression.Contains(events, old[len(old)-1]))
	_, err = s.Write(ctx, store.Update(
		m.key(), expression.Delete(events, expression.Value(eventSet(old))).Add(expression.Name(keys.More), expression.Value(len(old))), all))
	return false, err
}

// CountedAlone is why a mail does not tell of an event: it has newer ones, or is long enough.
const CountedAlone = "counted alone: the mail tells of newer events"

func readMail(kind collab.WorkKind, it store.Item) (m Mail, err error) {
	if err := it.Decode(&m); err != nil {
		return m, err
	}
	m.Work, err = readWork(kind, it)
	return m, err
}

// ClaimMail claims a mail that is due until lease; nil where there is none, or another run has claimed it.
func (s *Store) ClaimMail(ctx context.Context, ref collab.EventRef, kind collab.WorkKind, lease collab.Millis) (*Mail, error) {
	due, until, mark := expression.Name(keys.StartedAt), expression.Name(keys.Lease), s.NewMark()
	now := expression.Value(s.Millis())
	it, refused, err := s.WriteOne(ctx, store.Update(
		workKey(Work{EventRef: ref, Kind: kind}),
		expression.Set(until, expression.Value(lease)).Set(expression.Name(keys.Writer), expression.Value(mark)),
		due.LessThanEqual(now), expression.AttributeNotExists(until).Or(until.LessThanEqual(now)),
	), types.ReturnValueAllNew)
	if refused != nil {
		if it = refused.Of[0].There; !refused.By(mark) {
			return nil, nil
		}
	}
	if err != nil {
		return nil, err
	}
	m, err := readMail(kind, it)
	return &m, err
}

// FreeMail ends the claim on a mail that was not sent. It is due at a time, or with 0 as it was.
func (s *Store) FreeMail(ctx context.Context, m *Mail, due collab.Millis) error {
	update := expression.Remove(expression.Name(keys.Lease))
	if due != 0 {
		update = rearm(due)
	}
	_, err := s.Write(ctx, store.Update(workKey(m.Work), update, isThere))
	return err
}

// rearm makes a mail due at a time.
func rearm(due collab.Millis) expression.UpdateBuilder {
	at := expression.Value(due)
	return expression.Set(expression.Name(keys.StartedAt), at).Set(expression.Name(keys.Next), at).
		Set(expression.Name(keys.Postponed), expression.Value(0)).Remove(expression.Name(keys.Lease))
}

// FinishMail deletes a claimed mail that has told of its events. Where others were added since, those stay, due at a time.
func (s *Store) FinishMail(ctx context.Context, m *Mail, due collab.Millis) error {
	as := store.NewItem(workKey(m.Work))
	set := &types.AttributeValueMemberSS{Value: m.Events}
	as[keys.Events] = set
	refused, err := s.Write(ctx, store.DeleteRead(as, keys.Events))
	if err != nil || refused == nil || refused.Of[0].There == nil {
		return err
	}
	left := rearm(due).Delete(expression.Name(keys.Events), expression.Value(eventSet(m.Events))).Remove(expression.Name(keys.More))
	_, err = s.Write(ctx, store.Update(workKey(m.Work), left, isThere))
	return err
}

// mailEndItem is the end of the mail to a user about an event.
type mailEndItem struct {
	SentAt  collab.Millis `dynamodbav:"sa"`
	Why     string        `dynamodbav:"why,omitempty"` // none was sent then: why
	Expires int64         `dynamodbav:"ttl"`
}

// EndMail records that the mail to a user about events is over: why it was not sent, "" where it was.
func (s *Store) EndMail(ctx context.Context, org collab.OrganizationRef, user, why string, events ...string) error {
	now := s.Millis()
	return store.Each(ctx, len(events), func(ctx context.Context, i int) error {
		return s.Put(ctx, store.ItemOf(keys.MailEnd(org, user, events[i]), mailEndItem{now, why, Expiry(now)}))
	})
}

// MailEnd is the end of the mail to a person about an event.
type MailEnd struct {
	At  collab.Millis // when it left, or it was decided that none does
	Why string        // why none did; "" for one that left
}

// MailsEnded returns the ends of the mails to a user about events, by event. Strongly consistent; about a unit for 30 events.
func (s *Store) MailsEnded(ctx context.Context, org collab.OrganizationRef, user string, events []string) (map[string]MailEnd, error) {
	ends := map[string]MailEnd{}
	if len(events) == 0 {
		return ends, nil
	}
	first, last := keys.MailEnd(org, user, slices.Min(events)), keys.MailEnd(org, user, slices.Max(events))
	for it, err := range s.Items(ctx, store.Scan{PK: first.PK, Keys: store.Span{From: first.SK, To: last.SK}, Strong: true}) {
		var end mailEndItem
		if err == nil {
			err = it.Decode(&end)
		}
		if err != nil {
			return nil, err
		}
		ends[it.Text(keys.SK)] = MailEnd{end.SentAt, end.Why}
	}
	return ends, nil
}

// MailEnds returns the ends of the mails about an event to users, by user. Eventually consistent; half a unit a user.
func (s *Store) MailEnds(ctx context.Context, org collab.OrganizationRef, event string, users []string) (map[string]MailEnd, error) {
	key := func(user string) keys.Key { return keys.MailEnd(org, user, event) }
	found, err := s.GetAll(ctx, collab.Map(users, key), false)
	if err != nil {
		return nil, err
	}
	ends := map[string]MailEnd{}
	for _, user := range users {
		var end mailEndItem
		if it := found[key(user)]; it == nil {
			continue
		} else if err := it.Decode(&end); err != nil {
			return nil, err
		}
		ends[user] = MailEnd{end.SentAt, end.Why}
	}
	return ends, nil
}

// MailWaits reports which of the mails wait that have an event, in their order. Eventually consistent; half a unit a mail.
func (s *Store) MailWaits(ctx context.Context, mails []MailRef, event string) ([]bool, error) {
	found, err := s.GetAll(ctx, collab.Map(mails, MailRef.key), false)
	waits := make([]bool, len(mails))
	for i, m := range mails {
		if set, ok := found[m.key()][keys.Events].(*types.AttributeValueMemberSS); ok {
			waits[i] = slices.Contains(set.Value, event)
		}
	}
	return waits, err
}

// FailMail parks the events of a mail as FailedWork, as Fail does: retried, they are put into inboxes and mails once more.
func (s *Store) FailMail(ctx context.Context, m *Mail, failure string) error {
	events, err := s.Events(ctx, m.Account, m.Events)
	if err != nil {
		return err
	}
	for _, ev := range events {
		body, err := collab.EncodeJSON(ev)
		if err != nil {
			return err
		}
		w := Work{EventRef: collab.EventRef{Account: m.Account, ID: ev.ID}, Stage: StageRecipients, Body: string(body), Expires: m.Expires}
		if err := s.Put(ctx, failed(w, s.Millis(), failure)); err != nil {
			return err
		}
	}
	return s.FinishMail(ctx, m, s.Millis())
}
