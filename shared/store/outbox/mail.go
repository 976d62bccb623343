package store

import (
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// maxMailEvents bounds how many events become one mail.
const maxMailEvents = 25

func mailKey(t collab.MailThread, event string) table.Key {
	return table.MailEntry(t.Account, t.Organization, t.Document, t.Annotation, t.User, event)
}

// AddMail records that a mail about an event is to be sent, so that an earlier one on the same thread may take it along. A repeat changes
// nothing.
func (s *Store) AddMail(ctx context.Context, t collab.MailThread, event string) error {
	it := newItem(mailKey(t, event))
	it.setNum(table.Expires, expiry(s.millis()))
	return s.make(ctx, it)
}

// ClaimMail claims the mail about an event until lease, and unless alone is true those about the latest other events of the thread that are
// still to be sent. It returns the events claimed, oldest first: none when the mail was sent. It fails with ABORTED when another has
// claimed it.
func (s *Store) ClaimMail(ctx context.Context, t collab.MailThread, event string, alone bool, lease collab.Millis) ([]string, error) {
	claimed := []string{event}
	left := maxMailEvents - 1
	if alone {
		left = 0
	}
	for keys := everything; left > 0; {
		entries, more, err := s.queryPage(ctx, scan{pk: mailKey(t, event).PK, keys: keys, limit: left, newest: true, strong: true})
		if err != nil {
			return nil, err
		}
		for _, it := range entries {
			id, err := table.Unescape(it.text(table.SK))
			if err != nil {
				return nil, fail(ctx, err)
			}
			if id != event && it.num(table.SentAt) == 0 && it.num(table.Lease) <= s.millis() {
				claimed = append(claimed, id)
			}
			keys = keys.before(it.text(table.SK))
		}
		if left -= len(entries); !more {
			break
		}
	}
	refused, err := s.transact(ctx, s.mailUpdates(t, claimed, table.Lease, lease, true))
	if err != nil {
		return nil, err
	}
	if refused != nil {
		if item(refused[0].Item).num(table.SentAt) != 0 {
			return nil, nil
		}
		return nil, collab.Errorf(collab.Aborted, "the mail is being sent by another run")
	}
	slices.Sort(claimed)
	return claimed, nil
}

// mailUpdates sets a number of the mails about events; unclaimed says that they must be neither sent nor claimed.
func (s *Store) mailUpdates(t collab.MailThread, events []string, attribute string, value int64, unclaimed bool) []types.TransactWriteItem {
	writes := make([]types.TransactWriteItem, len(events))
	for i, ev := range events {
		e := newExpression()
		expires := e.name(table.Expires)
		set := "SET " + e.name(attribute) + " = " + e.value(num(value)) +
			", " + expires + " = if_not_exists(" + expires + ", " + e.value(num(expiry(s.millis()))) + ")"
		u := &types.Update{TableName: &s.table, Key: keyOf(mailKey(t, ev)), UpdateExpression: &set}
		if unclaimed {
			lease := e.name(table.Lease)
			condition := "attribute_not_exists(" + e.name(table.SentAt) + ") AND (attribute_not_exists(" + lease + ") OR " +
				lease + " <= " + e.value(num(s.millis())) + ")"
			u.ConditionExpression = &condition
			u.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
		}
		u.ExpressionAttributeNames, u.ExpressionAttributeValues = e.names, e.values
		writes[i].Update = u
	}
	return writes
}

// MailSent records that the mail about events that were claimed was sent.
func (s *Store) MailSent(ctx context.Context, t collab.MailThread, events []string) error {
	_, err := s.transact(ctx, s.mailUpdates(t, events, table.SentAt, s.millis(), false))
	return err
}

// FreeMail lets go of a claim: the mail was not sent.
func (s *Store) FreeMail(ctx context.Context, t collab.MailThread, events []string) error {
	_, err := s.transact(ctx, s.mailUpdates(t, events, table.Lease, 0, false))
	return err
}
