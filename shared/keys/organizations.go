package keys

import "collabdata/shared/collab"

// Prefixes of sort keys.
const (
	Organizations = "ORG#" // in the account's partition
	Documents     = "DOC#" // in the organization's partition, and in a folder of index in
	Folders       = "FLD#" // likewise
	Members       = "USR#" // in the organization's partition
	Preferences   = "CFG#" // in the organization's partition
	Annotations   = "ANN#" // in the document's partition: heads and comments
)

// Organization returns the key of an organization.
func Organization(acct, org string) Key { return AnOrganization.Key(Parts{Acct: acct, Org: org}) }

// Thing returns the key of an organization in org's account, or of a folder or document in org.
func Thing(org collab.OrganizationRef, kind collab.Thing, id string) Key {
	switch kind {
	case collab.AnOrganization:
		return Organization(org.Account, id)
	case collab.AFolder:
		return Folder(org, id)
	}
	return Document(org, id)
}

// OrganizationPartition returns the partition of the organization's documents, folders and members.
func OrganizationPartition(org collab.OrganizationRef) string {
	return AMember.Partition(inOrganization(org, Parts{}))
}

// Document returns the key of a document.
func Document(org collab.OrganizationRef, doc string) Key {
	return ADocument.Key(inOrganization(org, Parts{Doc: doc}))
}

// Folder returns the key of a folder.
func Folder(org collab.OrganizationRef, folder string) Key {
	return folderOf.Key(inOrganization(org, Parts{Folder: folder}))
}

// Member returns the key of a user of the organization.
func Member(org collab.OrganizationRef, user string) Key {
	return AMember.Key(inOrganization(org, Parts{User: user}))
}

// FolderPartition returns the partition of a folder's documents and folders in index in.
func FolderPartition(org collab.OrganizationRef, folder string) string {
	return below(org, "F", folder)
}

// Preference returns the key of a user's preference for documents with an id.
func Preference(org collab.OrganizationRef, doc, user string) Key {
	return APreference.Key(inOrganization(org, Parts{Doc: doc, User: user}))
}

// OrganizationPreference returns the key of a user's preference for the organization.
func OrganizationPreference(org collab.OrganizationRef, user string) Key {
	return AnOrganizationPreference.Key(inOrganization(org, Parts{User: user}))
}

// PreferencePartition returns the partition of the preferences for documents of an organization,
// also for missing documents.
func PreferencePartition(org collab.OrganizationRef) string {
	return APreference.Partition(inOrganization(org, Parts{}))
}

// PartsOf returns the parts of an organization in in's account, or of a folder or document in in.
func PartsOf(in collab.OrganizationRef, kind collab.Thing, id string, incarnation int64) Parts {
	switch kind {
	case collab.AnOrganization:
		return Parts{Acct: in.Account, Org: id, OrgN: incarnation}
	case collab.AFolder:
		return inOrganization(in, Parts{Folder: id, FolderN: incarnation})
	}
	return inOrganization(in, Parts{Doc: id, DocN: incarnation})
}

// Imported returns the key of the record that an import added a thing: a folder or document by its
// id, others by a hash.
func Imported(org collab.OrganizationRef, kind, id string) Key {
	return importedThing.Key(inOrganization(org, Parts{Kind: kind, ID: id}))
}
