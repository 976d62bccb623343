package main

import (
	"cmp"
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/store/directory"
)

type memberCommands struct {
	Add    memberAdd    `cmd:"" help:"Add a member, or change the name and address of one."`
	List   memberList   `cmd:"" help:"List the members."`
	Remove memberRemove `cmd:"" help:"Remove a member."`
}

type memberAdd struct {
	organization
	User  id    `arg:"" help:"User id, as requests name the user."`
	Name  name  `help:"Display name."`
	Email email `help:"Address; without one no mail reaches the member."`
}

// Run adds the member.
func (c *memberAdd) Run(ctx context.Context, a *admin, s *directory.Store) error {
	if err := c.check(ctx, s); err != nil {
		return err
	}
	m, err := s.ChangeMember(ctx, c.ref(), string(c.User), func(m *collab.Member) error {
		m.CreatedAt, m.LastUpdated = cmp.Or(m.CreatedAt, a.millis()), a.millis()
		if c.Name != "" {
			m.Name = (*string)(&c.Name)
		}
		if c.Email != "" {
			m.Email = (*string)(&c.Email)
		}
		return nil
	})
	if err != nil {
		return err
	}
	a.record("user", m.UserID, "email", collab.Deref(m.Email), "name", collab.Deref(m.Name))
	if m.Email == nil {
		a.say("No mail reaches the member: give --email.")
	}
	return nil
}

type memberList struct{ organization }

// Run lists the members.
func (c *memberList) Run(ctx context.Context, a *admin, s *directory.Store) error {
	if err := c.check(ctx, s); err != nil {
		return err
	}
	a.list("USER", "EMAIL", "SINCE", "NAME")
	for m, err := range s.ListMembers(ctx, c.ref(), "", collab.MaxPageSize) {
		if err != nil {
			return err
		}
		a.row(m.UserID, collab.Deref(m.Email), stamp(m.CreatedAt), collab.Deref(m.Name))
	}
	if len(a.rows) == 0 {
		a.say("There is none yet: `admin member add %s %s USER` adds one.", word(c.Account), word(c.Organization))
	}
	return nil
}

type memberRemove struct {
	organization
	User id `arg:"" help:"User id."`
}

// Run removes the member. One who is not there is gone already.
func (c *memberRemove) Run(ctx context.Context, a *admin, s *directory.Store) error {
	if err := c.check(ctx, s); err != nil {
		return err
	}
	if err := s.RemoveMember(ctx, c.ref(), string(c.User)); err != nil {
		return err
	}
	a.field("removed", c.User)
	return nil
}
