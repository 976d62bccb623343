// Package erasure forgets people: it takes their data out of the organizations of an account, and shows what these are.
//
// Nothing lists what names a person, and nothing need: a job reads all that the account has in the organizations meant, and asks of each item
// what becomes of it. The first pass clears what there is, and learns by what names the people were known. What was under way then may have
// written more, so after that has ended a second pass reads all of it once more. At last, once the receivers of webhooks have heard of whom
// they are to forget, the job forgets that itself.
//
// What was added after the deletion was answered is new, and stays: each item says when it was added. Who writes into a thread that was
// there before, and names a person who is being forgotten, may find the name gone.
package erasure

import (
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/hooks"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/outbox"
)

// Store is the table with what forgets people in it. Safe for concurrent use. Its methods fail as those of store.Table do, besides what they
// name.
type Store struct {
	*directory.Store
	Outbox *outbox.Store
	Inbox  *inbox.Store
	Hooks  *hooks.Store

	skew    time.Duration // store.ClockSkew, but in tests
	atOnce  int           // comments that a step deletes from the end of threads, before it ends
	queries int           // that a step makes to read what it looks at, and up to queryAtOnce more
}

// New returns what forgets people in the parts of a table.
func New(d *directory.Store, o *outbox.Store, in *inbox.Store) *Store {
	return &Store{Store: d, Outbox: o, Inbox: in, Hooks: hooks.New(o), skew: store.ClockSkew, atOnce: 500, queries: 200}
}

// The parts of a job.
const (
	firstPass = iota
	secondPass
	hearing // of webhooks' receivers: whom they are to forget
)

const (
	mostCutOff  = 30               // organizations in which a request itself ends the access of people
	hearingTime = 24 * time.Hour   // that receivers have at most
	hearingLook = 10 * time.Minute // from one look at whether they have heard to the next
)

// Erase begins to delete the data of users, at most 30, in organizations, which exist, or for nil in all of the account. It returns the job,
// which ends their access at once and goes on for some minutes: more in large organizations, a day while receivers of webhooks do not
// answer. It records an event for each user. A repeat of the request begins nothing more.
func (s *Store) Erase(ctx context.Context, req *request.Request, users []string, organizations []collab.OrganizationRef) (string, error) {
	job, err := s.Outbox.Job(ctx, req.Account, req.JobID())
	if collab.CodeOf(err) == collab.NotFound {
		job, err = s.begin(ctx, req, users, organizations)
	}
	if err != nil {
		return "", err
	}
	events, err := s.announce(ctx, &job)
	if err != nil {
		return "", err
	}
	req.Recorded(events...)
	req.Leaves(job.ID)
	return job.ID, s.Outlast(ctx, req.Now, s.skew)
}

// begin ends the users' access, where there are few organizations, and keeps the job.
func (s *Store) begin(
	ctx context.Context, req *request.Request, users []string, organizations []collab.OrganizationRef,
) (job outbox.Job, err error) {
	e := &outbox.JobErasure{Users: users, Before: req.Millis() + s.skew.Milliseconds()}
	for i, user := range users {
		e.Events = append(e.Events, req.IDs.For(i, user))
	}
	for _, org := range organizations {
		e.Organizations = append(e.Organizations, org.Organization)
	}
	all := organizations
	if all == nil {
		for org, err := range s.organizations(ctx, req.Account, "", mostCutOff+1) {
			if err != nil {
				return job, err
			}
			if all = append(all, org); len(all) > mostCutOff {
				break
			}
		}
	}
	if e.CutOff = len(all) <= mostCutOff; e.CutOff {
		for _, org := range all {
			if err := s.CutOff(ctx, org, users); err != nil {
				return job, err
			}
		}
	}
	job = outbox.Job{
		ID: req.JobID(), Account: req.Account, In: collab.OrganizationRef{Account: req.Account},
		SweepAt: s.Millis() + outbox.SweepAfter.Milliseconds(), Erasure: e,
	}
	_, err = s.Outbox.AddJob(ctx, job)
	return job, err
}

// organizations yields the organizations of an account after an id, "" for all; most is how many are expected.
func (s *Store) organizations(ctx context.Context, acct, after string, most int) func(func(collab.OrganizationRef, error) bool) {
	return func(yield func(collab.OrganizationRef, error) bool) {
		for o, err := range s.ListOrganizations(ctx, acct, after, most) {
			org := collab.OrganizationRef{Account: acct, Organization: o.ID, Incarnation: o.Incarnation}
			if !yield(org, err) || err != nil {
				return
			}
		}
	}
}

// announce records those events of a job that are not recorded yet, and returns all.
func (s *Store) announce(ctx context.Context, job *outbox.Job) ([]*collab.Event, error) {
	e := job.Erasure
	found, err := s.GetAll(ctx, collab.Map(e.Events, func(id string) keys.Key { return keys.Event(job.Account, id) }), true)
	if err != nil {
		return nil, err
	}
	var all, missing []*collab.Event
	for i, user := range e.Users {
		ev := &collab.Event{
			ID: e.Events[i], Type: collab.UserErased, Account: job.Account, Time: e.Before,
			Erased: &collab.EventErased{UserID: user, OrganizationIDs: e.Organizations},
		}
		if all = append(all, ev); found[keys.Event(job.Account, ev.ID)] == nil {
			missing = append(missing, ev)
		}
	}
	writes, err := s.Outbox.Record(ctx, missing...)
	if err != nil || len(writes) == 0 {
		return all, err
	}
	_, err = s.Write(ctx, writes...)
	return all, err
}

// CutOffRest does what the request of a job had no time for: it ends the access of the people in all organizations, and records the events.
// It reports whether there are more organizations, and notes in p where it goes on.
func (s *Store) CutOffRest(ctx context.Context, job *outbox.Job, p *outbox.JobProgress) (more bool, err error) {
	if e := job.Erasure; !e.CutOff {
		n := 0
		for org, err := range s.organizations(ctx, job.Account, p.From, mostCutOff) {
			if err == nil && n == mostCutOff {
				return true, nil
			}
			if err == nil {
				err = s.CutOff(ctx, org, e.Users)
			}
			if err != nil {
				return true, err
			}
			n, p.From = n+1, org.Organization
		}
		p.CutOffAt = s.Millis() + s.skew.Milliseconds()
	}
	p.From = ""
	_, err = s.announce(ctx, job)
	return false, err
}

// Step does some of a job: about 1 MB of a pass, or a look at who has heard. It notes in p how far that has come.
func (s *Store) Step(ctx context.Context, job *outbox.Job, p *outbox.JobProgress) (err error) {
	done := false
	if p.Next < hearing {
		done, err = s.pass(ctx, job, p)
	} else if done, err = s.heard(ctx, job, p.StartedAt); err == nil && !done {
		p.State, p.Due = collab.JobWaiting, s.Millis()+hearingLook.Milliseconds()
	}
	if err != nil || !done {
		return err
	}
	p.LastAt, p.From = s.Millis(), ""
	if p.Next++; p.Next == secondPass {
		p.State, p.Due = collab.JobWaiting, s.Millis()+outbox.SweepAfter.Milliseconds()
	}
	if p.Next == job.Size() { // what is kept of the job names nobody
		p.Names = nil
		e := *job.Erasure
		e.Users = nil
		job.Erasure = &e
	}
	return nil
}

// heard reports whether all receivers of a job's events have heard, or had the time for it, and takes the users out of the events then.
func (s *Store) heard(ctx context.Context, job *outbox.Job, since collab.Millis) (bool, error) {
	hooks, err := s.Hooks.Endpoints(ctx, job.Account)
	if err != nil {
		return false, err
	}
	late := s.Millis() >= since+hearingTime.Milliseconds()
	for _, id := range job.Erasure.Events {
		pending, err := s.Outbox.Pending(ctx, collab.EventRef{Account: job.Account, ID: id}, collab.EventWork)
		if err != nil || pending != nil && !late {
			return false, err
		}
		for _, hook := range hooks {
			e := collab.EndpointRef{LaneRef: collab.LaneRef{Account: job.Account, WebhookID: hook.ID}, CreatedAt: hook.CreatedAt}
			d, err := s.Hooks.Delivery(ctx, e, id)
			if collab.CodeOf(err) == collab.NotFound {
				continue
			}
			if err != nil || d.State == collab.DeliveryPending && !hook.Disabled && !late {
				return false, err
			}
		}
	}
	return true, nil
}
