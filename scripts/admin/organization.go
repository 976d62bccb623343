package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/store/directory"

	"github.com/go-json-experiment/json/jsontext"
)

type organizationCommands struct {
	List    organizationList    `cmd:"" help:"List the organizations of an account."`
	Put     organizationPut     `cmd:"" help:"Make an organization, or change the fields that are given."`
	Disable organizationDisable `cmd:"" help:"Refuse every operation on an organization."`
	Enable  organizationEnable  `cmd:"" help:"Allow operations on an organization again."`

	Rollback organizationRollback `cmd:"" help:"Make an organization what it is in a table that was restored from a backup."`
}

type organizationPut struct {
	organization
	Name     *string  `help:"Its name; a new one without has its id for a name."`
	Metadata metadata `placeholder:"JSON" help:"Further fields that organizations get answers, as one JSON object; {} for none."`
}

// metadata is a JSON object on the command line.
type metadata string

// Validate reports text that is no object, or one whose fields organizations get could not answer.
func (m metadata) Validate() error {
	if m == "" {
		return nil
	}
	value := jsontext.Value(m)
	if !value.IsValid() || value.Kind() != '{' {
		return errors.New("must be a JSON object such as {\"plan\":\"pro\"}")
	}
	if len(m) > 100_000 {
		return errors.New("must be at most 100000 bytes")
	}
	return nil
}

// Run makes or changes the organization.
func (c *organizationPut) Run(ctx context.Context, a *admin, s *directory.Store) error {
	return a.changeOrganization(ctx, s, c.organization, func(o *collab.Organization) error {
		if o.CreatedAt == 0 {
			o.Name, o.CreatedAt = o.ID, a.millis()
		}
		if c.Name != nil {
			o.Name = *c.Name
		}
		if c.Metadata != "" {
			o.Metadata = nil
			if value := jsontext.Value(c.Metadata); value.Compact() == nil && string(value) != "{}" {
				o.Metadata = collab.JSON(value)
			}
		}
		return nil
	})
}

type organizationDisable struct{ organization }

// Run disables the organization.
func (c *organizationDisable) Run(ctx context.Context, a *admin, s *directory.Store) error {
	if err := a.confirm("Every operation on organization %q of account %q will be refused within 5 s.", c.Organization, c.Account); err != nil {
		return err
	}
	return a.setOrganizationDisabled(ctx, s, c.organization, true)
}

type organizationEnable struct{ organization }

// Run enables the organization.
func (c *organizationEnable) Run(ctx context.Context, a *admin, s *directory.Store) error {
	return a.setOrganizationDisabled(ctx, s, c.organization, false)
}

func (a *admin) setOrganizationDisabled(ctx context.Context, s *directory.Store, org organization, disabled bool) error {
	return a.changeOrganization(ctx, s, org, func(o *collab.Organization) error {
		if o.CreatedAt == 0 {
			return fmt.Errorf("organization %q does not exist: make it by `admin organization put %s %s`", o.ID, word(org.Account), word(org.Organization))
		}
		o.Disabled = disabled
		return nil
	})
}

// changeOrganization changes an organization and shows it. Functions that know it to be enabled go on for 5 s.
func (a *admin) changeOrganization(ctx context.Context, s *directory.Store, org organization, change func(*collab.Organization) error) error {
	if err := checkAccount(ctx, s, org.Account); err != nil {
		return err
	}
	o, err := s.ChangeOrganization(ctx, org.ref(), func(o *collab.Organization) error {
		err := change(o)
		o.LastUpdated = a.millis()
		return err
	})
	if err != nil {
		return err
	}
	a.record("organization", o.ID, "state", state(o.Disabled), "name", o.Name)
	if o.Disabled {
		a.say("Every operation on it is refused within 5 s. `admin organization enable %s %s` allows them again.", word(org.Account), word(org.Organization))
	}
	return nil
}

type folderCommands struct {
	List folderList `cmd:"" help:"List the folders of an organization."`
	Put  folderPut  `cmd:"" help:"Make a folder, or change the fields that are given."`
}

type folderPut struct {
	organization
	Folder id      `arg:"" help:"Folder."`
	Name   *string `help:"Its name; a new one without has its id for a name."`
	Parent *id     `help:"The folder it is in; root for a top-level folder, which a new one is without."`
}

// Run makes or changes the folder.
func (c *folderPut) Run(ctx context.Context, a *admin, s *directory.Store) error {
	if c.Folder == collab.RootFolder {
		return wrongf("root is no folder: it stands for the top level")
	}
	if err := c.check(ctx, s); err != nil {
		return err
	}
	folders, err := s.Folders(ctx, c.ref())
	if err != nil {
		return err
	}
	if c.Parent != nil {
		if err := c.checkParent(folders); err != nil {
			return err
		}
	}
	f, err := s.ChangeFolder(ctx, c.ref(), string(c.Folder), func(f *collab.Folder) error {
		if f.CreatedAt == 0 {
			f.Name, f.CreatedAt = f.ID, a.millis()
		}
		if c.Name != nil {
			f.Name = *c.Name
		}
		if c.Parent != nil {
			f.Parent = string(*c.Parent)
		}
		f.LastUpdated = a.millis()
		return nil
	})
	if err != nil {
		return err
	}
	a.record("folder", f.ID, "parent", f.Parent, "name", f.Name)
	a.say("`admin document put %s %s DOCUMENT --folder %s` puts a document into it.", word(c.Account), word(c.Organization), word(c.Folder))
	return nil
}

// checkParent fails when the parent does not exist, or lies in the folder itself.
func (c *folderPut) checkParent(folders []collab.Folder) error {
	at := string(*c.Parent)
	for range len(folders) + 1 {
		if at == collab.RootFolder {
			return nil
		}
		if at == string(c.Folder) {
			return fmt.Errorf("folder %q cannot be put into %q: that is, or lies in, the folder itself", c.Folder, *c.Parent)
		}
		i := slices.IndexFunc(folders, func(f collab.Folder) bool { return f.ID == at })
		if i < 0 {
			return c.folderMissing(at)
		}
		at = folders[i].Parent
	}
	return fmt.Errorf("folder %q lies in itself: put it to the top by --parent root before", at)
}

func (o organization) folderMissing(folder string) error {
	return fmt.Errorf("folder %q does not exist: make it by `admin folder put %s %s %s`", folder, word(o.Account), word(o.Organization), word(folder))
}

type documentCommands struct {
	List documentList `cmd:"" help:"List the documents of an organization."`
	Put  documentPut  `cmd:"" help:"Make a document, or change the fields that are given."`
}

type documentPut struct {
	organization
	Document documentID `arg:"" help:"Document."`
	Name     *string    `help:"Its name; a new one without has its id for a name."`
	Folder   *id        `help:"The folder it is in; root for none."`
	Access   string     `enum:"unchanged,public,organization,restricted" default:"unchanged" help:"Who may see it: public (everyone), organization (members: what a new one has), restricted (the users given by --user)."`
	User     []id       `sep:"none" help:"A user who may see a restricted document. May be repeated; those given replace those there."`
}

// Run makes or changes the document.
func (c *documentPut) Run(ctx context.Context, a *admin, s *directory.Store) error {
	if len(c.User) > collab.MaxPeople {
		return wrongf("at most %d users may be listed: make them members and use --access organization", collab.MaxPeople)
	}
	if err := c.check(ctx, s); err != nil {
		return err
	}
	if c.Folder != nil && *c.Folder != collab.RootFolder {
		if _, _, err := s.Folder(ctx, c.ref(), string(*c.Folder)); collab.CodeOf(err) == collab.NotFound {
			return c.folderMissing(string(*c.Folder))
		} else if err != nil {
			return err
		}
	}
	d, err := s.ChangeDocument(ctx, c.ref().Document(string(c.Document)), func(d *collab.Document) error {
		if d.CreatedAt == 0 {
			d.Name, d.CreatedAt = d.ID, a.millis()
		}
		d.LastUpdated = a.millis()
		return c.change(d)
	})
	if err != nil {
		return err
	}
	a.record("document", d.ID, "folder", d.Folder, "access", accessOf(d), "name", d.Name)
	a.all("users", "user", d.Users)
	return nil
}

// change makes the changes that are given.
func (c *documentPut) change(d *collab.Document) error {
	if c.Name != nil {
		d.Name = *c.Name
	}
	if c.Folder != nil {
		d.Folder = string(*c.Folder)
	}
	if c.Access != "unchanged" {
		d.Access = collab.Access(c.Access)
	}
	if c.User != nil {
		d.Users = nil
		for _, u := range c.User {
			d.Users = append(d.Users, string(u))
		}
	}
	if d.Access != collab.AccessRestricted {
		if c.User != nil {
			return wrongf("--user is for restricted documents: give --access restricted as well")
		}
		d.Users = nil
	} else if len(d.Users) == 0 {
		return wrongf("nobody could see the document: give --user for each user who may")
	}
	return nil
}
