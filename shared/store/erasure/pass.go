package erasure

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/connections"
	"collabdata/shared/store/outbox"
)

// pass clears some of what the account has, and reports whether it has come to its end. p notes where it goes on, and by what names the
// people are known.
func (s *Store) pass(ctx context.Context, job *outbox.Job, p *outbox.JobProgress) (done bool, err error) {
	var left []place
	if p.From == "" {
		left = []place{{Kind: anAccount}}
	} else if err := json.Unmarshal([]byte(p.From), &left); err != nil {
		return false, store.Unreadable(keys.JobProgress(job.Account, job.ID), err)
	}
	r := s.newRun(job, p.Names)
	items, left, err := r.read(ctx, left)
	if err != nil {
		return false, err
	}
	r.derived = max(r.derived, p.CutOffAt)
	r.last = p.Next == secondPass
	r.left = p.Unfinished
	for _, it := range items {
		r.learnFrom(it)
	}
	if r.learned() { // they are kept first: what is written next may be all that tells them
		p.Names = r.known()
		return false, nil
	}
	err = store.Each(ctx, len(items), func(ctx context.Context, i int) error { return r.item(ctx, items[i]) })
	if err != nil {
		return false, err
	}
	p.Names, p.Done, p.Unfinished = r.known(), p.Done+r.written, r.left
	if r.again { // the rest of these is the next step's
		return false, nil
	}
	if len(left) > 0 {
		text, err := collab.EncodeJSON(left)
		p.From = string(text)
		return false, err
	}
	if r.last && r.left { // another job names them, and goes on
		p.From, p.Unfinished = "", false
		p.State, p.Due = collab.JobWaiting, s.Millis()+outbox.SweepAfter.Milliseconds()
		return false, nil
	}
	p.Unfinished = false
	return true, nil
}

// learnFrom remembers the names and addresses that an item has of the people, in user objects, or as members and by grants.
func (r *run) learnFrom(it store.Item) {
	org, rest, ok := keys.ParseOrganization(r.job.Account, it.Text(keys.PK))
	if ok && !r.within(org.Organization) || !r.old(it) {
		return
	}
	for name := range it {
		if text := it.Text(name); text != "" && (text[0] == '{' || text[0] == '[') {
			r.json(name, []byte(text), object)
		}
	}
	sk, user := strings.Split(it.Text(keys.SK), "#"), ""
	switch {
	case !ok:
	case part(rest, 0) == "" && sk[0]+"#" == keys.Members:
		user = part(sk, 1)
	case part(rest, 0) == "GRANT":
		user = sk[0]
	}
	if r.escaped[user] {
		r.learn(map[string]any{"name": it.Text("name"), "email": it.Text("mail")})
	}
}

// run is one step of a pass.
type run struct {
	*Store
	*people
	job     *outbox.Job
	saved   int           // names that the job has kept
	earlier string        // than this is the mark of a request that added what is to be forgotten
	derived collab.Millis // what was made until then of what is to be forgotten, be it of a later event
	last    bool          // it is the second pass

	mu      sync.Mutex
	threads map[string]*thread // by the key of the head
	deleted int                // comments at the end of threads
	written int64
	again   bool
	left    bool
}

func (s *Store) newRun(job *outbox.Job, names []string) *run {
	e := job.Erasure
	return &run{
		Store: s, people: newPeople(e.Users, names), job: job, saved: len(names), earlier: collab.EarliestID(e.Before + 1), derived: e.Before,
		threads: map[string]*thread{},
	}
}

// learned reports whether there are names that the job has not kept yet.
func (r *run) learned() bool { return len(r.known()) > r.saved }

// within reports whether the people are forgotten in an organization.
func (r *run) within(org string) bool {
	return r.job.Erasure.Organizations == nil || slices.Contains(r.job.Erasure.Organizations, org)
}

// old reports whether an item was added before the deletion was answered. What does not say when it was is old.
func (r *run) old(it store.Item) bool {
	if mark := it.Text(keys.AddedBy); mark != "" {
		return mark < r.earlier
	}
	at := it.Number(keys.LastUpdated)
	if at == 0 {
		at = it.Number(keys.CreatedAt)
	}
	return at <= r.job.Erasure.Before
}

// made reports whether what a key names by a time was made before that, or of what was there before.
func (r *run) made(digits string) bool {
	ms, err := strconv.ParseInt(digits, 10, 64)
	return err != nil || ms <= r.derived
}

// part returns a part of a split key, "" where there are fewer.
func part(parts []string, n int) string {
	if n < len(parts) {
		return parts[n]
	}
	return ""
}

// item decides what becomes of an item, by what its key says that it is.
func (r *run) item(ctx context.Context, it store.Item) error {
	k := it.Key()
	pk, sk := strings.Split(k.PK, "#"), strings.Split(k.SK, "#")
	if org, rest, ok := keys.ParseOrganization(r.job.Account, k.PK); ok {
		if !r.within(org.Organization) {
			return nil
		}
		return r.inOrganization(ctx, org, rest, sk, it)
	}
	switch {
	case pk[0] == "LIVE", pk[0] == "TICKET":
		return r.live(ctx, pk, sk, it)
	case len(pk) == 2: // organizations
		id, err := keys.Unescape(part(sk, 1))
		if err != nil || !r.within(id) {
			return nil
		}
		return r.fields(ctx, it)
	case pk[2] == "NOMAIL":
		org, err := keys.Unescape(part(sk, 1))
		if err != nil || sk[0] != "USER" || !r.escaped[part(sk, 2)] || !r.within(org) || !r.old(it) {
			return nil
		}
		return r.remove(ctx, it)
	}
	return r.other(ctx, it)
}

// inOrganization is item for what is in an organization; rest is what follows that in its partition, and sk its sort key, both split.
func (r *run) inOrganization(ctx context.Context, org collab.OrganizationRef, rest, sk []string, it store.Item) error {
	user := "" // whose item it is
	switch part(rest, 0) {
	case "":
		switch sk[0] + "#" {
		case keys.Members, keys.Preferences:
			user = part(sk, 1)
		default:
			return r.fields(ctx, it)
		}
	case "GRP", "GRANT":
		user = sk[0]
	case "GONE":
		if !r.last { // it keeps them from being told more, until nothing names them
			return nil
		}
		user = sk[0]
	case "CFG":
		user = part(sk, 1)
	case "U", "READ":
		if r.made(sk[0]) {
			return r.remove(ctx, it)
		}
		return nil
	case "NTF":
		return r.notification(ctx, org, sk, it)
	case "D":
		switch part(rest, 2) {
		case "":
			return r.inThread(ctx, it)
		case "GONE":
			if !r.last {
				return nil
			}
			user = sk[0]
		case "SEEN":
			user = sk[0]
		case "M":
			if r.escaped[part(sk, 1)] && part(sk, 2) < collab.EarliestID(r.derived+1) {
				return r.remove(ctx, it)
			}
			return nil
		case "NTF":
			if doc, err := keys.DocumentOf(org, strings.TrimSuffix(it.Text(keys.PK), "#NTF")); err == nil && r.last && it[keys.DeletedAt] != nil {
				if err := r.Inbox.SweepListed(ctx, doc, it.Text(keys.SK)); err != nil {
					return err
				}
				return r.Delete(ctx, it.Key())
			}
			return nil
		default:
			return r.other(ctx, it)
		}
	default:
		return r.other(ctx, it)
	}
	if r.escaped[user] && r.old(it) {
		return r.remove(ctx, it)
	}
	return r.fields(ctx, it)
}

// other is item for what this version does not know: it goes where an attribute of it is one of the people.
func (r *run) other(ctx context.Context, it store.Item) error {
	for name := range it {
		if r.ids[it.Text(name)] {
			return r.remove(ctx, it)
		}
	}
	return r.fields(ctx, it)
}

// live ends a connection of one of the people, and deletes a ticket for one. What lists a connection is deleted with it.
func (r *run) live(ctx context.Context, pk, sk []string, it store.Item) error {
	began := it.Number(keys.StartedAt)
	if pk[0] == "TICKET" {
		if !r.ids[it.Text(keys.Watch)] || !r.within(it.Text(keys.Owned)) {
			return nil
		}
		began = it.Number(keys.Lease) - connections.TicketTTL.Milliseconds()
	}
	if began > r.job.Erasure.Before {
		return nil
	}
	if pk[0] == "LIVE" {
		id, err := keys.Unescape(part(sk, 1))
		if err == nil {
			err = connections.Store{Table: r.Table}.Disconnect(ctx, id, 0)
		}
		if err != nil {
			return err
		}
	}
	return r.remove(ctx, it)
}

// change writes what without leaves of an item, nil for nothing to change, unless others have written it since it was read: then it is read
// and changed once more. same are the attributes that say so.
func (r *run) change(ctx context.Context, it store.Item, without func(store.Item) store.Item, same ...string) error {
	mark, first := r.NewMark(), true
	if same == nil {
		same = []string{keys.Rev, keys.AddedBy}
	}
	return r.Try(ctx, "an item", mark, func(ctx context.Context) ([]store.Write, error) {
		if !first {
			var err error
			if it, err = r.Get(ctx, it.Key()); err != nil || it == nil {
				return nil, err
			}
		}
		first = false
		after := without(it)
		if after == nil || maps.EqualFunc(it, after, equal) {
			return nil, nil
		}
		r.count()
		return []store.Write{store.Change(it, after, mark, same...)}, nil
	})
}

// remove deletes an item, unless another is there by now.
func (r *run) remove(ctx context.Context, it store.Item) error {
	r.count()
	_, err := r.Write(ctx, store.DeleteRead(it, keys.AddedBy, keys.LastUpdated, keys.CreatedAt))
	return err
}

func (r *run) count() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written++
}
