package table

import "strings"

// Prefixes of sort keys.
const (
	Organizations = "ORG#" // in the account's partition
	Documents     = "DOC#" // in the organization's partition, and in a folder of index in
	Folders       = "FLD#" // the same
	Members       = "USR#" // in the organization's partition
	Annotations   = "ANN#" // in the document's partition: heads and comments
)

// Organization is the item of an organization.
func Organization(acct, org string) Key { return Key{Join("A", acct), Organizations + Escape(org)} }

// OrganizationPartition holds the organization's documents, folders and members.
func OrganizationPartition(acct, org string) string { return Join("A", acct, "O", org) }

// InOrganization reports whether a partition is one of an organization: every one but that of its own item.
func InOrganization(pk, acct, org string) bool {
	own := OrganizationPartition(acct, org)
	return pk == own || strings.HasPrefix(pk, own+"#")
}

// Document is the item of a document.
func Document(acct, org, doc string) Key {
	return Key{OrganizationPartition(acct, org), Documents + Escape(doc)}
}

// Folder is the item of a folder.
func Folder(acct, org, folder string) Key {
	return Key{OrganizationPartition(acct, org), Folders + Escape(folder)}
}

// Member is the item of a user of the organization.
func Member(acct, org, user string) Key {
	return Key{OrganizationPartition(acct, org), Members + Escape(user)}
}

// FolderPartition holds the documents and folders of a folder in index in.
func FolderPartition(acct, org, folder string) string {
	return Join("A", acct, "O", org, "F", folder)
}

// Preference is a user's notification preference for a document.
func Preference(acct, org, user, doc string) Key {
	return Key{Join("A", acct, "O", org, "CFG", user), "DOC#" + Escape(doc)}
}

// OrganizationPreference is a user's notification preference for the organization.
func OrganizationPreference(acct, org, user string) Key {
	return Key{Join("A", acct, "O", org, "CFG", user), "ORG"}
}
