package directory

import (
	"cmp"
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
)

// AddDocuments adds documents, initialized by fill, to a folder. It adds them concurrently to
// collab.RootFolder, otherwise in transactions of 50 that require the folder. The errors correspond
// to ids: ALREADY_EXISTS if the document exists, NOT_FOUND if the folder does not.
func (s *Store) AddDocuments(
	ctx context.Context, req *request.Request, org collab.OrganizationRef, folder string, ids []string, fill func(i int, d *collab.Document) error,
) []error {
	return s.into(ctx, org, folder, s.documentChanges(req, org, ids, func(i int, d *collab.Document, exists bool) error {
		switch {
		case exists && req.Repeat && d.AddedBy == req.Mark():
			return errDone
		case exists:
			return collab.Errorf(collab.AlreadyExists, "Document already exists")
		}
		d.Folder, d.CreatedAt, d.AddedBy = folder, req.Millis(), req.Mark()
		return fill(i, d)
	}))
}

// MoveDocuments moves documents to a folder. Its errors are those of AddDocuments, except that
// NOT_FOUND also means that the document does not exist.
func (s *Store) MoveDocuments(ctx context.Context, req *request.Request, org collab.OrganizationRef, folder string, ids []string) []error {
	return s.into(ctx, org, folder, s.documentChanges(req, org, ids, changesOf(func(_ int, d *collab.Document) error {
		d.Folder = folder
		return nil
	})))
}

// ChangeDocuments changes documents concurrently, except their folder. The errors correspond to
// ids: NOT_FOUND if the document does not exist.
func (s *Store) ChangeDocuments(
	ctx context.Context, req *request.Request, org collab.OrganizationRef, ids []string, change func(i int, d *collab.Document) error,
) []error {
	return s.documentChanges(req, org, ids, changesOf(change)).all(ctx)
}

func changesOf(change func(i int, d *collab.Document) error) func(i int, d *collab.Document, exists bool) error {
	return func(i int, d *collab.Document, exists bool) error {
		if !exists {
			return collab.Errorf(collab.NotFound, "Document does not exist")
		}
		return change(i, d)
	}
}

func (s *Store) into(ctx context.Context, org collab.OrganizationRef, folder string, c *changes[documentItem]) []error {
	if folder == collab.RootFolder {
		return c.all(ctx)
	}
	return c.allWith(ctx, func(ctx context.Context) ([]store.Write, error) { return s.RequireFolder(ctx, org, folder) })
}

func (s *Store) documentChanges(
	req *request.Request, org collab.OrganizationRef, ids []string, write func(i int, d *collab.Document, exists bool) error,
) *changes[documentItem] {
	itemKeys := collab.Map(ids, func(id string) keys.Key { return keys.Document(org, id) })
	what := func(i int) string { return documentNamed(ids[i]) }
	return &changes[documentItem]{s, req, what, itemKeys, func(i int, it *documentItem, exists bool) error {
		it.ID = ids[i]
		if err := write(i, &it.Document, exists); err != nil {
			return err
		}
		it.Folder, it.LastUpdated = cmp.Or(it.Folder, collab.RootFolder), req.Millis()
		*it = newDocumentItem(org.Document(ids[i]), it.Document)
		return nil
	}}
}

// DocumentsByID returns the existing ones of ids, in their order and without repeats. It reads with
// strong consistency.
func (s *Store) DocumentsByID(ctx context.Context, org collab.OrganizationRef, ids []string) ([]collab.Document, error) {
	list, err := readByIDs(ctx, s, ids, func(id string) keys.Key { return keys.Document(org, id) }, true, readDocument)
	return slices.DeleteFunc(list, func(d collab.Document) bool { return d.DeletedAt != 0 }), err
}

// DocumentsAfter returns up to limit documents after an id, in id order: those directly in a
// folder, or those of the organization if folder is "". The list of a folder may be a second old.
func (s *Store) DocumentsAfter(
	ctx context.Context, org collab.OrganizationRef, folder, after string, limit int,
) (list []collab.Document, err error) {
	q := store.Scan{PK: keys.OrganizationPartition(org), Keys: store.Children(keys.Documents), Strong: true}
	if folder != "" {
		q = store.Scan{Index: keys.IndexIn, PK: keys.FolderPartition(org, folder), Keys: store.Children(keys.Documents)}
	}
	for more := true; more && len(list) < limit; {
		left := limit - len(list)
		page, err := store.ListAfter(ctx, s.Table, q, keys.Documents, after, left, readDocument)
		if err != nil {
			return nil, err
		}
		if more = len(page) == left; more {
			after = page[left-1].ID
		}
		if folder != "" {
			ids := collab.Map(page, func(d collab.Document) string { return d.ID })
			if page, err = s.DocumentsByID(ctx, org, ids); err != nil {
				return nil, err
			}
		}
		for _, d := range page {
			if folder == "" || d.Folder == folder {
				list = append(list, d)
			}
		}
	}
	return list, nil
}
