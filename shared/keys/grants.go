package keys

import "collabdata/shared/collab"

// Prefixes of sort keys.
const (
	Groups       = "GRP#" // in the organization's partition
	folderGrants = "F#"   // after the user in GrantPartition
)

// Group returns the key of a group.
func Group(org collab.OrganizationRef, group string) Key {
	return groupOf.Key(inOrganization(org, Parts{Group: group}))
}

// GroupUser returns the key of a user in a group.
func GroupUser(org collab.OrganizationRef, group, user string) Key {
	return groupUser.Key(inOrganization(org, Parts{Group: group, User: user}))
}

// GrantPartition returns the partition of users' grants on folders and documents, and their groups.
func GrantPartition(org collab.OrganizationRef) string {
	return APlaceInGroup.Partition(inOrganization(org, Parts{}))
}

// GrantsOf returns the prefix of a user's sort keys in GrantPartition.
func GrantsOf(user string) string { return Escape(user) + "#" }

// FolderGrantsOf returns the prefix of a user's grants on folders in GrantPartition.
func FolderGrantsOf(user string) string { return GrantsOf(user) + folderGrants }

// AfterGrants sorts after a user's keys in GrantPartition, and before the next user's.
func AfterGrants(user string) string { return Escape(user) + AfterChildren }

// FolderGrant returns the key of a user's grant on a folder.
func FolderGrant(folder collab.FolderRef, user string) Key {
	return AFolderGrant.Key(inFolder(folder, user))
}

// DocumentGrant returns the key of a user's grant on a document.
func DocumentGrant(doc collab.DocumentRef, user string) Key {
	return ADocumentGrant.Key(inDocument(doc, Parts{User: user}))
}

// Opening returns the key that opens a document to a user who was removed from the organization.
func Opening(doc collab.DocumentRef, user string) Key {
	return AnOpening.Key(inDocument(doc, Parts{User: user}))
}

// OpeningsOf returns the partition of a document's openings in index in.
func OpeningsOf(doc collab.DocumentRef) string {
	p := inDocument(doc, Parts{})
	return AnOpening.in.key(&p)
}

// UserGroup returns the key that lists a group under a user, so that deleting the user finds it.
func UserGroup(org collab.OrganizationRef, user, group string) Key {
	return APlaceInGroup.Key(inOrganization(org, Parts{User: user, Group: group}))
}

// ParseGrant parses a sort key of GrantPartition: a grant on a document if doc is set, a grant on a
// folder, a group, or an opening if none is set.
func ParseGrant(
	org collab.OrganizationRef, sk string,
) (user string, doc collab.DocumentRef, folder collab.FolderRef, group string, err error) {
	doc.OrganizationRef, folder.OrganizationRef = org, org
	for _, k := range []*Kind{ADocumentGrant, AFolderGrant, AnOpening, APlaceInGroup} {
		var p Parts
		if p, err = k.ParseSK(sk); err == nil {
			if k != AnOpening {
				doc.Document, doc.Incarnation, folder.Folder, folder.Incarnation = p.Doc, p.DocN, p.Folder, p.FolderN
			}
			return p.User, doc, folder, p.Group, nil
		}
	}
	return "", doc, folder, "", err
}

// FolderGranted returns the partition of the grants on a folder in index in.
func FolderGranted(folder collab.FolderRef) string {
	p := inFolder(folder, "")
	return AFolderGrant.in.key(&p)
}

// DocumentGranted returns the partition of the grants on a document in index in.
func DocumentGranted(doc collab.DocumentRef) string {
	p := inDocument(doc, Parts{})
	return ADocumentGrant.in.key(&p)
}

// FolderTree returns the key of the counts of changes to the folder tree.
func FolderTree(org collab.OrganizationRef) Key { return folderTree.Key(inOrganization(org, Parts{})) }

// Removed returns the key of a user's removal from an organization.
func Removed(org collab.OrganizationRef, user string) Key {
	return ARemoval.Key(inOrganization(org, Parts{Who: UserHash(org.Account, user)}))
}

// RemovedFromFolder returns the key of a user's removal from a folder.
func RemovedFromFolder(folder collab.FolderRef, user string) Key {
	p := inFolder(folder, "")
	p.Who = UserHash(folder.Account, user)
	return ARemovalFromFolder.Key(p)
}

// ParseRemovalFromFolder returns the folder of a user's removal, as the sort key names it.
func ParseRemovalFromFolder(org collab.OrganizationRef, sk string) (folder collab.FolderRef, ok bool) {
	p, err := ARemovalFromFolder.ParseSK(sk)
	return collab.FolderRef{OrganizationRef: org, Folder: p.Folder, Incarnation: p.FolderN}, err == nil
}

// RemovedFrom returns the key of a user's removal from a document.
func RemovedFrom(doc collab.DocumentRef, user string) Key {
	return ARemovalFromDocument.Key(inDocument(doc, Parts{Who: UserHash(doc.Account, user)}))
}
