// Package outbox keeps what goes out to people and systems: events with how far their delivery has come, pending work, mails, notifications
// with the inboxes that list them, webhook endpoints and what was delivered to them.
package outbox

import (
	"context"
	"slices"
	"strings"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// Store is the outbox part of the table. Safe for concurrent use. Its methods fail as those of store.Table do.
type Store struct {
	*store.Table
	directory Directory
}

// Directory knows which notifications users want, and which documents exist: see package directory.
type Directory interface {
	// Preferences returns a user's preferences for each of the documents, in their order.
	Preferences(ctx context.Context, org collab.OrganizationRef, user string, documents []string) ([]collab.Preferences, error)

	// Current returns which of the documents are there, in this incarnation, and enabled.
	Current(ctx context.Context, org collab.OrganizationRef, documents []collab.DocumentRef) (map[collab.DocumentRef]bool, error)
}

// New returns the outbox part of a table. The directory is needed by what reads and changes notifications alone.
func New(t *store.Table, d Directory) *Store { return &Store{t, d} }

const retention = 30 * 24 * time.Hour // of events and what is about them

// expiry is when what was made at a time expires, in seconds since epoch.
func expiry(made collab.Millis) int64 { return made/1000 + int64(retention.Seconds()) }

// merged reads up to most items of the same range of several partitions, in their order over all of them, those of earlier partitions first
// where sort keys are equal; q.Limit is for each. more reports that there are others behind them: there is at least one item then.
func (s *Store) merged(ctx context.Context, pks []string, q store.Scan, most int) (list []store.Item, more bool, err error) {
	found, goesOn := make([][]store.Item, len(pks)), make([]bool, len(pks))
	err = store.Each(ctx, len(pks), func(ctx context.Context, i int) (err error) {
		of := q
		of.PK = pks[i]
		found[i], goesOn[i], err = s.QueryPage(ctx, of)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	compare := func(a, b store.Item) int {
		if q.Newest {
			a, b = b, a
		}
		return strings.Compare(a.Text(keys.SK), b.Text(keys.SK))
	}
	var end store.Item // behind it one of the partitions is not known
	for i, items := range found {
		list = append(list, items...)
		if n := len(items); goesOn[i] && n > 0 && (end == nil || compare(items[n-1], end) < 0) {
			end = items[n-1]
		}
		more = more || goesOn[i]
	}
	slices.SortStableFunc(list, compare)
	for i, it := range list {
		if i == most || end != nil && compare(it, end) > 0 {
			return list[:i], true, nil
		}
	}
	return list, more, nil
}
