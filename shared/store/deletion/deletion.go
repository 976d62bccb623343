// Package deletion deletes more than fits in a request: organizations, folders, documents,
// annotations and notifications. It runs the jobs that continue a deletion and sweep its remains.
//
// One write on the item of an organization, folder or document deletes it, and with it everything
// below, whose keys contain its incarnation (see collab.Lifetime). A thread is deleted by its head,
// a notification by its item. Nothing is swept before outbox.SweepAfter.
package deletion

import (
	"context"
	"maps"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/erasure"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/threads"
)

// Store is the directory with its deletions. It is safe for concurrent use.
type Store struct {
	*directory.Store
	Outbox  *outbox.Store
	Inbox   *inbox.Store
	Threads *threads.Store
	Erasure *erasure.Store

	bounds bounds
}

type bounds struct {
	deleted  int // notifications, or documents of a folder, plus up to a page
	pages    int // of the organization's documents
	together int // folders or documents of one job
	// Items deleted by a step of a sweep; a run that fails repeats its step.
	swept int
}

// New returns a Store for threads, notifications, and the directory of the threads.
func New(t *threads.Store, in *inbox.Store) *Store {
	return &Store{
		t.Directory, t.Outbox, in, t, erasure.New(t, in),
		bounds{deleted: collab.MaxDeleted, pages: 20, together: 250, swept: 500},
	}
}

// DeleteOrganizations deletes distinct organizations with their contents, also disabled ones. It
// sets errs[i] to NOT_FOUND if ids[i] does not exist. It returns the job that sweeps the contents,
// "" if nothing was deleted. A retry of the request gives the same errors, and deletes nothing that
// was added since.
func (s *Store) DeleteOrganizations(ctx context.Context, req *request.Request, ids []string, errs []error) (job string, err error) {
	return s.deleteAll(ctx, req, collab.OrganizationRef{Account: req.Account}, collab.AnOrganization, ids, errs)
}

// DeleteDocuments deletes documents of an organization like DeleteOrganizations.
func (s *Store) DeleteDocuments(
	ctx context.Context, req *request.Request, org collab.OrganizationRef, ids []string, errs []error,
) (job string, err error) {
	return s.deleteAll(ctx, req, org, collab.ADocument, ids, errs)
}

func (s *Store) deleteAll(
	ctx context.Context, req *request.Request, in collab.OrganizationRef, kind collab.Thing, ids []string, errs []error,
) (string, error) {
	job, _, _, err := s.Outbox.EarlierJob(ctx, req)
	if err == nil && job == nil {
		job, err = s.newJob(ctx, req, in, kind, ids)
		if err == nil && len(job.Things) > 0 {
			_, _, err = s.Outbox.AddJob(ctx, *job)
		}
	}
	if err != nil {
		return "", err
	}
	meant := map[string]outbox.JobThing{}
	for _, th := range job.Things {
		meant[th.ID] = th
	}
	copy(errs, store.All(len(ids), func(i int) error {
		if th, ok := meant[ids[i]]; ok {
			return s.markForRequest(ctx, req, job, th, i)
		}
		return collab.Errorf(collab.NotFound, "%s does not exist", strings.ToUpper(string(kind[:1]))+string(kind[1:]))
	}))
	if len(job.Things) == 0 {
		return "", nil
	}
	return job.ID, nil
}

func (s *Store) newJob(
	ctx context.Context, req *request.Request, in collab.OrganizationRef, kind collab.Thing, ids []string,
) (*outbox.Job, error) {
	job := &outbox.Job{
		ID: req.JobID(), Account: req.Account, In: in, SweepAt: s.Millis() + outbox.SweepAfter.Milliseconds(),
	}
	itemKeys := collab.Map(ids, func(id string) keys.Key { return keys.Thing(in, kind, id) })
	found, err := s.GetAll(ctx, itemKeys, true)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		if it := found[itemKeys[i]]; it != nil && it[keys.DeletedAt] == nil {
			job.Things = append(job.Things, outbox.JobThing{Kind: kind, ID: id, Incarnation: it.Number(keys.Incarnation)})
		}
	}
	return job, nil
}

func (s *Store) markForRequest(ctx context.Context, req *request.Request, job *outbox.Job, th outbox.JobThing, n int) error {
	ev := collab.In(collab.DocumentRef{OrganizationRef: job.In})
	ev.ID, ev.Time = req.IDs.For(n, th.ID), req.Millis()
	switch th.Kind {
	case collab.AnOrganization:
		ev.Type, ev.OrganizationID = collab.OrganizationDeleted, th.ID
	case collab.AFolder:
		ev.Type, ev.FolderID = collab.FolderDeleted, th.ID
	default:
		ev.Type, ev.DocumentID = collab.DocumentDeleted, th.ID
	}
	marked, err := s.markDeleted(ctx, job, th, nil, &ev)
	if marked {
		req.Recorded(&ev)
	}
	return err
}

// markDeleted marks a thing as deleted by a job, removes it from folder lists, and records ev
// unless it is nil. It does nothing if the thing is deleted, has another incarnation, or is in none
// of the folders in; a nil in means any folder.
func (s *Store) markDeleted(ctx context.Context, job *outbox.Job, th outbox.JobThing, in map[string]bool, ev *collab.Event) (marked bool, err error) {
	k, mark := keys.Thing(job.In, th.Kind, th.ID), s.NewMark()
	err = s.Try(ctx, string(th.Kind)+" "+th.ID, mark, func(ctx context.Context) ([]store.Write, error) {
		before, life, err := s.lifetime(ctx, k)
		marked = false
		if err != nil || before == nil || life.DeletedAt != 0 || life.Incarnation != th.Incarnation ||
			in != nil && !in[before.Text(keys.Parent)] {
			return nil, err
		}
		marked = true
		after := maps.Clone(before)
		after[keys.DeletedAt] = store.Number(s.Millis())
		if th.Kind == collab.AFolder {
			after[keys.Emptying] = store.Text(job.ID)
		}
		delete(after, keys.In)
		delete(after, keys.DocAnn)
		return append(s.Outbox.Record(ev), store.Change(before, after, mark)), nil
	})
	s.Forget(k)
	return marked && err == nil, err
}

func (s *Store) lifetime(ctx context.Context, k keys.Key) (it store.Item, life collab.Lifetime, err error) {
	if it, err = s.Get(ctx, k); err == nil {
		err = it.Decode(&life)
	}
	return it, life, err
}
