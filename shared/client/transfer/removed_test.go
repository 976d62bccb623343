package transfer_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/client"
	"collabdata/shared/client/transfer"
	"collabdata/shared/testing/must"
)

// TestRestoreBringsNobodyBack checks that a user who was removed from the organization cannot see a
// document restored from a file with their old comment.
func TestRestoreBringsNobodyBack(t *testing.T) {
	c := serve(t).account(t, "one")
	call(t, c, "/v2/organizations/add", `"organizations": [{"organizationId": "acme"}]`)
	call(t, c, "/v2/users/add", `"organizationId": "acme", "users": [{"userId": "bob"}]`)
	for doc, author := range map[string]string{"plan": "bob", "other": "ann"} {
		call(t, c, "/v2/commentannotations/add", `"organizationId": "acme", "documentId": "`+doc+`", "createDocument": true,
			"commentAnnotations": [{"commentData": [{"commentText": "x", "from": {"userId": "`+author+`"}}]}]`)
	}
	call(t, c, "/v2/users/delete", `"organizationId": "acme", "userIds": ["bob"]`)
	sees := func() int {
		t.Helper()
		list, _, err := client.Call[[]jsontext.Value](t.Context(), c, "/v2/commentannotations/get", map[string]any{
			"organizationId": "acme", "documentIds": []string{"plan", "other"}, "asUserId": "bob",
		})
		must.Do(t, err)
		return len(list)
	}
	file := export(t, c, transfer.ExportOptions{})
	call(t, c, "/v2/organizations/documents/delete", `"organizationId": "acme", "documentIds": ["plan"]`)
	before := sees()
	_, err := transfer.Import(t.Context(), c, strings.NewReader(file), transfer.ImportOptions{})
	must.Do(t, err)
	if after := sees(); before != 0 || after != 0 {
		t.Errorf("bob sees %d threads before, and %d after", before, after)
	}
}
