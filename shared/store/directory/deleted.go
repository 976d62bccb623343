package directory

import (
	"context"
	"maps"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// What is deleted keeps its item until a job has swept what lies below it. Either the job begins, or the operator restores it: both write
// the item on condition that it is as they read it.

// BeginSweep reports whether what lies below an incarnation of an organization, a folder or a document, by its item, is to be swept: where
// the deletion is the last of it, which cannot be undone from then on, or the incarnation is gone. What was restored is left alone.
func (s *Store) BeginSweep(ctx context.Context, k keys.Key, incarnation int64, deletion string) (sweep bool, err error) {
	mark := s.NewMark()
	err = s.Try(ctx, "the deletion", mark, func(ctx context.Context) ([]store.Write, error) {
		it, of, err := s.lifetime(ctx, k)
		gone := it == nil || of.Incarnation != incarnation
		sweep = gone || of.DeletedAt != 0 && of.Deletion == deletion
		if err != nil || !sweep || gone || of.Until == 0 {
			return nil, err
		}
		after := maps.Clone(it)
		delete(after, keys.Until)
		return []store.Write{store.Change(it, after, mark)}, nil
	})
	return sweep && err == nil, err
}

// EndSweep deletes the item of what is deleted, in this incarnation: once nothing is left below it. Where it was added again it stays.
func (s *Store) EndSweep(ctx context.Context, k keys.Key, incarnation int64) error {
	it, of, err := s.lifetime(ctx, k)
	if err != nil || of.DeletedAt == 0 || of.Incarnation != incarnation {
		return err
	}
	_, err = s.Write(ctx, store.DeleteRead(it, keys.DeletedAt))
	return err
}

func (s *Store) lifetime(ctx context.Context, k keys.Key) (it store.Item, of collab.Lifetime, err error) {
	if it, err = s.Get(ctx, k); err == nil {
		err = it.Decode(&of)
	}
	return it, of, err
}

// SweepGrants deletes the grants of a list of index in, keys.DocumentGranted or keys.FolderGranted, and returns how many. Those of the
// last second may be missing in it.
func (s *Store) SweepGrants(ctx context.Context, granted string) (n int, err error) {
	for it, err := range s.Items(ctx, store.Scan{Index: keys.IndexIn, PK: granted, Keys: store.Everything}) {
		if err == nil {
			err = s.Delete(ctx, it.Key())
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// SweepPreferences deletes the preferences for a document, and returns how many. Those that came before it stay.
func (s *Store) SweepPreferences(ctx context.Context, doc collab.DocumentRef) (n int, err error) {
	q := store.Scan{PK: keys.PreferencePartition(doc.OrganizationRef), Keys: store.Children(keys.PreferencesFor(doc.Document)), Strong: true}
	for it, err := range s.Items(ctx, q) {
		if err != nil {
			return n, err
		}
		if it.Number(keys.Incarnation) != doc.Incarnation {
			continue
		}
		if _, err := s.Write(ctx, store.DeleteRead(it, keys.Incarnation)); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Restored counts what RestoreFolder brought back, and what the same deletion took away and stays deleted.
type Restored struct{ Folders, Documents, Left int }

// RestoreDeletedOrganization brings an organization back that was deleted, with everything below it as it was. It fails with NOT_FOUND
// where there was none, or nothing is left of it, and with FAILED_PRECONDITION where it is not deleted, was added again, or the time for it
// is over. It may be called again, and does nothing then. Nobody is told.
func (s *Store) RestoreDeletedOrganization(ctx context.Context, acct, id string) error {
	_, err := s.restore(ctx, collab.OrganizationRef{}, keys.Organization(acct, id), organizationNamed(id), "", nil)
	return err
}

// RestoreDocument is RestoreDeletedOrganization for a document. It fails with FAILED_PRECONDITION, too, where the document's folder does
// not exist.
func (s *Store) RestoreDocument(ctx context.Context, org collab.OrganizationRef, id string) error {
	_, err := s.restore(
		ctx,
		org,
		keys.Document(org, id),
		documentNamed(id),
		"",
		func(ctx context.Context, parent string) ([]store.Write, error) {
			_, err := s.checkParent(ctx, org, documentNamed(id), parent)
			return nil, err
		},
	)
	return err
}

// RestoreFolder is RestoreDeletedOrganization for a folder, with those of the folders and documents in it that the same deletion took away.
// What was added again stays as it is, and what lay in a folder that was added again stays deleted. After a failure it may be called again,
// and goes on.
func (s *Store) RestoreFolder(ctx context.Context, org collab.OrganizationRef, id string) (done Restored, err error) {
	deletion, err := s.restoreFolder(ctx, org, id, "")
	if err != nil {
		return done, err
	}
	done.Folders = 1
	project := []string{keys.PK, keys.SK, keys.Parent, keys.Deletion, keys.DeletedAt}
	within := map[string][]store.Item{}
	q := store.Scan{PK: keys.OrganizationPartition(org), Keys: store.Children(keys.Folders), Strong: true, Project: project}
	for it, err := range s.Items(ctx, q) {
		if err != nil {
			return done, err
		}
		if it.Text(keys.Deletion) == deletion {
			if it[keys.DeletedAt] != nil {
				done.Left++
			}
			within[it.Text(keys.Parent)] = append(within[it.Text(keys.Parent)], it)
		}
	}
	restored := map[string]bool{id: true}
	for above := []string{id}; len(above) > 0; above = above[1:] {
		for _, it := range within[above[0]] {
			folder, err := lastPart(it, keys.Folders)
			if err != nil {
				return done, err
			}
			if it[keys.DeletedAt] != nil {
				if _, err = s.restoreFolder(ctx, org, folder, deletion); isLeft(err) {
					continue
				}
				if err != nil {
					return done, err
				}
				done.Folders, done.Left = done.Folders+1, done.Left-1
			}
			restored[folder] = true
			above = append(above, folder)
		}
	}
	q.Keys = store.Children(keys.Documents)
	var documents []store.Item
	for it, err := range s.Items(ctx, q) {
		switch {
		case err != nil:
			return done, err
		case it.Text(keys.Deletion) != deletion || it[keys.DeletedAt] == nil:
		case !restored[it.Text(keys.Parent)]:
			done.Left++
		default:
			documents = append(documents, it)
		}
	}
	errs := make([]error, len(documents))
	err = store.Each(ctx, len(documents), func(ctx context.Context, i int) error {
		_, errs[i] = s.restore(ctx, org, documents[i].Key(), "the document", deletion, nil)
		if isLeft(errs[i]) {
			return nil
		}
		return errs[i]
	})
	for _, failed := range errs {
		if failed == nil {
			done.Documents++
		} else {
			done.Left++
		}
	}
	return done, err
}

// isLeft reports whether a failure to restore something says that it stays deleted, or was added again meanwhile.
func isLeft(err error) bool {
	code := collab.CodeOf(err)
	return code == collab.NotFound || code == collab.FailedPrecondition
}

func (s *Store) restoreFolder(ctx context.Context, org collab.OrganizationRef, id, deletion string) (string, error) {
	return s.restore(
		ctx,
		org,
		keys.Folder(org, id),
		folderNamed(id),
		deletion,
		func(ctx context.Context, parent string) ([]store.Write, error) {
			tree, err := s.folderTree(ctx, org)
			if err != nil {
				return nil, err
			}
			above, err := s.checkParent(ctx, org, folderNamed(id), parent)
			if err == nil {
				err = above.CheckPlace(id, parent, 1)
			}
			return []store.Write{s.grow(org, tree)}, err
		},
	)
}

// checkParent returns the folders above what lies in a parent. It fails where one is missing: nobody knows then who may see it.
func (s *Store) checkParent(ctx context.Context, org collab.OrganizationRef, what, parent string) (collab.Folders, error) {
	above, err := s.FoldersAbove(ctx, org, []string{parent})
	for _, id := range above.Up(parent) {
		if _, exists := above[id]; err == nil && !exists {
			err = collab.Errorf(
				collab.FailedPrecondition, "%s lies in folder %q, which does not exist: restore that first, or add it again", what, id,
			)
		}
	}
	return above, err
}

// restore brings an item back that is deleted: by the deletion, or for "" by the last one, within its time. place, nil for nothing, checks
// the folder that it lies in, and says what else is written with it. It returns the deletion, as well where an earlier call undid that.
func (s *Store) restore(
	ctx context.Context, org collab.OrganizationRef, k keys.Key, what, deletion string,
	place func(ctx context.Context, parent string) ([]store.Write, error),
) (undone string, err error) {
	mark := s.NewMark()
	err = s.Try(ctx, what, mark, func(ctx context.Context) ([]store.Write, error) {
		it, of, err := s.lifetime(ctx, k)
		if err == nil {
			err = restorable(it, of, what, deletion, s.Now())
		}
		if undone = of.Deletion; err != nil || of.DeletedAt == 0 {
			return nil, err
		}
		after := maps.Clone(it)
		delete(after, keys.DeletedAt)
		delete(after, keys.Until)
		var writes []store.Write
		if parent := it.Text(keys.Parent); parent != "" {
			after[keys.In], after[keys.DocAnn] = store.Text(keys.FolderPartition(org, parent)), it[keys.SK]
			if place != nil {
				if writes, err = place(ctx, parent); err != nil {
					return nil, err
				}
			}
		}
		return append(writes, store.Change(it, after, mark)), nil
	})
	return undone, err
}

// restorable fails unless an item can be restored at a time, or has been.
func restorable(it store.Item, of collab.Lifetime, what, deletion string, now time.Time) error {
	switch {
	case it == nil:
		return collab.Errorf(collab.NotFound, "%s does not exist: there was none, or nothing is left of it", what)
	case of.DeletedAt == 0 && of.Deletion == "", deletion != "" && of.Deletion != deletion:
		return collab.Errorf(collab.FailedPrecondition, "%s is not deleted: once an id is added again, what had it before cannot be restored", what)
	case of.DeletedAt != 0 && (of.Until == 0 || deletion == "" && of.Until < now.UnixMilli()):
		return collab.Errorf(
			collab.FailedPrecondition, "%s, deleted at %s, cannot be restored any more: the time that undeleteHours gives is over", what,
			time.UnixMilli(of.DeletedAt).UTC().Format(time.RFC3339),
		)
	}
	return nil
}
