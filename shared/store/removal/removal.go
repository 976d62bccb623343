// Package removal deletes organizations, folders and documents. One write on the item of an organization or a document leaves all behind that lies
// below it: see collab.OrganizationRef. A job that was kept before sweeps it later: see package threads.
package removal

import (
	"context"
	"maps"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/outbox"
	"collabdata/shared/table"
	"collabdata/shared/tx"
)

// Store is the directory with what deletes in it. Safe for concurrent use.
type Store struct {
	*directory.Store
	Outbox *outbox.Store
}

// New returns the directory of a table with what deletes in it.
func New(d *directory.Store, o *outbox.Store) *Store { return &Store{d, o} }

// thing is an organization or a document that is to be deleted.
type thing struct {
	key   table.Key
	id    string
	noun  string
	event collab.Event // but for id and time
}

// DeleteOrganizations deletes organizations with all that is in them, disabled ones too, each by itself. errs gets their failures: NOT_FOUND for one
// that does not exist. It returns the job that sweeps what is left, "" where nothing was deleted. A repeat of the request fails where its first
// attempt failed, and deletes nothing that was added since. The ids are distinct.
func (s *Store) DeleteOrganizations(ctx context.Context, t *tx.Tx, ids []string, errs []error) (job string, err error) {
	things := make([]thing, len(ids))
	for i, id := range ids {
		ev := collab.In(collab.DocumentRef{OrganizationRef: collab.OrganizationRef{Account: t.Account, Organization: id}})
		ev.Type = collab.OrganizationDeleted
		things[i] = thing{table.Organization(t.Account, id), id, "Organization", ev}
	}
	return s.delete(ctx, t, t.JobID(), things, errs, func(job *collab.Job, i, incarnation int) {
		job.Organizations = append(job.Organizations, collab.OrganizationRef{Account: t.Account, Organization: ids[i], Incarnation: incarnation})
	})
}

// DeleteDocuments deletes documents of an organization with all that is in them, as DeleteOrganizations does.
func (s *Store) DeleteDocuments(ctx context.Context, t *tx.Tx, org collab.OrganizationRef, ids []string, errs []error) (job string, err error) {
	return s.deleteDocuments(ctx, t, t.JobID(), org, ids, errs, true)
}

func (s *Store) deleteDocuments(
	ctx context.Context, t *tx.Tx, job string, org collab.OrganizationRef, ids []string, errs []error, tell bool,
) (string, error) {
	things := make([]thing, len(ids))
	for i, id := range ids {
		things[i] = thing{key: table.Document(org, id), id: id, noun: "Document"}
		if tell {
			things[i].event = collab.In(org.Document(id))
			things[i].event.Type = collab.DocumentDeleted
		}
	}
	return s.delete(ctx, t, job, things, errs, func(job *collab.Job, i, incarnation int) {
		doc := org.Document(ids[i])
		doc.Incarnation = incarnation
		job.Documents = append(job.Documents, doc)
	})
}

// delete keeps the job of what is there of things, each put into it by name, and marks them as deleted.
func (s *Store) delete(
	ctx context.Context, t *tx.Tx, id string, things []thing, errs []error, name func(job *collab.Job, i, incarnation int),
) (string, error) {
	job := collab.Job{ID: id, Account: t.Account}
	meant := map[string]int{}
	begun, err := s.Outbox.Begun(ctx, t, id)
	switch {
	case err != nil:
		return "", err
	case begun != nil:
		for _, o := range begun.Organizations {
			meant[o.Organization] = o.Incarnation
		}
		for _, d := range begun.Documents {
			meant[d.Document] = d.Incarnation
		}
	default:
		keys := collab.Map(things, func(th thing) table.Key { return th.key })
		found, err := s.GetAll(ctx, keys, true)
		if err != nil {
			return "", err
		}
		for i, th := range things {
			var of collab.Lifetime
			if it := found[th.key]; it == nil {
				continue
			} else if err := it.Decode(&of); err != nil {
				return "", err
			}
			if of.DeletedAt == 0 {
				meant[th.id] = of.Incarnation
				name(&job, i, of.Incarnation)
			}
		}
		if len(meant) > 0 {
			if err := s.Outbox.AddJob(ctx, job, collab.SweepAfter); err != nil {
				return "", err
			}
		}
	}
	store.All(len(things), func(i int) {
		incarnation, ok := meant[things[i].id]
		if !ok {
			errs[i] = collab.Errorf(collab.NotFound, "%s does not exist", things[i].noun)
			return
		}
		errs[i] = s.mark(ctx, t, i, things[i], incarnation)
	})
	if len(meant) == 0 {
		return "", nil
	}
	return id, nil
}

// mark marks a thing of an incarnation as deleted, takes it out of the lists of folders, and records the event. What is not of that incarnation any
// more was deleted before.
func (s *Store) mark(ctx context.Context, t *tx.Tx, n int, th thing, incarnation int) error {
	var ev *collab.Event
	err := s.Try(ctx, th.id, t.Mark(), func(ctx context.Context) ([]store.Write, error) {
		ev = nil
		before, err := s.Get(ctx, th.key)
		var of collab.Lifetime
		if err == nil {
			err = before.Decode(&of)
		}
		if err != nil || before == nil || of.DeletedAt != 0 || of.Incarnation != incarnation {
			return nil, err
		}
		after := maps.Clone(before)
		after[table.DeletedAt] = store.Number(s.Millis())
		delete(after, table.In)
		delete(after, table.DocAnn)
		writes := []store.Write{store.Change(before, after, t.Mark())}
		if th.event.Type != "" {
			of := th.event
			of.ID, of.Time = t.IDs.For(n, th.id), t.Millis()
			ev = &of
		}
		outbox, err := s.Outbox.Record(ctx, ev)
		return append(writes, outbox...), err
	})
	if err == nil {
		t.Recorded(ev)
		s.Forget(th.key)
	}
	return err
}

// DeleteFolder deletes a folder with the folders and documents in it, and returns the job that sweeps what is left; NOT_FOUND when it does not exist,
// unless an earlier attempt at the request has deleted it. It marks the documents before the folders go, so that a repeat finds what is left.
func (s *Store) DeleteFolder(ctx context.Context, t *tx.Tx, org collab.OrganizationRef, id string) (job string, err error) {
	within, err := s.FoldersWithin(ctx, org, id, collab.MaxFolderDepth)
	if err != nil {
		return "", err
	}
	folders := []string{id}
	for i := 0; i < len(folders); i++ {
		for _, f := range within[folders[i]] {
			folders = append(folders, f.ID)
		}
	}
	there, err := s.Get(ctx, table.Folder(org, id))
	if err != nil {
		return "", err
	}
	begun, err := s.Outbox.Begun(ctx, t, t.JobID())
	switch {
	case err != nil:
		return "", err
	case there == nil && begun == nil:
		return "", collab.Errorf(collab.NotFound, "folder %q does not exist", id)
	case there == nil:
		return t.JobID(), nil
	case begun == nil:
		job = t.JobID()
	default:
		job = s.NewMark() // what is there still is another job's: that of the earlier attempt may not have it
	}
	for _, folder := range folders {
		for from, more := "", true; more; {
			list, last, _, err := s.ListDocuments(ctx, org, folder, from, foldersAtOnce)
			if err != nil {
				return "", err
			}
			ids := collab.Map(list, func(d collab.DocumentRef) string { return d.Document })
			errs := make([]error, len(ids))
			if len(ids) > 0 {
				if _, err := s.deleteDocuments(ctx, t, job, org, ids, errs, false); err != nil {
					return "", err
				}
				job = s.NewMark()
			}
			for _, err := range errs {
				if err != nil && collab.CodeOf(err) != collab.NotFound {
					return "", err
				}
			}
			from, more = last+"\x00", last != ""
		}
	}
	if job == t.JobID() {
		if err := s.Outbox.AddJob(ctx, collab.Job{ID: t.JobID(), Account: t.Account}, 0); err != nil {
			return "", err
		}
	}
	slices.Reverse(folders) // those within go first
	for _, folder := range folders[:len(folders)-1] {
		if err := s.Delete(ctx, table.Folder(org, folder)); err != nil {
			return "", err
		}
	}
	ev := collab.In(collab.DocumentRef{OrganizationRef: org})
	ev.ID, ev.Time, ev.Type, ev.FolderID = t.IDs.For(0, id), t.Millis(), collab.FolderDeleted, id
	_, err = s.Outbox.Commit(ctx, t, []store.Write{store.Delete(table.Folder(org, id))}, &ev)
	return t.JobID(), err
}

// foldersAtOnce is how many documents of a folder are deleted by one job.
const foldersAtOnce = 500
