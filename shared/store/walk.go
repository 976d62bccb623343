package store

import (
	"cmp"
	"context"
	"slices"

	"collabdata/shared/keys"
)

// Walk says which items below others a walk visits, by the table in package keys.
type Walk struct {
	Want  func(k *keys.Kind) bool // of what belongs to those; others are not read, but where they lead to more
	Enter func(f Found) bool      // whether what belongs to an item is visited; nil for always
	Users []string                // of kinds whose keys name a user only those of these; nil for all
	Last  bool                    // an item comes after what belongs to it; only keys and incarnations are read, and what one key names is not
	Most  int                     // queries of a step, and up to walkAtOnce more, 0 for walkQueries
}

// Found is an item that a walk meets. Kind is nil for an item of no kind.
type Found struct {
	Item
	Kind  *keys.Kind
	Parts keys.Parts
	at    string // its sort key in its place
}

// Cursor is where a walk goes on; it has come to its end where that is empty.
type Cursor []frame

// frame is an item of which a walk visits what belongs to it.
type frame struct {
	Kind  string     `json:"k"`
	Parts keys.Parts `json:"p"`
	Key   keys.Key   `json:"y,omitzero"` // of the item, "" for a root
	Place int        `json:"n,omitempty"`
	After string     `json:"a,omitempty"` // sort key in that place
}

// From returns where the walk below items of a kind, by their parts, begins.
func From(kind string, roots ...keys.Parts) (at Cursor) {
	for _, p := range slices.Backward(roots) {
		at = append(at, frame{Kind: kind, Parts: p})
	}
	return at
}

// Bounds of a step.
const (
	walkBytes   = 1_000_000 // and the rest of the queries that were begun
	walkQueries = 200
	walkAtOnce  = 8 // queries: each takes 1 MB of memory at most
)

// place is where items lie that belong to a frame's.
type place struct {
	keys.Place
	leads bool // to more places
	names bool // more items, each by its key
}

// page is a part of a place that was read.
type page struct {
	named []Found // few, by keys of the others
	found []Found
	last  string // sort key of the last item that was read
	more  bool
}

// leads reports whether there are more places to read below items of a kind, and whether these name more items.
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

// places returns where what belongs to a frame's item lies.
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
			} else if w.Last && !p.In && k.Alone != owner.Name { // the others of its partition go with it
				p.Prefix, p.Exact = "", false
			}
			i := slices.IndexFunc(*to, func(is place) bool { return is.Place == p.Place && is.leads == p.leads })
			if i < 0 {
				*to = append(*to, p)
			} else {
				(*to)[i].names = (*to)[i].names || p.names
			}
		}
	}
	return first, list
}

// Step goes on with a walk: it visits about a megabyte of items, less where it has to ask often, and returns where the walk goes on. visit
// gets items of a place in their order, after those that they name, and returns how many it has taken: where these are not all, the step ends
// before the rest.
func (t *Table) Step(ctx context.Context, w *Walk, at Cursor, visit func(ctx context.Context, found []Found) (int, error)) (Cursor, error) {
	most := cmp.Or(w.Most, walkQueries)
	for size, asked := 0, 0; len(at) > 0 && size < walkBytes && asked < most; {
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
		asked += len(now)
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

// enter goes on with what belongs to the item of a page, or after its place where that has none.
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

// How many items are read at once of what leads to more.
const (
	namingAtOnce = 20
	keysAtOnce   = 500 // of what is deleted
)

// look reads some of a place after a sort key: of one that leads on a single item.
func (t *Table) look(ctx context.Context, w *Walk, p place, after string) (of page, err error) {
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
		return of, err
	}
	of.more = more && len(items) > 0
	for _, it := range items {
		k, parts := keys.KindOf(it.Key())
		of.last = it.Text(keys.IndexOf(q.Index).SortKey)
		switch {
		case w.Last && !p.leads:
		case k == nil, w.Users != nil && k.NamesUser() && !k.Names(parts, w.Users):
			continue
		}
		of.found = append(of.found, Found{it, k, parts, of.last})
	}
	if p.leads {
		return of, nil
	}
	of.named, err = t.named(ctx, w, of.found)
	if !w.Last {
		of.found = slices.DeleteFunc(of.found, func(f Found) bool { return !w.Want(f.Kind) })
	}
	return of, err
}

// named returns the items that keys of others name.
func (t *Table) named(ctx context.Context, w *Walk, by []Found) (list []Found, err error) {
	var ask []keys.Key
	var few []Scan
	for _, f := range by {
		if f.Kind != nil && f.Kind.Naming(f.Parts, 1) != f.Parts {
			continue // what is below its incarnation is found as the walk enters it
		}
		for _, k := range keys.Kinds() {
			if f.Kind == nil || k.Of != f.Kind.Name || !w.Want(k) {
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
	there := list[:0]
	for i, f := range list {
		if i < len(ask) {
			f.Item = items[ask[i]]
		}
		if f.Item != nil {
			there = append(there, f)
		}
	}
	return there, err
}

// project names what is read of each item, nil for all.
func (w *Walk) project() []string {
	if w.Last {
		return []string{keys.PK, keys.SK, keys.Incarnation}
	}
	return nil
}
