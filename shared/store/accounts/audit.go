package accounts

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

type actItem struct {
	collab.Act
	Expires int64 `dynamodbav:"ttl"`
}

// Audit stores an act for a number of days, or replaces it.
func (s *Store) Audit(ctx context.Context, a collab.Act, days int) error {
	const day = 24 * 60 * 60
	return s.Put(ctx, store.ItemOf(keys.Act(a.Account, a.At, a.ID), actItem{a, a.At/1000 + int64(days)*day}))
}

// ActPosition is the position of an act in the list of an account.
type ActPosition struct {
	At collab.Millis
	ID string // "" for the newest act
}

// Acts returns up to limit acts of an account, newest first, from since to until, and after a
// position. more reports whether there are others.
func (s *Store) Acts(
	ctx context.Context, account string, since, until collab.Millis, after ActPosition, limit int,
) (list []collab.Act, more bool, err error) {
	span := store.Span{From: keys.Act(account, since, "").SK, To: keys.Act(account, until+1, "").SK}
	if after.ID != "" {
		span = span.Before(keys.Act(account, after.At, after.ID).SK)
	}
	items, more, err := s.QueryPage(ctx, store.Scan{
		PK: keys.Act(account, 0, "").PK, Keys: span, Limit: limit, Strong: true, Newest: true,
	})
	if err != nil {
		return nil, false, err
	}
	for _, it := range items {
		var stored actItem
		if err := it.Decode(&stored); err != nil {
			return nil, false, err
		}
		parts, err := keys.ActParts(it.Text(keys.SK))
		if err != nil {
			return nil, false, store.Unreadable(it.Key(), err)
		}
		stored.Account, stored.At, stored.ID = account, parts.At, parts.ID
		list = append(list, stored.Act)
	}
	return list, more, nil
}
