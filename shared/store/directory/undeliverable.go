package directory

import (
	"cmp"
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/mail/unsubscribe"
	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// undeliverableItem marks that an address of a user accepts no email. A user has at most one mark,
// which says nothing about other addresses.
type undeliverableItem struct {
	Address string            `dynamodbav:"adr"` // hash: see package unsubscribe
	Reason  collab.EmailState `dynamodbav:"why"`
	Time    collab.Millis     `dynamodbav:"ca"` // of the report
	Sent    collab.Millis     `dynamodbav:"at"` // of the email
}

func addressHash(email string) string { return unsubscribe.AddressOf(email).String() }

// fewMarks is the number of users whose marks are read one by one.
const fewMarks = 25

// Undeliverable returns, by user id, which of the users of an organization have an address that
// accepts no email, and why. It reads with eventual consistency: half a unit for each of up to 25
// users, and otherwise the marks of all users between the first and the last id.
func (s *Store) Undeliverable(ctx context.Context, org collab.OrganizationRef, users []collab.User) (map[string]collab.Undeliverable, error) {
	users = collab.Where(users, func(u collab.User) bool { return collab.Deref(u.Email) != "" && u.UserID != "" })
	all := map[string]collab.Undeliverable{}
	if len(users) == 0 {
		return all, nil
	}
	markKeys := collab.Map(users, func(u collab.User) keys.Key { return keys.Undeliverable(org, u.UserID) })
	marks := map[keys.Key]store.Item{}
	if len(markKeys) <= fewMarks {
		var err error
		if marks, err = s.GetAll(ctx, markKeys, false); err != nil {
			return nil, err
		}
	} else {
		compare := func(a, b keys.Key) int { return cmp.Compare(a.SK, b.SK) }
		first, last := slices.MinFunc(markKeys, compare), slices.MaxFunc(markKeys, compare)
		items, err := s.Query(ctx, store.Scan{PK: first.PK, Keys: store.Span{From: first.SK, To: last.SK}})
		if err != nil {
			return nil, err
		}
		for _, it := range items {
			marks[it.Key()] = it
		}
	}
	for i, u := range users {
		it := marks[markKeys[i]]
		if it == nil {
			continue
		}
		var m undeliverableItem
		if err := it.Decode(&m); err != nil {
			return nil, err
		}
		if m.Address == addressHash(*u.Email) {
			all[u.UserID] = collab.Undeliverable{UserID: u.UserID, Email: *u.Email, Reason: m.Reason, Time: m.Time, Sent: m.Sent}
		}
	}
	return all, nil
}

// EmailState returns why an address of a user in the organization, or in a folder or document of
// it, accepts no email; "" if all do. It looks as far as HasAddress, and only if the user has a
// mark.
func (s *Store) EmailState(ctx context.Context, org collab.OrganizationRef, user string) (collab.EmailState, error) {
	it, err := s.Get(ctx, keys.Undeliverable(org, user))
	if err != nil || it == nil {
		return "", err
	}
	var m undeliverableItem
	if err := it.Decode(&m); err != nil {
		return "", err
	}
	if stored, err := s.hasAddress(ctx, org, user, m.Address); err != nil || !stored {
		return "", err
	}
	return m.Reason, nil
}

// mostAddresses limits the folders and documents at which HasAddress looks for a user.
const mostAddresses = 100

// HasAddress reports whether a user is stored with an email address in the organization, or in a
// folder or document. It looks at the first 100 of these to which the user has a grant. It reads
// with strong consistency.
func (s *Store) HasAddress(ctx context.Context, org collab.OrganizationRef, user, email string) (bool, error) {
	return s.hasAddress(ctx, org, user, addressHash(email))
}

// hasAddress is HasAddress for the hash of an address.
func (s *Store) hasAddress(ctx context.Context, org collab.OrganizationRef, user, hash string) (bool, error) {
	has := func(it store.Item) (bool, error) {
		if it == nil {
			return false, nil
		}
		m, err := readMemberItem(it, func(store.Item) (string, error) { return user, nil })
		return collab.Deref(m.Email) != "" && addressHash(*m.Email) == hash, err
	}
	member, err := s.Get(ctx, keys.Member(org, user))
	if err != nil {
		return false, err
	}
	if found, err := has(member); found || err != nil {
		return found, err
	}
	grants, _, err := s.QueryPage(ctx, store.Scan{
		PK: keys.GrantPartition(org), Keys: store.Children(keys.GrantsOf(user)), Limit: mostAddresses, Strong: true,
	})
	for _, it := range grants {
		if found, failed := has(it); found || failed != nil {
			return found, failed
		}
	}
	return false, err
}

// MarkUndeliverable marks the address of a user, with further writes in one transaction. It returns
// false, and writes nothing, if the address is marked, or another one by a later report.
func (s *Store) MarkUndeliverable(ctx context.Context, org collab.OrganizationRef, u collab.Undeliverable, more ...store.Write) (bool, error) {
	hash := addressHash(u.Email)
	address, at := expression.Name(keys.EmailAddress), expression.Name(keys.CreatedAt)
	mark := store.Update(keys.Undeliverable(org, u.UserID),
		expression.Set(address, expression.Value(hash)).Set(expression.Name(keys.Failure), expression.Value(u.Reason)).
			Set(at, expression.Value(u.Time)).Set(expression.Name(keys.StartedAt), expression.Value(u.Sent)),
		address.AttributeNotExists().Or(address.NotEqual(expression.Value(hash)).And(at.LessThan(expression.Value(u.Time)))))
	refused, err := s.Write(ctx, append([]store.Write{mark}, more...)...)
	return err == nil && refused == nil, err
}

// movesAddress makes a change of a user, and reports whether it replaces an address.
func movesAddress(m *collab.Member, change func()) bool {
	before := collab.Deref(m.Email)
	change()
	return before != "" && addressHash(before) != addressHash(collab.Deref(m.Email))
}

// endUndeliverable ends the mark of a user whose address changed.
func (s *Store) endUndeliverable(ctx context.Context, org collab.OrganizationRef, user string) error {
	return s.Delete(ctx, keys.Undeliverable(org, user))
}
