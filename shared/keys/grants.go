package keys

import (
	"fmt"
	"strings"

	"collabdata/shared/collab"
)

// Prefixes of sort keys.
const (
	Groups         = "GRP#" // in the organization's partition
	folderGrants   = "F#"   // after a user in the partition of grants
	documentGrants = "D#"   // the same
	userGroups     = "G#"   // the same
)

// Group is the item of a group of users.
func Group(org collab.OrganizationRef, group string) Key {
	return Key{below(org), Groups + Escape(group)}
}

// GroupUser says that a user is in a group.
func GroupUser(org collab.OrganizationRef, group, user string) Key {
	return Key{below(org, "GRP", group), Escape(user)}
}

// GrantPartition holds what users of an organization have: grants on folders and documents, and the groups that they are in.
func GrantPartition(org collab.OrganizationRef) string { return below(org, "GRANT") }

// GrantsOf begins the sort keys of all that a user has in GrantPartition.
func GrantsOf(user string) string { return Escape(user) + "#" }

// FolderGrantsOf begins the sort keys of a user's grants on folders in GrantPartition.
func FolderGrantsOf(user string) string { return GrantsOf(user) + folderGrants }

// AfterGrants sorts after all that a user has in GrantPartition, and before what the next user has.
func AfterGrants(user string) string { return Escape(user) + AfterChildren }

// FolderGrant is a user's grant on a folder.
func FolderGrant(folder collab.FolderRef, user string) Key {
	return Key{GrantPartition(folder.OrganizationRef), FolderGrantsOf(user) + part(folder.Folder, folder.Incarnation)}
}

// DocumentGrant is a user's grant on a document.
func DocumentGrant(doc collab.DocumentRef, user string) Key {
	return Key{GrantPartition(doc.OrganizationRef), GrantsOf(user) + documentGrants + documentPart(doc)}
}

// UserGroup says of a user that she is in a group, so that deleting her finds it.
func UserGroup(org collab.OrganizationRef, user, group string) Key {
	return Key{GrantPartition(org), GrantsOf(user) + userGroups + Escape(group)}
}

// ParseGrant reads the sort key of what a user has in GrantPartition: a grant on a document, where doc names one, on a folder, or that she
// is in a group. It fails on text that is none.
func ParseGrant(
	org collab.OrganizationRef, sk string,
) (user string, doc collab.DocumentRef, folder collab.FolderRef, group string, err error) {
	doc.OrganizationRef, folder.OrganizationRef = org, org
	owner, of, _ := strings.Cut(sk, "#")
	kind, name, _ := strings.Cut(of, "#")
	if user, err = Unescape(owner); err != nil {
		return user, doc, folder, "", err
	}
	switch kind + "#" {
	case documentGrants:
		doc.Document, doc.Incarnation, err = parsePart(name)
	case folderGrants:
		folder.Folder, folder.Incarnation, err = parsePart(name)
	case userGroups:
		group, err = Unescape(name)
	default:
		err = fmt.Errorf("not the key of a grant: %q", sk)
	}
	return user, doc, folder, group, err
}

// FolderGranted holds the grants on a folder in index in.
func FolderGranted(folder collab.FolderRef) string {
	return below(folder.OrganizationRef, "G", "F") + "#" + part(folder.Folder, folder.Incarnation)
}

// DocumentGranted holds the grants on a document in index in.
func DocumentGranted(doc collab.DocumentRef) string {
	return below(doc.OrganizationRef, "G", "D") + "#" + documentPart(doc)
}

// FolderTree counts the changes of which folder is in which.
func FolderTree(org collab.OrganizationRef) Key { return Key{below(org), "TREE"} }

// RemovedPartition holds the users who were taken out of an organization, until something brings them back.
func RemovedPartition(org collab.OrganizationRef) string { return below(org, "GONE") }

// Removed says that a user was taken out of an organization.
func Removed(org collab.OrganizationRef, user string) Key {
	return Key{RemovedPartition(org), Escape(user)}
}

// RemovedFromPartition holds the users who were taken out of a document, until something brings them back.
func RemovedFromPartition(doc collab.DocumentRef) string { return DocumentPartition(doc) + "#GONE" }

// RemovedFrom says that a user was taken out of a document.
func RemovedFrom(doc collab.DocumentRef, user string) Key {
	return Key{RemovedFromPartition(doc), Escape(user)}
}
