package store

import (
	"cmp"
	"context"
	"slices"

	"collabdata/shared/keys"
)

// Walk selects the items that a walk visits below others, by the table in package keys.
type Walk struct {
	// Want selects kinds. Others are read only if they lead to a wanted kind.
	Want func(k *keys.Kind) bool
	// Enter reports whether to visit the items below f. A nil Enter means all.
	Enter func(f Found) bool
	// Users limits kinds with a user in the key to these users; nil means all.
	Users []string
	// Last visits an item after the items below it. It reads only keys and incarnations, and reads
	// no items that a single key names.
	Last bool
	// Most limits the queries of a step, plus up to walkAtOnce; 0 means walkQueries.
	Most int
}

// Found is an item that a walk visits. Kind is nil if the item has no kind.
type Found struct {
	Item
	Kind  *keys.Kind
	Parts keys.Parts
	at    string // sort key in its place
}

// Cursor is the position of a walk. An empty cursor is the end.
type Cursor []frame

type frame struct {
	Kind  string     `json:"k"`
	Parts keys.Parts `json:"p"`
	Key   keys.Key   `json:"y,omitzero"` // "" for a root
	Place int        `json:"n,omitempty"`
	After string     `json:"a,omitempty"` // sort key in the place
}

// From returns the cursor of a walk that begins below items of a kind.
func From(kind *keys.Kind, roots ...keys.Parts) (at Cursor) {
	for _, p := range slices.Backward(roots) {
		at = append(at, frame{Kind: kind.Name, Parts: p})
	}
	return at
}

// Limits of a step.
const (
	walkBytes   = 1_000_000 // plus the remainder of started queries
	walkQueries = 200
	walkAtOnce  = 8 // queries, each of at most 1 MB of memory
)

// place is a range of keys that holds items of one or more kinds below a frame's item.
type place struct {
	keys.Place
	leads bool // to more places
	names bool // more items, each by its key
}

type page struct {
	named []Found // named by the keys of other items
	found []Found
	last  string // sort key of the last item read
	more  bool
}

// leads reports whether items of a kind have more places below them, and whether their keys name
// more items.
func (w *Walk) leads(k *keys.Kind) (leads, names bool) {
	for _, below := range keys.Kinds() {
		if at, ok := below.Below(k, keys.Parts{}, "", false); ok {
			further, _ := w.leads(below)
			leads = leads || !at.Exact && !below.Few && (further || w.Want(below))
			names = names || (at.Exact || below.Few) && w.Want(below)
		}
	}
	return leads, names
}

func (w *Walk) places(f *frame) (first, list []place) {
	owner, root := keys.KindNamed(f.Kind), f.Key.PK == ""
	for _, k := range keys.Kinds() {
		users := []string{""}
		if w.Users != nil && k.NamesUser() {
			users = w.Users
		}
		for _, user := range users {
			at, ok := k.Below(owner, f.Parts, user, root)
			if !ok {
				continue
			}
			p := place{Place: at}
			if p.leads, p.names = w.leads(k); !p.leads && !p.names && !w.Want(k) {
				continue
			}
			to := &list
			if w.Last && p.leads {
				to = &first
			} else if w.Last && !p.In && k.Alone != owner {
				p.Prefix, p.Exact = "", false
			}
			i := slices.IndexFunc(*to, func(existing place) bool { return existing.Place == p.Place && existing.leads == p.leads })
			if i < 0 {
				*to = append(*to, p)
			} else {
				(*to)[i].names = (*to)[i].names || p.names
			}
		}
	}
	return first, list
}

// Step continues a walk and returns the next cursor. It visits about 1 MB of items, less if it
// needs many queries. visit receives the items of a place in order, after the items that they name.
// It returns the number of items taken; the step ends if that is not all.
func (t *Table) Step(ctx context.Context, w *Walk, at Cursor, visit func(ctx context.Context, found []Found) (int, error)) (Cursor, error) {
	limit := cmp.Or(w.Most, walkQueries)
	for size, queries := 0, 0; len(at) > 0 && size < walkBytes && queries < limit; {
		f := &at[len(at)-1]
		first, rest := w.places(f)
		places := append(first, rest...)
		if f.Place >= len(places) {
			if w.Last && f.Key.PK != "" {
				if _, err := visit(ctx, []Found{{NewItem(f.Key), keys.KindNamed(f.Kind), f.Parts, ""}}); err != nil {
					return at, err
				}
			}
			at = at[:len(at)-1]
			continue
		}
		now := places[f.Place:min(f.Place+walkAtOnce, len(places))]
		if n := slices.IndexFunc(now, func(p place) bool { return p.leads }); n >= 0 {
			now = now[:max(n, 1)]
		}
		pages := make([]page, len(now))
		err := Each(ctx, len(now), func(ctx context.Context, i int) (err error) {
			after := ""
			if i == 0 {
				after = f.After
			}
			pages[i], err = t.look(ctx, w, now[i], after)
			return err
		})
		if err != nil {
			return at, err
		}
		queries += len(now)
		if now[0].leads {
			if at, err = w.enter(ctx, at, pages[0], visit); err != nil {
				return at, err
			}
			continue
		}
		for _, p := range pages {
			for _, it := range slices.Concat(p.named, p.found) {
				size += it.Size()
			}
			if len(p.named) > 0 {
				if _, err := visit(ctx, p.named); err != nil {
					return at, err
				}
			}
			if len(p.found) > 0 {
				taken, err := visit(ctx, p.found)
				if taken > 0 {
					f.After = p.found[taken-1].at
				}
				if err != nil || taken < len(p.found) {
					return at, err
				}
			}
			if f.After = p.last; p.more {
				break
			}
			f.Place, f.After = f.Place+1, ""
		}
	}
	return at, nil
}

// enter continues below the item of a page, or with the next place if the page is empty.
func (w *Walk) enter(ctx context.Context, at Cursor, p page, visit func(ctx context.Context, found []Found) (int, error)) (Cursor, error) {
	f := &at[len(at)-1]
	if p.last == "" {
		f.Place, f.After = f.Place+1, ""
		return at, nil
	}
	f.After = p.last
	for _, it := range p.found {
		if w.Want(it.Kind) && !w.Last {
			if _, err := visit(ctx, p.found); err != nil {
				return at, err
			}
		}
		if w.Enter == nil || w.Enter(it) {
			parts := it.Kind.Naming(it.Parts, it.Number(keys.Incarnation))
			at = append(at, frame{Kind: it.Kind.Name, Parts: parts, Key: it.Key()})
		}
	}
	return at, nil
}

// Items to read at once if they lead to more.
const (
	namingAtOnce = 20
	keysAtOnce   = 500 // of deleted things
)

// look reads part of a place after a sort key. It reads a single item if the place leads to more.
func (t *Table) look(ctx context.Context, w *Walk, p place, after string) (found page, err error) {
	q := Scan{PK: p.PK, Keys: Everything, Strong: w.Last && !p.In}
	switch {
	case p.In:
		q.Index = keys.IndexIn
	case p.Exact:
		q.Keys = Span{p.Prefix, p.Prefix}
	case p.Prefix != "":
		q.Keys = Children(p.Prefix)
	}
	q.Keys = q.Keys.After(after)
	switch {
	case p.leads:
		q.Limit = 1
	case w.Last:
		if q.Limit, q.Project = keysAtOnce, w.project(); p.In {
			q.Project = append(q.Project, keys.DocAnn)
		}
	case p.names:
		q.Limit = namingAtOnce
	}
	items, more, err := t.QueryPage(ctx, q)
	if err != nil {
		return found, err
	}
	found.more = more && len(items) > 0
	for _, it := range items {
		k, parts := keys.KindOf(it.Key())
		found.last = it.Text(keys.IndexOf(q.Index).SortKey)
		switch {
		case w.Last && !p.leads:
		case k == nil, w.Users != nil && k.NamesUser() && !k.Names(parts, w.Users):
			continue
		}
		found.found = append(found.found, Found{it, k, parts, found.last})
	}
	if p.leads {
		return found, nil
	}
	found.named, err = t.named(ctx, w, found.found)
	if !w.Last {
		found.found = slices.DeleteFunc(found.found, func(f Found) bool { return !w.Want(f.Kind) })
	}
	return found, err
}

// named returns the items that the keys of others name.
func (t *Table) named(ctx context.Context, w *Walk, by []Found) (list []Found, err error) {
	var ask []keys.Key
	var few []Scan
	for _, f := range by {
		if f.Kind != nil && f.Kind.Naming(f.Parts, 1) != f.Parts {
			continue // the walk enters its incarnation later
		}
		for _, k := range keys.Kinds() {
			if f.Kind == nil || k.Of != f.Kind || !w.Want(k) {
				continue
			}
			switch at, ok := k.Below(f.Kind, f.Parts, "", false); {
			case ok && at.Exact:
				ask = append(ask, keys.Key{PK: at.PK, SK: at.Prefix})
				list = append(list, Found{NewItem(ask[len(ask)-1]), k, f.Parts, ""})
			case ok && k.Few:
				few = append(few, Scan{PK: at.PK, Keys: Children(at.Prefix), Strong: w.Last, Project: w.project()})
			}
		}
	}
	pages := make([][]Item, len(few))
	err = Each(ctx, len(few), func(ctx context.Context, i int) (err error) {
		pages[i], err = t.Query(ctx, few[i])
		return err
	})
	for _, it := range slices.Concat(pages...) {
		if k, parts := keys.KindOf(it.Key()); k != nil {
			list = append(list, Found{it, k, parts, ""})
		}
	}
	if w.Last || len(ask) == 0 || err != nil {
		return list, err
	}
	items, err := t.GetAll(ctx, ask, false)
	existing := list[:0]
	for i, f := range list {
		if i < len(ask) {
			f.Item = items[ask[i]]
		}
		if f.Item != nil {
			existing = append(existing, f)
		}
	}
	return existing, err
}

func (w *Walk) project() []string {
	if w.Last {
		return []string{keys.PK, keys.SK, keys.Incarnation}
	}
	return nil
}
