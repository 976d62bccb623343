package directory

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

var readOrganization = reader(keys.Organizations, func(o *collab.Organization) *string { return &o.ID })

func organizationNamed(id string) string { return fmt.Sprintf("organization %q", id) }
func documentNamed(id string) string     { return fmt.Sprintf("document %q", id) }
func folderNamed(id string) string       { return fmt.Sprintf("folder %q", id) }

// createOrganization adds an organization with its id as its name and opens it. If another request
// adds it first, it opens that one.
func (s *Store) createOrganization(ctx context.Context, acct, id string) (collab.OrganizationRef, error) {
	o := collab.Organization{Name: id, CreatedAt: s.Millis(), LastUpdated: s.Millis()}
	itself := keys.Organization(acct, id)
	incarnation, err := s.createOrOpen(ctx, itself, organizationNamed(id), func(l collab.Lifetime) store.Item {
		o.Lifetime = l
		return store.ItemOf(itself, o)
	})
	return collab.OrganizationRef{Account: acct, Organization: id, Incarnation: incarnation}, err
}

// createOrOpen adds an organization or document, or the next incarnation of a deleted one, and
// opens it. If it exists, createOrOpen opens it. It returns UNAVAILABLE while other processes may
// still trust the deleted one.
func (s *Store) createOrOpen(ctx context.Context, k keys.Key, subject string, item func(collab.Lifetime) store.Item) (incarnation int64, err error) {
	now := s.Now()
	for range createTries {
		var life, deleted collab.Lifetime
		life.Begin(deleted, now.UnixMilli())
		it := item(life)
		existing, err := s.Create(ctx, it)
		if err == nil {
			err = existing.Decode(&deleted)
		}
		switch {
		case err != nil:
			return 0, err
		case existing == nil:
			return s.open(it, subject, now)
		case deleted.DeletedAt == 0:
			return s.open(existing, subject, now)
		}
		if err := settled(deleted, subject, now); err != nil {
			return 0, err
		}
		life.Begin(deleted, now.UnixMilli())
		it, mark := item(life), s.NewMark()
		refused, err := s.Write(ctx, store.Change(existing, it, mark))
		if err != nil {
			return 0, err
		}
		if refused == nil || refused.By(mark) {
			return s.open(it, subject, now)
		}
	}
	return 0, store.ErrAborted(subject)
}

// createTries bounds the attempts if many requests add the same item.
const createTries = 5

// staleRead exceeds the age of an eventually consistent read.
const staleRead = time.Second

// settled returns UNAVAILABLE while other processes may trust that a deleted item exists.
func settled(life collab.Lifetime, subject string, now time.Time) error {
	left := time.UnixMilli(life.DeletedAt).Add(CacheTTL + staleRead + store.ClockSkew).Sub(now)
	if left <= 0 {
		return nil
	}
	return &collab.Error{
		Code: collab.Unavailable, Message: subject + " was deleted a moment ago, and can be added again in a few seconds", RetryAfter: left,
	}
}

// Organizations returns the existing ones of ids, in their order and without repeats. It reads with
// strong consistency.
func (s *Store) Organizations(ctx context.Context, acct string, ids []string) ([]collab.Organization, error) {
	key := func(id string) keys.Key { return keys.Organization(acct, id) }
	list, err := readByIDs(ctx, s, ids, key, true, readOrganization)
	return slices.DeleteFunc(list, func(o collab.Organization) bool { return o.DeletedAt != 0 }), err
}

// ListOrganizations yields the account's organizations after an id, in id order; an error comes
// last. It reads most+1 at once, so that a caller that takes most learns whether more follow. It
// reads with eventual consistency.
func (s *Store) ListOrganizations(ctx context.Context, acct, after string, limit int) iter.Seq2[collab.Organization, error] {
	q := store.Scan{PK: keys.Organization(acct, "").PK, Keys: store.Children(keys.Organizations), Limit: limit + 1}
	return store.List(ctx, s.Table, q, keys.Organizations, after, readOrganization)
}
