package apitest

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/request"
	"collabdata/shared/store/accounts"
	"collabdata/shared/store/directory"
	"collabdata/shared/testing/storetest"
)

// Seeder writes data that no operation adds.
type Seeder struct {
	Accounts  *accounts.Store
	Directory *directory.Store
}

// Seed is the data before the first request of a script. Ids are required. Other fields have the
// defaults of package collab.
type Seed struct {
	Account
	Other    Account `json:"other"`    // the second account
	Examples bool    `json:"examples"` // adds the data of openapi.Start
}

// Account is the data of an account.
type Account struct {
	Settings      collab.Settings `json:"settings"`
	Organizations []Organization  `json:"organizations"`
	Folders       []Folder        `json:"folders"`
	Documents     []Document      `json:"documents"`
	Preferences   []Preference    `json:"preferences"`
	Undeliverable []Undeliverable `json:"undeliverable"`
}

// Organization is an organization of a Seed. The default name is the id.
type Organization struct {
	ID       string        `json:"id"`
	Name     string        `json:"organizationName"`
	Disabled bool          `json:"disabled"`
	Metadata collab.JSON   `json:"metadata"`
	Created  collab.Millis `json:"createdAt"`
}

// Folder is a folder of a Seed.
type Folder struct {
	Organization string        `json:"organizationId"`
	ID           string        `json:"folderId"`
	Name         string        `json:"folderName"`
	Parent       string        `json:"parentFolderId"`
	CreatedAt    collab.Millis `json:"createdAt"`
	LastUpdated  collab.Millis `json:"lastUpdated"`
}

// Document is a document of a Seed.
type Document struct {
	Organization string        `json:"organizationId"`
	ID           string        `json:"documentId"`
	Name         string        `json:"documentName"`
	Folder       string        `json:"folderId"`
	Access       collab.Access `json:"access"`
}

// Preference is a user's preference for a document, or for the organization if the document is "".
// The default applies to channels with "".
type Preference struct {
	Organization string            `json:"organizationId"`
	Document     string            `json:"documentId"`
	User         string            `json:"userId"`
	Inbox        collab.Preference `json:"inbox"`
	Email        collab.Preference `json:"email"`
}

// Undeliverable is the mark of an address that accepts no email.
type Undeliverable struct {
	Organization string `json:"organizationId"`
	collab.Undeliverable
}

// write creates the account with its data.
func (a *Account) write(ctx context.Context, to Seeder, id string) error {
	now := time.Now().UnixMilli()
	err := to.Accounts.AddAccount(ctx, collab.Account{ID: id, Name: id, Settings: a.Settings, CreatedAt: now})
	if err != nil {
		return fmt.Errorf("seed account: %w", err)
	}
	in := func(org string) collab.OrganizationRef {
		return collab.OrganizationRef{Account: id, Organization: org}
	}
	for _, o := range a.Organizations {
		err := storetest.ChangeOrganization(ctx, to.Directory, in(o.ID), func(to *collab.Organization) {
			*to = collab.Organization{
				ID: o.ID, Name: cmp.Or(o.Name, o.ID), Disabled: o.Disabled, Metadata: o.Metadata, CreatedAt: o.Created, LastUpdated: o.Created,
			}
		})
		if err != nil {
			return fmt.Errorf("seed organization %q: %w", o.ID, err)
		}
	}
	for _, f := range a.Folders {
		t := &request.Request{Now: time.Now(), IDs: collab.NewIDs(time.Now(), []byte(f.ID))}
		err := to.Directory.AddFolders(ctx, t, in(f.Organization), []collab.Folder{{
			ID: f.ID, Name: f.Name, Parent: cmp.Or(f.Parent, collab.RootFolder), CreatedAt: f.CreatedAt, LastUpdated: f.LastUpdated,
		}})[0]
		if err != nil {
			return fmt.Errorf("seed folder %q: %w", f.ID, err)
		}
	}
	for _, d := range a.Documents {
		err := storetest.ChangeDocument(ctx, to.Directory, in(d.Organization).Document(d.ID), func(to *collab.Document) {
			*to = collab.Document{
				ID: d.ID, Name: d.Name, Folder: cmp.Or(d.Folder, collab.RootFolder), Access: d.Access, CreatedAt: now, LastUpdated: now,
			}
		})
		if err != nil {
			return fmt.Errorf("seed document %q: %w", d.ID, err)
		}
	}
	for _, p := range a.Preferences {
		var documents []string
		if p.Document != "" {
			documents = []string{p.Document}
		}
		err := to.Directory.SetPreferences(ctx, in(p.Organization), []string{p.User}, documents, collab.Preferences{Inbox: p.Inbox, Email: p.Email})
		if err != nil {
			return fmt.Errorf("seed preference of %q: %w", p.User, err)
		}
	}
	for _, u := range a.Undeliverable {
		if _, err := to.Directory.MarkUndeliverable(ctx, in(u.Organization), u.Undeliverable); err != nil {
			return fmt.Errorf("seed mark of %q: %w", u.UserID, err)
		}
	}
	return nil
}
