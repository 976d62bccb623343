package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"collabdata/scripts/operator"
	"collabdata/shared/api/organizations"
	"collabdata/shared/api/rpc"
	"collabdata/shared/api/users"
	"collabdata/shared/collab"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/removal"

	"github.com/go-json-experiment/json/jsontext"
)

type organizationCommands struct {
	List     organizationList     `cmd:"" help:"List the organizations of an account."`
	Put      organizationPut      `cmd:"" help:"Make an organization, or change the fields that are given."`
	Disable  organizationDisable  `cmd:"" help:"Refuse what is in an organization to everybody."`
	Enable   organizationEnable   `cmd:"" help:"Allow operations on an organization again."`
	Delete   organizationDelete   `cmd:"" help:"Delete an organization with all that is in it."`
	Restore  organizationRestore  `cmd:"" help:"Bring back an organization that was deleted, within the stage's undeleteHours."`
	Rollback organizationRollback `cmd:"" help:"Make an organization what it is in a table that was restored from a backup."`
}

type organizationPut struct {
	organization
	Name     *string  `help:"Its name; a new one without has its id for a name."`
	Metadata metadata `placeholder:"JSON" help:"Further fields that organizations get answers, as one JSON object; null takes one away."`
}

// metadata is a JSON object on the command line.
type metadata string

// Validate reports text that is no object.
func (m metadata) Validate() error {
	if value := jsontext.Value(m); m != "" && (!value.IsValid() || value.Kind() != '{') {
		return errors.New("must be a JSON object such as {\"plan\":\"pro\"}")
	}
	return nil
}

// Run makes or changes the organization.
func (c *organizationPut) Run(ctx context.Context, a *admin, s *directory.Store) error {
	if err := checkAccount(ctx, s, c.Account); err != nil {
		return err
	}
	o := organizations.NewOrganization{OrganizationID: string(c.Organization), OrganizationName: c.Name}
	for name, value := range rpc.Members(collab.JSON(c.Metadata)) {
		o.Further = append(o.Further, rpc.Member[collab.JSON]{Key: name, Value: value})
	}
	service := organizations.Service{Directory: s}
	err := operator.Done(service.Add(ctx, a.call(c.Account), &organizations.WriteRequest{Organizations: []organizations.NewOrganization{o}}))
	return a.showOrganization(ctx, s, c.organization, err)
}

type organizationDisable struct{ organization }

// Run disables the organization.
func (c *organizationDisable) Run(ctx context.Context, a *admin, s *directory.Store) error {
	if err := a.confirm(operator.AskDisableOrganization, c.Organization, c.Account); err != nil {
		return err
	}
	return a.setOrganizationDisabled(ctx, s, c.organization, true)
}

type organizationEnable struct{ organization }

// Run enables the organization.
func (c *organizationEnable) Run(ctx context.Context, a *admin, s *directory.Store) error {
	return a.setOrganizationDisabled(ctx, s, c.organization, false)
}

type organizationDelete struct {
	organization
	UndeleteHours int `default:"24" placeholder:"24" help:"For how many hours restore brings it back; 0 to 168."`
}

// Run deletes the organization: at once out of reach, and swept by a job behind the hours.
func (c *organizationDelete) Run(ctx context.Context, a *admin, s *directory.Store) error {
	if c.UndeleteHours < 0 || c.UndeleteHours > 168 {
		return wrongf("--undelete-hours must be a number from 0 to 168, not %d", c.UndeleteHours)
	}
	if err := c.check(ctx, s); err != nil {
		return err
	}
	if err := a.confirm(operator.AskDeleteOrganization, c.Organization, c.Account); err != nil {
		return err
	}
	undelete := time.Duration(c.UndeleteHours) * time.Hour
	service := organizations.Service{Directory: s, Removal: removal.New(s, outbox.New(s.Table, s), undelete)}
	err := operator.Done(
		service.Delete(ctx, a.call(c.Account), &organizations.DeleteRequest{OrganizationIDs: []string{string(c.Organization)}}),
	)
	if err != nil {
		return err
	}
	a.field("deleted", string(c.Organization))
	if undelete > 0 {
		a.say("`admin organization restore %s %s` brings it back within %d hours.", word(c.Account), word(c.Organization), c.UndeleteHours)
	}
	return nil
}

func (a *admin) setOrganizationDisabled(ctx context.Context, s *directory.Store, org organization, disabled bool) error {
	if err := org.check(ctx, s); err != nil {
		return err
	}
	err := operator.SetOrganizationDisabled(ctx, s, a.call(org.Account), string(org.Organization), disabled)
	return a.showOrganization(ctx, s, org, err)
}

// showOrganization shows an organization that was written.
func (a *admin) showOrganization(ctx context.Context, s *directory.Store, org organization, err error) error {
	if err != nil {
		return err
	}
	list, err := s.Organizations(ctx, string(org.Account), []string{string(org.Organization)})
	if err != nil || len(list) == 0 {
		return err
	}
	a.record("organization", list[0].ID, "state", state(list[0].Disabled), "name", list[0].Name)
	if list[0].Disabled {
		a.say(
			"Every operation on it is refused within 5 s. `admin organization enable %s %s` allows them again.", word(org.Account),
			word(org.Organization),
		)
	}
	return nil
}

type folderCommands struct {
	List    folderList    `cmd:"" help:"List the folders of an organization."`
	Put     folderPut     `cmd:"" help:"Make a folder, or change the fields that are given."`
	Restore folderRestore `cmd:"" help:"Bring back a folder that was deleted, with what its deletion took away, within the stage's undeleteHours."`
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
	org, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	change := organizations.FolderChange{FolderID: string(c.Folder), FolderName: c.Name, ParentFolderID: (*string)(c.Parent)}
	if c.Parent != nil {
		if err := c.checkFolder(ctx, s, org, *c.Parent); err != nil {
			return err
		}
	}
	service := organizations.Service{Directory: s}
	there, err := s.FoldersAbove(ctx, org, []string{change.FolderID})
	if _, exists := there[change.FolderID]; exists {
		err = operator.Done(service.FoldersUpdate(ctx, a.call(c.Account), &organizations.FoldersUpdateRequest{
			OrganizationID: org.Organization, Folders: []organizations.FolderChange{change},
		}))
	} else if err == nil {
		err = operator.Done(service.FoldersAdd(ctx, a.call(c.Account), &organizations.FoldersAddRequest{
			OrganizationID: org.Organization, Folders: []organizations.NewFolder{{FolderChange: change}},
		}))
	}
	if err != nil {
		return err
	}
	if there, err = s.FoldersAbove(ctx, org, []string{change.FolderID}); err != nil {
		return err
	}
	f := there[change.FolderID]
	a.record("folder", f.ID, "parent", f.Parent, "name", f.Name)
	a.say("`admin document put %s %s DOCUMENT --folder %s` puts a document into it.", word(c.Account), word(c.Organization), word(c.Folder))
	return nil
}

// checkFolder fails when the folder does not exist.
func (o organization) checkFolder(ctx context.Context, s *directory.Store, org collab.OrganizationRef, folder id) error {
	there, err := s.FoldersAbove(ctx, org, []string{string(folder)})
	if _, exists := there[string(folder)]; err == nil && !exists && folder != collab.RootFolder {
		err = fmt.Errorf(
			"folder %q does not exist: make it by `admin folder put %s %s %s`", folder, word(o.Account), word(o.Organization), word(folder),
		)
	}
	return err
}

type documentCommands struct {
	List    documentList    `cmd:"" help:"List the documents of an organization."`
	Put     documentPut     `cmd:"" help:"Make a document, or change the fields that are given."`
	Restore documentRestore `cmd:"" help:"Bring back a document that was deleted, within the stage's undeleteHours."`
}

type documentPut struct {
	organization
	Document documentID `arg:"" help:"Document."`
	Name     *string    `help:"Its name; a new one without has its id for a name."`
	Folder   *id        `help:"The folder it is in; root for none."`
	Access   string     `enum:"unchanged,public,organizationPrivate,restricted" default:"unchanged" help:"Who may see it: public (everyone), organizationPrivate (members), restricted (those with a grant); a new one has its folder's."`
	User     []id       `sep:"none" help:"A user who gets a grant on it. May be repeated."`
}

// Run makes or changes the document.
func (c *documentPut) Run(ctx context.Context, a *admin, s *directory.Store) error {
	org, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	if c.Folder != nil {
		if err := c.checkFolder(ctx, s, org, *c.Folder); err != nil {
			return err
		}
	}
	ids := []string{string(c.Document)}
	service := organizations.Service{Directory: s}
	write := organizations.DocumentsUpdateRequest{
		OrganizationID: org.Organization, Documents: []organizations.NewDocument{{DocumentID: ids[0], DocumentName: c.Name}},
	}
	there, err := s.DocumentsByID(ctx, org, ids)
	if err == nil && len(there) > 0 {
		err = operator.Done(service.DocumentsUpdate(ctx, a.call(c.Account), &write))
	} else if err == nil {
		err = operator.Done(service.DocumentsAdd(ctx, a.call(c.Account), &organizations.DocumentsAddRequest{DocumentsUpdateRequest: write}))
	}
	if err == nil && c.Folder != nil {
		err = operator.Done(service.DocumentsMove(ctx, a.call(c.Account), &organizations.DocumentsMoveRequest{
			OrganizationID: org.Organization, DocumentIDs: ids, FolderID: string(*c.Folder),
		}))
	}
	if err == nil && c.Access != "unchanged" {
		err = operator.Done(service.DocumentsAccessUpdate(ctx, a.call(c.Account), &organizations.DocumentsAccessUpdateRequest{
			OrganizationID: org.Organization, DocumentIDs: ids, AccessType: collab.Access(c.Access),
		}))
	}
	if err == nil && len(c.User) > 0 {
		add := &users.AddRequest{UpdateRequest: users.UpdateRequest{Level: users.Level{OrganizationID: org.Organization, DocumentID: &ids[0]}}}
		for _, u := range c.User {
			add.Users = append(add.Users, users.NewUser{User: collab.User{UserID: string(u)}})
		}
		err = operator.Done((&users.Service{Directory: s}).Add(ctx, a.call(c.Account), add))
	}
	if err != nil {
		return err
	}
	if there, err = s.DocumentsByID(ctx, org, ids); err != nil || len(there) == 0 {
		return err
	}
	a.record("document", there[0].ID, "folder", there[0].Folder, "access", accessOf(there[0]), "name", there[0].Name)
	return nil
}
