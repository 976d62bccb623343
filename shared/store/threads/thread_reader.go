package threads

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// threadReader assembles one thread from its items, in key order. The zero value is a missing
// thread.
type threadReader struct {
	*store.Table
	scan  store.Scan // the rest to read
	more  bool       // something is left
	short bool       // a person's bound ends the reading
	head  store.Item
	t     *collab.Thread // nil until the head is read
	items int
	bytes int   // approximate size
	err   error // ends the reading
}

func (r *threadReader) read(ctx context.Context) {
	items, more, err := r.QueryPage(ctx, r.scan)
	if err == collab.ErrRead && r.t != nil {
		r.short = true
		return
	}
	r.more, r.err = more, err
	for _, it := range items {
		r.scan.Keys = r.scan.Keys.After(it.Text(keys.SK))
		if err := r.add(it); err != nil {
			r.err = store.Fail(ctx, err)
		}
	}
}

// add adds the next item. It skips comments of other heads, and items of later versions.
func (r *threadReader) add(it store.Item) error {
	id, comment, err := keys.ParseAnnotation(it.Text(keys.SK))
	switch {
	case err != nil || comment != 0 && (r.t == nil || r.t.ID != id || !belongs(it, r.head)):
		return nil
	case comment == 0:
		document, err := keys.DocumentIDOf(it.Text(keys.PK))
		if err != nil {
			return err
		}
		r.head, r.t = it, &collab.Thread{Document: document}
		if r.t.Annotation, err = readHead(it); err != nil {
			return err
		}
	default:
		c, err := readComment(it)
		if err != nil {
			return err
		}
		r.t.Comments = append(r.t.Comments, c)
	}
	r.items++
	r.bytes += contentSize(it)
	return nil
}

// finish reads the rest of the thread and returns it, nil if it does not exist. It truncates a
// thread that is larger than a page, or than a person's bound allows, and marks it.
func (r *threadReader) finish(ctx context.Context) (*collab.Thread, error) {
	for r.err == nil && r.more && !r.short && r.bytes <= pageBytes {
		r.read(ctx)
	}
	if r.err != nil || r.t == nil {
		return nil, r.err
	}
	if r.t.LastUpdated = r.t.Latest(); r.more {
		r.t.Truncated = true
		r.t.LastUpdated = max(r.t.LastUpdated, timeKey(r.head))
	}
	return r.t, nil
}
