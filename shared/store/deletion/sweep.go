package deletion

import (
	"context"
	"strings"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"
)

// reserve is the time of a run that is left when it begins no further step.
const reserve = 8 * time.Second

// RunJob carries a job on until it is done, waits, or the time is nearly up. It returns when the job is to go on, 0 for never: once it is
// done. Each step may be repeated. Of several runs side by side one alone goes on.
func (s *Store) RunJob(ctx context.Context, acct, id string) (next collab.Millis, err error) {
	job, err := s.Outbox.Job(ctx, acct, id)
	var p outbox.JobProgress
	if err == nil {
		p, err = s.Outbox.JobProgress(ctx, acct, id)
	}
	if collab.CodeOf(err) == collab.NotFound {
		return 0, nil // it was done long ago
	}
	for err == nil && p.State != collab.JobDone {
		now := s.Millis()
		if p.Due > now {
			return p.Due, nil
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < reserve {
			return now, nil
		}
		was, saved := p, false
		if err = s.step(ctx, &job, &p); err == nil {
			saved, err = s.Outbox.SaveJobProgress(ctx, &job, was, &p)
		}
		if err == nil && !saved {
			return now, nil
		}
	}
	return 0, err
}

// step does some of a job, and notes how far that has come.
func (s *Store) step(ctx context.Context, job *outbox.Job, p *outbox.JobProgress) (err error) {
	p.State = collab.JobRunning
	switch {
	case p.Deleting:
		if err = s.deleteRest(ctx, job, p); !p.Deleting {
			p.State, p.Due = collab.JobWaiting, job.SweepAt
		}
	case job.Erasure != nil:
		err = s.Erasure.Step(ctx, job, p)
	case p.Next < job.Size():
		err = s.sweep(ctx, job, p)
	}
	if !p.Deleting && p.Next >= job.Size() {
		p.State = collab.JobDone
	}
	return err
}

// deleteRest deletes some of what the request of a job has left to be deleted.
func (s *Store) deleteRest(ctx context.Context, job *outbox.Job, p *outbox.JobProgress) (err error) {
	switch {
	case job.Erasure != nil:
		p.Deleting, err = s.Erasure.CutOffRest(ctx, job, p)
	case job.Contents:
		err = s.deleteContents(ctx, job, p)
	case job.Rest != nil:
		p.Deleting, err = s.Threads.DeleteRest(ctx, job)
	default:
		err = s.deleteMoreNotifications(ctx, job, p)
	}
	return err
}

// sweep deletes some of what is still stored of the part of a job that comes next, and notes how far it has come.
func (s *Store) sweep(ctx context.Context, job *outbox.Job, p *outbox.JobProgress) (err error) {
	var n int
	var done bool
	switch {
	case job.Threads != nil:
		n, done, err = s.Threads.Sweep(ctx, job.Document(job.Things[0]), job.Threads[p.Next].ID, s.bounds.swept)
	case job.Notifications != nil:
		n, done, err = 1, true, s.Inbox.SweepNotification(ctx, job.In, job.Notifications.List[p.Next])
	default:
		n, done, err = s.sweepThing(ctx, job, p)
	}
	if p.Done += int64(n); done && err == nil {
		p.Next++
	}
	return err
}

// sweepThing deletes some of what is in a thing of a job, and at the end its item. It waits until the deletion is SweepAfter ago, which may
// be another one's, and does nothing where the thing is not deleted.
func (s *Store) sweepThing(ctx context.Context, job *outbox.Job, p *outbox.JobProgress) (n int, done bool, err error) {
	th := job.Things[p.Next]
	k := keys.Thing(job.In, th.Kind, th.ID)
	it, of, err := s.lifetime(ctx, k)
	if there := it != nil && of.Incarnation == th.Incarnation; err != nil || there && of.DeletedAt == 0 {
		return 0, true, err
	} else if at := of.DeletedAt + outbox.SweepAfter.Milliseconds(); there && at > s.Millis() {
		p.State, p.Due = collab.JobWaiting, at
		return 0, false, nil
	}
	switch th.Kind {
	case collab.AnOrganization:
		org := collab.OrganizationRef{Account: job.Account, Organization: th.ID, Incarnation: th.Incarnation}
		n, done, err = s.sweepOrganization(ctx, org)
	case collab.AFolder:
		folder := collab.FolderRef{OrganizationRef: job.In, Folder: th.ID, Incarnation: th.Incarnation}
		n, err = s.sweepGrants(ctx, keys.FolderGranted(folder))
		done = err == nil
	default:
		n, done, err = s.sweepDocument(ctx, job.Document(th))
	}
	if err == nil && done {
		err = s.endSweep(ctx, k, th.Incarnation)
	}
	return n, done && err == nil, err
}

// endSweep deletes the item of what is deleted, once nothing is left in it, unless it was added again.
func (s *Store) endSweep(ctx context.Context, k keys.Key, incarnation int64) error {
	it, of, err := s.lifetime(ctx, k)
	if err != nil || of.DeletedAt == 0 || of.Incarnation != incarnation {
		return err
	}
	_, err = s.Write(ctx, store.DeleteRead(it, keys.DeletedAt, keys.Incarnation))
	return err
}

// sweepDocument deletes some of what is in an incarnation of a document.
func (s *Store) sweepDocument(ctx context.Context, doc collab.DocumentRef) (n int, done bool, err error) {
	if n, err = s.sweepGrants(ctx, keys.DocumentGranted(doc)); err != nil {
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
			return s.Inbox.SweepListed(ctx, doc, sk)
		}},
		{keys.MailPartition(doc), store.Everything, nil},
		{keys.SeenPartition(doc), store.Everything, nil},
		{keys.GonePartition(doc), store.Everything, func(ctx context.Context, sk string) error {
			_, ann, err := keys.ParseAnnotationGone(sk)
			if err != nil {
				return nil
			}
			return s.Delete(ctx, keys.AnnotationID(doc, ann)) // of a deleted one there is no head
		}},
		{keys.RemovedFromPartition(doc), store.Everything, nil},
	} {
		swept, done, err := s.empty(ctx, of.pk, of.keys, of.before)
		if n += swept; err != nil || !done {
			return n, false, err
		}
	}
	swept, err := s.sweepPreferences(ctx, doc)
	return n + swept, err == nil, err
}

// empty deletes some of a partition, and first calls before, if any, with the sort key of each item.
func (s *Store) empty(
	ctx context.Context, pk string, itemKeys store.Span, before func(ctx context.Context, sk string) error,
) (n int, done bool, err error) {
	items, more, err := s.QueryPage(
		ctx, store.Scan{PK: pk, Keys: itemKeys, Limit: s.bounds.swept, Strong: true, Project: []string{keys.PK, keys.SK}},
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

// sweepOrganization deletes some of what is in an incarnation of an organization.
func (s *Store) sweepOrganization(ctx context.Context, org collab.OrganizationRef) (n int, done bool, err error) {
	documents, _, err := s.QueryPage(
		ctx, store.Scan{PK: keys.OrganizationPartition(org), Keys: store.Children(keys.Documents), Limit: 20, Strong: true},
	)
	if err != nil {
		return 0, false, err
	}
	for _, it := range documents {
		doc, err := s.DocumentOf(org, it)
		if err != nil {
			return n, false, err
		}
		swept, done, err := s.sweepDocument(ctx, doc)
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

// sweepGrants deletes the grants of a list of index in, keys.DocumentGranted or keys.FolderGranted, and returns how many. Those of the
// last second may be missing in it.
func (s *Store) sweepGrants(ctx context.Context, granted string) (n int, err error) {
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

// sweepPreferences deletes the preferences for a document, and returns how many. Those that came before it stay.
func (s *Store) sweepPreferences(ctx context.Context, doc collab.DocumentRef) (n int, err error) {
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
