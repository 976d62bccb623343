package erasure

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// Nothing lists what names a person, so a pass reads all that is in the organizations meant, and what their account has besides, but
// nothing of another account: one place after the other, each of which may lead to more of them.

// place is something that a pass has still to read.
type place struct {
	Kind  placeKind `json:"k,omitempty"`
	PK    string    `json:"p,omitempty"`
	From  string    `json:"f,omitempty"` // sort keys
	To    string    `json:"t,omitempty"`
	Index int       `json:"n,omitempty"` // of what consists of numbered places: which comes next
}

type placeKind string

const (
	ofItems placeKind = "" // a span of keys: what is there is looked at

	// Spans of keys of which each leads to further places.
	organizations placeKind = "organizations"
	documents     placeKind = "documents"
	groups        placeKind = "groups"
	notifications placeKind = "notifications" // of a document
	// What is made of other places.
	anAccount      placeKind = "account"
	anOrganization placeKind = "organization"
	aDocument      placeKind = "document"
	ofUsers        placeKind = "users" // in an organization
)

// What a step reads.
const (
	stepBytes   = 1_000_000 // and the rest of the queries that were begun
	queryAtOnce = 8         // each takes 1 MB of memory at most
	leadAtOnce  = 10        // keys of a span whose keys lead to further places: few are kept at a time, however many there are
)

func all(pk string) place { return span(ofItems, pk, store.Everything) }

func span(kind placeKind, pk string, itemKeys store.Span) place {
	return place{Kind: kind, PK: pk, From: itemKeys.From, To: itemKeys.To}
}

// read reads about a megabyte of places, less where it has to ask for it often. It returns the items, and the places that are left. The last
// place is the first to be read.
func (r *run) read(ctx context.Context, left []place) (found []store.Item, _ []place, err error) {
	for size, queries := 0, 0; len(left) > 0 && size < stepBytes && queries < r.queries; {
		var now []place // what is read side by side; of those that lead to further places one at a time, as the last
		for len(left) > 0 && len(now) < queryAtOnce && (len(now) == 0 || now[len(now)-1].Kind == ofItems) {
			p := left[len(left)-1]
			left = left[:len(left)-1]
			if parts, ok := r.parts(p); ok {
				left = append(left, parts...)
			} else {
				now = append(now, p)
			}
		}
		pages, further := make([][]store.Item, len(now)), make([][]place, len(now))
		err := store.Each(ctx, len(now), func(ctx context.Context, i int) (err error) {
			pages[i], further[i], err = r.look(ctx, now[i])
			return err
		})
		if err != nil {
			return nil, nil, err
		}
		queries += len(now)
		for i, page := range pages {
			for _, it := range page {
				size += it.Size()
			}
			found, left = append(found, page...), append(left, further[i]...)
		}
	}
	return found, left, nil
}

// parts returns what a place is made of; ok is false for one that is to be read.
func (r *run) parts(p place) (list []place, ok bool) {
	acct := r.job.Account
	org, _, _ := keys.ParseOrganization(acct, p.PK)
	numbered := func(n int, at func(i int) []place) ([]place, bool) {
		if p.Index == n {
			return nil, true
		}
		i := p.Index
		p.Index++
		return append([]place{p}, at(i)...), true
	}
	switch p.Kind {
	case anAccount:
		own := keys.Organization(acct, "").PK
		return []place{
			span(organizations, own, store.Children(keys.Organizations)), all(own),
			all(keys.UnsubscribedUser(acct, "", "").PK), all(keys.Ticket(acct, "").PK),
		}, true
	case anOrganization:
		return []place{
			span(documents, p.PK, store.Children(keys.Documents)), span(groups, p.PK, store.Children(keys.Groups)), {Kind: ofUsers, PK: p.PK},
			all(p.PK), all(keys.GrantPartition(org)), all(keys.RemovedPartition(org)), all(keys.PreferencePartition(org)),
		}, true
	case ofUsers:
		return numbered(len(r.job.Erasure.Users), func(i int) []place {
			user := r.job.Erasure.Users[i]
			return []place{
				all(keys.UserNotification(org, user, 0, "").PK), all(keys.NotificationState(org, user, 0, "").PK),
				span(ofItems, keys.ConnectionPartition(acct, org.Organization), store.Children(keys.ConnectionsOf(user))),
			}
		})
	case aDocument:
		doc, _ := keys.DocumentOf(org, p.PK)
		return []place{
			all(p.PK), all(keys.SeenPartition(doc)), all(keys.GonePartition(doc)), all(keys.RemovedFromPartition(doc)), all(keys.MailPartition(doc)),
			span(notifications, keys.DocumentNotification(doc, 0, "").PK, store.Everything),
		}, true
	}
	return nil, false
}

// look reads some of a place. It returns the items, or where they lead, and after that what is left of it.
func (r *run) look(ctx context.Context, p place) (found []store.Item, left []place, err error) {
	q := store.Scan{PK: p.PK, Keys: store.Span{From: p.From, To: p.To}}
	if p.Kind != ofItems {
		q.Limit = leadAtOnce
	}
	found, more, err := r.QueryPage(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	if more && len(found) > 0 {
		left = append(left, span(p.Kind, p.PK, q.Keys.After(found[len(found)-1].Text(keys.SK))))
	}
	if p.Kind == ofItems {
		return found, left, nil
	}
	looked := found[:0:0]
	for _, it := range found {
		to, err := r.leads(p, it)
		if err != nil {
			return nil, nil, err
		}
		left = append(left, to...)
		if p.Kind == notifications {
			looked = append(looked, it)
		}
	}
	return looked, left, nil
}

// leads returns the places that an item of a span leads to.
func (r *run) leads(from place, it store.Item) ([]place, error) {
	org, _, _ := keys.ParseOrganization(r.job.Account, from.PK)
	switch sk := it.Text(keys.SK); from.Kind {
	case organizations:
		id, err := store.LastPart(it, keys.Organizations)
		in := collab.OrganizationRef{Account: r.job.Account, Organization: id, Incarnation: it.Number(keys.Incarnation)}
		if err != nil || !r.within(id) {
			return nil, err
		}
		return []place{{Kind: anOrganization, PK: keys.OrganizationPartition(in)}}, nil
	case documents:
		doc, err := r.DocumentOf(org, it)
		return []place{{Kind: aDocument, PK: keys.DocumentPartition(doc)}}, err
	case groups:
		group, err := store.LastPart(it, keys.Groups)
		return []place{all(keys.GroupUser(org, group, "").PK)}, err
	case notifications:
		if _, id, err := keys.ParseListed(sk); err == nil {
			return []place{all(keys.Notification(org, id).PK)}, nil
		}
	}
	return nil, nil
}
