// Package erasure deletes and exports personal data by field.
//
// A request ends the access of users and stores a job. A minute later, the job walks the
// organizations once. It deletes the users' own items, blanks their texts, and puts the erased user
// in the attributes that package keys lists. It does not search texts, and skips items that expire
// and hold no text of users.
//
// Data added after the request is kept: each item has the time at which it was added.
package erasure

import (
	"context"
	"encoding/json"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/threads"
)

// Store is the table with erasure. It is safe for concurrent use.
type Store struct {
	*directory.Store
	Outbox  *outbox.Store
	Inbox   *inbox.Store
	Threads *threads.Store

	skew    time.Duration // store.ClockSkew, except in tests
	queries int           // queries of a step; 0 for the default
	inOne   int           // organizations in which a request ends access itself

	looked, lookedBytes int // limits of one call of Collect, in items and bytes
}

// New returns a Store for the directory of threads.
func New(t *threads.Store, in *inbox.Store) *Store {
	return &Store{
		Store: t.Directory, Outbox: t.Outbox, Inbox: in, Threads: t, skew: store.ClockSkew, inOne: 1_000, looked: 10_000, lookedBytes: 10_000_000,
	}
}

// begins is the wait of a job. No request takes longer than 30 s, so writes of earlier requests are
// complete.
const begins = time.Minute

// Erase starts to delete the data of at most 30 users in existing organizations, or in the whole
// account if organizations is nil. It ends their access, records an event for each user, and
// returns the job that does the rest. In an account of more than 1,000 organizations, the job also
// ends the access. A retry of the request starts no second job.
func (s *Store) Erase(ctx context.Context, req *request.Request, users []string, organizations []collab.OrganizationRef) (string, error) {
	job, err := s.Outbox.Job(ctx, req.Account, req.JobID())
	if collab.CodeOf(err) == collab.NotFound {
		job, err = s.begin(ctx, req, users, organizations)
	}
	if err != nil {
		return "", err
	}
	req.Recorded(events(&job)...)
	if !job.Erasure.CutOff {
		req.Leaves(job.ID)
	}
	return job.ID, s.Outlast(ctx, req.Now, s.skew)
}

// begin ends the access in small accounts, and stores the job with its events.
func (s *Store) begin(
	ctx context.Context, req *request.Request, users []string, organizations []collab.OrganizationRef,
) (job outbox.Job, err error) {
	e := &outbox.JobErasure{Users: users, Organizations: organizations, Before: req.Millis() + s.skew.Milliseconds()}
	for i, user := range users {
		e.Events = append(e.Events, req.IDs.For(i, user))
	}
	job = outbox.Job{
		ID: req.JobID(), Account: req.Account, In: collab.OrganizationRef{Account: req.Account},
		SweepAt: s.Millis() + begins.Milliseconds(), Erasure: e,
	}
	if e.CutOff, _, err = s.endAccess(ctx, &job, ""); err == nil {
		_, _, err = s.Outbox.AddJob(ctx, job, s.Outbox.Record(events(&job)...)...)
	}
	return job, err
}

// endAccess ends access in the organizations of a job, or in those of the account after an id. It
// reports whether it is done, and the last id.
func (s *Store) endAccess(ctx context.Context, job *outbox.Job, after string) (done bool, last string, err error) {
	list := job.Erasure.Organizations
	if done = true; list == nil {
		for o, err := range s.ListOrganizations(ctx, job.Account, after, s.inOne) {
			if err != nil {
				return false, after, err
			}
			if done = len(list) < s.inOne; !done {
				break
			}
			list = append(list, collab.OrganizationRef{Account: job.Account, Organization: o.ID, Incarnation: o.Incarnation})
		}
	}
	last = after
	err = store.Each(ctx, len(list), func(ctx context.Context, i int) error {
		return s.EndAccess(ctx, list[i], job.Erasure.Users, job.Erasure.Before)
	})
	if len(list) > 0 {
		last = list[len(list)-1].Organization
	}
	return done && err == nil, last, err
}

func events(job *outbox.Job) (all []*collab.Event) {
	e := job.Erasure
	in := collab.Map(e.Organizations, func(org collab.OrganizationRef) string { return org.Organization })
	for i, user := range e.Users {
		all = append(all, &collab.Event{
			ID: e.Events[i], Type: collab.UserErased, Account: job.Account, Time: e.Before, Erased: &collab.EventErased{UserID: user, OrganizationIDs: in},
		})
	}
	return all
}

// EndRest ends access in further organizations, and records the progress in p. It reports whether
// more remain.
func (s *Store) EndRest(ctx context.Context, job *outbox.Job, p *outbox.JobProgress) (more bool, err error) {
	done, last, err := s.endAccess(ctx, job, p.From)
	p.From = last
	return !done, err
}

// Step runs part of a job, and records the progress in p.
func (s *Store) Step(ctx context.Context, job *outbox.Job, p *outbox.JobProgress) error {
	e := job.Erasure
	at := store.From(keys.AnAccount, keys.Parts{Acct: job.Account})
	if e.Organizations != nil {
		at = store.From(keys.AnOrganization, collab.Map(e.Organizations, func(org collab.OrganizationRef) keys.Parts {
			return keys.PartsOf(org, collab.AnOrganization, org.Organization, org.Incarnation)
		})...)
	}
	if p.From != "" {
		if err := json.Unmarshal([]byte(p.From), &at); err != nil {
			return store.Unreadable(keys.Job(job.Account, job.ID), err)
		}
	}
	r := &pass{Store: s, people: newPeople(e.Users), before: e.Before, earlier: collab.EarliestID(e.Before + 1), threads: map[keys.Key]*thread{}}
	w := &store.Walk{Want: personal, Users: e.Users, Most: s.queries}
	at, err := s.Table.Step(ctx, w, at, func(ctx context.Context, found []store.Found) (int, error) {
		return len(found), store.Each(ctx, len(found), func(ctx context.Context, i int) error { return r.item(ctx, found[i]) })
	})
	if err != nil {
		return err
	}
	p.Done += r.written.Load()
	if p.From = ""; len(at) == 0 {
		p.Next, p.LastAt = job.Size(), s.Millis()
		return nil
	}
	text, err := collab.EncodeJSON(at)
	p.From = string(text)
	return err
}

// personal reports whether a kind has personal data: it belongs to a user, or has user objects.
func personal(k *keys.Kind) bool { return k.Of != nil && (k.NamesUser() || k.Users != "") }
