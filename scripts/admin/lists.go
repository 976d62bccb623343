package main

import (
	"cmp"
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/store/directory"
)

type organizationList struct {
	Account id `arg:"" help:"Account."`
}

// Run lists the organizations.
func (c *organizationList) Run(ctx context.Context, a *admin, s *directory.Store) error {
	if err := checkAccount(ctx, s, c.Account); err != nil {
		return err
	}
	a.list("ORGANIZATION", "STATE", "CREATED", "NAME")
	for o, err := range s.ListOrganizations(ctx, string(c.Account), "", collab.MaxPageSize) {
		if err != nil {
			return err
		}
		a.row(o.ID, state(o.Disabled), stamp(o.CreatedAt), o.Name)
	}
	if len(a.rows) == 0 {
		a.say("There is none yet: `admin organization put %s ORGANIZATION` makes one.", word(c.Account))
	}
	return nil
}

type folderList struct{ organization }

// Run lists the folders.
func (c *folderList) Run(ctx context.Context, a *admin, s *directory.Store) error {
	org, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	folders, err := s.FoldersBehind(ctx, org, "", 0)
	if err != nil {
		return err
	}
	a.list("FOLDER", "PARENT", "CREATED", "NAME")
	for _, f := range folders {
		a.row(f.ID, f.Parent, stamp(f.CreatedAt), f.Name)
	}
	if len(folders) == 0 {
		a.say("There is none yet: `admin folder put %s %s FOLDER` makes one.", word(c.Account), word(c.Organization))
	}
	return nil
}

type documentList struct{ organization }

// Run lists the documents.
func (c *documentList) Run(ctx context.Context, a *admin, s *directory.Store) error {
	org, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	a.list("DOCUMENT", "FOLDER", "ACCESS", "CREATED", "NAME")
	for d, err := range s.Documents(ctx, org) {
		if err != nil {
			return err
		}
		a.row(d.ID, d.Folder, accessOf(d), stamp(d.CreatedAt), d.Name)
	}
	if len(a.rows) == 0 {
		a.say(
			"There is none yet: `admin document put %s %s DOCUMENT` makes one, as does the first request about it with createDocument.",
			word(c.Account), word(c.Organization),
		)
	}
	return nil
}

// accessOf is the access type of a document, or that it has its folder's.
func accessOf(d collab.Document) string {
	return cmp.Or(string(d.Access), "inherited")
}
