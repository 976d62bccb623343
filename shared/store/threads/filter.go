package threads

import (
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// filter is a condition on a value of an annotation's head: one row is all that reading knows of it. A query may ask for several values; a
// head passes with one of them.
type filter struct {
	name      string
	index     string                                 // lists heads by this value
	attribute string                                 // holds the value, in the head and in index entries that project it
	partition func(acct, org, value string) string   // of the index
	asked     func(*collab.AnnotationQuery) []string // nil where the query does not ask
	of        func(*collab.Annotation) string
}

// filters stand in the order in which they drive a walk: the first that a query asks for is the index it goes through.
var filters = [...]*filter{
	{
		"locations", table.IndexIn, table.Location, table.LocationPartition,
		func(q *collab.AnnotationQuery) []string { return q.Locations }, func(a *collab.Annotation) string { return a.LocationID },
	},
	{
		"creators", table.IndexBy, table.Creator, table.CreatorPartition,
		func(q *collab.AnnotationQuery) []string { return q.Creators }, func(a *collab.Annotation) string { return a.CreatorID },
	},
	{
		"statuses", table.IndexSt, table.Status, table.StatusPartition,
		func(q *collab.AnnotationQuery) []string { return q.Statuses }, func(a *collab.Annotation) string { return a.StatusID },
	},
}

// window is a condition on a time of an annotation; both ends are inclusive.
type window struct {
	attribute string // holds the time in index entries that project it; "" where none does
	asked     func(*collab.AnnotationQuery) (after, before *collab.Millis)
	of        func(*collab.Annotation) collab.Millis
}

var (
	updated = window{
		"",
		func(q *collab.AnnotationQuery) (after, before *collab.Millis) { return q.UpdatedAfter, q.UpdatedBefore },
		func(a *collab.Annotation) collab.Millis { return a.LastUpdated },
	}
	created = window{
		table.CreatedAt,
		func(q *collab.AnnotationQuery) (after, before *collab.Millis) { return q.CreatedAfter, q.CreatedBefore },
		func(a *collab.Annotation) collab.Millis { return a.CreatedAt },
	}
	windows = [...]*window{&updated, &created}
)

// in reports whether a query asks for the window.
func (w *window) in(q *collab.AnnotationQuery) bool {
	after, before := w.asked(q)
	return after != nil || before != nil
}

func (w *window) holds(q *collab.AnnotationQuery, t collab.Millis) bool {
	after, before := w.asked(q)
	return (after == nil || t >= *after) && (before == nil || t <= *before)
}

// matches reports whether an annotation passes all filters but those on document and folder.
func matches(q *collab.AnnotationQuery, a *collab.Annotation) bool {
	for _, f := range filters {
		if f.asked(q) != nil && !slices.Contains(f.asked(q), f.of(a)) {
			return false
		}
	}
	for _, w := range windows {
		if !w.holds(q, w.of(a)) {
			return false
		}
	}
	return true
}

// sieve returns what reports whether the head of an entry of an index may pass the filters: those on what the index does not project do.
func sieve(q *collab.AnnotationQuery, index string) func(store.Item) bool {
	projected := table.IndexOf(index).Projected
	var asked []*filter
	for _, f := range filters {
		if f.asked(q) != nil && slices.Contains(projected, f.attribute) {
			asked = append(asked, f)
		}
	}
	return func(it store.Item) bool {
		for _, f := range asked {
			if !slices.Contains(f.asked(q), it.Text(f.attribute)) {
				return false
			}
		}
		for _, w := range windows {
			if slices.Contains(projected, w.attribute) && !w.holds(q, it.Number(w.attribute)) {
				return false
			}
		}
		return true
	}
}
