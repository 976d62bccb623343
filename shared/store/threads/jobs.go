package threads

import (
	"context"
	"strings"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
	"collabdata/shared/tx"
)

// sweptAtOnce is how many items a job deletes before it notes how far it is: one that dies does as much again.
const sweptAtOnce = 500

// jobReserve is the time of a run that is left when it begins no further step.
const jobReserve = 8 * time.Second

// RunJob carries a job on until it is done, or the time is nearly up: then its pending work brings it back. Each step may be repeated, and several
// runs side by side do no harm. What is there again under an id that was deleted, it leaves alone.
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
	for p.Next < job.Size() || job.Rest != nil {
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
		} else if done {
			job.Rest = nil
		}
		if err := s.Outbox.SaveJobProgress(ctx, acct, id, p); err != nil {
			return err
		}
	}
	if p.Next < job.Size() || job.Rest != nil {
		return nil
	}
	p.State = collab.JobDone
	return s.Outbox.SaveJobProgress(ctx, acct, id, p)
}

// jobStep does some of the next part of a job. It returns how many items it deleted, and whether the part is done.
func (s *Store) jobStep(ctx context.Context, job *collab.Job, next int) (n int, done bool, err error) {
	switch {
	case next < len(job.Threads):
		return s.Sweep(ctx, job.Document(job.Things[0]), job.Threads[next].ID, sweptAtOnce)
	case job.Threads != nil:
		return s.deleteRest(ctx, job)
	}
	return s.sweepThing(ctx, job, job.Things[next])
}

// sweepThing does some of sweep for the incarnation that was deleted, and for those before it, and at the end deletes the item where it is still the
// deleted one: so none of them is left when the id begins anew. It does nothing where the deletion was undone.
func (s *Store) sweepThing(ctx context.Context, job *collab.Job, th collab.JobThing) (n int, done bool, err error) {
	k := table.Thing(job.In, th.Kind, th.ID)
	if begun, err := s.Directory.BeginSweep(ctx, k, th.Incarnation, job.Deletion); err != nil || !begun {
		return 0, err == nil, err
	}
	for at := th; at.Incarnation >= 0; at.Incarnation-- {
		var swept int
		switch at.Kind {
		case collab.AnOrganization:
			swept, done, err = s.sweepOrganization(ctx, collab.OrganizationRef{Account: job.Account, Organization: at.ID, Incarnation: at.Incarnation})
		case collab.AFolder:
			folder := collab.FolderRef{OrganizationRef: job.In, Folder: at.ID, Incarnation: at.Incarnation}
			swept, err = s.Directory.SweepGrants(ctx, table.FolderGranted(folder))
			done = err == nil
		default:
			swept, done, err = s.sweepBelow(ctx, job.Document(at))
		}
		if n += swept; err != nil || !done {
			return n, false, err
		}
	}
	return n, true, s.Directory.EndSweep(ctx, k, th.Incarnation)
}

// deleteRest deletes more of the annotations that a selection had beyond those that its request deleted, but none that was added since.
func (s *Store) deleteRest(ctx context.Context, job *collab.Job) (n int, done bool, err error) {
	doc := job.Document(job.Things[0]) // deleted or not, as it may be restored
	t := &tx.Tx{Identity: collab.Identity{Account: job.Account}, Now: s.Now(), IDs: collab.NewIDs(s.Now(), []byte(s.NewMark()))}
	ids, err := s.Select(ctx, doc, job.Rest.Selector, collab.MaxDeleted)
	more := len(ids) > collab.MaxDeleted
	if more {
		ids, err = ids[:collab.MaxDeleted], nil
	}
	if err != nil || len(ids) == 0 {
		return 0, err == nil, err
	}
	_, errs, err := s.DeleteAnnotations(ctx, t, doc, ids, *job.Rest)
	for _, failure := range errs {
		if failure == nil {
			n++
		} else if collab.CodeOf(failure) != collab.NotFound {
			err = failure
		}
	}
	return n, !more && err == nil, err
}

// sweepBelow deletes some of what lies below an incarnation of a document.
func (s *Store) sweepBelow(ctx context.Context, doc collab.DocumentRef) (n int, done bool, err error) {
	if n, err = s.Directory.SweepGrants(ctx, table.DocumentGranted(doc)); err != nil {
		return n, false, err
	}
	partition := table.DocumentPartition(doc)
	for _, pk := range []string{partition, table.PreferencePartition(doc), table.SeenPartition(doc)} {
		swept, done, err := s.empty(ctx, pk, func(ctx context.Context, sk string) error {
			if ann, comment, err := table.ParseAnnotation(sk); err == nil && comment == 0 && pk == partition {
				return s.Delete(ctx, table.AnnotationID(doc, ann)) // before its head, by which it is found
			}
			return nil
		})
		if n += swept; err != nil || !done {
			return n, false, err
		}
	}
	return n, true, nil
}

// empty deletes some of a partition, and calls before ahead of each item with its sort key.
func (s *Store) empty(ctx context.Context, pk string, before func(ctx context.Context, sk string) error) (n int, done bool, err error) {
	items, more, err := s.QueryPage(ctx, store.Scan{PK: pk, Keys: store.Everything, Limit: sweptAtOnce, Strong: true, Project: []string{table.PK, table.SK}})
	if err != nil {
		return 0, false, err
	}
	err = store.Each(ctx, len(items), func(ctx context.Context, i int) error {
		if before != nil {
			if err := before(ctx, items[i].Text(table.SK)); err != nil {
				return err
			}
		}
		return s.Delete(ctx, items[i].Key())
	})
	return len(items), !more && err == nil, err
}

// sweepOrganization deletes some of what lies below an incarnation of an organization.
func (s *Store) sweepOrganization(ctx context.Context, org collab.OrganizationRef) (n int, done bool, err error) {
	documents, _, err := s.QueryPage(ctx, store.Scan{PK: table.OrganizationPartition(org), Keys: store.Children(table.Documents), Limit: 20, Strong: true})
	if err != nil {
		return 0, false, err
	}
	for _, it := range documents {
		doc, err := s.Directory.DocumentOf(org, it)
		if err != nil {
			return n, false, err
		}
		for ; doc.Incarnation >= 0; doc.Incarnation-- {
			swept, done, err := s.sweepBelow(ctx, doc)
			if n += swept; err != nil || !done {
				return n, false, err
			}
		}
		if err := s.Delete(ctx, it.Key()); err != nil {
			return n, false, err
		}
		n++
	}
	if len(documents) > 0 {
		return n, false, nil
	}
	all := table.AllNotification(org, 0, "").PK
	for _, pk := range []string{table.GrantPartition(org), all, table.OrganizationPartition(org)} {
		swept, done, err := s.empty(ctx, pk, func(ctx context.Context, sk string) error { return s.sweepBehind(ctx, org, pk == all, sk) })
		if n += swept; err != nil || !done {
			return n, false, err
		}
	}
	return n, true, nil
}

// sweepBehind deletes what an item of the organization's partitions, or of its list for all, leads to: lists of a user, users of a group, notifications.
func (s *Store) sweepBehind(ctx context.Context, org collab.OrganizationRef, all bool, sk string) error {
	_, escaped, _ := strings.Cut(sk, "#")
	id, err := table.Unescape(escaped)
	if err != nil {
		return nil // of a later version
	}
	var partitions []string
	switch {
	case all:
		return s.Delete(ctx, table.Notification(org, id))
	case strings.HasPrefix(sk, table.Members):
		partitions = []string{table.UserNotification(org, id, 0, "").PK, table.NotificationState(org, id, 0, "").PK}
	case strings.HasPrefix(sk, table.Groups):
		partitions = []string{table.GroupUser(org, id, "").PK}
	}
	for _, pk := range partitions {
		for done := false; !done; {
			_, done, err = s.empty(ctx, pk, func(ctx context.Context, sk string) error {
				if _, escaped, timed := strings.Cut(sk, "#"); timed && pk == partitions[0] {
					if notification, err := table.Unescape(escaped); err == nil {
						return s.Delete(ctx, table.Notification(org, notification))
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
