package directory

import (
	"cmp"
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// folderItem is the item of a folder. In and DocAnn list it in its parent.
type folderItem struct {
	collab.Folder
	In     string `dynamodbav:"in"`
	DocAnn string `dynamodbav:"da"`
}

var readFolder = reader(table.Folders, func(f *collab.Folder) *string { return &f.ID })

func folderMissing(id string) error {
	return collab.Errorf(collab.NotFound, "folder %q does not exist", id)
}

// ChangeFolder changes a folder, or makes it, as ChangeOrganization does. Its parent, collab.RootFolder at first, is not checked.
func (s *Store) ChangeFolder(ctx context.Context, org collab.OrganizationRef, id string, change func(*collab.Folder) error) (collab.Folder, error) {
	k := table.Folder(org, id)
	it, err := store.Rewrite(ctx, s.Table, k, "the folder", func(f *folderItem, _ bool) error {
		f.ID, f.Parent = id, cmp.Or(f.Parent, collab.RootFolder)
		err := change(&f.Folder)
		f.In, f.DocAnn = table.FolderPartition(org, f.Parent), k.SK
		return err
	})
	return it.Folder, err
}

// Folders returns all folders of the organization by id.
func (s *Store) Folders(ctx context.Context, org collab.OrganizationRef) ([]collab.Folder, error) {
	items, err := s.Query(ctx, store.Scan{
		PK: table.OrganizationPartition(org), Keys: store.Children(table.Folders),
	})
	if err != nil {
		return nil, err
	}
	return readAll(items, readFolder)
}

// Folder returns a folder and the folders directly in it by id. It fails with NOT_FOUND when the folder does
// not exist.
func (s *Store) Folder(ctx context.Context, org collab.OrganizationRef, id string) (folder collab.Folder, in []collab.Folder, err error) {
	key := func(id string) table.Key { return table.Folder(org, id) }
	found, err := s.find(ctx, []table.Key{key(id)})
	if err == nil && found[key(id)] == nil {
		err = folderMissing(id)
	}
	if err == nil {
		folder, err = readFolder(found[key(id)])
	}
	if err != nil {
		return folder, nil, err
	}
	entries, err := s.Query(ctx, store.Scan{
		Index: table.IndexIn, PK: table.FolderPartition(org, id), Keys: store.Children(table.Folders),
	})
	if err != nil {
		return folder, nil, err
	}
	ids, err := readAll(entries, func(it store.Item) (string, error) { return lastPart(it, table.Folders) })
	if err != nil {
		return folder, nil, err
	}
	in, err = readThose(ctx, s, ids, key, false, readFolder)
	return folder, slices.DeleteFunc(in, func(f collab.Folder) bool { return f.Parent != id }), err // that was moved meanwhile
}
