package keys

import "collabdata/shared/collab"

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
func Organization(acct, org string) Key { return organization.Key(Parts{Acct: acct, Org: org}) }

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
func OrganizationPartition(org collab.OrganizationRef) string {
	return member.Partition(inOrganization(org, Parts{}))
}

// Document is the item of a document.
func Document(org collab.OrganizationRef, doc string) Key {
	return document.Key(inOrganization(org, Parts{Doc: doc}))
}

// Folder is the item of a folder.
func Folder(org collab.OrganizationRef, folder string) Key {
	return folderOf.Key(inOrganization(org, Parts{Folder: folder}))
}

// Member is the item of a user of the organization.
func Member(org collab.OrganizationRef, user string) Key {
	return member.Key(inOrganization(org, Parts{User: user}))
}

// FolderPartition holds the documents and folders of a folder in index in.
func FolderPartition(org collab.OrganizationRef, folder string) string {
	return below(org, "F", folder)
}

// Preference is a user's notification preference for documents of an id.
func Preference(org collab.OrganizationRef, doc, user string) Key {
	return documentPreference.Key(inOrganization(org, Parts{Doc: doc, User: user}))
}

// OrganizationPreference is a user's notification preference for the organization.
func OrganizationPreference(org collab.OrganizationRef, user string) Key {
	return preference.Key(inOrganization(org, Parts{User: user}))
}

// PreferencePartition holds the users' notification preferences for documents of an organization, those too that are not there yet.
func PreferencePartition(org collab.OrganizationRef) string {
	return documentPreference.Partition(inOrganization(org, Parts{}))
}

// PartsOf are the parts of an organization of in's account, or of a folder or a document in that.
func PartsOf(in collab.OrganizationRef, kind collab.Thing, id string, incarnation int64) Parts {
	switch kind {
	case collab.AnOrganization:
		return Parts{Acct: in.Account, Org: id, OrgN: incarnation}
	case collab.AFolder:
		return inOrganization(in, Parts{Folder: id, FolderN: incarnation})
	}
	return inOrganization(in, Parts{Doc: id, DocN: incarnation})
}
