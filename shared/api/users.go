package api

import (
	"collabdata/shared/api/users"
	"collabdata/shared/collab"
)

// V2UsersAdd is POST /v2/users/add.
func V2UsersAdd() Endpoint {
	return Endpoint{
		Path:    "/v2/users/add",
		Summary: "Adds users to an organization, a folder or a document",
		Description: `
Adds users at one level: the organization, or a folder or a document of it alone; or changes those who are there: a field that is not sent
stays. Users of the organization see what is organizationPrivate, and get what is for everyone. A user of a folder or document may see it,
and what is in it, whatever its access type. NOT_FOUND when the organization, folder or document does not exist.`,
		Grants:    ReadTable | WriteTable,
		Operation: operation(user, (*users.Service).Add),
	}
}

// V2UsersGet is POST /v2/users/get.
func V2UsersGet() Endpoint {
	return Endpoint{
		Path:    "/v2/users/get",
		Summary: "Lists users, in pages",
		Description: `
Returns users at one level: of the organization, of a folder, of a document, or with allDocuments of any document of the organization. All
by id; those of userIds in the order asked and each once, unknown ones left out; those of groups group by group. All filters combine: of
the users in a group, those who are at the level. Lists by folder or document may be a second behind. NOT_FOUND when the organization,
folder or document does not exist.`,
		Grants:    ReadTable | ReadIndexes,
		Requires:  collab.AdvancedQueries,
		Operation: operation(user, (*users.Service).Get),
	}
}

// V2UsersUpdate is POST /v2/users/update.
func V2UsersUpdate() Endpoint {
	return Endpoint{
		Path:    "/v2/users/update",
		Summary: "Updates users",
		Description: `
Changes users at one level: a field that is not sent stays. A user who is not there fails with NOT_FOUND.`,
		Grants:    ReadTable | WriteTable,
		Operation: operation(user, (*users.Service).Update),
	}
}

// V2UsersDelete is POST /v2/users/delete.
func V2UsersDelete() Endpoint {
	return Endpoint{
		Path:    "/v2/users/delete",
		Summary: "Takes users away from an organization, a folder or a document",
		Description: `
Takes users away at one level. At that of the organization their access to everything in it ends: their grants on its folders and documents
go, and they leave its groups; what they wrote stays. A user who is not there fails with NOT_FOUND.`,
		Grants:    ReadTable | WriteTable,
		Operation: operation(user, (*users.Service).Delete),
	}
}
