package outbox

import (
	"cmp"
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// A notification is deleted for everyone by its item. In the same transaction its event is withdrawn, so that no run of deliver makes it
// again or sends mail, and whom it was for is kept beside it, so that a job finds what points to it. Out of one inbox it is deleted by what
// its user did with it.

// What DeleteNotifications reads before it leaves the rest to a job.
const (
	readAtOnce = 100 // notifications in memory
	mostReads  = 20  // each examines inboxExamined at most
)

// DeleteNotifications deletes those notifications of the organization that q means, each by itself: out of the inbox of its user, else for
// everyone. It returns the ids, in the order of those of q, which are distinct, or newest first, and the failures in that order, nil for
// success: NOT_FOUND. Without ids they are collab.MaxDeleted at most, and a job deletes the others that are there by now. job is the job
// that it leaves, "" for none. A repeat of the request fails where its first attempt failed, and deletes nothing that was added since.
func (s *Store) DeleteNotifications(
	ctx context.Context, req *request.Request, org collab.OrganizationRef, q collab.NotificationQuery,
) (ids []string, errs []error, job string, err error) {
	meant, err := s.Begun(ctx, req, req.JobID(), collab.SweepAfter)
	if err == nil && meant == nil {
		meant = &collab.Job{ID: req.JobID(), Account: req.Account, In: org, Notifications: &collab.JobNotifications{User: q.User, Rest: &q}}
		if err = s.pick(ctx, org, meant.Notifications); err == nil {
			err = s.intend(ctx, *meant)
		}
	}
	if err != nil {
		return nil, nil, "", err
	}
	at := make(map[string]collab.JobNotification, len(meant.Notifications.List))
	for _, n := range meant.Notifications.List {
		at[n.ID] = n
		if q.IDs == nil {
			ids = append(ids, n.ID)
		}
	}
	if q.IDs != nil {
		ids = q.IDs
	}
	errs = make([]error, len(ids))
	store.All(len(ids), func(i int) {
		if n, ok := at[ids[i]]; ok {
			errs[i] = s.deleteNotification(ctx, org, q.User, n)
		} else {
			errs[i] = notificationMissing(org, ids[i])
		}
	})
	if !meant.Done(0) {
		job = meant.ID
	}
	return ids, errs, job, nil
}

// intend keeps a job on notifications, unless there are none; one that leaves nothing to be done only for repeats.
func (s *Store) intend(ctx context.Context, job collab.Job) error {
	switch {
	case !job.Done(0):
		return s.AddJob(ctx, job, collab.SweepAfter)
	case len(job.Notifications.List) > 0:
		return s.Remember(ctx, job)
	}
	return nil
}

// DeleteMoreNotifications deletes some of the rest of a job, and leaves them to a job of their own. At the end there is no rest.
func (s *Store) DeleteMoreNotifications(ctx context.Context, job *collab.Job) (n int, err error) {
	part := *job.Notifications
	err = s.pick(ctx, job.In, &part)
	if collab.CodeOf(err) == collab.NotFound {
		part.Rest, err = nil, nil // all of it is gone
	}
	if err != nil {
		return 0, err
	}
	job.Notifications.Rest, job.Notifications.From, part.Rest = part.Rest, part.From, nil
	if err := s.intend(ctx, collab.Job{ID: s.JobRequest(job).JobID(), Account: job.Account, In: job.In, Notifications: &part}); err != nil {
		return 0, err
	}
	return len(part.List), store.Each(ctx, len(part.List), func(ctx context.Context, i int) error {
		return s.deleteNotification(ctx, job.In, part.User, part.List[i])
	})
}

// pick lists the next notifications of the rest, and what is then the rest.
func (s *Store) pick(ctx context.Context, org collab.OrganizationRef, n *collab.JobNotifications) error {
	q := *n.Rest
	parts := [][]string{nil}
	if q.IDs != nil {
		parts = slices.Collect(slices.Chunk(q.IDs, readAtOnce))
	}
	n.List = nil
	for _, q.IDs = range parts {
		for reads := 1; ; reads++ {
			entries, next, err := s.Notifications(ctx, org, q, n.From, min(readAtOnce, collab.MaxDeleted-len(n.List)))
			if err != nil {
				return err
			}
			for _, e := range entries {
				n.List = append(n.List, collab.JobNotification{ID: e.ID, At: e.CreatedAt})
			}
			if n.From = next; next == "" {
				break
			}
			if len(n.List) == collab.MaxDeleted || reads == mostReads {
				return nil
			}
		}
	}
	n.Rest = nil
	return nil
}

// deleteNotification deletes a notification, out of the inbox of a user or for "" for everyone. One that is gone, or was made at another
// time, was deleted.
func (s *Store) deleteNotification(ctx context.Context, org collab.OrganizationRef, user string, of collab.JobNotification) error {
	it, n, err := s.notification(ctx, org, of.ID)
	if collab.CodeOf(err) == collab.NotFound || err == nil && n.CreatedAt != of.At {
		return nil
	}
	var to audience
	if err == nil {
		err = it.Decode(&to)
	}
	if err != nil {
		return err
	}
	event := cmp.Or(it.Text(keys.AddedBy), n.ID)
	if user == "" {
		withdrawn := store.NewItem(keys.Withdrawn(org.Account, event))
		withdrawn[keys.Expires] = store.Number(expiry(s.Millis()))
		_, err = s.Write(ctx, store.DeleteRead(it, keys.AddedBy), store.Put(withdrawn),
			store.Put(store.ItemOf(keys.Audience(org, n.CreatedAt, n.ID, ""), to)),
			store.Delete(keys.DocumentNotification(n.Document(org), n.CreatedAt, n.ID)))
		return err
	}
	if to.All {
		if err := s.Put(ctx, store.ItemOf(keys.Audience(org, n.CreatedAt, n.ID, user), audience{To: []string{user}})); err != nil {
			return err
		}
	}
	if err := s.MailSent(ctx, MailThread{n.Document(org), n.AnnotationID, user}, []string{event}); err != nil {
		return err
	}
	if _, err := s.Write(ctx, store.Update(keys.NotificationState(org, user, n.CreatedAt, n.ID),
		expression.Set(expression.Name(keys.DeletedAt), expression.Value(s.Millis())))); err != nil {
		return err
	}
	return s.Delete(ctx, keys.UserNotification(org, user, n.CreatedAt, n.ID))
}

// SweepNotification deletes what a notification that was deleted has left: whom it was for, what points to it, and what users did with it.
func (s *Store) SweepNotification(ctx context.Context, org collab.OrganizationRef, n collab.JobNotification) error {
	itemKeys := store.Span{From: keys.Audience(org, n.At, n.ID, "").SK, To: keys.AudienceEnd(n.At)}
	for it, err := range s.Items(ctx, store.Scan{PK: keys.Notification(org, n.ID).PK, Keys: itemKeys, Strong: true}) {
		if err == nil {
			err = s.sweepAudience(ctx, org, n, it)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// SweepListed deletes a notification that the list of a document names by a sort key, with all that hangs on it.
func (s *Store) SweepListed(ctx context.Context, doc collab.DocumentRef, sk string) error {
	at, id, err := keys.ParseListed(sk)
	if err != nil {
		return nil // of a later version
	}
	it, n, err := s.notification(ctx, doc.OrganizationRef, id)
	of := collab.JobNotification{ID: id, At: at}
	if err == nil && n.CreatedAt == at && n.Document(doc.OrganizationRef) == doc {
		err = s.sweepAudience(ctx, doc.OrganizationRef, of, it)
	}
	if err != nil && collab.CodeOf(err) != collab.NotFound {
		return err
	}
	return s.SweepNotification(ctx, doc.OrganizationRef, of)
}

// sweepAudience deletes an item that says whom a notification was for, and before it what they have of that.
func (s *Store) sweepAudience(ctx context.Context, org collab.OrganizationRef, n collab.JobNotification, it store.Item) error {
	var to audience
	if err := it.Decode(&to); err != nil {
		return err
	}
	var itemKeys []keys.Key
	for _, u := range to.To {
		itemKeys = append(itemKeys, keys.UserNotification(org, u, n.At, n.ID), keys.NotificationState(org, u, n.At, n.ID))
	}
	if to.All {
		itemKeys = append(itemKeys, keys.AllNotification(org, n.At, n.ID))
	}
	for _, k := range append(itemKeys, it.Key()) {
		if err := s.Delete(ctx, k); err != nil {
			return err
		}
	}
	return nil
}
