package threads

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

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
	errs := make([]error, len(ids))
	store.All(len(ids), func(i int) {
		head, k := found[itemKeys[1+2*i]], itemKeys[2+2*i]
		visible := head != nil
		if visible && viewers != nil {
			a, err := readHead(head)
			if err != nil {
				errs[i] = err
				return
			}
			visible = viewers.See(&a)
		}
		if !visible {
			errs[i] = collab.NoAnnotation(doc, ids[i])
			return
		}
		thread, err := decodeReadState(found[k])
		if err != nil {
			errs[i] = err
			return
		}
		before := readBefore(document, thread, head)
		if read && before <= timeKey(head) || !read && before > 0 {
			errs[i] = s.putRead(ctx, req, k, readStateItem{Birth: birth(head)}, read)
		}
	})
	return errs, nil
}

// SetAllRead is SetRead for all annotations of a document.
func (s *Store) SetAllRead(ctx context.Context, req *request.Request, doc collab.DocumentRef, user string, read bool) error {
	k := keys.ReadState(doc, user)
	if req.Repeat {
		if there, err := s.Get(ctx, k); err != nil || there.Text(keys.AddedBy) == req.Mark() {
			return err
		}
	}
	return s.putRead(ctx, req, k, readStateItem{}, read)
}

// RestoreRead restores a user's read state for annotations, or for the whole document if ids is
// empty, unless the user has a later one. It returns the errors of SetRead, and reports whether it
// changed anything.
func (s *Store) RestoreRead(
	ctx context.Context, req *request.Request, doc collab.DocumentRef, user string, ids []string, said collab.ReadState,
) (changed bool, _ []error, _ error) {
	if ids == nil {
		there, err := s.Get(ctx, keys.ReadState(doc, user))
		if err == nil {
			changed, err = s.restoreRead(ctx, req, keys.ReadState(doc, user), there, readStateItem{ReadState: said})
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
	errs, changes := make([]error, len(ids)), make([]bool, len(ids))
	store.All(len(ids), func(i int) {
		head, k := found[itemKeys[2*i]], itemKeys[2*i+1]
		if head == nil {
			errs[i] = collab.NoAnnotation(doc, ids[i])
			return
		}
		changes[i], errs[i] = s.restoreRead(ctx, req, k, found[k], readStateItem{said, birth(head)})
	})
	return slices.Contains(changes, true), errs, nil
}

// restoreRead writes a read state unless a later one exists for the same thread. It reports whether
// it wrote it.
func (s *Store) restoreRead(ctx context.Context, req *request.Request, k keys.Key, there store.Item, v readStateItem) (bool, error) {
	before, err := decodeReadState(there)
	if err != nil || there != nil && before.Birth == v.Birth && before.At >= v.At {
		return false, err
	}
	it := store.ItemOf(k, v)
	it[keys.AddedBy] = store.Text(req.Mark())
	return true, s.Put(ctx, it)
}

// ReadStates returns up to most read states for a document and its visible annotations. They belong
// to a viewer, or to all users if there is none. after and next are sort keys, "" for the first
// page and after the last. The list ends early at the end of a page of the request: see
// collab.Usage.PageLeft. It reads with strong consistency, except the annotations for a viewer.
func (s *Store) ReadStates(
	ctx context.Context, doc collab.DocumentRef, of collab.Viewers, after string, most int,
) (list []collab.UserReadState, next string, err error) {
	span, user := store.Everything, ""
	if of != nil {
		user = of[0].User
		itself := keys.ReadState(doc, user).SK
		span = store.Span{From: itself, To: store.Children(itself + "#").To}
	}
	q := store.Scan{PK: keys.ReadStatePartition(doc), Keys: span.After(after), Limit: most, Strong: true}
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
	found, n, err := s.GetSome(ctx, heads, of == nil, collab.UsageOf(ctx).PageLeft())
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
			} else if !of.See(&a) {
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
		at, of := expression.Name("at"), expression.Name("of")
		_, err := s.Write(ctx, store.Update(k, update,
			at.AttributeNotExists().Or(at.LessThan(expression.Value(v.At)), of.NotEqual(expression.Value(v.Birth)))))
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
const (
	mostCounted = 10_000 // annotations of a document
	// Threads, in all documents of a call, whose comments must be read.
	mostLooked = 3_000
)

// Count counts the annotations of documents with one of statuses, nil for any, and the unread ones
// for a user, if user is not "". If sight is not nil, it counts only visible ones, and returns its
// errors. It stops where the bound of a person's request refuses reads. It reads indexes, which may
// lag by a second.
func (s *Store) Count(
	ctx context.Context, docs []collab.DocumentRef, statuses []string, user string, sight collab.Sight,
) ([]collab.AnnotationCount, error) {
	counts := make([]collab.AnnotationCount, len(docs))
	viewers := map[collab.DocumentRef]collab.Viewers{}
	if sight != nil {
		var err error
		if viewers, err = sight.Viewers(ctx, docs, time.Time{}); err != nil {
			return nil, err
		}
	}
	err := store.Each(ctx, len(docs), func(ctx context.Context, i int) (err error) {
		if who, ok := viewers[docs[i]]; sight == nil || ok && who.May() {
			counts[i], err = s.countIn(ctx, docs[i], statuses, user, who, mostLooked/len(docs))
		}
		if err == collab.ErrRead {
			counts[i].TotalIsAtLeast, counts[i].UnreadAtLeast, err = true, user != "", nil
		}
		return err
	})
	return counts, err
}

func (s *Store) countIn(
	ctx context.Context, doc collab.DocumentRef, statuses []string, user string, viewers collab.Viewers, most int,
) (n collab.AnnotationCount, err error) {
	var states *readStates
	q := collab.AnnotationQuery{Found: []collab.DocumentRef{doc}, Documents: []string{doc.Document}, Statuses: statuses}
	if user != "" || statuses == nil {
		q.Order = collab.Descending // few entries are newer
	}
	if user != "" {
		if states, err = s.readStates(ctx, doc, user); err != nil {
			return n, err
		}
	}
	p := newPlan(doc.OrganizationRef, &q)
	passes := sieve(&q, p.index)
	var unsure, restricted []store.Item
	examined := 0
	count := func(e entry, it store.Item) {
		n.Total++
		if user != "" && timeKey(it) >= states.before(e.id, it) {
			unsure = append(unsure, it)
		}
	}
	for value := range max(1, len(p.values)) {
		r := p.keyRange(doc, value)
		scan := r.scan()
		scan.Limit = mostCounted - examined + 1
		for it, err := range s.Items(ctx, scan) {
			if err != nil {
				return n, err
			}
			if examined == mostCounted {
				n.TotalIsAtLeast, n.UnreadAtLeast = true, user != ""
				break
			}
			examined++
			e, ok := p.entryOf(it)
			switch {
			case !ok || !passes(it):
			case viewers == nil || e.narrowed == "":
				count(e, it)
			case e.restricted():
				restricted = append(restricted, it)
			case viewers.Members():
				count(e, it)
			}
		}
		if n.TotalIsAtLeast {
			break
		}
	}
	if len(restricted) > most {
		restricted, n.TotalIsAtLeast, n.UnreadAtLeast = restricted[:most], true, user != ""
	}
	if restricted, err = s.visibleOf(ctx, restricted, viewers); err != nil {
		return n, err
	}
	for _, it := range restricted {
		e, _ := p.entryOf(it)
		count(e, it)
	}
	if len(unsure) > most {
		unsure, n.UnreadAtLeast = unsure[:most], true
	}
	var mu sync.Mutex
	var unread []keys.Key
	err = store.Each(ctx, len(unsure), func(ctx context.Context, i int) error {
		e, _ := p.entryOf(unsure[i])
		k := headKey(doc, e.id)
		found, sure, err := s.unreadIn(ctx, k, unsure[i], user, states.before(e.id, unsure[i]))
		if err == collab.ErrRead {
			err = nil
		}
		mu.Lock()
		defer mu.Unlock()
		if found {
			unread = append(unread, k)
		}
		n.UnreadAtLeast = n.UnreadAtLeast || !sure
		return err
	})
	if err != nil {
		return n, err
	}
	heads, err := s.GetAll(ctx, unread, false)
	if err == collab.ErrRead {
		n.UnreadAtLeast = true
		return n, nil
	}
	for _, it := range heads {
		a, err := readHead(it)
		if err != nil {
			return n, err
		}
		if !a.Follows.Mutes(user) {
			n.Unread++
		}
	}
	return n, err
}

// unreadIn reports whether an annotation has a comment since a time by anyone except the user. It
// reads the last comments first, up to about 1 MB; sure is false if that does not suffice.
func (s *Store) unreadIn(
	ctx context.Context, k keys.Key, entry store.Item, user string, since collab.Millis,
) (unread, sure bool, err error) {
	q := store.Scan{PK: k.PK, Keys: threadSpan(k.SK).After(k.SK), Newest: true, Limit: 3}
	for size := 0; size < 1_000_000; q.Limit *= 32 {
		items, more, err := s.QueryPage(ctx, q)
		if err != nil {
			return false, false, err
		}
		t := collab.Thread{}
		for _, it := range items {
			c, err := readComment(it)
			if err != nil {
				return false, false, err
			}
			if belongs(it, entry) {
				t.Comments = append(t.Comments, c)
			}
			q.Keys = q.Keys.Before(it.Text(keys.SK))
			size += it.Size()
		}
		if t.UnreadBy(user, since) || !more {
			return t.UnreadBy(user, since), true, nil
		}
	}
	return false, false, nil
}

// fewReadStates is the maximum of threads of a document that are looked up one by one, at half a
// unit each.
const fewReadStates = 20

// prepareUnread reads the read states of UnreadFor for the entries.
func (w *walk) prepareUnread(ctx context.Context, entries []entry) error {
	if w.q.UnreadFor == "" {
		return nil
	}
	asked := map[collab.DocumentRef][]string{} // unknown ids
	var docs []collab.DocumentRef
	for _, e := range entries {
		b := w.states[e.document]
		if _, known := b.threadsOf()[e.id]; known || b != nil && b.all {
			continue
		}
		if asked[e.document] == nil {
			docs = append(docs, e.document)
		}
		asked[e.document] = append(asked[e.document], e.id)
	}
	found := make([]*readStates, len(docs))
	err := store.Each(ctx, len(docs), func(ctx context.Context, i int) (err error) {
		if ids := asked[docs[i]]; len(ids) > fewReadStates {
			found[i], err = w.readStates(ctx, docs[i], w.q.UnreadFor)
		} else {
			found[i], err = w.readStatesIn(ctx, docs[i], w.q.UnreadFor, ids)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, doc := range docs {
		maps.Copy(found[i].threads, w.states[doc].threadsOf())
		w.states[doc] = found[i]
		w.sifted += found[i].units
	}
	return nil
}

// isUnread states a thread as read or unread for UnreadFor, and reports whether it matches
// UnreadOnly.
func (w *walk) isUnread(doc collab.DocumentRef, head store.Item, t *collab.Thread) bool {
	if w.q.UnreadFor == "" {
		return true
	}
	unread := t.UnreadBy(w.q.UnreadFor, w.states[doc].before(t.ID, head)) && !t.Follows.Mutes(w.q.UnreadFor)
	t.Unread = &unread
	return unread || !w.q.UnreadOnly
}
