package deletion

import (
	"context"
	"fmt"
	"maps"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// What is deleted keeps its item until a job has swept what is in it. Either that begins, or the operator restores it: both write the item
// on condition that it is as they read it.

// Restored counts what RestoreFolder brought back, and what the folder's last deletion took along and stays deleted.
type Restored struct{ Folders, Documents, Left int }

// RestoreOrganization brings an organization back that was deleted, with all that is in it as it was. It fails with NOT_FOUND where there
// was none, or nothing is left of it, and with FAILED_PRECONDITION where it is not deleted, was added again, or the time for it is over. It
// may be called again, and does nothing then. Nobody hears of it.
func (s *Store) RestoreOrganization(ctx context.Context, acct, id string) error {
	_, err := s.restore(ctx, collab.OrganizationRef{Account: acct}, collab.AnOrganization, id, true)
	return err
}

// RestoreDocument is RestoreOrganization for a document. It fails with FAILED_PRECONDITION, too, where the document's folder does not exist.
func (s *Store) RestoreDocument(ctx context.Context, org collab.OrganizationRef, id string) error {
	_, err := s.restore(ctx, org, collab.ADocument, id, true)
	return err
}

// RestoreFolder is RestoreOrganization for a folder, with the folders and documents in it that were deleted along with a folder. What was
// deleted by itself stays deleted, and what was in a folder that was added again. It fails with UNAVAILABLE while what is in the folder is
// being deleted. After a failure it may be called again, and goes on.
func (s *Store) RestoreFolder(ctx context.Context, org collab.OrganizationRef, id string) (done Restored, err error) {
	top, err := s.restore(ctx, org, collab.AFolder, id, true)
	if err != nil {
		return done, err
	}
	done.Folders = 1
	there := map[string]int64{id: top.Incarnation} // folders, whose contents are looked for
	for grown := 0; err == nil && grown < len(there); {
		grown = len(there)
		var n int
		n, done.Left, err = s.restoreIn(ctx, org, collab.AFolder, keys.Folders, top.Deletion, there)
		done.Folders += n
	}
	if err == nil {
		var left int
		done.Documents, left, err = s.restoreIn(ctx, org, collab.ADocument, keys.Documents, top.Deletion, there)
		done.Left += left
	}
	return done, err
}

// restoreIn restores what is in folders, by their incarnations, and was deleted along with one. It adds the folders that it meets to them,
// and returns how many it has restored, and how many that a deletion took along stay deleted.
func (s *Store) restoreIn(
	ctx context.Context, org collab.OrganizationRef, kind collab.Thing, prefix, deletion string, folders map[string]int64,
) (n, left int, err error) {
	q := store.Scan{
		PK: keys.OrganizationPartition(org), Keys: store.Children(prefix), Strong: true,
		Project: []string{keys.PK, keys.SK, keys.Parent, keys.Deletion, keys.DeletedAt, keys.Along, keys.Incarnation},
	}
	for it, err := range s.Items(ctx, q) {
		if err != nil {
			return n, left, err
		}
		id, err := keys.Unescape(it.Text(keys.SK)[len(prefix):])
		if err != nil {
			return n, left, store.Unreadable(it.Key(), err)
		}
		began, in := folders[it.Text(keys.Parent)]
		deletedAt := it.Number(keys.DeletedAt)
		if deletedAt != 0 {
			back := false
			if in && it[keys.Along] != nil && deletedAt >= began {
				_, err := s.restore(ctx, org, kind, id, false)
				if code := collab.CodeOf(err); err != nil && code != collab.NotFound && code != collab.FailedPrecondition {
					return n, left, err
				}
				back = err == nil
			}
			switch {
			case back:
				n++
			case it.Text(keys.Deletion) == deletion:
				left++
			}
			in = in && back
		}
		if in && kind == collab.AFolder {
			folders[id] = it.Number(keys.Incarnation)
		}
	}
	return n, left, nil
}

// restore brings a thing back that is deleted, within its time; at any time before its sweep unless itself says that it is the one to
// restore. It returns its lifetime, as well where an earlier call has restored it.
func (s *Store) restore(
	ctx context.Context, org collab.OrganizationRef, kind collab.Thing, id string, itself bool,
) (of collab.Lifetime, err error) {
	what, k, mark := fmt.Sprintf("%s %q", kind, id), keys.Thing(org, kind, id), s.NewMark()
	err = s.Try(ctx, what, mark, func(ctx context.Context) ([]store.Write, error) {
		var it store.Item
		if it, of, err = s.lifetime(ctx, k); err == nil {
			err = restorable(it, of, what, itself, s.Now())
		}
		if err != nil || of.DeletedAt == 0 {
			return nil, err
		}
		after := maps.Clone(it)
		for _, name := range []string{keys.DeletedAt, keys.Until, keys.Along, keys.Emptying, keys.RequestID} {
			delete(after, name)
		}
		var writes []store.Write
		if kind != collab.AnOrganization {
			parent := it.Text(keys.Parent)
			after[keys.In], after[keys.DocAnn] = store.Text(keys.FolderPartition(org, parent)), it[keys.SK]
			if writes, err = s.placeIn(ctx, org, kind, id, of, parent); err != nil {
				return nil, err
			}
		}
		return append(writes, store.Change(it, after, mark)), nil
	})
	s.Forget(k)
	return of, err
}

// placeIn returns the writes by which a restored thing comes into its folder. It fails where that, or one above it, does not exist: nobody
// knows then who may see it.
func (s *Store) placeIn(
	ctx context.Context, org collab.OrganizationRef, kind collab.Thing, id string, of collab.Lifetime, parent string,
) ([]store.Write, error) {
	missing := func(folder string) error {
		return collab.Errorf(collab.FailedPrecondition,
			"%s %q lies in folder %q, which does not exist: restore that first, or add it again", kind, id, folder)
	}
	if kind == collab.AFolder {
		if err := s.Emptied(ctx, org, id, of); err != nil {
			return nil, err
		}
		grow, err := s.GrowFolders(ctx, org)
		if err != nil {
			return nil, err
		}
		above, err := s.FoldersAbove(ctx, org, []string{parent})
		for _, folder := range above.Up(parent) {
			if _, exists := above[folder]; err == nil && !exists {
				err = missing(folder)
			}
		}
		if err == nil {
			err = above.CheckPlace(id, parent, 1)
		}
		return []store.Write{grow}, err
	}
	writes, err := s.RequireFolder(ctx, org, parent)
	if collab.CodeOf(err) == collab.NotFound {
		err = missing(parent)
	}
	return writes, err
}

// restorable fails unless an item can be restored at a time, or has been.
func restorable(it store.Item, of collab.Lifetime, what string, itself bool, now time.Time) error {
	switch {
	case it == nil:
		return collab.Errorf(collab.NotFound, "%s does not exist: there was none, or nothing is left of it", what)
	case of.DeletedAt == 0 && of.Deletion == "":
		return collab.Errorf(collab.FailedPrecondition, "%s is not deleted: once an id is added again, what had it before cannot be restored", what)
	case of.DeletedAt != 0 && (of.Until == 0 || itself && of.Until < now.UnixMilli()):
		return collab.Errorf(
			collab.FailedPrecondition, "%s, deleted at %s, cannot be restored any more: the time that undeleteHours gives is over", what,
			time.UnixMilli(of.DeletedAt).UTC().Format(time.RFC3339),
		)
	}
	return nil
}
