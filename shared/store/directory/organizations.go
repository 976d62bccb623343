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

// organizationNamed, documentNamed and folderNamed are what callers know them as.
func organizationNamed(id string) string { return fmt.Sprintf("organization %q", id) }
func documentNamed(id string) string     { return fmt.Sprintf("document %q", id) }
func folderNamed(id string) string       { return fmt.Sprintf("folder %q", id) }

// createOrganization adds an organization named by its id and opens it. Where another request was faster it opens that one.
func (s *Store) createOrganization(ctx context.Context, acct, id string) (collab.OrganizationRef, error) {
	o := collab.Organization{Name: id, CreatedAt: s.Millis(), LastUpdated: s.Millis()}
	itself := keys.Organization(acct, id)
	incarnation, err := s.createOrOpen(ctx, itself, organizationNamed(id), func(l collab.Lifetime) store.Item {
		o.Lifetime = l
		return store.ItemOf(itself, o)
	})
	return collab.OrganizationRef{Account: acct, Organization: id, Incarnation: incarnation}, err
}

// createOrOpen adds the item of an organization or a document, the first one or the next incarnation of a deleted one, and opens it. Where
// it exists it opens that. It fails with UNAVAILABLE while other processes may still trust the deleted one.
func (s *Store) createOrOpen(ctx context.Context, k keys.Key, what string, item func(collab.Lifetime) store.Item) (incarnation int64, err error) {
	now := s.Now()
	for range createTries {
		var life, of collab.Lifetime
		life.Begin(of, now.UnixMilli())
		it := item(life)
		there, err := s.Create(ctx, it)
		if err == nil {
			err = there.Decode(&of)
		}
		switch {
		case err != nil:
			return 0, err
		case there == nil:
			return s.open(it, what, now)
		case of.DeletedAt == 0:
			return s.open(there, what, now)
		}
		if err := settled(of, what, now); err != nil {
			return 0, err
		}
		life.Begin(of, now.UnixMilli())
		it, mark := item(life), s.NewMark()
		refused, err := s.Write(ctx, store.Change(there, it, mark))
		if err != nil {
			return 0, err
		}
		if refused == nil || refused.By(mark) {
			return s.open(it, what, now)
		}
	}
	return 0, store.ErrAborted(what)
}

// createTries is how often one of many requests that add the same tries it.
const createTries = 5

// staleRead is older than what a read returns that is not strongly consistent.
const staleRead = time.Second

// settled fails with UNAVAILABLE while other processes may trust that what was deleted exists.
func settled(of collab.Lifetime, what string, now time.Time) error {
	left := time.UnixMilli(of.DeletedAt).Add(CacheTTL + staleRead + store.ClockSkew).Sub(now)
	if left <= 0 {
		return nil
	}
	return &collab.Error{
		Code: collab.Unavailable, Message: what + " was deleted a moment ago, and can be added again in a few seconds", RetryAfter: left,
	}
}

// Organizations returns those of the ids that exist, in the order asked, repeats once. Strongly consistent.
func (s *Store) Organizations(ctx context.Context, acct string, ids []string) ([]collab.Organization, error) {
	key := func(id string) keys.Key { return keys.Organization(acct, id) }
	list, err := readByIDs(ctx, s, ids, key, true, readOrganization)
	return slices.DeleteFunc(list, func(o collab.Organization) bool { return o.DeletedAt != 0 }), err
}

// ListOrganizations yields the account's organizations after an id ("" for all), by id, or an error as the last. It reads most and one more
// at once: that one shows a caller who takes most whether there are others. Eventually consistent.
func (s *Store) ListOrganizations(ctx context.Context, acct, after string, most int) iter.Seq2[collab.Organization, error] {
	q := store.Scan{PK: keys.Organization(acct, "").PK, Keys: store.Children(keys.Organizations), Limit: most + 1}
	return store.List(ctx, s.Table, q, keys.Organizations, after, readOrganization)
}
