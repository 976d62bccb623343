package keys

import "collabdata/shared/collab"

// Prefixes of sort keys.
const (
	Groups       = "GRP#" // in the organization's partition
	folderGrants = "F#"   // after a user in the partition of grants
)

// Group is the item of a group of users.
func Group(org collab.OrganizationRef, group string) Key {
	return groupOf.Key(inOrganization(org, Parts{Group: group}))
}

// GroupUser says that a user is in a group.
func GroupUser(org collab.OrganizationRef, group, user string) Key {
	return groupUser.Key(inOrganization(org, Parts{Group: group, User: user}))
}

// GrantPartition holds what users of an organization have: grants on folders and documents, and the groups that they are in.
func GrantPartition(org collab.OrganizationRef) string {
	return userGroup.Partition(inOrganization(org, Parts{}))
}

// GrantsOf begins the sort keys of all that a user has in GrantPartition.
func GrantsOf(user string) string { return Escape(user) + "#" }

// FolderGrantsOf begins the sort keys of a user's grants on folders in GrantPartition.
func FolderGrantsOf(user string) string { return GrantsOf(user) + folderGrants }

// AfterGrants sorts after all that a user has in GrantPartition, and before what the next user has.
func AfterGrants(user string) string { return Escape(user) + AfterChildren }

// FolderGrant is a user's grant on a folder.
func FolderGrant(folder collab.FolderRef, user string) Key {
	return folderGrant.Key(inFolder(folder, user))
}

// DocumentGrant is a user's grant on a document.
func DocumentGrant(doc collab.DocumentRef, user string) Key {
	return documentGrant.Key(inDocument(doc, Parts{User: user}))
}

// UserGroup says of a user that she is in a group, so that deleting her finds it.
func UserGroup(org collab.OrganizationRef, user, group string) Key {
	return userGroup.Key(inOrganization(org, Parts{User: user, Group: group}))
}

// ParseGrant reads the sort key of what a user has in GrantPartition: a grant on a document, where doc names one, on a folder, or that she
// is in a group. It fails on text that is none.
func ParseGrant(
	org collab.OrganizationRef, sk string,
) (user string, doc collab.DocumentRef, folder collab.FolderRef, group string, err error) {
	doc.OrganizationRef, folder.OrganizationRef = org, org
	for _, k := range []*Kind{documentGrant, folderGrant, userGroup} {
		var p Parts
		if p, err = k.ParseSK(sk); err == nil {
			doc.Document, doc.Incarnation, folder.Folder, folder.Incarnation = p.Doc, p.DocN, p.Folder, p.FolderN
			return p.User, doc, folder, p.Group, nil
		}
	}
	return "", doc, folder, "", err
}

// FolderGranted holds the grants on a folder in index in.
func FolderGranted(folder collab.FolderRef) string {
	p := inFolder(folder, "")
	return folderGrant.in.key(&p)
}

// DocumentGranted holds the grants on a document in index in.
func DocumentGranted(doc collab.DocumentRef) string {
	p := inDocument(doc, Parts{})
	return documentGrant.in.key(&p)
}

// FolderTree counts the changes of which folder is in which.
func FolderTree(org collab.OrganizationRef) Key { return folderTree.Key(inOrganization(org, Parts{})) }

// Removed says that a user was taken out of an organization.
func Removed(org collab.OrganizationRef, user string) Key {
	return removed.Key(inOrganization(org, Parts{Who: Who(org.Account, user)}))
}

// RemovedFrom says that a user was taken out of a document.
func RemovedFrom(doc collab.DocumentRef, user string) Key {
	return removedFrom.Key(inDocument(doc, Parts{Who: Who(doc.Account, user)}))
}
