package api

import (
	"collabdata/shared/api/auth"
)

// V2AuthPermissionsAdd is POST /v2/auth/permissions/add.
func V2AuthPermissionsAdd() Endpoint {
	return Endpoint{
		Path:    "/v2/auth/permissions/add",
		Summary: "Gives a user grants on organizations, folders and documents",
		Description: `
Gives a user grants, all or none: on an organization (she is then one of its users), on a folder with all in it, or on a document. They
replace those on the same resources, role and end. An end in the past is accepted, and the grant is none. NOT_FOUND when a resource does
not exist.`,
		Grants:    ReadTable | WriteTable,
		Operation: operation(permission, (*auth.Service).PermissionsAdd),
	}
}

// V2AuthPermissionsGet is POST /v2/auth/permissions/get.
func V2AuthPermissionsGet() Endpoint {
	return Endpoint{
		Path:    "/v2/auth/permissions/get",
		Summary: "Says what users may do",
		Description: `
Says what users may do in an organization, and with folders and documents of it. What counts is the nearest grant that has not ended: on
the thing itself, on its folder, on that one's parent and so on; then, but where access is restricted, that of being a user of the
organization. Who has none may still see and write what is public. NOT_FOUND when a folder or document does not exist: error.details then
has the same answer, with errorCode does_not_exist there; skipResourceExistenceValidation answers that as a success.`,
		Grants:    ReadTable,
		Operation: operation(permission, (*auth.Service).PermissionsGet),
	}
}

// V2AuthPermissionsRemove is POST /v2/auth/permissions/remove.
func V2AuthPermissionsRemove() Endpoint {
	return Endpoint{
		Path:    "/v2/auth/permissions/remove",
		Summary: "Takes grants from a user",
		Description: `
Takes grants from a user, all or none; one that is not there is gone already. NOT_FOUND when a resource does not exist.`,
		Grants:    ReadTable | WriteTable,
		Operation: operation(permission, (*auth.Service).PermissionsRemove),
	}
}
