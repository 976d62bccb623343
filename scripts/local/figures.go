package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/store"
)

// What one look at the figures reads at most: of all accounts so many organizations, of each organization so many documents and people.
const (
	figureOrganizations = 10
	figureDocuments     = 30
	figurePeople        = 10
	figureNotifications = 100 // of a person, and of a document
)

// count is a number of things, or the least that it can be where reading ended before the end.
type count struct {
	N       int64
	AtLeast bool
}

func (c *count) add(n int64, atLeast bool) {
	c.N += n
	c.AtLeast = c.AtLeast || atLeast
}

// String is the number as pages show it.
func (c count) String() string {
	if c.AtLeast {
		return fmt.Sprintf("%d or more", c.N)
	}
	return fmt.Sprint(c.N)
}

// organizationFigures say how much an organization has.
type organizationFigures struct {
	Account, ID     string
	Name            string
	Threads, Unread count // Unread is of notifications, of each person
}

// figures say what the server has.
type figures struct {
	List                           []organizationFigures
	Organizations, Threads, Unread count
}

// readFigures counts what is in the accounts, by what is stored anyway.
func readFigures(ctx context.Context, s *app.Service) (f figures, err error) {
	for _, a := range accounts {
		for o, err := range s.Directory.ListOrganizations(ctx, a.id, "", figureOrganizations) {
			if err != nil {
				return f, err
			}
			if f.Organizations.AtLeast = len(f.List) == figureOrganizations; f.Organizations.AtLeast {
				break
			}
			f.List = append(f.List, organizationFigures{Account: a.id, ID: o.ID, Name: o.Name})
			ref := collab.OrganizationRef{Account: a.id, Organization: o.ID, Incarnation: o.Incarnation}
			if err := f.List[len(f.List)-1].read(ctx, s, ref); err != nil {
				return f, err
			}
		}
	}
	f.Organizations.N = int64(len(f.List))
	for _, o := range f.List {
		f.Threads.add(o.Threads.N, o.Threads.AtLeast || f.Organizations.AtLeast)
		f.Unread.add(o.Unread.N, o.Unread.AtLeast || f.Organizations.AtLeast)
	}
	return f, nil
}

// read counts what an organization has. Its people are its members, and whom its documents' newest notifications went to.
func (f *organizationFigures) read(ctx context.Context, s *app.Service, org collab.OrganizationRef) error {
	docs, more, _, err := s.Directory.ListDocuments(ctx, org, "", "", figureDocuments)
	if err != nil {
		return err
	}
	threads, err := s.Threads.Count(ctx, docs, nil, "")
	if err != nil {
		return err
	}
	for _, n := range threads {
		f.Threads.add(n.Total, n.TotalIsAtLeast || more != "")
	}
	people := map[string]bool{}
	for m, err := range s.Directory.ListMembers(ctx, org, "", figurePeople) {
		if err != nil {
			return err
		}
		people[m.UserID] = true
		if len(people) > figurePeople {
			break
		}
	}
	told := make([][]collab.InboxEntry, len(docs))
	err = store.Each(ctx, len(docs), func(ctx context.Context, i int) (err error) {
		told[i], _, err = s.Outbox.Notifications(ctx, org, collab.NotificationQuery{Of: docs[i]}, "", figureNotifications)
		return err
	})
	if err != nil {
		return err
	}
	for _, n := range slices.Concat(told...) {
		for _, u := range n.To {
			people[u] = true
		}
	}
	ids := slices.Sorted(maps.Keys(people))
	f.Unread.AtLeast = more != "" || len(ids) > figurePeople
	unread := make([]count, min(len(ids), figurePeople))
	err = store.Each(ctx, len(unread), func(ctx context.Context, i int) error {
		q := collab.NotificationQuery{NotificationFilter: collab.NotificationFilter{User: ids[i]}}
		list, next, err := s.Outbox.Notifications(ctx, org, q, "", figureNotifications)
		for _, n := range list {
			if n.ReadAt == 0 {
				unread[i].N++
			}
		}
		unread[i].AtLeast = next != ""
		return err
	})
	for _, c := range unread {
		f.Unread.add(c.N, c.AtLeast)
	}
	return err
}
