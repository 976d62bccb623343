package api

import (
	"collabdata/shared/api/organizations"
	"collabdata/shared/collab"
)

// V2OrganizationsGet is POST /v2/organizations/get.
func V2OrganizationsGet() Endpoint {
	return Endpoint{
		Path:      "/v2/organizations/get",
		Summary:   "Answers organizations, in pages",
		Grants:    ReadTable,
		Requires:  collab.AdvancedQueries,
		Operation: operation(organization, (*organizations.Service).Get),
	}
}

// V1OrganizationsFoldersGet is POST /v1/organizations/folders/get.
func V1OrganizationsFoldersGet() Endpoint {
	return Endpoint{
		Path:      "/v1/organizations/folders/get",
		Summary:   "Answers the folders of an organization, or one with its subfolders",
		Grants:    ReadTable | ReadIndexes,
		Requires:  collab.AdvancedQueries,
		Operation: operation(organization, (*organizations.Service).FoldersGet),
	}
}
