package directory

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// folderItem is the item of a folder. In and DocAnn list it in its parent.
type folderItem struct {
	collab.Folder
	In     string `dynamodbav:"in"`
	DocAnn string `dynamodbav:"da"`
}

func newFolderItem(org collab.OrganizationRef, f collab.Folder) folderItem {
	return folderItem{f, keys.FolderPartition(org, f.Parent), keys.Folder(org, f.ID).SK}
}

var readFolder = reader(keys.Folders, func(f *collab.Folder) *string { return &f.ID })

func folderMissing(id string) error {
	return collab.Errorf(collab.NotFound, "folder %q does not exist", id)
}

// OpenFolder returns a folder. If it does not exist, OpenFolder adds it at the top with its id as
// its name if create is true, and returns NOT_FOUND otherwise. collab.RootFolder always exists.
func (s *Store) OpenFolder(ctx context.Context, req *request.Request, org collab.OrganizationRef, id string, create bool) (collab.FolderRef, error) {
	if id == collab.RootFolder {
		return collab.FolderRef{OrganizationRef: org, Folder: id}, nil
	}
	f, err := s.findFolder(ctx, org, id)
	if !create || collab.CodeOf(err) != collab.NotFound {
		return f, err
	}
	err = s.AddFolders(ctx, req, org, []collab.Folder{{
		ID: id, Name: id, Parent: collab.RootFolder, CreatedAt: req.Millis(), LastUpdated: req.Millis(),
	}})[0]
	if err != nil && collab.CodeOf(err) != collab.AlreadyExists {
		return f, err
	}
	return s.findFolder(ctx, org, id)
}

func (s *Store) findFolder(ctx context.Context, org collab.OrganizationRef, id string) (collab.FolderRef, error) {
	f, exists, err := store.Read[collab.Folder](ctx, s.Table, keys.Folder(org, id))
	if err == nil && (!exists || f.DeletedAt != 0) {
		err = folderMissing(id)
	}
	f.ID = id
	return f.Ref(org), err
}

// FoldersAfter returns up to limit folders of the organization after an id, in id order; limit 0
// means all. It reads with strong consistency.
func (s *Store) FoldersAfter(ctx context.Context, org collab.OrganizationRef, after string, limit int) ([]collab.Folder, error) {
	q := store.Scan{PK: keys.OrganizationPartition(org), Keys: store.Children(keys.Folders), Strong: true}
	return store.ListAfter(ctx, s.Table, q, keys.Folders, after, limit, readFolder)
}

// FoldersIn returns up to limit folders directly in a folder after an id, in id order. next is the
// id to continue after, "" at the end. The list may be a second old.
func (s *Store) FoldersIn(
	ctx context.Context, org collab.OrganizationRef, parent, after string, limit int,
) (list []collab.Folder, next string, err error) {
	q := store.Scan{Index: keys.IndexIn, PK: keys.FolderPartition(org, parent), Keys: store.Children(keys.Folders)}
	ids, err := store.ListAfter(ctx, s.Table, q, keys.Folders, after, limit, func(it store.Item) (string, error) { return store.LastPart(it, keys.Folders) })
	if err != nil {
		return nil, "", err
	}
	if len(ids) == limit {
		next = ids[limit-1]
	}
	list, _, err = s.readFolders(ctx, org, ids)
	return list, next, err
}

// FoldersAbove returns the existing ones of the folders and all their ancestors. It makes one round
// trip for each level, and reads with strong consistency.
func (s *Store) FoldersAbove(ctx context.Context, org collab.OrganizationRef, ids []string) (collab.Folders, error) {
	all, _, err := s.foldersAbove(ctx, org, ids)
	return all, err
}

// foldersAbove is FoldersAbove, and returns deleted folders separately.
func (s *Store) foldersAbove(ctx context.Context, org collab.OrganizationRef, ids []string) (all, deleted collab.Folders, err error) {
	all, deleted = collab.Folders{}, collab.Folders{}
	for len(ids) > 0 {
		found, gone, err := s.readFolders(ctx, org, ids)
		if err != nil {
			return nil, nil, err
		}
		ids = nil
		for _, f := range gone {
			deleted[f.ID] = f
		}
		for _, f := range found {
			all[f.ID] = f
		}
		for _, f := range found {
			if _, ok := all[f.Parent]; !ok {
				ids = append(ids, f.Parent)
			}
		}
	}
	return all, deleted, nil
}

func (s *Store) readFolders(ctx context.Context, org collab.OrganizationRef, ids []string) (list, deleted []collab.Folder, err error) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == collab.RootFolder })
	found, err := readByIDs(ctx, s, ids, func(id string) keys.Key { return keys.Folder(org, id) }, true, readFolder)
	for _, f := range found {
		if f.DeletedAt != 0 {
			deleted = append(deleted, f)
		} else {
			list = append(list, f)
		}
	}
	return list, deleted, err
}

const maxWithin = 10_000

// FoldersWithin returns the folders below a folder by parent, down to a number of levels, each list
// in id order. It returns FAILED_PRECONDITION if there are more than 10,000. The lists may be a
// second old.
func (s *Store) FoldersWithin(ctx context.Context, org collab.OrganizationRef, id string, levels int) (map[string][]collab.Folder, error) {
	within := map[string][]collab.Folder{}
	level := map[string]int{id: 0}
	above := []string{id}
	for n := 1; n <= levels && len(above) > 0; n++ {
		lists := make([][]string, len(above))
		err := store.Each(ctx, len(above), func(ctx context.Context, i int) error {
			entries, err := s.Query(ctx, store.Scan{
				Index: keys.IndexIn, PK: keys.FolderPartition(org, above[i]), Keys: store.Children(keys.Folders),
			})
			if err != nil {
				return err
			}
			lists[i], err = readAll(entries, func(it store.Item) (string, error) { return store.LastPart(it, keys.Folders) })
			return err
		})
		if err != nil {
			return nil, err
		}
		below := slices.Concat(lists...)
		if len(level)+len(below) > maxWithin {
			return nil, collab.Errorf(collab.FailedPrecondition, "folder %q has more than %d folders in it", id, maxWithin)
		}
		found, _, err := s.readFolders(ctx, org, below)
		if err != nil {
			return nil, err
		}
		above = nil
		for _, f := range found {
			in, ok := level[f.Parent]
			if _, seen := level[f.ID]; seen || !ok || in != n-1 {
				continue // moved meanwhile
			}
			level[f.ID] = n
			within[f.Parent] = append(within[f.Parent], f)
			above = append(above, f.ID)
		}
	}
	return within, nil
}

// AddFolders adds folders in order; one may be the parent of later ones. The errors correspond to
// folders: ALREADY_EXISTS if the folder exists, NOT_FOUND if its parent does not,
// FAILED_PRECONDITION if it would be too deep.
func (s *Store) AddFolders(ctx context.Context, req *request.Request, org collab.OrganizationRef, folders []collab.Folder) []error {
	const limit = store.MaxWrites - 1 // in one transaction, with the tree
	var errs []error
	for part := range slices.Chunk(folders, limit) {
		errs = append(errs, s.addFolders(ctx, req, org, part)...)
	}
	return errs
}

func (s *Store) addFolders(ctx context.Context, req *request.Request, org collab.OrganizationRef, folders []collab.Folder) []error {
	errs := make([]error, len(folders))
	err := s.Try(ctx, "the folders", req.Mark(), func(ctx context.Context) ([]store.Write, error) {
		tree, err := s.folderTree(ctx, org)
		if err != nil {
			return nil, err
		}
		ids := make([]string, 0, 2*len(folders))
		for _, f := range folders {
			ids = append(ids, f.ID, f.Parent)
		}
		above, deleted, err := s.foldersAbove(ctx, org, ids)
		if err != nil {
			return nil, err
		}
		var writes []store.Write
		for i, f := range folders {
			if present, exists := above[f.ID]; exists {
				errs[i] = collab.Errorf(collab.AlreadyExists, "folder %q already exists", f.ID)
				if req.Repeat && present.AddedBy == req.Mark() {
					errs[i] = nil
				}
				continue
			}
			if errs[i] = above.CheckPlace(f.ID, f.Parent, 1); errs[i] != nil {
				continue
			}
			old, ok := deleted[f.ID]
			if errs[i] = s.Emptied(ctx, org, f.ID, old.Lifetime); errs[i] != nil {
				continue
			}
			f.Begin(old.Lifetime, s.Millis())
			f.AddedBy = req.Mark()
			above[f.ID] = f
			k := keys.Folder(org, f.ID)
			w := store.Create(store.ItemOf(k, newFolderItem(org, f)))
			if ok {
				w = store.Change(store.ItemOf(k, folderItem{Folder: old}), store.ItemOf(k, newFolderItem(org, f)), req.Mark(), keys.DeletedAt)
			}
			writes = append(writes, w)
		}
		if len(writes) == 0 {
			return nil, nil
		}
		return append(writes, s.grow(org, tree)), nil
	})
	if err != nil {
		for i := range errs {
			errs[i] = cmp.Or[error](errs[i], err)
		}
	}
	return errs
}

// folderTree counts additions and moves of folders. An addition requires that nothing has moved
// since the tree was read; a move requires that nothing was added or moved. So concurrent requests
// cannot create a cycle or too many levels.
type folderTree struct {
	Added int64 `dynamodbav:"n"`
	Moved int64 `dynamodbav:"mvd"`
}

func (s *Store) folderTree(ctx context.Context, org collab.OrganizationRef) (folderTree, error) {
	tree, _, err := store.Read[folderTree](ctx, s.Table, keys.FolderTree(org))
	return tree, err
}

// grow returns the write that counts an addition if nothing has moved.
func (s *Store) grow(org collab.OrganizationRef, read folderTree) store.Write {
	moved := expression.Name(keys.Moved)
	same := moved.Equal(expression.Value(read.Moved))
	if read.Moved == 0 {
		same = moved.AttributeNotExists()
	}
	return store.Update(keys.FolderTree(org), expression.Add(expression.Name(keys.Added), expression.Value(1)), same)
}

// RefuseFolderChanges makes concurrent additions and moves of folders fail, so that they read the
// folders again.
func (s *Store) RefuseFolderChanges(ctx context.Context, org collab.OrganizationRef) error {
	_, err := s.Write(ctx, store.Update(keys.FolderTree(org), expression.Add(expression.Name(keys.Moved), expression.Value(1))))
	return err
}

// RequireFolder returns the condition that a folder exists, none for collab.RootFolder. It returns
// NOT_FOUND if the folder does not exist.
func (s *Store) RequireFolder(ctx context.Context, org collab.OrganizationRef, id string) ([]store.Write, error) {
	if id == collab.RootFolder {
		return nil, nil
	}
	it, err := s.Get(ctx, keys.Folder(org, id))
	if err == nil && (it == nil || it[keys.DeletedAt] != nil) {
		err = folderMissing(id)
	}
	if err != nil {
		return nil, err
	}
	return []store.Write{store.Require(it, keys.DeletedAt, keys.Incarnation)}, nil
}

// Emptied returns UNAVAILABLE while the contents of a deleted folder are being deleted. Its id
// cannot be added again before.
func (s *Store) Emptied(ctx context.Context, org collab.OrganizationRef, id string, life collab.Lifetime) error {
	if life.Emptying == "" {
		return nil
	}
	it, err := s.Get(ctx, keys.Task(collab.TaskRef{Kind: collab.JobTask, Account: org.Account, ID: life.Emptying}))
	var progress struct{ Deleting bool }
	if err == nil && it != nil {
		err = json.Unmarshal([]byte(it.Text(keys.State)), &progress)
	}
	if err == nil && progress.Deleting {
		err = &collab.Error{
			Code: collab.Unavailable, Message: folderNamed(id) + " is being deleted with what is in it: try again later", RetryAfter: 10 * time.Second,
		}
	}
	return err
}

// move returns the write that counts a move if nothing was added or moved.
func (s *Store) move(org collab.OrganizationRef, read folderTree) store.Write {
	added, moved := expression.Name(keys.Added), expression.Name(keys.Moved)
	update := expression.Set(moved, expression.Value(read.Moved+1))
	same := added.Equal(expression.Value(read.Added))
	if read.Moved == 0 {
		return store.Update(keys.FolderTree(org), update, same, moved.AttributeNotExists())
	}
	return store.Update(keys.FolderTree(org), update, same, moved.Equal(expression.Value(read.Moved)))
}

// ChangeFolder changes a folder. A new parent moves it with its contents. It returns NOT_FOUND if
// the folder or its parent does not exist, and FAILED_PRECONDITION if the folder would be inside
// itself or too deep.
func (s *Store) ChangeFolder(ctx context.Context, req *request.Request, org collab.OrganizationRef, id string, change func(*collab.Folder)) error {
	k := keys.Folder(org, id)
	return s.Try(ctx, "the folder", req.Mark(), func(ctx context.Context) ([]store.Write, error) {
		tree, err := s.folderTree(ctx, org)
		if err != nil {
			return nil, err
		}
		before, err := s.Get(ctx, k)
		if err == nil && (before == nil || before[keys.DeletedAt] != nil) {
			err = collab.Errorf(collab.NotFound, "Folder does not exist")
		}
		if err != nil || req.Repeat && before.WrittenBy(req.Mark()) {
			return nil, err
		}
		var f folderItem
		parent := before.Text(keys.Parent)
		w, err := store.Rewritten(k, before, req.Mark(), &f, func(f *folderItem, _ bool) error {
			f.ID = id
			change(&f.Folder)
			f.LastUpdated = req.Millis()
			*f = newFolderItem(org, f.Folder)
			return nil
		})
		if err != nil || f.Parent == parent {
			return []store.Write{w}, err
		}
		above, err := s.FoldersAbove(ctx, org, []string{f.Parent})
		if err != nil {
			return nil, err
		}
		if err := above.CheckPlace(id, f.Parent, 1); err != nil {
			return nil, err
		}
		within, err := s.FoldersWithin(ctx, org, id, collab.MaxFolderDepth)
		if err != nil {
			return nil, err
		}
		return []store.Write{w, s.move(org, tree)}, above.CheckPlace(id, f.Parent, height(within, id))
	})
}

// height returns the number of levels of a folder, its own included.
func height(within map[string][]collab.Folder, id string) int {
	highest := 0
	for _, f := range within[id] {
		highest = max(highest, height(within, f.ID))
	}
	return highest + 1
}

// FoldersOf returns the folders above each of some documents, nearest first, by document id. It
// omits missing documents. It reads with strong consistency.
func (s *Store) FoldersOf(ctx context.Context, org collab.OrganizationRef, documents []string) (map[string][]collab.FolderRef, error) {
	list, err := s.DocumentsByID(ctx, org, documents)
	if err != nil {
		return nil, err
	}
	above, err := s.FoldersAbove(ctx, org, collab.Map(list, func(d collab.Document) string { return d.Folder }))
	if err != nil {
		return nil, err
	}
	foldersOf := make(map[string][]collab.FolderRef, len(list))
	for _, d := range list {
		for _, id := range above.Up(d.Folder) {
			if f, ok := above[id]; ok {
				foldersOf[d.ID] = append(foldersOf[d.ID], f.Ref(org))
			}
		}
	}
	return foldersOf, nil
}

// Levels returns a resource and those above it, nearest first: a document, its folders, and the
// organization. It reads with strong consistency.
func (s *Store) Levels(ctx context.Context, in collab.Resource) ([]collab.Resource, error) {
	levels, err := s.levelsOf(ctx, []collab.Resource{in})
	return levels[in], err
}

// levelsOf is Levels for resources of one organization, in one round trip for each level.
func (s *Store) levelsOf(ctx context.Context, list []collab.Resource) (map[collab.Resource][]collab.Resource, error) {
	levels := make(map[collab.Resource][]collab.Resource, len(list))
	if len(list) == 0 {
		return levels, nil
	}
	org := list[0].OrganizationRef
	var documents []string
	for _, in := range list {
		if _, listed := levels[in]; !listed && in.Document.Document != "" {
			documents = append(documents, in.Document.Document)
		}
		levels[in] = nil
	}
	filed, err := s.DocumentsByID(ctx, org, documents)
	if err != nil {
		return nil, err
	}
	folders := make(map[string]string, len(filed)) // of documents
	for _, d := range filed {
		folders[d.ID] = d.Folder
	}
	nearest := func(in collab.Resource) string {
		return cmp.Or(in.Folder.Folder, folders[in.Document.Document], collab.RootFolder)
	}
	above, err := s.FoldersAbove(ctx, org, collab.Map(slices.Collect(maps.Keys(levels)), nearest))
	if err != nil {
		return nil, err
	}
	for in := range levels {
		if in.Document.Document != "" {
			levels[in] = append(levels[in], in)
		}
		for _, id := range above.Up(nearest(in)) {
			if f, exists := above[id]; exists {
				levels[in] = append(levels[in], collab.Resource{OrganizationRef: org, Folder: f.Ref(org)})
			}
		}
		levels[in] = append(levels[in], collab.Resource{OrganizationRef: org})
	}
	return levels, nil
}
