package keys

import (
	"strings"

	"collabdata/shared/collab"
)

// Prefixes of sort keys.
const (
	Organizations = "ORG#" // in the account's partition
	Documents     = "DOC#" // in the organization's partition, and in a folder of index in
	Folders       = "FLD#" // the same
	Members       = "USR#" // in the organization's partition
	Preferences   = "CFG#" // in the organization's partition
	Annotations   = "ANN#" // in the document's partition: heads and comments
)

// Organization is the item of an organization.
func Organization(acct, org string) Key { return Key{Join("A", acct), Organizations + Escape(org)} }

// Thing is the item of an organization of org's account, or of a folder or a document in org.
func Thing(org collab.OrganizationRef, kind collab.Thing, id string) Key {
	switch kind {
	case collab.AnOrganization:
		return Organization(org.Account, id)
	case collab.AFolder:
		return Folder(org, id)
	}
	return Document(org, id)
}

// OrganizationPartition holds the organization's documents, folders and members.
func OrganizationPartition(org collab.OrganizationRef) string { return below(org) }

// InOrganization reports whether a partition is one of an organization, whatever the incarnation: every one but that of its own item.
func InOrganization(pk, acct, org string) bool {
	rest, ok := strings.CutPrefix(pk, below(collab.OrganizationRef{Account: acct, Organization: org}))
	return ok && (rest == "" || rest[0] == '#' || rest[0] == '!')
}

// Document is the item of a document.
func Document(org collab.OrganizationRef, doc string) Key {
	return Key{below(org), Documents + Escape(doc)}
}

// Folder is the item of a folder.
func Folder(org collab.OrganizationRef, folder string) Key {
	return Key{below(org), Folders + Escape(folder)}
}

// Member is the item of a user of the organization.
func Member(org collab.OrganizationRef, user string) Key {
	return Key{below(org), Members + Escape(user)}
}

// FolderPartition holds the documents and folders of a folder in index in.
func FolderPartition(org collab.OrganizationRef, folder string) string {
	return below(org, "F", folder)
}

// Preference is a user's notification preference for documents of an id.
func Preference(org collab.OrganizationRef, doc, user string) Key {
	return Key{PreferencePartition(org), PreferencesFor(doc) + Escape(user)}
}

// OrganizationPreference is a user's notification preference for the organization.
func OrganizationPreference(org collab.OrganizationRef, user string) Key {
	return Key{below(org), Preferences + Escape(user)}
}

// PreferencePartition holds the users' notification preferences for documents of an organization, those too that are not there yet.
func PreferencePartition(org collab.OrganizationRef) string { return below(org, "CFG") }

// PreferencesFor begins the sort keys of the preferences for documents of an id.
func PreferencesFor(doc string) string { return Escape(doc) + "#" }
