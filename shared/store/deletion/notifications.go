package deletion

import (
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/request"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"
)

const (
	readAtOnce = 100 // notifications in memory
	mostReads  = 20
)

// DeleteNotifications deletes the notifications of q, from one user's inbox or for everyone. It
// returns their ids and errors in the order of q's distinct ids, or newest first. An error is
// NOT_FOUND or nil. Without ids it deletes at most collab.MaxDeleted, and a job deletes the rest
// that exists now; id is that job, or "". A retry of the request gives the same errors, and deletes
// nothing that was added since.
func (s *Store) DeleteNotifications(
	ctx context.Context, req *request.Request, org collab.OrganizationRef, q collab.NotificationQuery,
) (ids []string, errs []error, id string, err error) {
	job, _, _, err := s.Outbox.EarlierJob(ctx, req)
	if err == nil && job == nil {
		job = &outbox.Job{
			ID: req.JobID(), Account: req.Account, In: org,
			Notifications: &outbox.JobNotifications{User: q.User, Rest: &q},
		}
		if err = s.pick(ctx, org, job.Notifications); err == nil {
			if job.HasRest() {
				_, _, err = s.Outbox.AddJob(ctx, *job)
			} else if len(job.Notifications.List) > 0 {
				err = s.Outbox.Remember(ctx, *job)
			}
		}
	}
	if err != nil {
		return nil, nil, "", err
	}
	at := make(map[string]outbox.JobNotification, len(job.Notifications.List))
	for _, n := range job.Notifications.List {
		at[n.ID] = n
		if q.IDs == nil {
			ids = append(ids, n.ID)
		}
	}
	if q.IDs != nil {
		ids = q.IDs
	}
	errs = store.All(len(ids), func(i int) error {
		if n, ok := at[ids[i]]; ok {
			return s.Inbox.DeleteNotification(ctx, org, q.User, n)
		}
		return collab.Errorf(collab.NotFound, "notification %q does not exist in organization %q", ids[i], org.Organization)
	})
	if job.HasRest() {
		req.Leaves(job.ID)
		id = job.ID
	}
	return ids, errs, id, nil
}

func (s *Store) deleteMoreNotifications(ctx context.Context, job *outbox.Job, p *outbox.JobProgress) error {
	part := *job.Notifications
	if p.From != "" {
		part.From = p.From
	}
	err := s.pick(ctx, job.In, &part)
	if collab.CodeOf(err) == collab.NotFound {
		p.Deleting = false
		return nil
	}
	if err != nil {
		return err
	}
	err = store.Each(ctx, len(part.List), func(ctx context.Context, i int) error {
		return s.Inbox.DeleteNotification(ctx, job.In, part.User, part.List[i])
	})
	if err == nil {
		p.Deleting, p.From, p.Done = part.Rest != nil, part.From, p.Done+int64(len(part.List))
	}
	return err
}

// pick moves the next notifications from the rest of n to its ids.
func (s *Store) pick(ctx context.Context, org collab.OrganizationRef, n *outbox.JobNotifications) error {
	q := *n.Rest
	parts := [][]string{nil}
	if q.IDs != nil {
		parts = slices.Collect(slices.Chunk(q.IDs, readAtOnce))
	}
	n.List = nil
	for _, q.IDs = range parts {
		for reads := 1; ; reads++ {
			entries, next, err := s.Inbox.Notifications(ctx, org, q, n.From, min(readAtOnce, s.bounds.deleted-len(n.List)))
			if err != nil {
				return err
			}
			for _, e := range entries {
				n.List = append(n.List, outbox.JobNotification{ID: e.ID, At: e.CreatedAt})
			}
			if n.From = next; next == "" {
				break
			}
			if len(n.List) == s.bounds.deleted || reads == mostReads {
				return nil
			}
		}
	}
	n.Rest = nil
	return nil
}
