package threads

import (
	"context"
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
	if job.Threads != nil && next < len(job.Threads) {
		return s.Sweep(ctx, job.Documents[0], job.Threads[next].ID, sweptAtOnce)
	}
	if job.Threads == nil && next < len(job.Documents) {
		return s.sweepDocument(ctx, job.Documents[next])
	}
	return s.deleteRest(ctx, job)
}

// deleteRest deletes more of the annotations that a selection had beyond those that its request deleted, but none that was added since.
func (s *Store) deleteRest(ctx context.Context, job *collab.Job) (n int, done bool, err error) {
	doc := job.Documents[0]
	switch err := s.Directory.CheckDocument(ctx, doc); {
	case collab.CodeOf(err) == collab.NotFound:
		return 0, true, nil // all of it is gone
	case err != nil:
		return 0, false, err
	}
	t := &tx.Tx{Identity: collab.Identity{Account: job.Account}, Now: s.Now(), IDs: collab.NewIDs(s.Now(), []byte(s.NewMark()))}
	deletion := collab.AnnotationDeletion{Selector: job.Rest.Selector, Notify: job.Rest.Notify, Before: job.Rest.Before}
	_, errs, err := s.DeleteAnnotations(ctx, t, doc, nil, deletion)
	for _, err := range errs {
		if err == nil {
			n++
		}
	}
	return n, n == 0 && err == nil, err
}

// sweepDocument deletes some of what lies below an incarnation of a document, and at the end the document's item where it is still the deleted one.
func (s *Store) sweepDocument(ctx context.Context, doc collab.DocumentRef) (n int, done bool, err error) {
	partition := table.DocumentPartition(doc)
	for _, pk := range []string{partition, table.PreferencePartition(doc), partition + "#SEEN"} {
		items, more, err := s.QueryPage(ctx, store.Scan{PK: pk, Keys: store.Everything, Limit: sweptAtOnce, Strong: true, Project: []string{table.PK, table.SK}})
		if err != nil {
			return n, false, err
		}
		if err := store.Each(ctx, len(items), func(ctx context.Context, i int) error {
			if ann, comment, err := table.ParseAnnotation(items[i].Text(table.SK)); err == nil && comment == 0 && pk == partition {
				if err := s.Delete(ctx, table.AnnotationID(doc, ann)); err != nil { // before its head, by which it is found
					return err
				}
			}
			return s.Delete(ctx, items[i].Key())
		}); err != nil {
			return n, false, err
		}
		if n += len(items); more {
			return n, false, nil
		}
	}
	return n, true, s.Directory.ForgetDocument(ctx, doc)
}
