package threads

import (
	"context"
	"strings"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// sweptAtOnce is how many items a job deletes before it notes how far it is: one that dies does as much again.
const sweptAtOnce = 500

// jobReserve is the time of a run that is left when it begins no further step.
const jobReserve = 8 * time.Second

// RunJob carries a job on until it is done, or the time is nearly up: then its pending work brings it back. Each step may be repeated, and
// several runs side by side do no harm. What is there again under an id that was deleted, it leaves alone.
func (s *Store) RunJob(ctx context.Context, acct, id string) error {
	job, err := s.Outbox.Job(ctx, acct, id)
	if err != nil {
		return err
	}
	p, err := s.Outbox.JobProgress(ctx, acct, id)
	if err != nil || p.State == collab.JobDone {
		return err
	}
	p.State = collab.JobRunning
	for !job.Done(p.Next) {
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < jobReserve {
			break
		}
		n, done, err := s.jobStep(ctx, &job, p.Next)
		if err != nil {
			return err
		}
		p.Done += int64(n)
		if done && p.Next < job.Size() {
			p.Next++
		}
		if err := s.Outbox.SaveJobProgress(ctx, acct, id, p); err != nil {
			return err
		}
	}
	if !job.Done(p.Next) {
		return nil
	}
	p.State = collab.JobDone
	return s.Outbox.SaveJobProgress(ctx, acct, id, p)
}

// jobStep does some of the next part of a job, or of what is behind the last. It returns how many items it deleted, and whether the part is
// done.
func (s *Store) jobStep(ctx context.Context, job *collab.Job, next int) (n int, done bool, err error) {
	switch {
	case next >= job.Size() && job.Notifications != nil:
		n, err = s.Outbox.DeleteMoreNotifications(ctx, job)
		return n, false, err
	case next >= job.Size():
		n, err = s.deleteRest(ctx, job)
		return n, false, err
	case job.Threads != nil:
		return s.Sweep(ctx, job.Document(job.Things[0]), job.Threads[next].ID, sweptAtOnce)
	case job.Notifications != nil:
		return 1, true, s.Outbox.SweepNotification(ctx, job.In, job.Notifications.List[next])
	}
	return s.sweepThing(ctx, job, job.Things[next])
}

// sweepThing deletes some of what lies below the incarnation that was deleted, and at the end its item. It does nothing where the deletion
// was undone.
func (s *Store) sweepThing(ctx context.Context, job *collab.Job, th collab.JobThing) (n int, done bool, err error) {
	k := keys.Thing(job.In, th.Kind, th.ID)
	if begun, err := s.Directory.BeginSweep(ctx, k, th.Incarnation, job.Deletion); err != nil || !begun {
		return 0, err == nil, err
	}
	switch th.Kind {
	case collab.AnOrganization:
		n, done, err = s.sweepOrganization(
			ctx, collab.OrganizationRef{Account: job.Account, Organization: th.ID, Incarnation: th.Incarnation},
		)
	case collab.AFolder:
		folder := collab.FolderRef{OrganizationRef: job.In, Folder: th.ID, Incarnation: th.Incarnation}
		n, err = s.Directory.SweepGrants(ctx, keys.FolderGranted(folder))
		done = err == nil
	default:
		n, done, err = s.sweepBelow(ctx, job.Document(th))
	}
	if err != nil || !done {
		return n, false, err
	}
	return n, true, s.Directory.EndSweep(ctx, k, th.Incarnation)
}

// deleteRest deletes more of the annotations that a selection had beyond those that its request deleted, but none that was added since. At
// the end there is no rest.
func (s *Store) deleteRest(ctx context.Context, job *collab.Job) (n int, err error) {
	doc, rest := job.Document(job.Things[0]), *job.Rest // deleted or not, as it may be restored
	ids, err := s.Select(ctx, doc, rest.Selector, collab.MaxDeleted)
	if len(ids) > collab.MaxDeleted {
		ids, err = ids[:collab.MaxDeleted], nil
	} else if err == nil {
		job.Rest = nil
	}
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	t := s.Outbox.JobRequest(job)
	_, errs, err := s.DeleteAnnotations(ctx, t, doc, ids, rest)
	for _, failure := range errs {
		if failure == nil {
			n++
		} else if collab.CodeOf(failure) != collab.NotFound {
			err = failure
		}
	}
	return n, err
}

// sweepBelow deletes some of what lies below an incarnation of a document.
func (s *Store) sweepBelow(ctx context.Context, doc collab.DocumentRef) (n int, done bool, err error) {
	if n, err = s.Directory.SweepGrants(ctx, keys.DocumentGranted(doc)); err != nil {
		return n, false, err
	}
	for _, of := range []struct {
		pk     string
		keys   store.Span
		before func(ctx context.Context, sk string) error
	}{
		{keys.DocumentPartition(doc), store.Everything, func(ctx context.Context, sk string) error {
			if ann, comment, err := keys.ParseAnnotation(sk); err == nil && comment == 0 {
				return s.Delete(ctx, keys.AnnotationID(doc, ann)) // it is found by the head
			}
			return nil
		}},
		{keys.DocumentNotification(doc, 0, "").PK, store.Everything, func(ctx context.Context, sk string) error {
			return s.Outbox.SweepListed(ctx, doc, sk)
		}},
		{keys.MailPartition(doc), store.Everything, nil},
		{keys.SeenPartition(doc), store.Everything, nil},
		{keys.RemovedFromPartition(doc), store.Everything, nil},
	} {
		swept, done, err := s.empty(ctx, of.pk, of.keys, of.before)
		if n += swept; err != nil || !done {
			return n, false, err
		}
	}
	swept, err := s.Directory.SweepPreferences(ctx, doc)
	return n + swept, err == nil, err
}

// empty deletes some of a partition, and calls before ahead of each item with its sort key.
func (s *Store) empty(
	ctx context.Context, pk string, itemKeys store.Span, before func(ctx context.Context, sk string) error,
) (n int, done bool, err error) {
	items, more, err := s.QueryPage(
		ctx, store.Scan{PK: pk, Keys: itemKeys, Limit: sweptAtOnce, Strong: true, Project: []string{keys.PK, keys.SK}},
	)
	if err != nil {
		return 0, false, err
	}
	err = store.Each(ctx, len(items), func(ctx context.Context, i int) error {
		if before != nil {
			if err := before(ctx, items[i].Text(keys.SK)); err != nil {
				return err
			}
		}
		return s.Delete(ctx, items[i].Key())
	})
	return len(items), !more && err == nil, err
}

// sweepOrganization deletes some of what lies below an incarnation of an organization.
func (s *Store) sweepOrganization(ctx context.Context, org collab.OrganizationRef) (n int, done bool, err error) {
	documents, _, err := s.QueryPage(
		ctx, store.Scan{PK: keys.OrganizationPartition(org), Keys: store.Children(keys.Documents), Limit: 20, Strong: true},
	)
	if err != nil {
		return 0, false, err
	}
	for _, it := range documents {
		doc, err := s.Directory.DocumentOf(org, it)
		if err != nil {
			return n, false, err
		}
		swept, done, err := s.sweepBelow(ctx, doc)
		if n += swept; err != nil || !done {
			return n, false, err
		}
		if err := s.Delete(ctx, it.Key()); err != nil {
			return n, false, err
		}
		n++
	}
	if len(documents) > 0 {
		return n, false, nil
	}
	for _, pk := range []string{
		keys.GrantPartition(org), keys.RemovedPartition(org), keys.AllNotification(org, 0, "").PK, keys.PreferencePartition(org),
		keys.OrganizationPartition(org),
	} {
		swept, done, err := s.empty(ctx, pk, store.Everything, func(ctx context.Context, sk string) error { return s.sweepGroup(ctx, org, sk) })
		if n += swept; err != nil || !done {
			return n, false, err
		}
	}
	return n, true, nil
}

// sweepGroup deletes the users of a group, by the sort key of its item in the organization's partition.
func (s *Store) sweepGroup(ctx context.Context, org collab.OrganizationRef, sk string) error {
	escaped, ok := strings.CutPrefix(sk, keys.Groups)
	group, err := keys.Unescape(escaped)
	if !ok || err != nil {
		return nil // it is another item
	}
	for done := false; !done && err == nil; {
		_, done, err = s.empty(ctx, keys.GroupUser(org, group, "").PK, store.Everything, nil)
	}
	return err
}
