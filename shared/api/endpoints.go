// Package api is the table of endpoints. Nothing else lists them: the local server mounts it, the CDK app deploys it, a test holds the
// mains against it.
package api

// Touch says what an endpoint may touch of the deployment. The CDK app grants exactly this.
type Touch uint8

// What an endpoint may touch.
const (
	ReadTable   Touch = 1 << iota // items of the table: GetItem, BatchGetItem, Query
	ReadIndexes                   // the table's indexes: Query
	WriteTable                    // items of the table: PutItem, UpdateItem, DeleteItem, ConditionCheckItem, BatchWriteItem
	SendEvents                    // the events queue: SendMessage
)

// Endpoint is one row of the table.
type Endpoint struct {
	Path    string // the URL's path, and the folder of its main below functions/
	Touches Touch
}

// Endpoints returns the table of endpoints, in the order of the contract.
func Endpoints() []Endpoint {
	return []Endpoint{
		{"/v2/commentannotations/add", ReadTable | WriteTable | SendEvents},
		{"/v1/commentannotations/add", ReadTable | WriteTable | SendEvents},
		{"/v2/commentannotations/get", ReadTable | ReadIndexes},
		{"/v1/commentannotations/get", ReadTable | ReadIndexes},
		{"/v2/commentannotations/update", ReadTable | ReadIndexes | WriteTable | SendEvents},
		{"/v2/commentannotations/comments/add", ReadTable | WriteTable | SendEvents},
		{"/v2/commentannotations/comments/update", ReadTable | WriteTable | SendEvents},
		{"/v2/organizations/get", ReadTable},
		{"/v1/organizations/folders/get", ReadTable | ReadIndexes},
		{"/v2/notifications/config/get", ReadTable},
		{"/v2/notifications/add", ReadTable | WriteTable | SendEvents},
		{"/v1/notifications/add", ReadTable | WriteTable | SendEvents},
	}
}
