package directory

import (
	"context"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// Deleted is an organization, a folder or a document that was deleted, while its item exists: until what is in it is swept, or its id is
// added anew.
type Deleted struct {
	Kind    collab.Thing `dynamodbav:"-"`
	ID      string       `dynamodbav:"-"`
	Name    string       `dynamodbav:"name"`
	Folder  string       `dynamodbav:"par"` // it was in it: collab.RootFolder for none, "" of an organization
	Request string       `dynamodbav:"rid"` // id of the request that deleted it, as the log has it
	collab.Lifetime
}

// Restorable reports whether there is time to restore it.
func (d *Deleted) Restorable(now collab.Millis) bool { return d.Until != 0 && d.Until >= now }

// beginnings are the prefixes of the sort keys of what has a lifetime.
var beginnings = map[collab.Thing]string{
	collab.AnOrganization: keys.Organizations, collab.AFolder: keys.Folders, collab.ADocument: keys.Documents,
}

// kindAt returns the kind of what is listed at a position, and where the list goes on after that kind, "" for nowhere.
func kindAt(in collab.OrganizationRef, position string) (kind collab.Thing, following string) {
	switch {
	case in.Organization == "":
		return collab.AnOrganization, ""
	case strings.HasPrefix(position, keys.Documents):
		return collab.ADocument, ""
	}
	return collab.AFolder, keys.Documents
}

// ListDeleted returns at most most of the deleted folders of an organization and then of its deleted documents, each by id, after a
// position ("" for the first); with an organization without an id, the deleted organizations of its account. next is the position of the
// next page, "" when the list ends. A page reads at most 1 MB; it may hold fewer than most, even none, and still have a next one.
// Eventually consistent.
func (s *Store) ListDeleted(ctx context.Context, in collab.OrganizationRef, after string, most int) (list []Deleted, next string, err error) {
	kind, following := kindAt(in, after)
	items, more, err := s.QueryPage(ctx, store.Scan{
		PK: keys.Thing(in, kind, "").PK, Keys: store.Children(beginnings[kind]).After(after),
		Project: []string{keys.PK, keys.SK, keys.Name, keys.Parent, keys.DeletedAt, keys.Until, keys.Deletion, keys.Incarnation, keys.RequestID},
	})
	if err != nil {
		return nil, "", err
	}
	for _, it := range items {
		if next = it.Text(keys.SK); it[keys.DeletedAt] == nil {
			continue
		}
		d, err := readDeleted(kind, it)
		if err != nil {
			return nil, "", err
		}
		if list = append(list, d); len(list) == most {
			return list, next, nil
		}
	}
	if !more {
		next = following
	}
	return list, next, nil
}

// FindDeleted returns what has an id and is deleted: of an organization its folder and its document, of an organization without an id the
// organization of its account. Strongly consistent.
func (s *Store) FindDeleted(ctx context.Context, in collab.OrganizationRef, id string) (list []Deleted, err error) {
	kinds := []collab.Thing{collab.AFolder, collab.ADocument}
	if in.Organization == "" {
		kinds = []collab.Thing{collab.AnOrganization}
	}
	found, err := s.GetAll(ctx, collab.Map(kinds, func(k collab.Thing) keys.Key { return keys.Thing(in, k, id) }), true)
	for _, kind := range kinds {
		it := found[keys.Thing(in, kind, id)]
		if err != nil || it[keys.DeletedAt] == nil {
			continue
		}
		var d Deleted
		d, err = readDeleted(kind, it)
		list = append(list, d)
	}
	return list, err
}

func readDeleted(kind collab.Thing, it store.Item) (Deleted, error) {
	d, err := reader(beginnings[kind], func(d *Deleted) *string { return &d.ID })(it)
	d.Kind = kind
	return d, err
}
