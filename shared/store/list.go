package store

import (
	"context"

	"collabdata/shared/keys"
)

// ListAfter returns at most most items of q, 0 for all, in the order of their sort keys: those after an id ("" for the first) and not deleted,
// each as read makes of it. The sort keys are prefix and the escaped id.
func ListAfter[T any](
	ctx context.Context, t *Table, q Scan, prefix, after string, most int, read func(Item) (T, error),
) ([]T, error) {
	if after != "" {
		q.Keys = q.Keys.After(prefix + keys.Escape(after))
	}
	q.Limit = most
	var list []T
	for it, err := range t.Items(ctx, q) {
		if err != nil {
			return nil, err
		}
		if it[keys.DeletedAt] != nil {
			continue
		}
		v, err := read(it)
		if err != nil {
			return nil, err
		}
		if list = append(list, v); len(list) == most {
			break
		}
	}
	return list, nil
}

// LastPart returns the id that ends a sort key after its prefix.
func LastPart(it Item, prefix string) (string, error) {
	id, err := keys.Unescape(it.Text(keys.SK)[len(prefix):])
	if err != nil {
		return "", Unreadable(it.Key(), err)
	}
	return id, nil
}
