package threads

import (
	"context"
	"sync"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

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
			counts[i], err = s.countIn(ctx, docs[i], statuses, user, who, mostCounted, mostLooked/len(docs))
		}
		if err == collab.ErrRead {
			counts[i].TotalIsAtLeast, counts[i].UnreadAtLeast, err = true, user != "", nil
		}
		return err
	})
	return counts, err
}

// countIn is Count for a document. It examines at most bound annotations, and looks into at most
// limit threads.
func (s *Store) countIn(
	ctx context.Context, doc collab.DocumentRef, statuses []string, user string, viewers collab.Viewers, bound, limit int,
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
		scan.Limit = bound - examined + 1
		for it, err := range s.Items(ctx, scan) {
			if err != nil {
				return n, err
			}
			if examined == bound {
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
	if len(restricted) > limit {
		restricted, n.TotalIsAtLeast, n.UnreadAtLeast = restricted[:limit], true, user != ""
	}
	if restricted, err = s.visibleOf(ctx, restricted, viewers); err != nil {
		return n, err
	}
	for _, it := range restricted {
		e, _ := p.entryOf(it)
		count(e, it)
	}
	if len(unsure) > limit {
		unsure, n.UnreadAtLeast = unsure[:limit], true
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
	for size := 0; size < 1_000_000; q.Limit = min(32*q.Limit, 3_000) {
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
