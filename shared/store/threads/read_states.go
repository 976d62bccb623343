package threads

import (
	"context"
	"maps"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// SetRead marks annotations as read by a user until now, or as unread. It writes only differences.
// The errors correspond to ids: NOT_FOUND if the annotation does not exist.
func (s *Store) SetRead(
	ctx context.Context, req *request.Request, doc collab.DocumentRef, user string, ids []string, read bool, viewers collab.Viewers,
) ([]error, error) {
	itemKeys := []keys.Key{keys.ReadState(doc, user)}
	for _, id := range ids {
		itemKeys = append(itemKeys, headKey(doc, id), keys.ThreadReadState(doc, user, id))
	}
	found, err := s.GetAll(ctx, itemKeys, true)
	if err != nil {
		return nil, err
	}
	document, err := decodeReadState(found[itemKeys[0]])
	if err != nil {
		return nil, err
	}
	return store.All(len(ids), func(i int) error {
		head, k := found[itemKeys[1+2*i]], itemKeys[2+2*i]
		visible := head != nil
		if visible && viewers != nil {
			a, err := readHead(head)
			if err != nil {
				return err
			}
			visible = viewers.See(&a)
		}
		if !visible {
			return collab.NoAnnotation(doc, ids[i])
		}
		thread, err := decodeReadState(found[k])
		if err != nil {
			return err
		}
		before := readBefore(document, thread, head)
		if read && before <= timeKey(head) || !read && before > 0 {
			return s.putRead(ctx, req, k, readStateItem{Birth: birth(head)}, read)
		}
		return nil
	}), nil
}

// SetAllRead is SetRead for all annotations of a document.
func (s *Store) SetAllRead(ctx context.Context, req *request.Request, doc collab.DocumentRef, user string, read bool) error {
	k := keys.ReadState(doc, user)
	if req.Repeat {
		if existing, err := s.Get(ctx, k); err != nil || existing.Text(keys.AddedBy) == req.Mark() {
			return err
		}
	}
	return s.putRead(ctx, req, k, readStateItem{}, read)
}

// RestoreRead restores a user's read state for annotations, or for the whole document if ids is
// empty, unless the user has a later one. It returns the errors of SetRead, and reports whether it
// changed anything.
func (s *Store) RestoreRead(
	ctx context.Context, req *request.Request, doc collab.DocumentRef, user string, ids []string, state collab.ReadState,
) (changed bool, _ []error, _ error) {
	if ids == nil {
		existing, err := s.Get(ctx, keys.ReadState(doc, user))
		if err == nil {
			changed, err = s.restoreRead(ctx, req, keys.ReadState(doc, user), existing, readStateItem{ReadState: state})
		}
		return changed, nil, err
	}
	var itemKeys []keys.Key
	for _, id := range ids {
		itemKeys = append(itemKeys, headKey(doc, id), keys.ThreadReadState(doc, user, id))
	}
	found, err := s.GetAll(ctx, itemKeys, true)
	if err != nil {
		return false, nil, err
	}
	changes := make([]bool, len(ids))
	errs := store.All(len(ids), func(i int) (err error) {
		head, k := found[itemKeys[2*i]], itemKeys[2*i+1]
		if head == nil {
			return collab.NoAnnotation(doc, ids[i])
		}
		changes[i], err = s.restoreRead(ctx, req, k, found[k], readStateItem{state, birth(head)})
		return err
	})
	return slices.Contains(changes, true), errs, nil
}

// restoreRead writes a read state unless a later one exists for the same thread. It reports whether
// it wrote it.
func (s *Store) restoreRead(ctx context.Context, req *request.Request, k keys.Key, existing store.Item, v readStateItem) (bool, error) {
	before, err := decodeReadState(existing)
	if err != nil || existing != nil && before.Birth == v.Birth && before.At >= v.At {
		return false, err
	}
	it := store.ItemOf(k, v)
	it[keys.AddedBy] = store.Text(req.Mark())
	return true, s.Put(ctx, it)
}

// ReadStates returns up to limit read states for a document and its visible annotations. They
// belong to a viewer, or to all users if there is none. after and next are sort keys, "" for the
// first page and after the last. The list ends early at the end of a page of the request: see
// collab.Usage.PageLeft. It reads with strong consistency, except the annotations for a viewer.
func (s *Store) ReadStates(
	ctx context.Context, doc collab.DocumentRef, viewers collab.Viewers, after string, limit int,
) (list []collab.UserReadState, next string, err error) {
	span, user := store.Everything, ""
	if viewers != nil {
		user = viewers[0].User
		itself := keys.ReadState(doc, user).SK
		span = store.Span{From: itself, To: store.Children(itself + "#").To}
	}
	q := store.Scan{PK: keys.ReadStatePartition(doc), Keys: span.After(after), Limit: limit, Strong: true}
	items, more, err := s.QueryPage(ctx, q)
	if err != nil {
		return nil, "", err
	}
	states, heads := make([]collab.UserReadState, len(items)), make([]keys.Key, 0, len(items))
	var places []int // of the heads in items
	for i, it := range items {
		parts, err := keys.Split(it.Text(keys.SK))
		if err != nil {
			return nil, "", store.Unreadable(it.Key(), err)
		}
		if states[i].User = parts[0]; user != "" && states[i].User != user {
			continue
		} else if len(parts) == 2 {
			states[i].Annotation = parts[1]
			heads, places = append(heads, headKey(doc, parts[1])), append(places, i)
		}
	}
	found, n, err := s.GetSome(ctx, heads, viewers == nil, collab.UsageOf(ctx).PageLeft())
	if err != nil {
		return nil, "", err
	}
	if n < len(heads) {
		items, more = items[:places[n]], true
	}
	for i, it := range items {
		v, err := decodeReadState(it)
		if err != nil {
			return nil, "", err
		}
		states[i].ReadState = v.ReadState
		next = it.Text(keys.SK)
		if user != "" && states[i].User != user {
			continue
		}
		head := found[headKey(doc, states[i].Annotation)]
		if states[i].Annotation != "" {
			if head == nil || v.Birth != birth(head) {
				continue
			}
			if a, err := readHead(head); err != nil {
				return nil, "", err
			} else if !viewers.See(&a) {
				continue
			}
		}
		list = append(list, states[i])
	}
	if !more {
		next = ""
	}
	return list, next, nil
}

// putRead marks a document or a thread as read until now, or as unread.
func (s *Store) putRead(ctx context.Context, req *request.Request, k keys.Key, v readStateItem, read bool) error {
	if v.At = req.Millis(); read {
		v.Before = req.Millis() + 1
	}
	it := store.ItemOf(k, v)
	it[keys.AddedBy] = store.Text(req.Mark())
	return s.Put(ctx, it)
}

// answered marks an annotation as read by the authors of comments until their last one, unless they
// have a later mark. It does not look whether they had read it before, because a read in front of
// the write costs a round.
func (s *Store) answered(
	ctx context.Context, req *request.Request, doc collab.DocumentRef, ann string, head store.Item, comments []collab.Comment,
) error {
	last := collab.LastOf(comments)
	authors := slices.Sorted(maps.Keys(last))
	return store.Each(ctx, len(authors), func(ctx context.Context, i int) error {
		k := keys.ThreadReadState(doc, authors[i], ann)
		v := readStateItem{collab.ReadStateAt(last[authors[i]]-1, true), birth(head)}
		it := store.ItemOf(k, v)
		it[keys.AddedBy] = store.Text(req.Mark())
		update := expression.UpdateBuilder{}
		for name, value := range it {
			if name != keys.PK && name != keys.SK {
				update = update.Set(expression.Name(name), expression.Value(value))
			}
		}
		at, birthOf := expression.Name("at"), expression.Name("of")
		_, err := s.Write(ctx, store.Update(k, update,
			at.AttributeNotExists().Or(at.LessThan(expression.Value(v.At)), birthOf.NotEqual(expression.Value(v.Birth)))))
		return err
	})
}

// readStateItem is a user's read state for a document, or for the thread with a birth mark. Those
// of a deleted thread remain until the user reads another one with its id, or the document is
// deleted.
type readStateItem struct {
	collab.ReadState
	Birth string `dynamodbav:"of,omitempty"`
}

func decodeReadState(it store.Item) (v readStateItem, err error) {
	if it != nil {
		err = it.Decode(&v)
	}
	return v, err
}

type readStates struct {
	document readStateItem
	threads  map[string]readStateItem // by annotation id
	all      bool                     // threads is complete
	units    float64                  // capacity units read
}

// threadsOf returns b.threads, nil if b is nil.
func (b *readStates) threadsOf() map[string]readStateItem {
	if b == nil {
		return nil
	}
	return b.threads
}

// readBefore is collab.ReadBefore for the thread of a head. It ignores those of a deleted thread
// with the same id.
func readBefore(document, thread readStateItem, head store.Item) collab.Millis {
	if thread.Birth != birth(head) {
		thread = readStateItem{}
	}
	return collab.ReadBefore(document.ReadState, thread.ReadState)
}

// before returns the time before which comments of an annotation are read. head is its item, or its
// entry in the index by time.
func (b *readStates) before(id string, head store.Item) collab.Millis {
	return readBefore(b.document, b.threads[id], head)
}

func (s *Store) readStates(ctx context.Context, doc collab.DocumentRef, user string) (*readStates, error) {
	k := keys.ReadState(doc, user)
	b := &readStates{threads: map[string]readStateItem{}, all: true}
	bytes := 0
	for it, err := range s.Items(ctx, store.Scan{PK: k.PK, Keys: store.Span{From: k.SK, To: k.SK + keys.AfterChildren}}) {
		if err != nil {
			return nil, err
		}
		v, err := decodeReadState(it)
		if err != nil {
			return nil, err
		}
		bytes += it.Size()
		if parts, err := keys.Split(it.Text(keys.SK)); err != nil {
			return nil, store.Unreadable(it.Key(), err)
		} else if len(parts) == 2 {
			b.threads[parts[1]] = v
		} else {
			b.document = v
		}
	}
	b.units = readUnits(bytes)
	return b, nil
}

// readStatesIn is readStates for threads with some ids. An id without a mark has a zero item.
func (s *Store) readStatesIn(ctx context.Context, doc collab.DocumentRef, user string, ids []string) (*readStates, error) {
	itemKeys := []keys.Key{keys.ReadState(doc, user)}
	for _, id := range ids {
		itemKeys = append(itemKeys, keys.ThreadReadState(doc, user, id))
	}
	found, err := s.GetAll(ctx, itemKeys, false)
	if err != nil {
		return nil, err
	}
	b := &readStates{threads: make(map[string]readStateItem, len(ids)), units: float64(len(itemKeys)) / 2}
	if b.document, err = decodeReadState(found[itemKeys[0]]); err != nil {
		return nil, err
	}
	for i, id := range ids {
		if b.threads[id], err = decodeReadState(found[itemKeys[1+i]]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// Limits of a count.
