package store

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// put writes an item whatever was there.
func (s *Store) put(ctx context.Context, it item) error {
	_, err := s.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.table, Item: it})
	return fail(ctx, err)
}

// make writes an item unless one with its key is there.
func (s *Store) make(ctx context.Context, it item) error {
	condition := "attribute_not_exists(" + table.PK + ")"
	_, err := s.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.table, Item: it, ConditionExpression: &condition})
	if isConditionFailed(err) {
		return nil
	}
	return fail(ctx, err)
}

func organizationItem(acct string, o collab.Organization) item {
	it := newItem(table.Organization(acct, o.ID))
	it.setText(table.Name, o.Name)
	if o.Disabled {
		it.setBool(table.Disabled, &o.Disabled)
	}
	it.setJSON(table.Metadata, o.Metadata)
	it.setNum(table.CreatedAt, o.CreatedAt)
	it.setNum(table.LastUpdated, o.LastUpdated)
	return it
}

func readOrganization(it item) (collab.Organization, error) {
	id, err := table.Unescape(it.text(table.SK)[len(table.Organizations):])
	disabled := it.bool(table.Disabled)
	return collab.Organization{
		ID: id, Name: it.text(table.Name), Disabled: disabled != nil && *disabled, Metadata: it.json(table.Metadata),
		CreatedAt: it.num(table.CreatedAt), LastUpdated: it.num(table.LastUpdated),
	}, err
}

// PutOrganization writes an organization of the account whole.
func (s *Store) PutOrganization(ctx context.Context, acct string, o collab.Organization) error {
	return s.put(ctx, organizationItem(acct, o))
}

// Organizations returns those of the ids that exist, in the order asked, repeats once. Strongly consistent.
func (s *Store) Organizations(ctx context.Context, acct string, ids []string) ([]collab.Organization, error) {
	keys := make([]table.Key, len(ids))
	for i, id := range ids {
		keys[i] = table.Organization(acct, id)
	}
	found, err := s.getAll(ctx, keys, true)
	if err != nil {
		return nil, err
	}
	var list []collab.Organization
	for _, k := range keys {
		it := found[k]
		if it == nil {
			continue
		}
		delete(found, k)
		o, err := readOrganization(it)
		if err != nil {
			return nil, fail(ctx, err)
		}
		list = append(list, o)
	}
	return list, nil
}

// ListOrganizations calls take with the account's organizations behind the id after ("" for all), by id, until take answers false or
// most were taken. more reports that there are others behind the last one taken.
func (s *Store) ListOrganizations(ctx context.Context, acct, after string, most int, take func(collab.Organization) bool) (more bool, err error) {
	keys := children(table.Organizations)
	if after != "" {
		keys = keys.after(table.Organizations + table.Escape(after))
	}
	for taken := 0; ; {
		items, goesOn, err := s.queryPage(ctx, scan{pk: table.Join("A", acct), keys: keys, limit: most - taken + 1})
		if err != nil {
			return false, err
		}
		for _, it := range items {
			o, err := readOrganization(it)
			if err != nil {
				return false, fail(ctx, err)
			}
			if taken == most || !take(o) {
				return true, nil
			}
			taken++
			keys = keys.after(it.text(table.SK))
		}
		if !goesOn {
			return false, nil
		}
	}
}

func documentItem(org collab.OrganizationRef, d collab.Document) item {
	k := table.Document(org.Account, org.Organization, d.ID)
	it := newItem(k)
	it.setText(table.Name, d.Name)
	it.setText(table.Parent, d.Folder)
	it.setText(table.Access, string(d.Access))
	it.setTexts(table.Users, d.Users)
	it.setNum(table.CreatedAt, d.CreatedAt)
	it.setNum(table.LastUpdated, d.LastUpdated)
	it[table.In] = str(table.FolderPartition(org.Account, org.Organization, d.Folder))
	it[table.DocAnn] = str(k.SK)
	return it
}

func readDocument(it item) (collab.Document, error) {
	id, err := table.Unescape(it.text(table.SK)[len(table.Documents):])
	return collab.Document{
		ID: id, Name: it.text(table.Name), Folder: it.text(table.Parent),
		Access: collab.Access(it.text(table.Access)), Users: it.texts(table.Users),
		CreatedAt: it.num(table.CreatedAt), LastUpdated: it.num(table.LastUpdated),
	}, err
}

// PutDocument writes a document whole. Its Folder is not checked; "" is collab.RootFolder.
func (s *Store) PutDocument(ctx context.Context, org collab.OrganizationRef, d collab.Document) error {
	if d.Folder == "" {
		d.Folder = collab.RootFolder
	}
	return s.put(ctx, documentItem(org, d))
}

// Document reads a document; NOT_FOUND when it does not exist.
func (s *Store) Document(ctx context.Context, doc collab.DocumentRef) (collab.Document, error) {
	it, err := s.get(ctx, table.Document(doc.Account, doc.Organization, doc.Document))
	if err != nil {
		return collab.Document{}, err
	}
	if it == nil {
		return collab.Document{}, collab.Errorf(collab.NotFound, "document %q does not exist", doc.Document)
	}
	d, err := readDocument(it)
	return d, fail(ctx, err)
}

func folderItem(org collab.OrganizationRef, f collab.Folder) item {
	k := table.Folder(org.Account, org.Organization, f.ID)
	it := newItem(k)
	it.setText(table.Name, f.Name)
	it.setText(table.Parent, f.Parent)
	it.setNum(table.CreatedAt, f.CreatedAt)
	it.setNum(table.LastUpdated, f.LastUpdated)
	it[table.In] = str(table.FolderPartition(org.Account, org.Organization, f.Parent))
	it[table.DocAnn] = str(k.SK)
	return it
}

func readFolder(it item) (collab.Folder, error) {
	id, err := table.Unescape(it.text(table.SK)[len(table.Folders):])
	return collab.Folder{
		ID: id, Name: it.text(table.Name), Parent: it.text(table.Parent),
		CreatedAt: it.num(table.CreatedAt), LastUpdated: it.num(table.LastUpdated),
	}, err
}

// PutFolder writes a folder whole. Its Parent is not checked; "" is collab.RootFolder.
func (s *Store) PutFolder(ctx context.Context, org collab.OrganizationRef, f collab.Folder) error {
	if f.Parent == "" {
		f.Parent = collab.RootFolder
	}
	return s.put(ctx, folderItem(org, f))
}

// Folders returns all folders of the organization by id. It fails like CheckOrganization.
func (s *Store) Folders(ctx context.Context, org collab.OrganizationRef) ([]collab.Folder, error) {
	if err := s.CheckOrganization(ctx, org); err != nil {
		return nil, err
	}
	items, err := s.query(ctx, scan{
		pk: table.OrganizationPartition(org.Account, org.Organization), keys: children(table.Folders),
	})
	if err != nil {
		return nil, err
	}
	return readFolders(ctx, items)
}

func readFolders(ctx context.Context, items []item) ([]collab.Folder, error) {
	list := make([]collab.Folder, len(items))
	for i, it := range items {
		var err error
		if list[i], err = readFolder(it); err != nil {
			return nil, fail(ctx, err)
		}
	}
	return list, nil
}

// Folder returns a folder and the folders directly in it by id. It fails like CheckOrganization, and with NOT_FOUND when the folder
// does not exist.
func (s *Store) Folder(ctx context.Context, org collab.OrganizationRef, id string) (collab.Folder, []collab.Folder, error) {
	var none collab.Folder
	k := table.Folder(org.Account, org.Organization, id)
	found, err := s.seek(ctx, org, []table.Key{k})
	if err != nil {
		return none, nil, err
	}
	if found[k] == nil {
		return none, nil, folderMissing(id)
	}
	folder, err := readFolder(found[k])
	if err != nil {
		return none, nil, fail(ctx, err)
	}
	entries, err := s.query(ctx, scan{
		index: table.IndexIn, pk: table.FolderPartition(org.Account, org.Organization, id), keys: children(table.Folders),
	})
	if err != nil {
		return none, nil, err
	}
	keys := make([]table.Key, len(entries))
	for i, e := range entries {
		keys[i] = e.key()
	}
	in, err := s.getAll(ctx, keys, false)
	if err != nil {
		return none, nil, err
	}
	var items []item
	for _, k := range keys {
		if it := in[k]; it != nil && it.text(table.Parent) == id {
			items = append(items, it)
		}
	}
	subs, err := readFolders(ctx, items)
	return folder, subs, err
}

func folderMissing(id string) error {
	return collab.Errorf(collab.NotFound, "folder %q does not exist", id)
}
