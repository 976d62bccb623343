package main

import (
	"context"
	"fmt"

	"collabdata/shared/collab"
	"collabdata/shared/store/directory"
)

type organizationRestore struct{ organization }

// Run restores the organization.
func (c *organizationRestore) Run(ctx context.Context, a *admin, s *directory.Store) error {
	err := checkAccount(ctx, s, c.Account)
	if err == nil {
		err = s.RestoreDeletedOrganization(ctx, string(c.Account), string(c.Organization))
	}
	if err = a.showOrganization(ctx, s, c.organization, err); err == nil {
		a.sayRestored()
	}
	return err
}

type folderRestore struct {
	organization
	Folder id `arg:"" help:"Folder."`
}

// Run restores the folder.
func (c *folderRestore) Run(ctx context.Context, a *admin, s *directory.Store) error {
	org, err := c.openToRestore(ctx, s)
	if err != nil {
		return err
	}
	done, err := s.RestoreFolder(ctx, org, string(c.Folder))
	if done.Folders > 0 {
		a.record("folder", string(c.Folder), "folders", done.Folders, "documents", done.Documents, "left", done.Left)
	}
	switch {
	case err != nil && done.Folders > 0:
		a.say("Not all of it is back: give the command again.")
	case done.Left > 0:
		a.say("What is left stays deleted, as the folder that it lay in was added again, or its sweep has begun. "+
			"`admin document restore %s %s DOCUMENT` brings a document back into the new folder.", word(c.Account), word(c.Organization))
	}
	if err == nil {
		a.sayRestored()
	}
	return err
}

type documentRestore struct {
	organization
	Document documentID `arg:"" help:"Document."`
}

// Run restores the document.
func (c *documentRestore) Run(ctx context.Context, a *admin, s *directory.Store) error {
	org, err := c.openToRestore(ctx, s)
	if err != nil {
		return err
	}
	if err := s.RestoreDocument(ctx, org, string(c.Document)); err != nil {
		return err
	}
	list, err := s.DocumentsByID(ctx, org, []string{string(c.Document)})
	if err != nil || len(list) == 0 {
		return err
	}
	a.record("document", list[0].ID, "folder", list[0].Folder, "access", accessOf(list[0]), "name", list[0].Name)
	a.sayRestored()
	return nil
}

// openToRestore is open, but sends nobody to make the organization anew: that could not be restored then.
func (o organization) openToRestore(ctx context.Context, s *directory.Store) (collab.OrganizationRef, error) {
	if err := checkAccount(ctx, s, o.Account); err != nil {
		return collab.OrganizationRef{}, err
	}
	org, err := s.FindOrganization(ctx, string(o.Account), string(o.Organization), false)
	if collab.CodeOf(err) == collab.NotFound {
		err = fmt.Errorf("organization %q does not exist: if it was deleted, first `admin organization restore %s %s`",
			o.Organization, word(o.Account), word(o.Organization))
	}
	return org, err
}

func (a *admin) sayRestored() {
	a.say("It is as it was, within 5 s everywhere. Nobody is told of that: neither people nor webhooks.")
}
