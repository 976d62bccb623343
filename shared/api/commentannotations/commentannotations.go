// Package commentannotations implements the operations on comment annotations and their comments:
// one file per operation, v1 below its v2. Each file uses lower ones alone: operations use
// events.go, person.go and sight.go, which use the types of annotation.go and comment.go.
package commentannotations

import (
	"collabdata/shared/access"
	"collabdata/shared/api/rpc"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/threads"
)

// Service runs the operations. Set its fields before the first request.
type Service struct {
	Directory *directory.Store
	Threads   *threads.Store
	Access    *access.Checker
	Inbox     *inbox.Store
}

// Target is the document of a request.
type Target struct {
	OrganizationID string `json:"organizationId" rule:"required,id" person:"in"`
	DocumentID     string `json:"documentId" rule:"required,docid" person:"in"`
}

// CreateFlags are the fields of a request that create missing parents.
type CreateFlags struct {
	CreateOrganization bool `json:"createOrganization"`
	CreateDocument     bool `json:"createDocument"`
}

// checkNames rejects a field that is sent under both its names.
func checkNames(m *rpc.Violations, name string, sent bool, other string, otherSent bool) {
	if sent && otherSent {
		m.Add(other, "cannot be combined with %s: it is another name of it", name)
	}
}
