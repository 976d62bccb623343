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
Returns organizations: those of organizationIds that exist, in the order asked and each once, or all by id. Disabled ones are listed. An organization
may have further fields, which its operator gave it.`,
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
Returns all folders of an organization by id, without subFolders; or, in an array of one, the folder of folderId with the folders directly in it by
id. Folders are made by the operator. NOT_FOUND when the organization or the folder does not exist (root is none); FAILED_PRECONDITION when the
organization is disabled, or when one response of 5 MB does not hold the folders.`,
		Grants:    ReadTable | ReadIndexes,
		Requires:  collab.AdvancedQueries,
		Operation: operation(organization, (*organizations.Service).FoldersGet),
	}
}
