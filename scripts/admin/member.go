package main

import (
	"context"

	"collabdata/scripts/operator"
	"collabdata/shared/api/users"
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
	org, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	u := collab.User{UserID: string(c.User)}
	if c.Name != "" {
		u.Name = (*string)(&c.Name)
	}
	if c.Email != "" {
		u.Email = (*string)(&c.Email)
	}
	add := &users.AddRequest{UpdateRequest: users.UpdateRequest{
		Level: users.Level{OrganizationID: org.Organization}, Users: []users.NewUser{{User: u}},
	}}
	if err := operator.Done((&users.Service{Directory: s}).Add(ctx, a.call(c.Account), add)); err != nil {
		return err
	}
	members, err := s.Members(ctx, org, []string{u.UserID})
	if err != nil {
		return err
	}
	m := members[u.UserID]
	a.record("user", m.UserID, "email", collab.Deref(m.Email), "name", collab.Deref(m.Name))
	if m.Email == nil {
		a.say("No mail reaches the member: give --email.")
	}
	return nil
}

type memberList struct{ organization }

// Run lists the members.
func (c *memberList) Run(ctx context.Context, a *admin, s *directory.Store) error {
	org, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	a.list("USER", "EMAIL", "SINCE", "NAME")
	for m, err := range s.ListMembers(ctx, org, "", collab.MaxPageSize) {
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

// Run removes the member, with all grants in the organization. One who is not there is gone already.
func (c *memberRemove) Run(ctx context.Context, a *admin, s *directory.Store) error {
	org, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	err = operator.Done((&users.Service{Directory: s}).Delete(ctx, a.call(c.Account), &users.DeleteRequest{
		Level: users.Level{OrganizationID: org.Organization}, UserIDs: []string{string(c.User)},
	}))
	if err != nil && collab.CodeOf(err) != collab.NotFound {
		return err
	}
	a.field("removed", c.User)
	return nil
}
