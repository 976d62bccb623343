package directory

import (
	"cmp"
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// documentItem is the item of a document. In and DocAnn list it in its folder.
type documentItem struct {
	Name        string        `dynamodbav:"name"`
	Folder      string        `dynamodbav:"par"`
	Access      collab.Access `dynamodbav:"acc,omitempty"`
	Users       []string      `dynamodbav:"usr,omitempty"`
	CreatedAt   collab.Millis `dynamodbav:"ca"`
	LastUpdated collab.Millis `dynamodbav:"lu"`
	In          string        `dynamodbav:"in"`
	DocAnn      string        `dynamodbav:"da"`
}

func newDocumentItem(doc collab.DocumentRef, d collab.Document) documentItem {
	return documentItem{
		Name: d.Name, Folder: d.Folder, Access: d.Access, Users: d.Users, CreatedAt: d.CreatedAt, LastUpdated: d.LastUpdated,
		In: table.FolderPartition(doc.Account, doc.Organization, d.Folder), DocAnn: documentKey(doc).SK,
	}
}

func (d documentItem) of(id string) collab.Document {
	return collab.Document{
		ID: id, Name: d.Name, Folder: cmp.Or(d.Folder, collab.RootFolder), Access: d.Access, Users: d.Users,
		CreatedAt: d.CreatedAt, LastUpdated: d.LastUpdated,
	}
}

var readDocument = reader[collab.Document, documentItem](table.Documents)

func documentKey(doc collab.DocumentRef) table.Key {
	return table.Document(doc.Account, doc.Organization, doc.Document)
}

// Documents returns up to most documents of the organization behind the document id after ("" for the first), by id, and whether there are
// more. Eventually consistent.
func (s *Store) Documents(ctx context.Context, org collab.OrganizationRef, after string, most int) ([]collab.Document, bool, error) {
	return page(ctx, s, org, table.Documents, after, most, readDocument)
}

// Document reads a document; NOT_FOUND when it does not exist.
func (s *Store) Document(ctx context.Context, doc collab.DocumentRef) (collab.Document, error) {
	d, exists, err := store.Read[documentItem](ctx, s.Table, documentKey(doc))
	if err == nil && !exists {
		err = collab.Errorf(collab.NotFound, "document %q does not exist", doc.Document)
	}
	return d.of(doc.Document), err
}

// ChangeDocument changes a document, or makes it, as ChangeOrganization does. Its folder, collab.RootFolder at first, is not checked.
func (s *Store) ChangeDocument(ctx context.Context, doc collab.DocumentRef, change func(*collab.Document) error) (collab.Document, error) {
	return rewrite(ctx, s, documentKey(doc), "the document", doc.Document, change, func(d collab.Document) documentItem { return newDocumentItem(doc, d) })
}

// makeDocument makes a document in no folder, unless it is there by now.
func (s *Store) makeDocument(ctx context.Context, doc collab.DocumentRef) error {
	it, err := store.Encode(documentKey(doc), newDocumentItem(doc, collab.Document{
		Folder: collab.RootFolder, CreatedAt: s.Millis(), LastUpdated: s.Millis(),
	}))
	if err != nil {
		return err
	}
	_, err = s.PutNew(ctx, it)
	return err
}

// ListDocuments returns up to limit documents (0 for as many as 1 MB holds) by id, from the first one whose id is not less than from, or
// from the very first for "": those directly in the folder, or all of the organization for "". more reports that the list goes on, bytes
// what was read of it. Eventually consistent, and nothing is checked.
func (s *Store) ListDocuments(ctx context.Context, org collab.OrganizationRef, folder, from string, limit int) (ids []string, more bool, bytes int, err error) {
	q := store.Scan{PK: table.OrganizationPartition(org.Account, org.Organization), Keys: store.Children(table.Documents), Limit: limit}
	if folder != "" {
		q.Index, q.PK = table.IndexIn, table.FolderPartition(org.Account, org.Organization, folder)
	}
	if from != "" {
		q.Keys.From = documentKey(org.Document(from)).SK
	}
	items, more, err := s.QueryPage(ctx, q)
	if err != nil {
		return nil, false, 0, err
	}
	ids, err = readAll(items, func(it store.Item) (string, error) {
		bytes += it.Size()
		return lastPart(it, table.Documents)
	})
	return ids, more, bytes, err
}
