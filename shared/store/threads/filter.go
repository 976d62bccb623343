package threads

import (
	"slices"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// filter is a condition on a value of annotations. An annotation matches if it has any of the
// values that a query requests.
type filter struct {
	values func(*collab.AnnotationQuery) []string // requested values; nil for any
	has    func(t *collab.Thread, value string) bool
	list   *listing // nil without an index
}

type listing struct {
	index string
	// In the head, and in index entries that project it.
	attribute string
	partition func(org collab.OrganizationRef, value string) string // partition of the index
}

// filters are in order of priority: the first requested one with a listing drives the walk through
// its index.
var filters = [...]*filter{
	{
		func(q *collab.AnnotationQuery) []string { return q.Locations },
		func(t *collab.Thread, id string) bool { return t.LocationID == id },
		&listing{keys.IndexIn, keys.Location, keys.LocationPartition},
	},
	{
		func(q *collab.AnnotationQuery) []string { return q.Creators },
		func(t *collab.Thread, id string) bool { return t.CreatorID == id },
		&listing{keys.IndexBy, keys.Creator, keys.CreatorPartition},
	},
	{
		func(q *collab.AnnotationQuery) []string { return q.Statuses },
		func(t *collab.Thread, id string) bool { return t.StatusID == id },
		&listing{keys.IndexSt, keys.Status, keys.StatusPartition},
	},
	{
		func(q *collab.AnnotationQuery) []string { return q.Mentioned }, mentions, nil,
	},
	{
		func(q *collab.AnnotationQuery) []string { return q.ResolvedBy },
		func(t *collab.Thread, id string) bool { return t.ResolvedBy == id }, nil,
	},
}

// mentions reports whether a comment tags a user. It searches the JSON of tags, which no text
// inside can imitate.
func mentions(t *collab.Thread, user string) bool {
	id, err := collab.EncodeJSON(user)
	if err != nil {
		panic(err) // strings always encode
	}
	tag := `"userId":` + string(id)
	return slices.ContainsFunc(t.Comments, func(c collab.Comment) bool { return strings.Contains(string(c.TaggedUserContacts), tag) })
}

// needsScan reports whether some filter of a query has no index, so that only the threads
// show which annotations match.
func needsScan(q *collab.AnnotationQuery) bool {
	return q.UnreadOnly || q.Agent != nil || slices.ContainsFunc(filters[:], func(f *filter) bool { return f.list == nil && f.values(q) != nil })
}

// holds reports whether a thread matches the filter of a query.
func (f *filter) holds(q *collab.AnnotationQuery, t *collab.Thread) bool {
	values := f.values(q)
	return values == nil || slices.ContainsFunc(values, func(value string) bool { return f.has(t, value) })
}

// window is an inclusive condition on a time of an annotation.
type window struct {
	attribute string // index attribute with the time; "" if there is none
	bounds    func(*collab.AnnotationQuery) (after, before *collab.Millis)
	time      func(*collab.Annotation) collab.Millis
}

var (
	updated = window{
		"",
		func(q *collab.AnnotationQuery) (after, before *collab.Millis) { return q.UpdatedAfter, q.UpdatedBefore },
		func(a *collab.Annotation) collab.Millis { return a.LastUpdated },
	}
	created = window{
		keys.CreatedAt,
		func(q *collab.AnnotationQuery) (after, before *collab.Millis) { return q.CreatedAfter, q.CreatedBefore },
		func(a *collab.Annotation) collab.Millis { return a.CreatedAt },
	}
	windows = [...]*window{&updated, &created}
)

func (w *window) in(q *collab.AnnotationQuery) bool {
	after, before := w.bounds(q)
	return after != nil || before != nil
}

func (w *window) holds(q *collab.AnnotationQuery, t collab.Millis) bool {
	after, before := w.bounds(q)
	return (after == nil || t >= *after) && (before == nil || t <= *before)
}

// matches reports whether a thread matches all filters except those on document and folder.
func matches(q *collab.AnnotationQuery, t *collab.Thread) bool {
	for _, f := range filters {
		if !f.holds(q, t) {
			return false
		}
	}
	for _, w := range windows {
		if !w.holds(q, w.time(&t.Annotation)) {
			return false
		}
	}
	return q.Agent.Matches(t)
}

// sieve returns a function that reports whether an index entry may match the filters. It ignores
// filters on attributes that the index does not project.
func sieve(q *collab.AnnotationQuery, index string) func(store.Item) bool {
	projected := keys.IndexOf(index).Projected
	var projectedFilters []*filter
	for _, f := range filters {
		if f.list != nil && f.values(q) != nil && slices.Contains(projected, f.list.attribute) {
			projectedFilters = append(projectedFilters, f)
		}
	}
	return func(it store.Item) bool {
		for _, f := range projectedFilters {
			if !slices.Contains(f.values(q), it.Text(f.list.attribute)) {
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
