package directory

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// documentItem is the item of a document. In and DocAnn list it in its folder.
type documentItem struct {
	collab.Document
	In     string `dynamodbav:"in"`
	DocAnn string `dynamodbav:"da"`
}

func newDocumentItem(doc collab.DocumentRef, d collab.Document) documentItem {
	return documentItem{d, keys.FolderPartition(doc.OrganizationRef, d.Folder), documentKey(doc).SK}
}

var readDocument = reader(keys.Documents, func(d *collab.Document) *string { return &d.ID })

func documentKey(doc collab.DocumentRef) keys.Key {
	return keys.Document(doc.OrganizationRef, doc.Document)
}

// Document returns a document, disabled or not. It returns NOT_FOUND if the document or its
// organization does not exist in this incarnation.
func (s *Store) Document(ctx context.Context, doc collab.DocumentRef) (collab.Document, error) {
	if err := s.CheckOrganization(ctx, doc.OrganizationRef); err != nil && collab.CodeOf(err) != collab.FailedPrecondition {
		return collab.Document{}, err
	}
	d, exists, err := store.Read[collab.Document](ctx, s.Table, documentKey(doc))
	if err == nil && (!exists || d.DeletedAt != 0 || d.Incarnation != doc.Incarnation) {
		err = collab.Errorf(collab.NotFound, "%s does not exist", documentNamed(doc.Document))
	}
	d.ID = doc.Document
	return d, err
}

// createDocument adds a document outside any folder and opens it. If another request adds it first,
// it opens that one.
func (s *Store) createDocument(ctx context.Context, org collab.OrganizationRef, id, name string) (collab.DocumentRef, error) {
	doc := org.Document(id)
	d := collab.Document{Name: name, Folder: collab.RootFolder, CreatedAt: s.Millis(), LastUpdated: s.Millis()}
	var err error
	doc.Incarnation, err = s.createOrOpen(ctx, documentKey(doc), documentNamed(id), func(l collab.Lifetime) store.Item {
		d.Lifetime = l
		return store.ItemOf(documentKey(doc), newDocumentItem(doc, d))
	})
	return doc, err
}

// ListDocuments returns enabled documents of a folder, or of the organization if folder is "", in
// id order from the id from on. It reads at most limit documents, or 1 MB if limit is 0. last is
// the id of the last one read, "" at the end, and bytes the size read. It reads with eventual
// consistency, and does not check the organization.
func (s *Store) ListDocuments(
	ctx context.Context, org collab.OrganizationRef, folder, from string, limit int,
) (list []collab.DocumentRef, last string, bytes int, err error) {
	q := store.Scan{PK: keys.OrganizationPartition(org), Keys: store.Children(keys.Documents), Limit: limit}
	if folder != "" {
		q.Index, q.PK = keys.IndexIn, keys.FolderPartition(org, folder)
	}
	if from != "" {
		q.Keys.From = documentKey(org.Document(from)).SK
	}
	items, more, err := s.QueryPage(ctx, q)
	if err != nil {
		return nil, "", 0, err
	}
	for _, it := range items {
		bytes += it.Size()
		if last, err = store.LastPart(it, keys.Documents); err != nil {
			return nil, "", 0, err
		}
		state, err := s.readState(it)
		if err != nil {
			return nil, "", 0, err
		}
		if !state.Disabled && state.DeletedAt == 0 {
			list = append(list, collab.DocumentRef{OrganizationRef: org, Document: last, Incarnation: state.Incarnation})
		}
	}
	if !more {
		last = ""
	}
	return list, last, bytes, nil
}
