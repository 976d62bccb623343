package store

import (
	"context"
	"iter"
	"slices"
	"strings"

	"collabdata/shared/keys"
)

// List yields the undeleted items of q after an id, in key order, as converted by read. An error
// comes last. An empty after starts at the first item. Sort keys consist of prefix and the escaped
// id. For q.Limit see Table.Items.
func List[T any](
	ctx context.Context, t *Table, q Scan, prefix, after string, read func(Item) (T, error),
) iter.Seq2[T, error] {
	if after != "" {
		q.Keys = q.Keys.After(prefix + keys.Escape(after))
	}
	return func(yield func(T, error) bool) {
		for it, err := range t.Items(ctx, q) {
			if it[keys.DeletedAt] != nil {
				continue
			}
			var v T
			if err == nil {
				v, err = read(it)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// ListAfter returns up to limit results of List, or all if limit is 0.
func ListAfter[T any](
	ctx context.Context, t *Table, q Scan, prefix, after string, limit int, read func(Item) (T, error),
) (list []T, err error) {
	q.Limit = limit
	for v, err := range List(ctx, t, q, prefix, after, read) {
		if err != nil {
			return nil, err
		}
		if list = append(list, v); len(list) == limit {
			break
		}
	}
	return list, nil
}

// LastPart returns the id after the prefix of a sort key.
func LastPart(it Item, prefix string) (string, error) {
	id, err := keys.Unescape(it.Text(keys.SK)[len(prefix):])
	if err != nil {
		return "", Unreadable(it.Key(), err)
	}
	return id, nil
}

// QueryMerged reads the same range of several partitions. It returns all items of up to limit sort
// keys, in their order; if keys are equal, earlier partitions come first. q.Limit applies to each
// partition. If more is true, further items exist, and list is not empty.
func (t *Table) QueryMerged(ctx context.Context, pks []string, q Scan, limit int) (list []Item, more bool, err error) {
	found, goesOn := make([][]Item, len(pks)), make([]bool, len(pks))
	err = Each(ctx, len(pks), func(ctx context.Context, i int) (err error) {
		query := q
		query.PK = pks[i]
		found[i], goesOn[i], err = t.QueryPage(ctx, query)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	compare := func(a, b Item) int {
		if q.Newest {
			a, b = b, a
		}
		return strings.Compare(a.Text(keys.SK), b.Text(keys.SK))
	}
	// All partitions were read up to this item.
	var end Item
	for i, items := range found {
		list = append(list, items...)
		if n := len(items); goesOn[i] && n > 0 && (end == nil || compare(items[n-1], end) < 0) {
			end = items[n-1]
		}
		more = more || goesOn[i]
	}
	slices.SortStableFunc(list, compare)
	if end != nil {
		unread := slices.IndexFunc(list, func(it Item) bool { return compare(it, end) > 0 })
		if unread >= 0 {
			list = list[:unread]
		}
	}
	list, rest := FirstKeys(list, limit)
	return list, more || rest, nil
}

// FirstKeys returns all items of the first limit sort keys of a sorted list, and whether more
// follow.
func FirstKeys(sorted []Item, limit int) (list []Item, more bool) {
	number := 0
	for i, it := range sorted {
		if i == 0 || it.Text(keys.SK) != sorted[i-1].Text(keys.SK) {
			if number++; number > limit {
				return sorted[:i], true
			}
		}
	}
	return sorted, false
}
