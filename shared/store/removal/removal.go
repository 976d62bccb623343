// Package removal deletes organizations, folders and documents. One write on the item of an organization or a document leaves all behind
// that lies below it: see collab.OrganizationRef. A job that was kept before sweeps it later: see package threads.
package removal

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/outbox"
)

// Store is the directory with what deletes in it. Safe for concurrent use.
type Store struct {
	*directory.Store
	Outbox *outbox.Store

	undelete time.Duration
}

// New returns the directory of a table with what deletes in it. For the time undelete what was deleted may be restored: it is swept behind
// that.
func New(d *directory.Store, o *outbox.Store, undelete time.Duration) *Store {
	return &Store{d, o, undelete}
}

// thing is what is to be deleted.
type thing struct {
	kind collab.Thing
	id   string
	tell bool // by an event
}

func things(kind collab.Thing, ids []string, tell bool) []thing {
	return collab.Map(ids, func(id string) thing { return thing{kind, id, tell} })
}

// event is that of the deletion, but for id and time.
func (th thing) event(in collab.OrganizationRef) *collab.Event {
	ev := collab.In(collab.DocumentRef{OrganizationRef: in})
	switch th.kind {
	case collab.AnOrganization:
		ev.Type, ev.OrganizationID = collab.OrganizationDeleted, th.id
	case collab.AFolder:
		ev.Type, ev.FolderID = collab.FolderDeleted, th.id
	default:
		ev.Type, ev.DocumentID = collab.DocumentDeleted, th.id
	}
	return &ev
}

// DeleteOrganizations deletes organizations with all that is in them, disabled ones too, each by itself. errs gets their failures:
// NOT_FOUND for one that does not exist. It returns the job that sweeps what is left, "" where nothing was deleted. A repeat of the request
// fails where its first attempt failed, and deletes nothing that was added or restored since. The ids are distinct.
func (s *Store) DeleteOrganizations(ctx context.Context, req *request.Request, ids []string, errs []error) (job string, err error) {
	return s.delete(ctx, req, collab.OrganizationRef{Account: req.Account}, things(collab.AnOrganization, ids, true), errs)
}

// DeleteDocuments deletes documents of an organization with all that is in them, as DeleteOrganizations does.
func (s *Store) DeleteDocuments(
	ctx context.Context, req *request.Request, org collab.OrganizationRef, ids []string, errs []error,
) (job string, err error) {
	return s.delete(ctx, req, org, things(collab.ADocument, ids, true), errs)
}

// delete deletes things by the request's own job.
func (s *Store) delete(ctx context.Context, req *request.Request, in collab.OrganizationRef, list []thing, errs []error) (job string, err error) {
	meant, err := s.intend(ctx, req, req.JobID(), in, list)
	if err != nil {
		return "", err
	}
	if s.markAll(ctx, req, in, list, meant, errs); len(meant) == 0 {
		return "", nil
	}
	return req.JobID(), nil
}

// intend keeps the job of what is there of things, and returns the incarnations of that; of a repeat what its first attempt kept under the
// id.
func (s *Store) intend(
	ctx context.Context, req *request.Request, id string, in collab.OrganizationRef, list []thing,
) (meant map[keys.Key]int64, err error) {
	job, err := s.Outbox.Begun(ctx, req, id, s.undelete+collab.SweepAfter)
	if err != nil {
		return nil, err
	}
	if job == nil {
		if job, err = s.newJob(ctx, req, id, in, list); err != nil {
			return nil, err
		}
	}
	meant = map[keys.Key]int64{}
	for _, th := range job.Things {
		meant[keys.Thing(in, th.Kind, th.ID)] = th.Incarnation
	}
	return meant, nil
}

// newJob keeps a job of what is there of things, unless nothing is.
func (s *Store) newJob(ctx context.Context, req *request.Request, id string, in collab.OrganizationRef, list []thing) (*collab.Job, error) {
	itemKeys := collab.Map(list, func(th thing) keys.Key { return keys.Thing(in, th.kind, th.id) })
	found, err := s.GetAll(ctx, itemKeys, true)
	if err != nil {
		return nil, err
	}
	job := &collab.Job{ID: id, Account: req.Account, In: in, Deletion: req.Mark()}
	for i, th := range list {
		var of collab.Lifetime
		if err := found[itemKeys[i]].Decode(&of); err != nil {
			return nil, err
		}
		if found[itemKeys[i]] != nil && of.DeletedAt == 0 {
			job.Things = append(job.Things, collab.JobThing{Kind: th.kind, ID: th.id, Incarnation: of.Incarnation})
		}
	}
	if len(job.Things) == 0 {
		return job, nil
	}
	return job, s.Outbox.AddJob(ctx, *job, s.undelete+collab.SweepAfter)
}

// markAll marks those of the things that are meant, by incarnation. errs gets the failures: NOT_FOUND for what is not meant.
func (s *Store) markAll(ctx context.Context, req *request.Request, in collab.OrganizationRef, list []thing, meant map[keys.Key]int64, errs []error) {
	store.All(len(list), func(i int) {
		th := list[i]
		if incarnation, ok := meant[keys.Thing(in, th.kind, th.id)]; ok {
			errs[i] = s.mark(ctx, req, i, in, th, incarnation)
		} else {
			kind := string(th.kind)
			errs[i] = collab.Errorf(collab.NotFound, "%s does not exist", strings.ToUpper(kind[:1])+kind[1:])
		}
	})
}

// mark marks a thing of an incarnation as deleted, takes it out of the lists of folders, and records the event. What is not of that
// incarnation any more was deleted before, and what the request has deleted may have been restored.
func (s *Store) mark(ctx context.Context, req *request.Request, n int, in collab.OrganizationRef, th thing, incarnation int64) error {
	var ev *collab.Event
	k := keys.Thing(in, th.kind, th.id)
	err := s.Try(ctx, th.id, req.Mark(), func(ctx context.Context) ([]store.Write, error) {
		ev = nil
		before, err := s.Get(ctx, k)
		var of collab.Lifetime
		if err == nil {
			err = before.Decode(&of)
		}
		if err != nil || before == nil || of.DeletedAt != 0 || of.Incarnation != incarnation || of.Deletion == req.Mark() {
			return nil, err
		}
		after := maps.Clone(before)
		after[keys.DeletedAt], after[keys.Deletion] = store.Number(s.Millis()), store.Text(req.Mark())
		if s.undelete > 0 { // from the first attempt on, as the job counts
			after[keys.Until] = store.Number(req.IDs.Start().Add(s.undelete).UnixMilli())
		}
		delete(after, keys.In)
		delete(after, keys.DocAnn)
		writes := []store.Write{store.Change(before, after, req.Mark())}
		if th.tell {
			ev = th.event(in)
			ev.ID, ev.Time = req.IDs.For(n, th.id), req.Millis()
		}
		outbox, err := s.Outbox.Record(ctx, ev)
		return append(writes, outbox...), err
	})
	if err == nil {
		req.Recorded(ev)
		s.Forget(k)
	}
	return err
}

// DeleteFolder deletes a folder with the folders and documents in it, and returns the job that sweeps what is left; NOT_FOUND when it does
// not exist, unless an earlier attempt at the request has deleted it. The folder itself goes last, so that a repeat finds what is left.
func (s *Store) DeleteFolder(ctx context.Context, req *request.Request, org collab.OrganizationRef, id string) (job string, err error) {
	it, err := s.Get(ctx, keys.Folder(org, id))
	if err != nil {
		return "", err
	}
	begun, err := s.Outbox.Begun(ctx, req, req.JobID(), s.undelete+collab.SweepAfter)
	if err != nil {
		return "", err
	}
	var of collab.Lifetime
	if err := it.Decode(&of); err != nil {
		return "", err
	}
	switch there := it != nil && of.DeletedAt == 0; {
	case begun != nil && (!there || of.Deletion == req.Mark() || !slices.Contains(begun.Things, collab.JobThing{
		Kind: collab.AFolder, ID: id, Incarnation: of.Incarnation,
	})):
		return req.JobID(), nil // it is deleted, and may have been restored or added again since
	case !there:
		return "", collab.Errorf(collab.NotFound, "folder %q does not exist", id)
	}
	within, err := s.FoldersWithin(ctx, org, id, collab.MaxFolderDepth)
	if err != nil {
		return "", err
	}
	levels := [][]string{{id}}
	for n := 0; len(levels[n]) > 0; n++ {
		var below []string
		for _, f := range levels[n] {
			for _, in := range within[f] {
				below = append(below, in.ID)
			}
		}
		levels = append(levels, below)
	}
	var parts [][]thing // that are still to be deleted, one behind the other
	size := 0
	add := func(part []thing) error {
		parts, size = append(parts, part), size+len(part)
		if size < atOnce {
			return nil
		}
		defer func() { parts, size = nil, 0 }()
		return s.deleteParts(ctx, req, s.NewMark(), org, parts) // a repeat has another job, as it finds others of them
	}
	for _, f := range slices.Concat(levels...) {
		for after, more := "", true; more; {
			list, err := s.DocumentsBehind(ctx, org, f, after, atOnce)
			if err != nil {
				return "", err
			}
			ids := collab.Map(list, func(d collab.Document) string { return d.ID })
			if err := add(things(collab.ADocument, ids, false)); err != nil {
				return "", err
			}
			if more = len(ids) == atOnce; more {
				after = ids[len(ids)-1]
			}
		}
	}
	for n := len(levels) - 1; n > 0; n-- { // those within go first, and behind their documents: a repeat finds by them what is left
		for ids := range slices.Chunk(levels[n], atOnce) {
			if err := add(things(collab.AFolder, ids, false)); err != nil {
				return "", err
			}
		}
	}
	if begun != nil { // that may not have these
		if err := s.deleteParts(ctx, req, s.NewMark(), org, parts); err != nil {
			return "", err
		}
		parts = nil
	}
	parts = append(parts, things(collab.AFolder, []string{id}, true))
	return req.JobID(), s.deleteParts(ctx, req, req.JobID(), org, parts)
}

// deleteParts deletes what is there of things by a job of their own, part by part.
func (s *Store) deleteParts(ctx context.Context, req *request.Request, job string, org collab.OrganizationRef, parts [][]thing) error {
	meant, err := s.intend(ctx, req, job, org, slices.Concat(parts...))
	if err != nil {
		return err
	}
	for _, part := range parts {
		errs := make([]error, len(part))
		s.markAll(ctx, req, org, part, meant, errs)
		for _, err := range errs {
			if err != nil && collab.CodeOf(err) != collab.NotFound {
				return err
			}
		}
	}
	return nil
}

// atOnce is how many folders and documents of a folder are deleted by one job: fewer than twice as many.
const atOnce = 250
