package api

import (
	"collabdata/shared/api/organizations"
	"collabdata/shared/collab"
)

// V2OrganizationsGet is POST /v2/organizations/get.
func V2OrganizationsGet() Endpoint {
	return Endpoint{
		Path:    "/v2/organizations/get",
		Summary: "Lists organizations, in pages",
		Description: `
Returns organizations: those of organizationIds that exist, in the order asked and each once, or all by id. Disabled ones are listed. An
organization may have further fields, which its operator gave it.`,
		Grants:    ReadTable,
		Requires:  collab.AdvancedQueries,
		Operation: operation(organization, (*organizations.Service).Get),
	}
}

// V1OrganizationsFoldersGet is POST /v1/organizations/folders/get.
func V1OrganizationsFoldersGet() Endpoint {
	return Endpoint{
		Path:    "/v1/organizations/folders/get",
		Summary: "Lists the folders of an organization, or one with its subfolders",
		Description: `
Returns all folders of an organization by id, without subFolders; or, in an array of one, the folder of folderId with the folders directly
in it by id. Folders are made by the operator. NOT_FOUND when the organization or the folder does not exist (root is none);
FAILED_PRECONDITION when the organization is disabled, or when one response of 5 MB does not hold the folders.`,
		Grants:    ReadTable | ReadIndexes,
		Requires:  collab.AdvancedQueries,
		Operation: operation(organization, (*organizations.Service).FoldersGetV1),
	}
}

// V2OrganizationsAdd is POST /v2/organizations/add.
func V2OrganizationsAdd() Endpoint {
	return Endpoint{
		Path:    "/v2/organizations/add",
		Summary: "Adds organizations, or updates those that are there",
		Description: `
Makes organizations, or updates those that are there: a name or further field that is not sent stays, null takes a further field away. At
most 500, each with any further fields (100,000 bytes of them), which organizations/get returns beside its own; names that the service uses
itself are refused. An organization that was deleted may be added again a few seconds later, and is empty; until then it fails with
UNAVAILABLE.`,
		Grants:    ReadTable | WriteTable,
		Operation: operation(organization, (*organizations.Service).Add),
	}
}

// V2OrganizationsUpdate is POST /v2/organizations/update.
func V2OrganizationsUpdate() Endpoint {
	return Endpoint{
		Path:    "/v2/organizations/update",
		Summary: "Updates organizations",
		Description: `
As organizations/add, but an organization that does not exist fails with NOT_FOUND.`,
		Grants:    ReadTable | WriteTable,
		Operation: operation(organization, (*organizations.Service).Update),
	}
}

// V2OrganizationsAccessDisablestateUpdate is POST /v2/organizations/access/disablestate/update.
func V2OrganizationsAccessDisablestateUpdate() Endpoint {
	return Endpoint{
		Path:    "/v2/organizations/access/disablestate/update",
		Summary: "Disables organizations, or enables them again",
		Description: `
Disables organizations, or enables them again, within 5 seconds. What is in a disabled one is neither read nor written:
FAILED_PRECONDITION; only operations on organizations and folders go on. One that does not exist fails with NOT_FOUND.`,
		Grants:    ReadTable | WriteTable,
		Operation: operation(organization, (*organizations.Service).DisableStateUpdate),
	}
}

// V2OrganizationsFoldersAdd is POST /v2/organizations/folders/add.
func V2OrganizationsFoldersAdd() Endpoint {
	return Endpoint{
		Path:    "/v2/organizations/folders/add",
		Summary: "Adds folders",
		Description: `
Makes folders, in the order sent: a parent may come before in the same call. There are at most 10 levels. A folder fails with
ALREADY_EXISTS when it exists, with NOT_FOUND when its parent does not, and with FAILED_PRECONDITION when it would be too deep.`,
		Grants:    ReadTable | WriteTable,
		Requires:  collab.AdvancedQueries,
		Operation: operation(organization, (*organizations.Service).FoldersAdd),
	}
}

// V2OrganizationsFoldersGet is POST /v2/organizations/folders/get.
func V2OrganizationsFoldersGet() Endpoint {
	return Endpoint{
		Path:    "/v2/organizations/folders/get",
		Summary: "Lists the folders of an organization, in pages, or one with its subfolders",
		Description: `
Returns all folders of an organization by id, without subFolders; or, in an array of one, the folder of folderId with those in it, to
maxDepth levels, each by id. Which folders are in another may be known a second late. NOT_FOUND when the organization or the folder does
not exist (root is none); FAILED_PRECONDITION when one response of 5 MB does not hold the subfolders, or there are more than 10,000.`,
		Grants:    ReadTable | ReadIndexes,
		Requires:  collab.AdvancedQueries,
		Operation: operation(organization, (*organizations.Service).FoldersGet),
	}
}

// V2OrganizationsFoldersUpdate is POST /v2/organizations/folders/update.
func V2OrganizationsFoldersUpdate() Endpoint {
	return Endpoint{
		Path:    "/v2/organizations/folders/update",
		Summary: "Renames folders, or moves them",
		Description: `
Changes folders, one after the other: a field left out stays. Another parent moves a folder with all that is in it; what inherits its
access from above then has that of the new place. A folder fails with NOT_FOUND when it or its parent does not exist, and with
FAILED_PRECONDITION when it would lie in itself, or have levels beyond the tenth.`,
		Grants:    ReadTable | ReadIndexes | WriteTable,
		Requires:  collab.AdvancedQueries,
		Operation: operation(organization, (*organizations.Service).FoldersUpdate),
	}
}

// V2OrganizationsFoldersAccessUpdate is POST /v2/organizations/folders/access/update.
func V2OrganizationsFoldersAccessUpdate() Endpoint {
	return Endpoint{
		Path:    "/v2/organizations/folders/access/update",
		Summary: "Says who may see what is in folders",
		Description: `
Gives folders an access type, which holds for everything in them that has none of its own; or takes it away with inheritFromParent, so that
the parent's holds. With inheritFromParent false alone a folder keeps the type that holds for it as its own. A folder that does not exist
fails with NOT_FOUND.`,
		Grants:    ReadTable | ReadIndexes | WriteTable,
		Operation: operation(organization, (*organizations.Service).FoldersAccessUpdate),
	}
}

// V2OrganizationsDocumentsAdd is POST /v2/organizations/documents/add.
func V2OrganizationsDocumentsAdd() Endpoint {
	return Endpoint{
		Path:    "/v2/organizations/documents/add",
		Summary: "Adds documents",
		Description: `
Makes documents: each with any further fields (100,000 bytes of them), which documents/get returns beside its own; names that the service
uses itself are refused. A document that exists fails with ALREADY_EXISTS; one that was deleted may be added again a few seconds later, and
is empty. NOT_FOUND when the folder does not exist.`,
		Grants:    ReadTable | WriteTable,
		Operation: operation(organization, (*organizations.Service).DocumentsAdd),
	}
}

// V2OrganizationsDocumentsGet is POST /v2/organizations/documents/get.
func V2OrganizationsDocumentsGet() Endpoint {
	return Endpoint{
		Path:    "/v2/organizations/documents/get",
		Summary: "Lists documents, in pages",
		Description: `
Returns documents: those of documentIds that exist, in the order asked and each once; those directly in a folder, or all, by id. Disabled
ones are listed. A list by folder may be a second behind. NOT_FOUND when the folder does not exist.`,
		Grants:    ReadTable | ReadIndexes,
		Requires:  collab.AdvancedQueries,
		Operation: operation(organization, (*organizations.Service).DocumentsGet),
	}
}

// V2OrganizationsDocumentsUpdate is POST /v2/organizations/documents/update.
func V2OrganizationsDocumentsUpdate() Endpoint {
	return Endpoint{
		Path:    "/v2/organizations/documents/update",
		Summary: "Updates documents",
		Description: `
Changes documents: a name or further field that is not sent stays, null takes a further field away. A document that does not exist fails
with NOT_FOUND.`,
		Grants:    ReadTable | WriteTable,
		Operation: operation(organization, (*organizations.Service).DocumentsUpdate),
	}
}

// V2OrganizationsDocumentsMove is POST /v2/organizations/documents/move.
func V2OrganizationsDocumentsMove() Endpoint {
	return Endpoint{
		Path:    "/v2/organizations/documents/move",
		Summary: "Moves documents to another folder",
		Description: `
Puts documents into a folder, or with root into none. A document keeps its own access type; one without has the new folder's. A document
that does not exist fails with NOT_FOUND; so does the call, and nothing moves, when the folder does not exist.`,
		Grants:    ReadTable | WriteTable,
		Operation: operation(organization, (*organizations.Service).DocumentsMove),
	}
}

// V2OrganizationsDocumentsAccessUpdate is POST /v2/organizations/documents/access/update.
func V2OrganizationsDocumentsAccessUpdate() Endpoint {
	return Endpoint{
		Path:    "/v2/organizations/documents/access/update",
		Summary: "Says who may see documents",
		Description: `
Gives documents an access type of their own, whatever holds for their folders. A document that does not exist fails with NOT_FOUND.`,
		Grants:    ReadTable | WriteTable,
		Operation: operation(organization, (*organizations.Service).DocumentsAccessUpdate),
	}
}

// V2OrganizationsDocumentsAccessDisablestateUpdate is POST /v2/organizations/documents/access/disablestate/update.
func V2OrganizationsDocumentsAccessDisablestateUpdate() Endpoint {
	return Endpoint{
		Path:    "/v2/organizations/documents/access/disablestate/update",
		Summary: "Disables documents, or enables them again",
		Description: `
Disables documents, or enables them again, within 5 seconds. Requests about a disabled document alone are FAILED_PRECONDITION; those about
its organization or folder leave it out. One that does not exist fails with NOT_FOUND.`,
		Grants:    ReadTable | WriteTable,
		Operation: operation(organization, (*organizations.Service).DocumentsDisableStateUpdate),
	}
}

// V2OrganizationsUsergroupsAdd is POST /v2/organizations/usergroups/add.
func V2OrganizationsUsergroupsAdd() Endpoint {
	return Endpoint{
		Path:    "/v2/organizations/usergroups/add",
		Summary: "Adds groups of users, or renames them",
		Description: `
Makes groups of users, or renames those that are there.`,
		Grants:    ReadTable | WriteTable,
		Operation: operation(organization, (*organizations.Service).UsergroupsAdd),
	}
}

// V2OrganizationsUsergroupsUsersAdd is POST /v2/organizations/usergroups/users/add.
func V2OrganizationsUsergroupsUsersAdd() Endpoint {
	return Endpoint{
		Path:    "/v2/organizations/usergroups/users/add",
		Summary: "Puts users into a group",
		Description: `
Puts users into a group; they need not be users of the organization. NOT_FOUND when the group does not exist.`,
		Grants:    ReadTable | WriteTable,
		Operation: operation(organization, (*organizations.Service).UsergroupsUsersAdd),
	}
}

// V2OrganizationsUsergroupsUsersDelete is POST /v2/organizations/usergroups/users/delete.
func V2OrganizationsUsergroupsUsersDelete() Endpoint {
	return Endpoint{
		Path:    "/v2/organizations/usergroups/users/delete",
		Summary: "Takes users out of a group",
		Description: `
Takes users out of a group, or all of it; one who is not in it is no error. NOT_FOUND when the group does not exist; FAILED_PRECONDITION
when deleteAll meets more than 10,000 users.`,
		Grants:    ReadTable | WriteTable,
		Operation: operation(organization, (*organizations.Service).UsergroupsUsersDelete),
	}
}

// V2OrganizationsDelete is POST /v2/organizations/delete.
func V2OrganizationsDelete() Endpoint {
	return Endpoint{
		Path:    "/v2/organizations/delete",
		Summary: "Deletes organizations",
		Description: `
Deletes organizations with all that is in them: folders, documents, users, groups, grants, comments, notifications and preferences. They
are out of reach at once here, and within 5 seconds everywhere; jobId names what sweeps the rest: see jobs/get. One that does not exist
fails with NOT_FOUND. Each is posted to webhooks as organization.deleted. The same id may be added again a few seconds later: new and
empty.`,
		Grants:    ReadTable | WriteTable | SendEvents,
		LeavesJob: true,
		Operation: operation(organization, (*organizations.Service).Delete),
	}
}

// V2OrganizationsFoldersDelete is POST /v2/organizations/folders/delete.
func V2OrganizationsFoldersDelete() Endpoint {
	return Endpoint{
		Path:    "/v2/organizations/folders/delete",
		Summary: "Deletes a folder with what is in it",
		Description: `
Deletes a folder with the folders and documents in it. They are out of reach when the call answers; jobId names what sweeps the rest: see
jobs/get. Posted to webhooks as folder.deleted. NOT_FOUND when the folder does not exist.`,
		Grants:    ReadTable | ReadIndexes | WriteTable | SendEvents,
		Requires:  collab.AdvancedQueries,
		LeavesJob: true,
		Operation: operation(organization, (*organizations.Service).FoldersDelete),
	}
}

// V2OrganizationsDocumentsDelete is POST /v2/organizations/documents/delete.
func V2OrganizationsDocumentsDelete() Endpoint {
	return Endpoint{
		Path:    "/v2/organizations/documents/delete",
		Summary: "Deletes documents",
		Description: `
Deletes documents with all that is in them. They are out of reach at once here, and within 5 seconds everywhere; jobId names what sweeps
the rest: see jobs/get. One that does not exist fails with NOT_FOUND. Each is posted to webhooks as document.deleted. The same id may be
added again a few seconds later: new and empty.`,
		Grants:    ReadTable | WriteTable | SendEvents,
		LeavesJob: true,
		Operation: operation(organization, (*organizations.Service).DocumentsDelete),
	}
}
