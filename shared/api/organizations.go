package api

import (
	"collabdata/shared/api/organizations"
	"collabdata/shared/collab"
)

// V2OrganizationsGet is POST /v2/organizations/get.
func V2OrganizationsGet() Endpoint {
	return Endpoint{
		Path:    "/v2/organizations/get",
		Summary: "Answers organizations, in pages",
		Description: `
Those of organizationIds that exist, in the order asked and each once, or all by id. Disabled ones are listed. An organization may have further
members, which its operator gave it.`,
		Grants:    ReadTable,
		Requires:  collab.AdvancedQueries,
		Operation: operation(organization, (*organizations.Service).Get),
	}
}

// V1OrganizationsFoldersGet is POST /v1/organizations/folders/get.
func V1OrganizationsFoldersGet() Endpoint {
	return Endpoint{
		Path:    "/v1/organizations/folders/get",
		Summary: "Answers the folders of an organization, or one with its subfolders",
		Description: `
All folders by id, without subFolders; or the folder of folderId alone, with the folders directly in it. NOT_FOUND when that does not exist;
FAILED_PRECONDITION when one answer does not hold them.`,
		Grants:    ReadTable | ReadIndexes,
		Requires:  collab.AdvancedQueries,
		Operation: operation(organization, (*organizations.Service).FoldersGet),
	}
}
