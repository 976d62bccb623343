package deletion

import (
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/task"
)

// A folder is deleted from the top: the folder itself, then subfolders, then documents. A
// transaction that adds or moves something into a folder requires that the folder exists. Therefore
// nothing enters it after the mark, and a strongly consistent read of the organization finds
// everything inside. The folder's id stays reserved until all of that is marked.

// DeleteFolder deletes a folder with its folders and documents, and returns its job. It returns
// NOT_FOUND if the folder does not exist, unless an earlier attempt of the request deleted it. The
// job deletes documents beyond the first thousand, and those of very large organizations.
func (s *Store) DeleteFolder(ctx context.Context, req *request.Request, org collab.OrganizationRef, id string) (string, error) {
	job, t, p, err := s.Outbox.EarlierJob(ctx, req)
	if err == nil && job == nil {
		job, err = s.newJob(ctx, req, org, collab.AFolder, []string{id})
		if err == nil && len(job.Things) == 0 {
			err = collab.Errorf(collab.NotFound, "folder %q does not exist", id)
		}
		if err == nil {
			job.Contents = true
			t, p, err = s.Outbox.AddJob(ctx, *job)
		}
	}
	if err == nil {
		err = s.markForRequest(ctx, req, job, job.Things[0], 0)
	}
	if err != nil {
		return "", err
	}
	err = s.deleteContents(ctx, job, &p)
	if err == nil && !p.Deleting {
		p.Due = job.SweepAt
		_, err = s.Outbox.Settle(ctx, t, task.Outcome{Due: p.Due, State: p.Text()})
	}
	if err != nil || p.Deleting {
		req.Leaves(job.ID)
	}
	return job.ID, err
}

func (s *Store) deleteContents(ctx context.Context, job *outbox.Job, p *outbox.JobProgress) error {
	deleted, err := s.isDeleted(ctx, job, job.Things[0])
	if err != nil || !deleted {
		p.Deleting = p.Deleting && err != nil
		return err
	}
	folders, n, err := s.deleteFoldersWithin(ctx, job)
	q := store.Scan{
		PK: keys.OrganizationPartition(job.In), Keys: store.Children(keys.Documents).After(p.From), Strong: true, Limit: documentsPage,
		Project: []string{keys.PK, keys.SK, keys.Parent, keys.DeletedAt, keys.Incarnation},
	}
	for pages := 0; err == nil && p.Deleting && pages < s.bounds.pages && n < s.bounds.deleted; pages++ {
		var items []store.Item
		var list []outbox.JobThing
		if items, p.Deleting, err = s.QueryPage(ctx, q); err == nil {
			list, err = thingsIn(folders, items, collab.ADocument, keys.Documents)
		}
		if err == nil {
			err = s.deleteTogether(ctx, job, list, folders)
		}
		if err != nil {
			p.Deleting = true
			break
		}
		if n += len(list); p.Deleting {
			p.From = items[len(items)-1].Text(keys.SK)
			q.Keys = q.Keys.After(p.From)
		}
	}
	return err
}

const documentsPage = 1_000

// deleteFoldersWithin deletes the folders below the folder of a job, at all levels. It returns the
// ids of all of them with the folder's own, and the number of deletions.
func (s *Store) deleteFoldersWithin(ctx context.Context, job *outbox.Job) (folders map[string]bool, n int, err error) {
	q := store.Scan{
		PK: keys.OrganizationPartition(job.In), Keys: store.Children(keys.Folders), Strong: true,
		Project: []string{keys.PK, keys.SK, keys.Parent, keys.DeletedAt, keys.Emptying, keys.Incarnation},
	}
	for {
		// Adds and moves that began before the last marks fail from now on. The read below sees all
		// others.
		if err := s.RefuseFolderChanges(ctx, job.In); err != nil {
			return nil, n, err
		}
		all, err := s.Query(ctx, q)
		if err != nil {
			return nil, n, err
		}
		all = slices.DeleteFunc(all, func(it store.Item) bool { return it[keys.DeletedAt] != nil && it.Text(keys.Emptying) != job.ID })
		folders = map[string]bool{job.Things[0].ID: true}
		for size := 0; size < len(folders); { // one level each time
			size = len(folders)
			for _, it := range all {
				if folders[it.Text(keys.Parent)] {
					id, err := keys.Unescape(it.Text(keys.SK)[len(keys.Folders):])
					if err != nil {
						return nil, n, store.Unreadable(it.Key(), err)
					}
					folders[id] = true
				}
			}
		}
		list, err := thingsIn(folders, all, collab.AFolder, keys.Folders)
		if err != nil || len(list) == 0 {
			return folders, n, err
		}
		if err := s.deleteTogether(ctx, job, list, folders); err != nil {
			return nil, n, err
		}
		n += len(list)
	}
}

// thingsIn returns the undeleted items of a kind that are in one of the folders.
func thingsIn(folders map[string]bool, items []store.Item, kind collab.Thing, prefix string) (list []outbox.JobThing, err error) {
	for _, it := range items {
		if it[keys.DeletedAt] != nil || !folders[it.Text(keys.Parent)] {
			continue
		}
		id, err := keys.Unescape(it.Text(keys.SK)[len(prefix):])
		if err != nil {
			return nil, store.Unreadable(it.Key(), err)
		}
		list = append(list, outbox.JobThing{Kind: kind, ID: id, Incarnation: it.Number(keys.Incarnation)})
	}
	return list, nil
}

func (s *Store) deleteTogether(ctx context.Context, job *outbox.Job, list []outbox.JobThing, folders map[string]bool) error {
	for part := range slices.Chunk(list, s.bounds.together) {
		sweep := outbox.Job{
			ID: s.Outbox.JobRequest(job).JobID(), Account: job.Account, In: job.In, Things: part,
			SweepAt: max(job.SweepAt, s.Millis()+outbox.SweepAfter.Milliseconds()),
		}
		if _, _, err := s.Outbox.AddJob(ctx, sweep); err != nil {
			return err
		}
		err := store.Each(ctx, len(part), func(ctx context.Context, i int) error {
			_, err := s.markDeleted(ctx, job, part[i], folders, nil)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// isDeleted reports whether its own job deleted a folder.
func (s *Store) isDeleted(ctx context.Context, job *outbox.Job, th outbox.JobThing) (bool, error) {
	it, life, err := s.lifetime(ctx, keys.Thing(job.In, th.Kind, th.ID))
	return it != nil && life.Incarnation == th.Incarnation && life.DeletedAt != 0 && life.Emptying == job.ID, err
}
